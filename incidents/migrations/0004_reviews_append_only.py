"""The database itself refuses to change or delete a review note."""

from django.db import migrations

from dealing import triggers


class Migration(migrations.Migration):
    dependencies = [("incidents", "0003_reviews")]

    operations = [
        migrations.RunPython(*triggers.operations("incidents_incidentreview", unique=[("incident_id", "number")])),
    ]
