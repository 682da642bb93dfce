"""What the API says of tables, shoes, hands, events and findings.

Hands and shoes are the objects that `audit_log --json` prints, as they are stored, with times and links beside them;
their fields stand here to be described. Times are of the house's clock with its offset, money is text.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any, Final

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from dealing.models import Hand, Shoe, Table, TableEvent, Venue
from dealing.pit.selectors import STATES, Facts, facts_of
from dealing.rules.findings import CATALOGUE, DISCRETION, RULINGS
from dealing.rules.tableau import PLACES

from . import examples

CARD: Final = r"^([A2-9TJQK][shdc]?|\?\?)$"
MONEY: Final = r"^-?\d+\.\d{2,}$"
HASH: Final = r"^[0-9a-f]{64}$"


def at_house(at: dt.datetime | None, venue: Venue) -> str | None:
    """A time of the house's clock, with its offset, as the log writes it; whole, where it is finer than that."""
    if at is None:
        return None
    return at.astimezone(venue.zone).isoformat(timespec="microseconds" if at.microsecond % 1000 else "milliseconds")


def _card(**options: Any) -> serializers.Field:
    return serializers.RegexField(
        CARD, help_text="Rank and suit, `9h`; the rank alone where suits are not kept.", **options
    )


def _cards(text: str) -> serializers.ListField:
    return serializers.ListField(child=_card(), help_text=text)


@extend_schema_field({"type": "string", "pattern": MONEY, "example": "500.00"})
class MoneyField(serializers.RegexField):
    """An amount, as text."""


def _money(text: str, **options: Any) -> serializers.Field:
    return MoneyField(MONEY, help_text=text, **options)


def _positions(text: str) -> serializers.ListField:
    return serializers.ListField(child=serializers.IntegerField(min_value=1), help_text=text)


def _words(text: str, **options: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(), help_text=text, **options)


# Tables.


class HeadSerializer(serializers.Serializer[Any]):
    """The last event of a table's log."""

    seq = serializers.IntegerField(min_value=0, help_text="Its position; 0: the log is empty.")
    hash = serializers.RegexField(HASH, help_text="Stands for the whole log up to it.")
    at = serializers.DateTimeField(allow_null=True)


class NowSerializer(serializers.Serializer[Any]):
    """What a table is doing, as the pit shows it."""

    state = serializers.ChoiceField(choices=list(STATES))
    shoe = serializers.IntegerField(allow_null=True, min_value=1)
    hand = serializers.IntegerField(allow_null=True, min_value=1, help_text="The newest hand of the open shoe.")
    last_hand = serializers.BooleanField(help_text="Whether the cut card has made this the shoe’s last hand.")


class TableLinksSerializer(serializers.Serializer[Any]):
    """Where to go on."""

    self = serializers.URLField()
    shoes = serializers.URLField()
    hands = serializers.URLField()
    events = serializers.URLField()
    findings = serializers.URLField()
    page = serializers.URLField(help_text="The table’s page, for people.")


class TableSerializer(serializers.Serializer[Table]):
    """A table of the house and the head of its log."""

    code = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    venue = serializers.CharField(help_text="The code of the house.")
    ruleset = serializers.CharField(help_text="The rules that the next shoe is opened with.")
    decks = serializers.IntegerField(min_value=1)
    in_use = serializers.BooleanField()
    ranks_only = serializers.BooleanField(help_text="Whether cards are recorded without their suits.")
    time_zone = serializers.CharField(help_text="The house’s.")
    head = HeadSerializer()
    now = NowSerializer()
    links = TableLinksSerializer()

    def to_representation(self, table: Table) -> dict[str, Any]:
        """The answer for one table."""
        facts: Mapping[int, Facts] = self.context.get("facts") or facts_of([table])
        now, link = facts[table.pk], Links(self.context["request"])
        own = f"?table={table.code}"
        return {
            "code": table.code,
            "name": table.name,
            "venue": table.venue.code,
            "ruleset": table.ruleset,
            "decks": table.decks,
            "in_use": table.is_active,
            "ranks_only": table.ranks_only,
            "time_zone": table.venue.time_zone,
            "head": {"seq": table.last_seq, "hash": table.head_hash, "at": at_house(table.last_at, table.venue)},
            "now": {
                "state": now.state,
                "shoe": now.shoe or None,
                "hand": now.hand or None,
                "last_hand": now.last_hand,
            },
            "links": {
                "self": link.table(table.code),
                "shoes": link("api:shoes") + own,
                "hands": link("api:hands") + own,
                "events": link("api:events", table.code),
                "findings": link("api:findings") + own,
                "page": link("console:table", table.code),
            },
        }


