"""Seals of the log's rows.

The new columns are empty, so that neither database rewrites a table for them or takes SQLite's triggers away.
"""

import django.db.models.deletion
from django.db import migrations, models

from dealing import triggers


def begin(apps, schema_editor):
    """Logs that are there already: rows up to here are older than the seals, which is itself sealed."""
    from dealing import seal_keys, sealing

    tables = apps.get_model("dealing", "Table").objects
    if not tables.filter(last_seq__gt=0).exists():
        return
    key = seal_keys.sealing_key()
    if key is None:
        print("\n    There is no seal key: give one (KEYS_DIR), then run `manage.py seal_key begin`.")
        return
    sealing.begin(tables, apps.get_model("dealing", "SealStart").objects, key, "migration")


class Migration(migrations.Migration):
    dependencies = [("dealing", "0005_chain_walks")]

    operations = [
        # The tables first, in the order in which recording takes them: else the two would wait for each other.
        migrations.AddField(
            model_name="table",
            name="last_seal",
            field=models.TextField(blank=True, editable=False, null=True, verbose_name="seal of the last event"),
        ),
        migrations.AddField(
            model_name="table",
            name="last_recorded_at",
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name="last recorded at"),
        ),
        migrations.AddField(
            model_name="tableevent", name="seal", field=models.TextField(blank=True, null=True, verbose_name="seal")
        ),
        migrations.CreateModel(
            name="SealStart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveBigIntegerField(verbose_name="position")),
                ("hash", models.CharField(max_length=64, verbose_name="hash")),
                ("recorded_at", models.DateTimeField(verbose_name="recorded at")),
                ("actor", models.TextField(verbose_name="recorded by")),
                ("seal", models.TextField(verbose_name="seal")),
                (
                    "table",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="seal_starts",
                        to="dealing.table",
                        verbose_name="table",
                    ),
                ),
            ],
            options={
                "verbose_name": "beginning of the seals",
                "verbose_name_plural": "beginnings of the seals",
                "ordering": ("table_id", "seq"),
                "constraints": [models.UniqueConstraint(fields=("table", "seq"), name="seal_start_once")],
            },
        ),
        migrations.RunPython(*triggers.operations("dealing_sealstart", unique=[("table_id", "seq")])),
        migrations.RunPython(begin, migrations.RunPython.noop),
    ]
