"""How a session stands: what was given at the log-in, what is still owed, and until when it is good.

Kept in the session's own data, so that a request needs no statement more to know it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

_KEY: Final = "account"
#: How long somebody may take for the second factor after the password.
PENDING: Final = dt.timedelta(minutes=15)
#: How long a password or a factor counts as just given: what changes the account asks for one.
FRESH: Final = dt.timedelta(minutes=10)
#: After so many wrong second factors the log-in begins again.
WRONG: Final = 10
SEEN_EVERY: Final = dt.timedelta(minutes=5)


class State(StrEnum):
    """What a session still owes."""

    #: Nothing: the password was enough, or the second factor was given.
    IN = "in"
    #: The second factor.
    OWES = "owes"
    #: A second factor has to be set up first.
    ENROLS = "enrols"


@dataclass
class Standing:
    """Times are seconds since 1970. `idle`: seconds after which the session ends when left alone; 0: it does not."""

    state: State
    began: float
    idle: int
    address: str | None
    browser: str
    #: When the password, or a factor where the person has one, was last given.
    given: float
    #: Whether a second factor was given.
    factor: bool = False
    wrong: int = 0

    @classmethod
    def of(cls, session: Mapping[str, Any] | Any) -> Standing | None:
        """What the session says; None for one that nobody logged in to."""
        told = session.get(_KEY)
        return None if told is None else cls(**{**told, "state": State(told["state"])})

    def keep(self, session: MutableMapping[str, Any] | Any) -> None:
        """Write it into the session."""
        session[_KEY] = asdict(self)

    @property
    def began_at(self) -> dt.datetime:
        """When the person logged in."""
        return dt.datetime.fromtimestamp(self.began, dt.UTC)

    @property
    def fresh(self) -> bool:
        """Whether the password or factor was given just now."""
        return self.state is State.IN and 0 <= timezone.now().timestamp() - self.given < FRESH.total_seconds()

    @property
    def seen_every(self) -> dt.timedelta:
        """How often it is noted at most that the person is there."""
        return min(SEEN_EVERY, dt.timedelta(seconds=self.idle / 10)) if self.idle else SEEN_EVERY

    def good_until(self, now: dt.datetime) -> dt.datetime:
        """When the session ends if nobody does anything from now on."""
        whole = dt.timedelta(seconds=settings.SESSION_COOKIE_AGE) if self.state is State.IN else PENDING
        end = self.began_at + whole
        return min(end, now + dt.timedelta(seconds=self.idle)) if self.idle and self.state is State.IN else end
