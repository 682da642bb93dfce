"""Master data, the append-only log of each table, and the projections made from it.

`TableEvent` is the truth. `Shoe` and `Hand` can be thrown away and made again from it (`manage.py rebuild`). Only
`dealing.log` writes these three; `TableEvent` refuses update and delete by trigger (`dealing.triggers`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from dealing.append_only import AppendOnly

if TYPE_CHECKING:
    from dealing.rules.events import Event

TABLE_CODE = RegexValidator(r"\A[A-Z0-9-]{1,16}\Z", _("Use 1 to 16 of the characters A–Z, 0–9 and “-”."))

#: Fixed for ever: the first row of every table hangs on it.
GENESIS = "baccarat-audit table log 1"


def genesis_hash(code: str) -> str:
    """The "previous hash" of a table's first event: SHA-256 of GENESIS, a line feed and the table's code, as hex."""
    return hashlib.sha256(f"{GENESIS}\n{code}".encode()).hexdigest()


def validate_time_zone(value: str) -> None:
    """Refuse what is no IANA time zone."""
    if value not in available_timezones():
        raise ValidationError(_("“%(value)s” is not a time zone such as Asia/Bangkok."), params={"value": value})


def validate_ruleset(value: str) -> None:
    """Refuse the name of a ruleset that is not installed."""
    from dealing.rules.rulesets import ruleset_names

    if value not in ruleset_names():
        raise ValidationError(_("There is no ruleset “%(value)s”."), params={"value": value})


def languages() -> list[tuple[str, Any]]:
    """The languages the pages come in; a function, so that adding one needs no migration."""
    return list(settings.LANGUAGES)


def bet_choices() -> list[tuple[str, Any]]:
    """The bets that any ruleset may offer."""
    from dealing.rules.bets import BET_NAMES
    from dealing.wording import bet_name

    return [(name, bet_name(name)) for name in BET_NAMES]


class Venue(models.Model):
    """A house. Its gaming day starts at `day_starts` o'clock, its own time."""

    code = models.CharField(_("code"), max_length=16, unique=True, validators=[TABLE_CODE])
    name = models.CharField(_("name"), max_length=100)
    time_zone = models.CharField(_("time zone"), max_length=64, default="Asia/Bangkok", validators=[validate_time_zone])
    day_starts = models.PositiveSmallIntegerField(
        _("gaming day starts at"),
        default=6,
        validators=[MaxValueValidator(23)],
        help_text=_("The hour, 0 to 23, at which a new gaming day begins."),
    )

    class Meta:
        verbose_name = _("venue")
        verbose_name_plural = _("venues")
        ordering = ("code",)
        constraints = (models.CheckConstraint(condition=Q(day_starts__lte=23), name="venue_day_starts_hour"),)

    def __str__(self) -> str:
        return self.name

    @property
    def zone(self) -> ZoneInfo:
        """The venue's time zone."""
        return ZoneInfo(self.time_zone)


class Table(models.Model):
    """A gaming table and the head of its log. Its code is part of every hash: it may not change once there are rows."""

    code = models.CharField(_("code"), max_length=16, unique=True, validators=[TABLE_CODE])
    name = models.CharField(_("name"), max_length=100, blank=True)
    venue = models.ForeignKey(Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="tables")
    ruleset = models.CharField(
        _("ruleset"),
        max_length=64,
        validators=[validate_ruleset],
        help_text=_("The rules that the next shoe is opened with."),
    )
    decks = models.PositiveSmallIntegerField(
        _("decks"), default=8, validators=[MinValueValidator(1), MaxValueValidator(16)]
    )
    is_active = models.BooleanField(_("in use"), default=True)
    ranks_only = models.BooleanField(
        _("ranks only"),
        default=False,
        help_text=_("Record the ranks of the cards without their suits: one tap a card."),
    )
    follow_on = models.BooleanField(
        _("hands follow on"),
        default=True,
        help_text=_("The right call, with nothing left to pay, closes the hand and opens betting on the next."),
    )
    insurance_seconds = models.PositiveSmallIntegerField(
        _("insurance time"),
        default=15,
        validators=[MaxValueValidator(300)],
        help_text=_("Seconds that the countdown of an insurance time runs; 0 for no countdown."),
    )
    last_seq = models.PositiveBigIntegerField(_("events"), default=0, editable=False)
    last_hash = models.CharField(_("hash of the last event"), max_length=64, blank=True, editable=False)
    last_at = models.DateTimeField(_("time of the last event"), null=True, blank=True, editable=False)
    # NULL where the last event is older than these columns: they were added without a rewrite of the table.
    last_recorded_at = models.DateTimeField(_("last recorded at"), null=True, blank=True, editable=False)
    last_seal = models.TextField(_("seal of the last event"), null=True, blank=True, editable=False)  # noqa: DJ001

    #: What `dealing.log.find_table` has seen beside the row: whether the table may have limits, and whether the last
    #: hand of its newest shoe may be known. Where nobody looked, both may be.
    may_have_limits = True
    may_be_at_the_last = True

    class Meta:
        verbose_name = _("table")
        verbose_name_plural = _("tables")
        ordering = ("code",)
        constraints = (
            models.CheckConstraint(condition=Q(decks__gte=1), name="table_decks_positive"),
            models.CheckConstraint(
                condition=Q(last_seq=0, last_hash="", last_at__isnull=True)
                | (Q(last_seq__gte=1, last_at__isnull=False) & ~Q(last_hash="")),
                name="table_head_whole",
            ),
        )

    def __str__(self) -> str:
        return self.code

    @property
    def head_hash(self) -> str:
        """What the next event's hash hangs on."""
        return self.last_hash or genesis_hash(self.code)


