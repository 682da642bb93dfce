"""Dealers' shifts and signed heads are in the trail too; those that are there already are taken into it."""

from django.db import migrations, models


def adopt(apps, schema_editor):
    from dealing import seal_keys
    from incidents.trail import adopting

    if not any(
        apps.get_model(*name).objects.exists() for name in (("dealing", "DealerShift"), ("trail", "SignedHead"))
    ):
        return
    if seal_keys.sealing_key() is None:
        print("\n    There is no seal key: give one (KEYS_DIR), then run `manage.py seal_key begin`.")
        return
    adopting.adopt(apps.get_model, "migration")


class Migration(migrations.Migration):
    atomic = False  # batch after batch: nobody waits for all of it, and what is done stays done

    dependencies = [("trail", "0004_walks")]

    operations = [
        migrations.AlterField(
            model_name="trailentry",
            name="kind",
            field=models.CharField(
                choices=[
                    ("incident", "incident"),
                    ("decision", "decision"),
                    ("review", "review note"),
                    ("attachment", "attachment"),
                    ("report", "report"),
                    ("shift", "dealer shift"),
                    ("signed", "signed heads"),
                ],
                max_length=12,
                verbose_name="kind",
            ),
        ),
        migrations.RunPython(adopt, migrations.RunPython.noop),
    ]
