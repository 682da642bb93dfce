"""Incidents, decisions, notes, files and reports that are there already begin the trails, some hundred at a time."""

from django.db import migrations


def adopt(apps, schema_editor):
    from dealing import seal_keys
    from incidents.trail import adopting

    if not any(
        apps.get_model("incidents", name).objects.exists() for name in ("Incident", "AuditReport")
    ):
        return
    if seal_keys.sealing_key() is None:
        print("\n    There is no seal key: give one (KEYS_DIR), then run `manage.py seal_key begin`.")
        return
    adopting.adopt(apps.get_model, "migration")


class Migration(migrations.Migration):
    atomic = False  # batch after batch: nobody waits for all of it, and what is done stays done

    dependencies = [("trail", "0002_append_only"), ("dealing", "0006_seals"), ("incidents", "0009_reports_append_only")]

    operations = [migrations.RunPython(adopt, migrations.RunPython.noop)]
