"""The database itself refuses to change or delete the row of an attachment."""

from django.db import migrations

from dealing import triggers


class Migration(migrations.Migration):
    dependencies = [("incidents", "0005_attachments")]

    operations = [
        migrations.RunPython(*triggers.operations("incidents_incidentattachment", unique=[("stored",)])),
    ]
