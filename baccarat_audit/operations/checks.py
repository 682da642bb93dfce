"""What `manage.py check` says of settings with which the product would start and then not work."""