class ChainWalk(models.Model):
    """What the last walk along the whole of a table's log found; of every table one row.

    `last_seq`: how far the chain is whole, `head` the hash there, where it is known. `problem` is empty where nothing
    is broken; `broken_at` empty with a problem: no single row is to blame.
    """

    table = models.OneToOneField(
        Table, verbose_name=_("table"), on_delete=models.CASCADE, primary_key=True, related_name="chain_walk"
    )
    walked_at = models.DateTimeField(_("walked at"))
    last_seq = models.PositiveBigIntegerField(_("events"))
    head = models.CharField(_("hash of the last event"), max_length=64, blank=True)
    broken_at = models.PositiveBigIntegerField(_("broken at"), null=True, blank=True)
    problem = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("walk along a log")
        verbose_name_plural = _("walks along logs")
        ordering = ("table_id",)

    def __str__(self) -> str:
        return f"{self.table} {self.last_seq}"


class SealStart(AppendOnly):
    """Where the seals of a table's log begin: rows up to `seq`, whose hash is there, may have none. Append-only.

    Its own seal shows that a person with the application's key began it (`dealing.sealing`), and no one else.
    """

    table = models.ForeignKey(
        Table, verbose_name=_("table"), on_delete=models.PROTECT, related_name="seal_starts", db_index=False
    )
    seq = models.PositiveBigIntegerField(_("position"))
    hash = models.CharField(_("hash"), max_length=64)
    recorded_at = models.DateTimeField(_("recorded at"))
    actor = models.TextField(_("recorded by"))
    seal = models.TextField(_("seal"))

    class Meta:
        verbose_name = _("beginning of the seals")
        verbose_name_plural = _("beginnings of the seals")
        ordering = ("table_id", "seq")
        constraints = (models.UniqueConstraint(fields=("table", "seq"), name="seal_start_once"),)

    def __str__(self) -> str:
        return f"{self.table} {self.seq}"


