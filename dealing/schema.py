"""Schema changes that hold up nobody, for tables that grow with every hand; on SQLite, the plain ones.

In a migration of its own, with ``atomic = False``::

    schema.AddIndex("hand", models.Index(fields=["winner"], name="hand_winner"))
    schema.RemoveIndex("hand", "hand_winner")

and a constraint in two migrations, one that takes it in for new rows and one that looks at those that are there::

    schema.AddConstraint("hand", models.CheckConstraint(condition=…, name="hand_something"))
    schema.ValidateConstraint("hand", "hand_something")

A new column may be empty, or has a constant as its default in the database (``db_default``). What would hold people up
is refused by `tests/test_ops_migrations.py`.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres import operations as postgres
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import operations as plain


def _on_postgresql(editor: BaseDatabaseSchemaEditor) -> bool:
    return editor.connection.vendor == "postgresql"


class AddIndex(postgres.AddIndexConcurrently):
    """An index, made while people write."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """See Django."""
        way: Any = postgres.AddIndexConcurrently if _on_postgresql(schema_editor) else plain.AddIndex
        way.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """See Django."""
        way: Any = postgres.AddIndexConcurrently if _on_postgresql(schema_editor) else plain.AddIndex
        way.database_backwards(self, app_label, schema_editor, from_state, to_state)


class RemoveIndex(postgres.RemoveIndexConcurrently):
    """An index less, while people write."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """See Django."""
        way: Any = postgres.RemoveIndexConcurrently if _on_postgresql(schema_editor) else plain.RemoveIndex
        way.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """See Django."""
        way: Any = postgres.RemoveIndexConcurrently if _on_postgresql(schema_editor) else plain.RemoveIndex
        way.database_backwards(self, app_label, schema_editor, from_state, to_state)


class AddConstraint(postgres.AddConstraintNotValid):
    """A check that new rows must pass; those that are there are looked at by `ValidateConstraint`."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """See Django."""
        if _on_postgresql(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            plain.AddConstraint.database_forwards(self, app_label, schema_editor, from_state, to_state)


class ValidateConstraint(postgres.ValidateConstraint):
    """See `AddConstraint`; on SQLite it was looked at already."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """See Django."""
        if _on_postgresql(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
