"""One form for each event a person can record.

The forms only collect: every field may be left empty or hold anything, because what an event may say is for
`dealing.rules.events` and the judge to decide. Their refusals come back to the field they name (`EventForm.refuse`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Union

from django import forms
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy as _

from dealing import wording
from dealing.console import words
from dealing.console.money import SEATS
from dealing.digits import read_digits
from dealing.messages import reason, tell
from dealing.permissions import May, need_of
from dealing.rules.events import Event, EventError, event_as_dict
from dealing.rules.rulesets import ruleset_names
from dealing.rules.tableau import PLACES

if TYPE_CHECKING:
    from decimal import Decimal

    from django.utils.functional import _StrPromise

    from dealing.console.asks import Ask
    from dealing.console.money import BetKey
    from dealing.console.state import State

Text = Union[str, "_StrPromise"]
Choices = Sequence[tuple[str, Text]]

#: Longer than any line allows; keeps a message from repeating a novel.
LONGEST = 600  # characters


class LogField(forms.CharField):
    """Text for one key of the line. `drawn_by` is the template that draws it; an empty field leaves its key out."""

    drawn_by = "console/fields/text.html"
    inputmode = "text"
    short = False

    def __init__(self, label: Text, **kwargs: Any) -> None:
        super().__init__(label=label, required=False, validators=[MaxLengthValidator(LONGEST)], **kwargs)

    def for_log(self, text: str) -> object:
        """What the line says for this text; text that makes no sense is passed on for the rules to refuse."""
        return text

    def for_form(self, value: object) -> str:
        """The text that stands in the form for a value of the line."""
        return "" if value is None else str(value)


class NumberField(LogField):
    """A whole number."""

    drawn_by = "console/fields/number.html"
    inputmode = "numeric"
    short = True

    def for_log(self, text: str) -> object:
        number = read_digits(text)
        return text if number is None else number


class MoneyField(LogField):
    """An amount or odds; thousands may be set apart."""

    inputmode = "decimal"
    short = True

    def for_log(self, text: str) -> object:
        return text.replace(",", "").replace(" ", "")


class OtherWidget(forms.TextInput):
    """What a key says (`<name>_<other>`), or what is typed in the field itself; `first` tells which is looked at first.

    A seat that is typed wins over the key that is down; a key with an amount wins over the amount in the field.
    """

    def __init__(self, other: str, first: bool) -> None:
        super().__init__()
        self.other, self.first = other, first

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> str:
        field, other = (str(data.get(key) or "").strip() for key in (name, f"{name}_{self.other}"))
        return (other or field) if self.first else (field or other)


class SeatField(NumberField):
    """A seat: a key for each of the usual ones and those that bet lately; any other is typed (`seat_other`)."""

    drawn_by = "console/fields/seat.html"

    def __init__(self, label: Text, **kwargs: Any) -> None:
        super().__init__(label, widget=OtherWidget("other", first=True), **kwargs)
        self.seats: Sequence[int] = ()


class StakeField(MoneyField):
    """A stake, with the stakes used last a tap away: such a tap (`stake_quick`) records the bet."""

    drawn_by = "console/fields/stake.html"

    def __init__(self, label: Text, **kwargs: Any) -> None:
        super().__init__(label, widget=OtherWidget("quick", first=True), **kwargs)
        self.quick: Sequence[Decimal] = ()


class ReasonField(LogField):
    """A sentence, with ready-made ones a tap away."""

    drawn_by = "console/fields/reason.html"

    def __init__(self, label: Text, suggestions: tuple[Text, ...] = (), **kwargs: Any) -> None:
        super().__init__(label, **kwargs)
        self.suggestions = suggestions


class ChoiceField(LogField):
    """One of a few, each a tap."""

    drawn_by = "console/fields/choice.html"

    def __init__(self, label: Text, choices: Choices, **kwargs: Any) -> None:
        super().__init__(label, **kwargs)
        self.choices = choices


class BetField(ChoiceField):
    """A bet: `keys` may be placed now, `others` not."""

    drawn_by = "console/fields/bet.html"

    def __init__(self, label: Text, **kwargs: Any) -> None:
        super().__init__(label, [], **kwargs)
        self.keys: Sequence[BetKey] = ()
        self.others: Sequence[BetKey] = ()


class WhyField(ChoiceField):
    """One of a few with a sentence each."""

    drawn_by = "console/fields/why.html"


class PlaceField(ChoiceField):
    """A place of the felt, shown as the felt shows it; `lying` says what lies there."""

    drawn_by = "console/fields/place.html"

    def __init__(self, label: Text, **kwargs: Any) -> None:
        super().__init__(label, [(place, place) for place in PLACES], **kwargs)
        self.lying: Mapping[str, str] = {}

    def places(self) -> list[tuple[str, str, str]]:
        """Place, its name, and what lies there."""
        return [(place, wording.place_name(place), self.lying.get(place, "")) for place, _place in self.choices]


class FlagField(ChoiceField):
    """Yes or no."""

    def __init__(self, label: Text, yes: Text, no: Text, **kwargs: Any) -> None:
        super().__init__(label, [("true", yes), ("false", no)], **kwargs)

    def for_log(self, text: str) -> object:
        return {"true": True, "false": False}.get(text, text)

    def for_form(self, value: object) -> str:
        return {True: "true", False: "false"}.get(value is True, "")


class WindowField(ChoiceField):
    """Insurance time 1 or 2."""

    def for_log(self, text: str) -> object:
        return int(text) if text in ("1", "2") else text


class CardWidget(forms.TextInput):
    """A typed card, or the rank key and the suit key together."""

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> str:
        rank, suit = data.get(f"{name}_rank") or "", data.get(f"{name}_suit") or ""
        typed = str(data.get(name) or "").strip()
        return f"{rank}{suit}" if rank and suit else typed or f"{rank}{suit}"


class CardField(LogField):
    """A card."""

    drawn_by = "console/fields/card.html"

    def __init__(self, label: Text, **kwargs: Any) -> None:
        super().__init__(label, widget=CardWidget, **kwargs)


def sides() -> Choices:
    return [("player", wording.side_name("player")), ("banker", wording.side_name("banker"))]


class EventForm(forms.Form):
    """Collects the keys of one kind of event beyond those every line has."""

    event: ClassVar[str]
    title: ClassVar[Text]
    hint: Text = ""
    button: ClassVar[Text] = _("Record")
    #: Takes a second look before it is pressed: it ends something.
    grave: ClassVar[bool] = False
    #: What is asked before it is recorded, once it has been sent.
    ask: Ask | None = None
    #: Whether the form puts right an entry that is in the log, and records no new one.
    amends = False
    #: What is said of fields that were left empty: of all of them at once, where the rules stop at the first.
    wanted: ClassVar[Mapping[str, Text]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auto_id = f"{self.event}-%s"

    @property
    def supervised(self) -> bool:
        """Whether only somebody who may supervise the table can record it."""
        return need_of(self.event) is May.SUPERVISE

    def prepare(self, state: State) -> None:
        """Before the form is shown: fill in what the state of the table suggests."""
        for field in self.fields.values():
            if isinstance(field, PlaceField):
                field.lying = state.lying

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        """Whether the event is one of the hand that the page shows, and not of the shoe."""
        return True

    def keys(self) -> dict[str, object]:
        """The keys of the line that were filled in. Only after `is_valid()`."""
        filled: dict[str, object] = {}
        for name, field in self.fields.items():
            text = self.cleaned_data.get(name, "")
            if text and isinstance(field, LogField):
                filled.update(self.key(name, field, text))
        return filled

    def key(self, name: str, field: LogField, text: str) -> dict[str, object]:
        """The key or keys that one field stands for."""
        return {name: field.for_log(text)}

    def remark(self) -> None:
        """Say what is missing where a person can be told better than by the rules' refusal. After `is_valid()`."""
        for name, field in self.fields.items():
            text = self.cleaned_data.get(name, "")
            told = "" if text else self.wanted.get(name, "")
            if text and isinstance(field, CardField):
                told = words.no_card(text)
            if told:
                self.add_error(name, told)

    def suggest(self, **values: object) -> None:
        """Preset fields that nobody has filled in yet."""
        for name, value in values.items():
            field = self.fields.get(name)
            if value is not None and isinstance(field, LogField):
                self.initial.setdefault(name, field.for_form(value))

    def offer(self, name: str, choices: Choices) -> None:
        """Set what can be tapped in a field."""
        field = self.fields.get(name)
        if isinstance(field, ChoiceField):
            field.choices = choices

    def refuse(self, error: EventError) -> None:
        """Put the refusal at the field whose key it names, else above the form."""
        key = error.key.removeprefix("entry.")
        field = self.field_of(key)
        if field in self.errors:
            return  # said already, and better
        if field in self.fields:
            self.add_error(field, reason(error))
        else:
            self.add_error(None, tell(error))

    def field_of(self, key: str) -> str:
        """The field that stands for a key of the line."""
        return key

    @classmethod
    def values_of(cls, event: Event) -> dict[str, str]:
        """The form's texts for an event that is in the log already."""
        line = event_as_dict(event)
        return {
            name: field.for_form(line.get(name, field.initial))
            for name, field in cls.base_fields.items()
            if isinstance(field, LogField)
        }