class BetLimit(models.Model):
    """The least and the most that a seat may stake on a bet at a table. One beyond it can be recorded all the same."""

    table = models.ForeignKey(
        Table, verbose_name=_("table"), on_delete=models.CASCADE, related_name="limits", db_index=False
    )
    bet = models.CharField(
        _("bet"),
        max_length=32,
        choices=bet_choices,
        blank=True,
        help_text=_("Left empty: every bet that has no limit of its own."),
    )
    minimum = models.DecimalField(
        _("least"), max_digits=16, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    maximum = models.DecimalField(
        _("most"), max_digits=16, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )

    class Meta:
        verbose_name = _("bet limit")
        verbose_name_plural = _("bet limits")
        ordering = ("table_id", "bet")
        constraints = (
            models.UniqueConstraint(fields=("table", "bet"), name="limit_bet_once"),
            models.CheckConstraint(
                condition=Q(minimum__isnull=True) | Q(maximum__isnull=True) | Q(maximum__gte=F("minimum")),
                name="limit_order",
                violation_error_message=_("The most is less than the least."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.table} {self.bet}".rstrip()


class Dealer(models.Model):
    """A person who deals. Dealers need no log-in."""

    venue = models.ForeignKey(
        Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="dealers", db_index=False
    )
    code = models.CharField(_("code"), max_length=64)
    name = models.CharField(_("name"), max_length=100, blank=True)
    is_active = models.BooleanField(_("works here"), default=True)

    class Meta:
        verbose_name = _("dealer")
        verbose_name_plural = _("dealers")
        ordering = ("code",)
        constraints = (models.UniqueConstraint(fields=("venue", "code"), name="dealer_code_once"),)

    def __str__(self) -> str:
        return f"{self.code} {self.name}".rstrip()


class DealerShift(models.Model):
    """Who deals at a table from when to when, one dealer at a time; `ended_at` is empty for who deals now."""

    table = models.ForeignKey(Table, verbose_name=_("table"), on_delete=models.PROTECT, related_name="shifts")
    dealer = models.ForeignKey(Dealer, verbose_name=_("dealer"), on_delete=models.PROTECT, related_name="shifts")
    started_at = models.DateTimeField(_("started at"))
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    recorded_by = models.TextField(_("recorded by"))

    class Meta:
        verbose_name = _("dealer shift")
        verbose_name_plural = _("dealer shifts")
        ordering = ("table_id", "started_at")
        constraints = (
            models.UniqueConstraint(fields=("table",), condition=Q(ended_at__isnull=True), name="shift_one_now"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("started_at")), name="shift_order"
            ),
        )
        indexes = (models.Index(fields=("table", "-started_at"), name="shift_of_table"),)

    def __str__(self) -> str:
        return f"{self.table} {self.dealer}"


class StaffMember(models.Model):
    """A person who works at the tables; `code` is what stands as `by` in the log."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.PROTECT, related_name="staff_member"
    )
    code = models.CharField(_("code"), max_length=64, unique=True)
    venue = models.ForeignKey(Venue, verbose_name=_("venue"), on_delete=models.PROTECT, related_name="staff")
    language = models.CharField(_("language"), max_length=8, choices=languages, blank=True)
    buddhist_years = models.BooleanField(
        _("Buddhist years"), default=False, help_text=_("Show years of the Buddhist era, 543 more, on Thai pages.")
    )

    class Meta:
        verbose_name = _("staff member")
        verbose_name_plural = _("staff")
        ordering = ("code",)

    def __str__(self) -> str:
        return self.code


class Shoe(models.Model):
    """Projection of one shoe: what the judge says of it and all that the next event needs to be judged (`fold`)."""

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    class Reason(models.TextChoices):
        FINISHED = "finished", _("finished")
        CANCELLED = "cancelled", _("cancelled")
        REPLACED = "replaced", _("replaced")
        FAULTY = "faulty", _("faulty")

    table = models.ForeignKey(
        Table, verbose_name=_("table"), on_delete=models.PROTECT, related_name="shoes", db_index=False
    )
    number = models.PositiveIntegerField(_("number"))
    ruleset = models.CharField(_("ruleset"), max_length=64)
    decks = models.PositiveSmallIntegerField(_("decks"))
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.OPEN)
    closed_reason = models.CharField(_("closed because"), max_length=16, choices=Reason.choices, blank=True)
    opened_at = models.DateTimeField(_("opened at"))
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)
    hands = models.PositiveIntegerField(_("hands"), default=0)
    cards_seen = models.PositiveIntegerField(_("cards seen"), default=0)
    first_seq = models.PositiveBigIntegerField(_("first event"))
    last_seq = models.PositiveBigIntegerField(_("last event"))
    fold = models.JSONField(_("state"), default=dict)
    audit = models.JSONField(_("audit"), default=dict)
    has_findings = models.BooleanField(_("has findings"), default=False)

    class Meta:
        verbose_name = _("shoe")
        verbose_name_plural = _("shoes")
        ordering = ("table_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("table", "number"), name="shoe_number_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="shoe_number_positive"),
            models.CheckConstraint(condition=Q(decks__gte=1), name="shoe_decks_positive"),
            models.CheckConstraint(condition=Q(first_seq__gte=1, last_seq__gte=F("first_seq")), name="shoe_seq_order"),
            models.CheckConstraint(
                condition=Q(status="open", closed_at__isnull=True, closed_reason="")
                | (Q(status="closed", closed_at__isnull=False) & ~Q(closed_reason="")),
                name="shoe_closed_whole",
            ),
        )

    def __str__(self) -> str:
        return _("%(table)s shoe %(shoe)d") % {"table": self.table, "shoe": self.number}


class Hand(models.Model):
    """Projection of one hand: the judge's answer (`audit`, as `audit_log --json` prints it) and what lists need."""

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")
        VOIDED = "voided", _("voided")

    class Winner(models.TextChoices):
        PLAYER = "player", _("Player")
        BANKER = "banker", _("Banker")
        TIE = "tie", _("Tie")

    shoe = models.ForeignKey(Shoe, verbose_name=_("shoe"), on_delete=models.PROTECT, db_index=False)
    number = models.PositiveIntegerField(_("number"))
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.OPEN)
    context = models.JSONField(_("context"), default=dict)
    audit = models.JSONField(_("audit"), default=dict)
    winner = models.CharField(_("winner"), max_length=8, choices=Winner.choices, blank=True)
    player = models.PositiveSmallIntegerField(_("Player's total"), null=True, blank=True)
    banker = models.PositiveSmallIntegerField(_("Banker's total"), null=True, blank=True)
    first_seq = models.PositiveBigIntegerField(_("first event"))
    last_seq = models.PositiveBigIntegerField(_("last event"))
    started_at = models.DateTimeField(_("started at"))
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)
    has_findings = models.BooleanField(_("has findings"), default=False)

    class Meta:
        verbose_name = _("hand")
        verbose_name_plural = pgettext_lazy("rows", "hands")
        ordering = ("shoe_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("shoe", "number"), name="hand_number_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="hand_number_positive"),
            models.CheckConstraint(condition=Q(first_seq__gte=1, last_seq__gte=F("first_seq")), name="hand_seq_order"),
            models.CheckConstraint(
                condition=Q(winner="", player__isnull=True, banker__isnull=True)
                | (Q(player__lte=9, banker__lte=9) & ~Q(winner="")),
                name="hand_result_whole",
            ),
        )
        indexes = (
            models.Index(fields=("started_at",), name="hand_started"),
            models.Index(fields=("shoe",), condition=Q(has_findings=True), name="hand_with_findings"),
        )

    def __str__(self) -> str:
        return _("%(shoe)s hand %(hand)d") % {"shoe": self.shoe, "hand": self.number}


