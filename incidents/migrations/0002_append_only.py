"""The database itself refuses to change or delete a decision."""

from django.db import migrations

from dealing import triggers


class Migration(migrations.Migration):
    dependencies = [("incidents", "0001_incidents")]

    operations = [
        migrations.RunPython(
            *triggers.operations("incidents_decision", unique=[("incident_id", "number"), ("supersedes_id",)])
        ),
    ]