# The shoe.


class OpenShoe(EventForm):
    event = "shoe_opened"
    title = _("Open a shoe")
    button = _("Open the shoe")

    shoe = NumberField(_("Shoe number"))
    ruleset = ChoiceField(_("Rules"), [])
    decks = NumberField(_("Decks"), initial=8)

    def prepare(self, state: State) -> None:
        self.offer("ruleset", [(name, words.ruleset(name)) for name in ruleset_names()])
        self.suggest(shoe=state.next_shoe, ruleset=state.table.ruleset, decks=state.table.decks)

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        return False


class BurnCard(EventForm):
    event = "burn_card"
    title = _("First card of the shoe")
    hint = _("Turned face up. It says how many cards are burned.")

    card = CardField(_("Card"))

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        return False


class CardsBurned(EventForm):
    event = "cards_burned"
    title = _("Cards burned")
    button = _("Record the burn")

    count = NumberField(_("Cards that the dealer burned"))

    def prepare(self, state: State) -> None:
        self.suggest(count=state.burn_due)

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        return False


class CutCard(EventForm):
    event = "cut_card"
    title = _("Cut card")
    button = _("The cut card came out")

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        return self.data.get("during") != "between"


class CloseShoe(EventForm):
    event = "shoe_closed"
    title = _("Close the shoe")
    button = _("Close the shoe")
    grave = True

    reason = WhyField(_("Because"), [])

    def prepare(self, state: State) -> None:
        self.offer("reason", [(code, wording.shoe_reason_name(code)) for code in wording.SHOE_REASONS])
        self.suggest(reason="finished" if state.last_hand_done else None)

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        return False