class TableEvent(AppendOnly):
    """One line of a table's log. Never changed, never deleted; the database itself refuses to.

    `payload` is the line exactly as it is exported. The other columns repeat parts of it so that they can be indexed;
    `hash` covers payload, position, actor and time of recording, and through `prev_hash` every row before; see
    `dealing.chain`. `seal` shows that the application wrote the row; see `dealing.seals`.
    """

    sole_writer = "dealing.log"

    table = models.ForeignKey(
        Table, verbose_name=_("table"), on_delete=models.PROTECT, related_name="events", db_index=False
    )
    seq = models.PositiveBigIntegerField(_("position"))
    shoe_number = models.PositiveIntegerField(_("shoe"))
    hand_number = models.PositiveIntegerField(_("hand"), null=True, blank=True)
    name = models.CharField(_("event"), max_length=32)
    at = models.DateTimeField(_("at"))
    key = models.CharField(_("key"), max_length=128, null=True, blank=True)  # noqa: DJ001  # no key is NULL: unique otherwise
    by = models.CharField(_("by"), max_length=64, blank=True)
    payload = models.TextField(_("line"))
    prev_hash = models.CharField(_("previous hash"), max_length=64)
    hash = models.CharField(_("hash"), max_length=64)
    recorded_at = models.DateTimeField(_("recorded at"))
    actor = models.TextField(_("recorded by"))
    seal = models.TextField(_("seal"), null=True, blank=True)  # noqa: DJ001  # NULL: recorded without one

    class Meta:
        verbose_name = _("log event")
        verbose_name_plural = _("log events")
        ordering = ("table_id", "seq")
        constraints = (
            models.UniqueConstraint(fields=("table", "seq"), name="event_seq_once"),
            models.UniqueConstraint(fields=("table", "key"), condition=Q(key__isnull=False), name="event_key_once"),
            models.CheckConstraint(condition=Q(seq__gte=1), name="event_seq_positive"),
            models.CheckConstraint(condition=Q(shoe_number__gte=1), name="event_shoe_positive"),
            models.CheckConstraint(
                condition=Q(hand_number__isnull=True) | Q(hand_number__gte=1), name="event_hand_positive"
            ),
        )
        # Serves "the events of a hand" and, with a sort of some hundred rows, "the events of a shoe".
        indexes = (models.Index(fields=("table", "shoe_number", "hand_number", "seq"), name="event_of_hand"),)

    def __str__(self) -> str:
        return f"{self.table} #{self.seq} {self.name}"

    def parse(self) -> Event:
        """The event this row holds."""
        from dealing.rules.events import parse_line

        return parse_line(self.payload)
