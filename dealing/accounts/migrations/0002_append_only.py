"""Security events are never changed. Sessions of before are over: they say neither whose they are nor how they stand."""

from django.db import migrations

from dealing import triggers


def forget_sessions(apps, schema_editor):
    apps.get_model("sessions", "Session").objects.using(schema_editor.connection.alias).all().delete()


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial"), ("sessions", "0001_initial")]

    operations = [
        migrations.RunPython(*triggers.operations("accounts_securityevent")),
        migrations.RunPython(forget_sessions, migrations.RunPython.noop),
    ]
