"""What the last walk along trails and signed heads found is kept, as `dealing.verify.keep_walk` keeps it of logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from django.db.models import Q
from django.utils import timezone

from dealing.models import Table, Venue
from dealing.verify import Beside

from .models import TrailWalk

#: So many problems of each are kept; how many there are is kept too.
KEPT: Final = 100


def keep(found: Beside, venue: Venue | None = None, table: Table | None = None) -> None:
    """Keep what a walk found, in place of what the one before did.

    A walk that found nothing and could not check all (a key is missing) clears nobody: it leaves what there is.
    """
    if found.unchecked and not found.problems:
        return
    TrailWalk.objects.update_or_create(
        name=found.name,
        defaults={
            "venue": venue,
            "table": table,
            "walked_at": timezone.now(),
            "count": len(found.problems),
            "problems": [[one.table, one.seq, one.problem] for one in found.problems[:KEPT]],
        },
    )


def broken_of(venue: Venue) -> Iterator[tuple[str, int | None, str]]:
    """What is wrong: of what, at which position (None: at no single one), and what."""
    found = TrailWalk.objects.exclude(count=0).filter(Q(venue=venue) | Q(venue=None))
    for walk in found.order_by("name"):
        yield from map(tuple, walk.problems)


def broken_names(venues: Iterable[Venue]) -> dict[int, tuple[str, ...]]:
    """The names of what is not as it was written, by the id of each house. One statement."""
    venues = list(venues)
    found = TrailWalk.objects.exclude(count=0).filter(Q(venue__in=venues) | Q(venue=None)).order_by("name")
    rows = list(found.values_list("venue", "name"))
    return {venue.pk: tuple(name for of, name in rows if of in (None, venue.pk)) for venue in venues}