# The hand.


class OpenBetting(EventForm):
    event = "betting_opened"
    title = _("Open betting")
    button = _("Open betting")


class CloseBetting(EventForm):
    event = "betting_closed"
    title = _("Close betting")
    button = _("Close betting")


class Bet(EventForm):
    event = "bet"
    title = _("Bet")
    button = _("Record the bet")

    wanted = {"seat": _("Choose the seat."), "bet": _("Choose the bet."), "stake": _("Enter the stake.")}

    seat = SeatField(_("Seat"))
    bet = BetField(_("Bet on"))
    stake = StakeField(_("Stake"))

    def prepare(self, state: State) -> None:
        self.offer("bet", state.bet_choices)
        stakes, seats = state.recent
        for field in self.fields.values():
            if isinstance(field, SeatField):
                field.seats = (*SEATS, *seats)
            elif isinstance(field, BetField):
                field.keys, field.others = self._bet_keys(state)
            elif isinstance(field, StakeField):
                field.quick = stakes
        last = state.last_bet
        if last:
            self.suggest(seat=last.seat, stake=last.stake)
        if state.window_open and state.insurance_due:
            self.suggest(bet=f"insurance_{state.insurance_due.side}")

    def _bet_keys(self, state: State) -> tuple[Sequence[BetKey], Sequence[BetKey]]:
        """What may be bet now, then all else. An entry that is put right has its bet among the first."""
        now, others = state.bet_keys
        if not self.amends:
            return now, others
        own = self["bet"].value()
        first = [key._replace(mark="", warnings="{}") for key in (*now, *others) if key.name == own]
        return [*first, *(key for key in now if key.name != own)], [key for key in others if key.name != own]


