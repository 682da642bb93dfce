"""The database itself refuses to change or delete a report."""

from django.db import migrations

from dealing import triggers


class Migration(migrations.Migration):
    dependencies = [("incidents", "0008_reports")]

    operations = [
        migrations.RunPython(
            *triggers.operations("incidents_auditreport", unique=[("venue_id", "kind", "day", "revision"), ("run_id",)])
        ),
    ]
