"""The reports built by hand fit together: what they say of tables is what the tables' own figures say."""

from __future__ import annotations

import msgspec
import pytest

from dealing.models import Venue
from incidents.reports.figures import Figures, MonthFigures
from tests import reports_samples as samples


def test_the_parts_add_up() -> None:
    for figures, nights in (
        (samples.figures(), samples.nights()),
        (samples.quiet(), samples.quiet_nights()),
    ):
        assert figures.findings == sum(len(night.findings) for night in nights) == sum(figures.codes.values())
        assert figures.findings == sum(map(sum, figures.heat)) == sum(one.findings for one in figures.dealers)
        assert [sum(column) for column in zip(*figures.heat, strict=True)] == [one.findings for one in figures.hours]
        assert figures.hands == sum(one.hands for one in figures.tables) == sum(one.hands for one in figures.hours)
    assert samples.quiet().attention.count == 0
    attention = samples.figures().attention
    named = msgspec.structs.asdict(attention)
    # What is wrong with trails has tests of its own (`test_trail_kept`).
    beside = ("failed", "trails", "trail_count")
    assert not [name for name, value in named.items() if name not in beside and not value]
    assert samples.figures() == samples.figures()


@pytest.mark.django_db
def test_they_come_back_from_the_database_as_they_were(venue: Venue) -> None:
    report = samples.save_full(venue)
    assert Figures.from_json(report.figures) == samples.figures()
    report.refresh_from_db()
    assert report.nightly == samples.figures()
    assert report.run is not None
    assert [part.read_night() for part in report.run.tables.order_by("table__code")] == samples.nights()
    monthly = samples.save_month(venue)
    monthly.refresh_from_db()
    assert MonthFigures.from_json(monthly.figures) == samples.month()