class CardDealt(EventForm):
    event = "card"
    title = _("Card dealt")

    to = PlaceField(_("Place"))
    card = CardField(_("Card"))
    face = ChoiceField(_("Lies"), [("up", _("Face up")), ("down", _("Face down"))], initial="up")

    def prepare(self, state: State) -> None:
        super().prepare(state)
        self.suggest(to=state.due or None)


class Opened(EventForm):
    event = "opened"
    title = _("Card turned up")

    place = PlaceField(_("Place"))
    card = CardField(_("Card"))

    def prepare(self, state: State) -> None:
        super().prepare(state)
        self.suggest(place=next(iter(state.face_down), None))


class Called(EventForm):
    event = "called"
    title = _("Result called")
    hint = _("What the dealer announced. Totals only where they were said.")
    button = _("Record the call")

    winner = ChoiceField(_("Winner"), [])
    player = NumberField(_("Player's total"))
    banker = NumberField(_("Banker's total"))

    def prepare(self, state: State) -> None:
        self.offer("winner", [*sides(), ("tie", wording.side_name("tie"))])


class Paid(EventForm):
    event = "paid"
    title = _("Pay")
    hint = _("What was paid on a winning bet, without the stake. 0 for a returned stake.")
    button = _("Record the pay")

    seat = NumberField(_("Seat"))
    bet = ChoiceField(_("Bet on"), [])
    amount = MoneyField(_("Amount paid"))

    def prepare(self, state: State) -> None:
        self.offer("bet", state.bet_choices)


class CloseHand(EventForm):
    event = "hand_closed"
    title = _("Close the hand")
    button = _("Close the hand all the same")

    def prepare(self, state: State) -> None:
        self.hint = " ".join(state.unfinished)


# What went wrong.


class Exposed(EventForm):
    event = "exposed"
    title = _("Card exposed")
    hint = _("A card was seen that should not have been, without having been dealt or opened.")

    when = ChoiceField(
        _("When"),
        [
            ("betting", _("During betting")),
            ("drawing", _("While drawing")),
            ("start", _("Starting the shoe")),
            ("burn", _("Among the burned cards")),
        ],
    )
    card = CardField(_("Card, if it was seen"))
    place = PlaceField(_("Place, if it had one"))

    def prepare(self, state: State) -> None:
        super().prepare(state)
        phases = {"burn": "start", "count": "burn" if state.burns_by_card else "start", "betting": "betting"}
        self.suggest(when=phases.get(state.phase, "drawing" if state.hand_open else None))

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        return keys.get("when") not in ("start", "burn")


class Extra(EventForm):
    event = "extra"
    title = _("Extra card")
    hint = _(
        "A card came out of the shoe that belongs to no place of this hand. Of two cards stuck together it is the one "
        "too many: record it before the hand's next card."
    )

    face = ChoiceField(_("Lies"), [("up", _("Face up")), ("down", _("Face down"))], initial="up")
    card = CardField(_("Card, if it was seen"))


class Dropped(EventForm):
    event = "dropped"
    title = _("Card dropped")
    hint = _("A card left the camera's view.")

    when = ChoiceField(
        _("When"),
        [
            ("drawing", _("While drawing")),
            ("opening", _("While opening")),
            ("start", _("Starting the shoe")),
            ("discard", _("On discard")),
        ],
    )
    opened = FlagField(_("Was it face up before it dropped?"), yes=_("Yes, it was open"), no=_("No, not opened"))
    card = CardField(_("Card, if known"))

    def prepare(self, state: State) -> None:
        self.suggest(when="drawing" if state.hand_open else "start" if state.phase == "burn" else None)

    def of_hand(self, keys: Mapping[str, object]) -> bool:
        return keys.get("when") != "start"