class Links:
    """Addresses of this site, whole, as the one who asks reaches it."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def __call__(self, name: str, *args: Any) -> str:
        return str(self._request.build_absolute_uri(reverse(name, args=args)))

    def table(self, code: str) -> str:
        """A table."""
        return self("api:table", code)

    def shoe(self, code: str, shoe: int) -> str:
        """A shoe."""
        return self("api:shoe", code, shoe)

    def hand(self, code: str, shoe: int, hand: int) -> str:
        """A hand."""
        return self("api:hand", code, shoe, hand)

    def events(self, code: str, shoe: int, hand: int | None = None) -> str:
        """The events of a shoe or of a hand."""
        return self("api:events", code) + f"?shoe={shoe}" + (f"&hand={hand}" if hand is not None else "")


# What the judge answers.


class FindingSerializer(serializers.Serializer[Any]):
    """One thing that is wrong, and what the rules say of it."""

    code = serializers.CharField(help_text=f"One of the judge’s catalogue: {', '.join(CATALOGUE)}.")
    seq = _positions("The positions in the table’s log that show it.")
    cards = _cards("The cards that it is about.")
    state = serializers.ChoiceField(
        choices=["open", "corrected"], help_text="`corrected`: the log itself puts it right."
    )
    rules = _words("The rules that speak of it; none: no documented rule does.")
    ruling = serializers.ChoiceField(
        choices=[*RULINGS, DISCRETION], help_text="What the rules say; `discretion`: the manager chooses an option."
    )
    options = _words("What may be decided.")
    mandatory = serializers.BooleanField(help_text="Whether the rules leave no choice.")


class SidesSerializer(serializers.Serializer[Any]):
    """Cards on the felt, in the order of their places."""

    P = _cards("Player’s.")
    B = _cards("Banker’s.")
    extra = _cards("Beside the hand.")


class CorrectSerializer(SidesSerializer):
    """The felt as the rules lay the same cards."""

    next = serializers.ChoiceField(
        choices=list(PLACES), allow_null=True, help_text="The place due next; null: the hand is complete."
    )


class ResultSerializer(serializers.Serializer[Any]):
    """The result of a complete hand as the rules lay it."""

    player = serializers.IntegerField(min_value=0, max_value=9)
    banker = serializers.IntegerField(min_value=0, max_value=9)
    winner = serializers.ChoiceField(choices=Hand.Winner.values)
    natural = serializers.BooleanField()


class SettlementSerializer(serializers.Serializer[Any]):
    """What one bet is owed."""

    seat = serializers.IntegerField()
    bet = serializers.CharField()
    stake = _money("What was staked.")
    owed = _money("What it wins besides its stake; null: the result is not known.", allow_null=True)
    returned = _money("What of the stake goes back; null: the result is not known.", allow_null=True)


class HandLinksSerializer(serializers.Serializer[Any]):
    """Where to go on."""

    self = serializers.URLField()
    table = serializers.URLField()
    shoe = serializers.URLField()
    events = serializers.URLField(help_text="The events of the hand.")
    page = serializers.URLField(help_text="The hand’s page, for people.")


@extend_schema_serializer(examples=[examples.HAND])
class HandSerializer(serializers.Serializer[Hand]):
    """A hand: what `audit_log --json` prints of it, and when it was."""

    table = serializers.CharField()
    shoe = serializers.IntegerField(min_value=1)
    hand = serializers.IntegerField(min_value=1)
    status = serializers.ChoiceField(choices=Hand.Status.values)
    dealt = SidesSerializer(help_text="As dealt.")
    correct = CorrectSerializer(help_text="As the rules lay it.")
    result = ResultSerializer(allow_null=True)
    findings = FindingSerializer(many=True)
    ruling = serializers.ChoiceField(
        choices=[*RULINGS, DISCRETION], allow_null=True, help_text="On the whole hand: its findings’ strongest."
    )
    settlement = SettlementSerializer(many=True)
    venue = serializers.CharField(help_text="The code of the house.")
    ruleset = serializers.CharField(help_text="The rules that the shoe is judged by.")
    first_seq = serializers.IntegerField(min_value=1, help_text="The position of its first event.")
    last_seq = serializers.IntegerField(min_value=1, help_text="And of its last one.")
    started_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)
    links = HandLinksSerializer()

    def to_representation(self, hand: Hand) -> dict[str, Any]:
        """The answer for one hand."""
        shoe, table, link = hand.shoe, hand.shoe.table, Links(self.context["request"])
        return {
            **hand.audit,
            "venue": table.venue.code,
            "ruleset": shoe.ruleset,
            "first_seq": hand.first_seq,
            "last_seq": hand.last_seq,
            "started_at": at_house(hand.started_at, table.venue),
            "closed_at": at_house(hand.closed_at, table.venue),
            "links": {
                "self": link.hand(table.code, shoe.number, hand.number),
                "table": link.table(table.code),
                "shoe": link.shoe(table.code, shoe.number),
                "events": link.events(table.code, shoe.number, hand.number),
                "page": link("console:hand", table.code, shoe.number, hand.number),
            },
        }


class ShoeLinksSerializer(serializers.Serializer[Any]):
    """Where to go on."""

    self = serializers.URLField()
    table = serializers.URLField()
    hands = serializers.URLField()
    events = serializers.URLField()
    page = serializers.URLField(help_text="The shoe’s page, for people.")


class ShoeSerializer(serializers.Serializer[Shoe]):
    """A shoe: what `audit_log --json` prints of it, and what became of it."""

    table = serializers.CharField()
    shoe = serializers.IntegerField(min_value=1)
    hand = serializers.IntegerField(allow_null=True, help_text="Always null: this is about the shoe beside its hands.")
    findings = FindingSerializer(many=True)
    cards_seen = serializers.IntegerField(min_value=0, help_text="Cards whose face was seen.")
    hands = serializers.IntegerField(min_value=0, help_text="Hands begun.")
    venue = serializers.CharField(help_text="The code of the house.")
    ruleset = serializers.CharField()
    decks = serializers.IntegerField(min_value=1)
    status = serializers.ChoiceField(choices=Shoe.Status.values)
    closed_reason = serializers.ChoiceField(choices=Shoe.Reason.values, allow_null=True)
    first_seq = serializers.IntegerField(min_value=1)
    last_seq = serializers.IntegerField(min_value=1)
    opened_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)
    links = ShoeLinksSerializer()

    def to_representation(self, shoe: Shoe) -> dict[str, Any]:
        """The answer for one shoe."""
        table, link = shoe.table, Links(self.context["request"])
        return {
            **shoe.audit,
            "venue": table.venue.code,
            "ruleset": shoe.ruleset,
            "decks": shoe.decks,
            "status": shoe.status,
            "closed_reason": shoe.closed_reason or None,
            "first_seq": shoe.first_seq,
            "last_seq": shoe.last_seq,
            "opened_at": at_house(shoe.opened_at, table.venue),
            "closed_at": at_house(shoe.closed_at, table.venue),
            "links": {
                "self": link.shoe(table.code, shoe.number),
                "table": link.table(table.code),
                "hands": link("api:hands") + f"?table={table.code}&shoe={shoe.number}",
                "events": link.events(table.code, shoe.number),
                "page": link("console:shoe", table.code, shoe.number),
            },
        }


# The log.


@extend_schema_serializer(examples=[examples.EVENT])
class EventSerializer(serializers.Serializer[TableEvent]):
    """A row of a table's log. `hash` can be computed again from `prev_hash` and what else stands here."""

    table = serializers.CharField()
    seq = serializers.IntegerField(min_value=1, help_text="Its position at the table, from 1, without gaps.")
    line = serializers.CharField(help_text="The event exactly as it is exported: one line of JSON.")
    event = serializers.DictField(help_text="The same, read: see docs of the log’s lines.")
    actor = serializers.CharField(help_text="Who recorded it: a user name, or `device:CODE`.")
    recorded_at = serializers.DateTimeField(help_text="By the server’s clock.")
    prev_hash = serializers.RegexField(HASH, help_text="The hash of the row before.")
    hash = serializers.RegexField(HASH)

    def to_representation(self, row: TableEvent) -> dict[str, Any]:
        """The answer for one row."""
        return event_as_json(row, self.context["table"])


def event_as_json(row: TableEvent, table: Table) -> dict[str, Any]:
    """A row of the log as every part of the API answers it."""
    return {
        "table": table.code,
        "seq": row.seq,
        "line": row.payload,
        "event": json.loads(row.payload),
        "actor": row.actor,
        "recorded_at": row.recorded_at.astimezone(dt.UTC).isoformat(timespec="microseconds"),  # as it is hashed
        "prev_hash": row.prev_hash,
        "hash": row.hash,
    }


# Findings alone.


class FoundLinksSerializer(serializers.Serializer[Any]):
    """Where to go on."""

    table = serializers.URLField()
    shoe = serializers.URLField()
    hand = serializers.URLField(allow_null=True)


@extend_schema_serializer(examples=[examples.FINDING])
class FoundSerializer(FindingSerializer):
    """A finding, and where it is."""

    table = serializers.CharField()
    venue = serializers.CharField()
    shoe = serializers.IntegerField(min_value=1)
    hand = serializers.IntegerField(
        allow_null=True, min_value=1, help_text="Null: a finding of the shoe beside its hands."
    )
    at = serializers.DateTimeField(help_text="When the first of its events happened at the table.")
    links = FoundLinksSerializer()
