"""The database itself refuses to change or delete a line of the log."""

from django.db import migrations

from dealing import triggers


class Migration(migrations.Migration):
    dependencies = [("dealing", "0001_log")]

    operations = [
        migrations.RunPython(
            *triggers.operations("dealing_tableevent", unique=[("table_id", "seq"), ("table_id", "key")])
        ),
    ]
