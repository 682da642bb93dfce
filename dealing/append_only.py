"""Models whose rows are only added: what the database refuses (`dealing.triggers`), refused before it is asked."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models


class AppendOnly(models.Model):
    """A row that is made once: never changed, never deleted."""

    #: The only module that makes such rows, where `save` may not.
    sole_writer: ClassVar[str] = ""
    #: What is done instead of changing one.
    instead: ClassVar[str] = ""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refused for a row that is there already."""
        if self.sole_writer:
            raise TypeError(f"{self._meta.label} rows are written by {self.sole_writer} only")
        if not self._state.adding:
            raise TypeError(f"{self._meta.label} rows are never changed" + (self.instead and f": {self.instead}"))
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused."""
        raise TypeError(f"{self._meta.label} rows are never deleted")
