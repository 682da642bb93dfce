"""Django's admin as an app of this project."""

from django.contrib.admin.apps import AdminConfig


class HouseAdmin(AdminConfig):
    """The app `django.contrib.admin` with our site: see `admin_site.py`."""

    default_site = "baccarat_audit.admin_site.HouseAdminSite"
