"""Rows that are only added: the models say so where the database does."""

from __future__ import annotations

import pytest
from django.apps import apps

from dealing import triggers
from dealing.accounts.models import SecurityEvent
from dealing.append_only import AppendOnly


@pytest.mark.django_db
def test_the_models_are_those_that_the_database_guards() -> None:
    guarded = {model for model in apps.get_models() if not triggers.missing(model._meta.db_table)}
    assert guarded
    assert guarded == {model for model in apps.get_models() if issubclass(model, AppendOnly)}


def test_one_module_alone_writes_where_it_is_named() -> None:
    for model in apps.get_models():
        if issubclass(model, AppendOnly) and model.sole_writer:
            with pytest.raises(TypeError, match=model.sole_writer):
                model().save()


@pytest.mark.django_db
def test_a_row_is_made_once_and_stays() -> None:
    row = SecurityEvent.objects.create(at="2026-07-01T12:00:00Z", kind=SecurityEvent.Kind.LOCKED)
    with pytest.raises(TypeError, match="never changed"):
        row.save()
    with pytest.raises(TypeError, match="never deleted"):
        row.delete()
    assert SecurityEvent.objects.filter(pk=row.pk).exists()
