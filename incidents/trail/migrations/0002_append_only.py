"""The database itself refuses to change or delete entries of trails and signed heads."""

from django.db import migrations

from dealing import triggers


class Migration(migrations.Migration):
    dependencies = [("trail", "0001_trails")]

    operations = [
        migrations.RunPython(*triggers.operations("trail_trailentry", unique=[("trail_id", "seq")])),
        migrations.RunPython(
            *triggers.operations("trail_signedhead", unique=[("venue_id", "number"), ("report_id",)])
        ),
    ]