class Moved(EventForm):
    event = "moved"
    title = _("Card moved")
    hint = _("A card was put where it belongs. Two cards are swapped by two moves.")

    source = PlaceField(_("From"))
    to = PlaceField(_("To"))

    def prepare(self, state: State) -> None:
        super().prepare(state)
        if state.misplaced:
            self.suggest(source=state.misplaced[0], to=state.misplaced[1])

    def field_of(self, key: str) -> str:
        return "source" if key == "from" else key

    def key(self, name: str, field: LogField, text: str) -> dict[str, object]:
        return {"from" if name == "source" else name: text}

    @classmethod
    def values_of(cls, event: Event) -> dict[str, str]:
        line = event_as_dict(event)
        return {"source": str(line["from"]), "to": str(line["to"])}


class Discarded(EventForm):
    event = "discarded"
    title = _("Card discarded")
    hint = _("A card is taken out of the hand and thrown away.")

    place = PlaceField(_("Which card"))

    def prepare(self, state: State) -> None:
        super().prepare(state)
        if state.has_extra:
            self.offer("place", [*((place, place) for place in PLACES), ("extra", "extra")])
            self.suggest(place="extra")

    def key(self, name: str, field: LogField, text: str) -> dict[str, object]:
        return {"extra": True} if text == "extra" else {"place": text}

    def field_of(self, key: str) -> str:
        return "place" if key == "extra" else key

    @classmethod
    def values_of(cls, event: Event) -> dict[str, str]:
        line = event_as_dict(event)
        return {"place": str(line.get("place", "extra"))}


class Voided(EventForm):
    event = "voided"
    title = _("Declare void")
    button = _("Declare void")
    grave = True

    scope = ChoiceField(_("What is void"), [("hand", _("The whole hand")), ("insurance", _("The insurance bets"))])
    reason = ReasonField(
        _("Reason"),
        (_("Card exposed during betting"), _("Wrong hand that cannot be corrected"), _("Dealt after the last hand")),
    )

    def prepare(self, state: State) -> None:
        if not state.insured:
            self.offer("scope", [("hand", _("The whole hand"))])
            self.suggest(scope="hand")


# Insurance.


class OpenInsurance(EventForm):
    event = "insurance_opened"
    title = _("Insurance time opened")
    button = _("Open insurance")

    window = WindowField(_("Insurance time"), [("1", _("1st: four cards open")), ("2", _("2nd: fifth card open"))])

    def prepare(self, state: State) -> None:
        self.suggest(window=state.window)


class InsuranceOdds(EventForm):
    event = "insurance_odds"
    title = _("Insurance odds put up")
    hint = _("What the dealer really put up, and where.")
    button = _("Record the odds")

    side = ChoiceField(_("Insured side"), [])
    placed = ChoiceField(_("Put on the spot of"), [])
    odds = MoneyField(_("Odds"))

    def prepare(self, state: State) -> None:
        for name in ("side", "placed"):
            self.offer(name, sides())
        if state.insurance_due:
            due = state.insurance_due
            self.suggest(side=due.side, placed=due.side, odds=due.odds)


class CloseInsurance(EventForm):
    event = "insurance_closed"
    title = _("Insurance time closed")
    button = _("Close insurance")

    window = WindowField(_("Insurance time"), [("1", _("1st: four cards open")), ("2", _("2nd: fifth card open"))])

    def prepare(self, state: State) -> None:
        self.suggest(window=state.window)


#: Every form by the name of its event. `amended` has no form of its own: it takes the form of the entry it corrects.
FORMS: Final[dict[str, type[EventForm]]] = {
    form.event: form
    for form in (
        OpenShoe,
        BurnCard,
        CardsBurned,
        CutCard,
        CloseShoe,
        OpenBetting,
        CloseBetting,
        Bet,
        CardDealt,
        Opened,
        Extra,
        Exposed,
        Moved,
        Discarded,
        Dropped,
        OpenInsurance,
        InsuranceOdds,
        CloseInsurance,
        Called,
        Paid,
        CloseHand,
        Voided,
    )
}
