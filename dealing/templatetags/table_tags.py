"""What the pages draw: cards, the felt, findings, badges, money, icons; and who the page is for.

Every tag takes the judge's objects as well as the JSON-able dictionaries kept with a hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import Any, Final

from django import template
from django.forms import BoundField
from django.template import Context
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dealing import people, wording
from dealing.permissions import May, may
from dealing.rules.cards import Card
from dealing.templatetags.shapes import ICONS, SUITS

register = template.Library()

SIDES: Final = ("P", "B")
PLACES: Final = ("P1", "P2", "P3", "B1", "B2", "B3")
COURT: Final = frozenset("JQK")
#: How a card is given that nobody has seen yet; the judge writes ``??``.
FACE_DOWN: Final = (None, "", "??")
#: The crown of the court cards, above the pip and below it.
_CROWN: Final = "M24.3 13l2.7 4 3-6 3 6 2.7-4-1 9h-9.4ZM24.3 71l2.7-4 3 6 3-6 2.7 4-1-9h-9.4Z"


# Icons.


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    """An icon beside text; it says nothing to a screen reader. KeyError for a name that is not drawn."""
    return format_html('<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="{}"/></svg>', ICONS[name])


@register.simple_tag
@cache
def suit(letter: str) -> SafeString:
    """The shape of a suit (``s h d c``), for keys; the name of the suit has to stand beside or around it."""
    return format_html(
        '<svg class="suit suit-{}" viewBox="0 0 24 24" aria-hidden="true"><path d="{}"/></svg>', letter, SUITS[letter]
    )


# Cards.


def split_card(value: object) -> tuple[str, str]:
    """Rank and suit letter of a card (``Card`` or text, ``10d`` too); the suit is empty where it is not known."""
    text = str(value).strip()
    if text[:2] == "10":
        text = "T" + text[2:]
    rank, letter = text[:1].upper(), text[1:2].lower()
    if rank not in wording.RANKS or (letter and letter not in SUITS):
        return "", ""
    return rank, letter


def card_name(value: object) -> str:
    """The card in words, ``9 of hearts``; ``face-down card`` for None."""
    if value in FACE_DOWN:
        return _("face-down card")
    rank, letter = split_card(value)
    if not rank:
        return str(value)
    return wording.card_name(rank, letter)


@register.simple_tag
def card(value: object = None, size: str = "") -> SafeString:
    """Draw a card. None: its back. ``9``: one recorded by its rank only. ``size``: small, large, inline or nothing."""
    return _card(get_language() or "en", None if value in FACE_DOWN else str(value), size)


@lru_cache(maxsize=1024)
def _card(language: str, value: str | None, size: str) -> SafeString:
    name = card_name(value)
    sized = f" card-{size}" if size else ""
    rank, letter = ("", "") if value in FACE_DOWN else split_card(value)
    if not rank:
        return format_html(
            '<svg class="card card-down{}" viewBox="0 0 60 84" role="img" aria-label="{}">'
            '<rect class="card-paper" x=".5" y=".5" width="59" height="83" rx="6"/>'
            '<rect class="card-back-cloth" x="3" y="3" width="54" height="78" rx="4"/>'
            '<path class="card-back-lines" d="{}"/></svg>',
            sized,
            name,
            _BACK,
        )
    return format_html(
        '<svg class="card card-{}{}" viewBox="0 0 60 84" role="img" aria-label="{}">'
        '<rect class="card-paper" x=".5" y=".5" width="59" height="83" rx="6"/>{}</svg>',
        letter or "lone",
        sized,
        name,
        _suited_face(rank, letter) if letter else _lone_face(rank),
    )


def _suited_face(rank: str, letter: str) -> SafeString:
    """Rank and suit in two corners, the suit in the middle."""
    pip = format_html('<path class="card-pip" d="{}"/>', SUITS[letter])
    # Two digits are wide, and J hangs below the line: both in a smaller size, clear of edge and suit.
    size_class, x, y = {"T": (" card-rank-wide", "13", "22.5"), "J": (" card-rank-deep", "11", "20")}.get(
        rank, ("", "11.5", "22.5")
    )
    index = format_html(
        '<text class="card-rank{}" x="{}" y="{}">{}</text><g transform="translate(4.6 25.5) scale(.56)">{}</g>',
        size_class,
        x,
        y,
        _shown(rank),
        pip,
    )
    return format_html(
        '{}<g transform="translate(16.2 28.2) scale(1.15)">{}</g><g>{}</g><g transform="rotate(180 30 42)">{}</g>',
        format_html('<path class="card-court" d="{}"/>', _CROWN) if rank in COURT else "",
        pip,
        index,
        index,
    )


def _lone_face(rank: str) -> SafeString:
    """The rank alone, large: its suit was not recorded. Third cards lie crosswise, so 6 and 9 are underlined."""
    size_class, y = {"T": (" card-rank-lone-wide", "56.5"), "J": ("", "55"), "Q": ("", "57")}.get(rank, ("", "59"))
    return format_html(
        '<text class="card-rank card-rank-lone{}" x="29.5" y="{}">{}</text>{}',
        size_class,
        y,
        _shown(rank),
        mark_safe('<path class="card-pip" d="M18 65h23v4h-23z"/>') if rank in "69" else "",
    )


def _shown(rank: str) -> str:
    return "10" if rank == "T" else rank


def _lattice() -> str:
    """The back's lattice: lines at 45°, clipped by hand to the cloth (6..54 by 6..78)."""
    left, top, right, bottom = 6, 6, 54, 78
    lines = []
    for start in range(left - (bottom - top) + 6, right, 8):
        x1, y1 = (start, top) if start >= left else (left, top + left - start)
        length = min(right - x1, bottom - y1)
        if length > 0:
            lines.append(f"M{x1} {y1}l{length} {length}M{left + right - x1} {y1}l-{length} {length}")
    return "".join(lines)


_BACK: Final = _lattice()


# The felt.


@dataclass(slots=True)
class Laid:
    """A card on the felt, and where the other felt has it (empty: the same place, or nothing to compare with)."""

    card: object
    elsewhere: str = ""


@dataclass(slots=True)
class FeltPlace:
    """One place with what lies on it."""

    name: str
    cards: list[Laid] = field(default_factory=list)
    due: bool = False

    @property
    def number(self) -> str:
        """1, 2 or 3."""
        return self.name[1:]


@dataclass(slots=True)
class FeltSide:
    """Player's or Banker's half."""

    letter: str
    name: str
    places: list[FeltPlace]
    total: object = None
    won: bool = False


def _part(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    return getattr(value, key, None)


def felt_cards(dealt: Any) -> dict[str, list[object]]:
    """The cards of a felt by place, from the judge's ``Felt``, ``{"P": [...], "B": [...], "extra": [...]}`` or
    ``{"P1": ..., ...}``.

    A card that is None (or ``??``) lies face down. Beyond the third card of a side everything lies on the third place.
    """
    felt: dict[str, list[object]] = {place: [] for place in (*PLACES, "extra")}
    if dealt is None:
        return felt
    by_place = dealt if isinstance(dealt, Mapping) else _part(dealt, "places") or {}
    for place in PLACES:
        if place in by_place:
            found = by_place[place]
            felt[place] = list(found) if isinstance(found, list | tuple) else [] if found is None else [found]
    for side in SIDES:
        for number, one in enumerate(_part(dealt, side) or ()):
            felt[f"{side}{min(number, 2) + 1}"].append(one)
    felt["extra"] = list(_part(dealt, "extra") or ())
    return {place: [None if one in FACE_DOWN else one for one in cards] for place, cards in felt.items()}


def compare_felts(here: Mapping[str, Sequence[object]], there: Mapping[str, Sequence[object]]) -> dict[str, list[Laid]]:
    """Each card of ``here`` with the place where ``there`` has it, when that is another one.

    Eight decks hold equal cards: those that lie right are paired first, then the rest in the order of the places.
    """
    where: dict[str, list[str]] = {}
    for place, cards in there.items():
        for one in cards:
            where.setdefault(str(one), []).append(place)
    laid = {place: [Laid(one) for one in cards] for place, cards in here.items()}
    moved: list[Laid] = []
    for place, on_place in laid.items():
        for one in on_place:
            places = where.get(str(one.card), [])
            if place in places:
                places.remove(place)
            else:
                moved.append(one)
    for one in moved:
        places = where.get(str(one.card), [])
        one.elsewhere = places.pop(0) if places else ""
    return laid


def _totals(totals: Any) -> dict[str, object]:
    if totals is None:
        return {}
    if isinstance(totals, list | tuple):
        return dict(zip(SIDES, totals, strict=False))
    return {
        "P": _part(totals, "player") if _part(totals, "player") is not None else _part(totals, "P"),
        "B": _part(totals, "banker") if _part(totals, "banker") is not None else _part(totals, "B"),
    }


def _felt(
    dealt: Any,
    due: str | None = None,
    totals: Any = None,
    winner: str | None = None,
    compare: Any = None,
    corrected: bool = False,
    title: str = "",
) -> dict[str, Any]:
    cards = felt_cards(dealt)
    laid = compare_felts(cards, felt_cards(compare) if compare is not None else cards)
    shown = _totals(totals)
    sides = [
        FeltSide(
            letter,
            wording.side_name(letter),
            [FeltPlace(f"{letter}{n}", laid[f"{letter}{n}"], due == f"{letter}{n}") for n in (1, 2, 3)],
            shown.get(letter),
            winner == {"P": "player", "B": "banker"}[letter],
        )
        for letter in SIDES
    ]
    return {
        "sides": sides,
        "extra": laid["extra"],
        "due": due,
        "winner": winner,
        "result": wording.winner_name(winner) if winner else "",
        "corrected": corrected,
        "title": title,
    }


@register.simple_tag
def felt(
    dealt: Any,
    due: str | None = None,
    totals: Any = None,
    winner: str | None = None,
    compare: Any = None,
    corrected: bool = False,
    title: str = "",
) -> SafeString:
    """Draw the felt.

    ``dealt``: see `felt_cards`. ``due``: the place of the next card. ``totals``: ``(player, banker)`` or a mapping; a
    total that is None is not shown. ``compare``: the other felt; cards that lie elsewhere there are marked: as wrong
    with the place where they belong, or, with ``corrected``, as moved with the place where they came from.
    """
    said = {"due": due or "", "winner": winner or "", "corrected": corrected, "title": str(title)}
    laid, there = _content(felt_cards(dealt)), None if compare is None else _content(felt_cards(compare))
    return _drawn_felt(get_language() or "en", laid, there, tuple(_totals(totals).items()), tuple(said.items()))


_Content = tuple[tuple[str, tuple[str | None, ...]], ...]


def _content(cards: Mapping[str, Sequence[object]]) -> _Content:
    return tuple((place, tuple(None if one is None else str(one) for one in on)) for place, on in cards.items())


@lru_cache(maxsize=4096)
def _drawn_felt(
    language: str,
    laid: _Content,
    there: _Content | None,
    totals: tuple[tuple[str, Any], ...],
    said: tuple[tuple[str, Any], ...],
) -> SafeString:
    """A hand's felt stays the same while bets are placed, insured, paid: drawn once for all that it shows."""
    compare = None if there is None else dict(there)
    return render_to_string(
        "components/felt.html", _felt(dict(laid), totals=dict(totals), compare=compare, **dict(said))
    )


@register.simple_tag
def felt_place(place: FeltPlace, corrected: bool = False) -> SafeString:
    """One place of a felt. There are few cards and places: each is drawn once a language."""
    cards = tuple((None if one.card is None else str(one.card), one.elsewhere) for one in place.cards)
    return _felt_place(get_language() or "en", place.name, cards, place.due, corrected)


@lru_cache(maxsize=2048)
def _felt_place(
    language: str, name: str, cards: tuple[tuple[str | None, str], ...], due: bool, corrected: bool
) -> SafeString:
    place = FeltPlace(name, [Laid(*one) for one in cards], due)
    return render_to_string("components/felt_place.html", {"place": place, "corrected": corrected})


def _lying_totals(cards: Mapping[str, Sequence[object]]) -> tuple[int, int] | None:
    """What the cards come to as they lie; None unless each side has two or three known cards, one a place."""
    lying = {place: cards[place] for place in PLACES if place[1] != "3" or cards[place]}
    if any(len(on_place) != 1 for on_place in lying.values()):
        return None
    ranks = {place: split_card(on_place[0])[0] for place, on_place in lying.items()}
    if not all(ranks.values()):
        return None
    player, banker = (
        sum(Card.parse(rank).value for place, rank in ranks.items() if place[0] == side) % 10 for side in SIDES
    )
    return player, banker


@register.inclusion_tag("components/felt_pair.html")
def felt_pair(dealt: Any, correct: Any, totals: Any = None, winner: str | None = None) -> dict[str, Any]:
    """The felt as dealt beside the felt as the rules lay it; totals and winner belong to the right one."""
    return {
        "as_dealt": _felt(dealt, None, _lying_totals(felt_cards(dealt)), None, correct, False, _("As dealt")),
        "by_rules": _felt(correct, _part(correct, "next"), totals, winner, dealt, True, _("As the rules lay it")),
    }


@register.inclusion_tag("components/card_slot.html")
def card_slot(place: str, due: bool = False) -> dict[str, Any]:
    """An empty place; with ``due`` the one where the next card belongs."""
    return {"place": place, "due": due, "third": place.endswith("3"), "name": wording.place_name(place)}


# Findings, rulings, badges.


def citation(ruleset: Any, rule: str, language: str) -> Any:
    """The citation of a rule by a ruleset or its name; None where the ruleset does not know the rule."""
    from dealing.rules.rulesets import get_ruleset

    try:
        known = get_ruleset(ruleset) if isinstance(ruleset, str) else ruleset
        return known.cite(rule, language)
    except (LookupError, ValueError):
        return None


@register.inclusion_tag("components/finding.html")
def finding(found: Any, lang: str | None = None, ruleset: Any = None, compact: bool = False) -> dict[str, Any]:
    """A finding in plain words, with its rules and ruling.

    ``found``: a ``Finding`` or its dictionary. ``ruleset`` (or its name): whose text of the rules to cite. ``compact``:
    the title, rule and ruling only, for the console between two cards.
    """
    code = str(_part(found, "code") or "")
    rules = [str(rule) for rule in _part(found, "rules") or ()]
    ruling = str(_part(found, "ruling") or "")
    language = lang or get_language() or "en"
    state = str(_part(found, "state") or "open")
    cited = [(rule, citation(ruleset, rule, language)) for rule in rules] if ruleset and not compact else []
    return {
        "code": code,
        "title": wording.finding_title(code),
        "sentence": wording.finding_sentence(code),
        "cards": list(_part(found, "cards") or ()),
        "rules": rules,
        "citations": [cite for _rule, cite in cited if cite],
        "uncited": [rule for rule in rules if (rule, None) in cited or not cited],
        "ruling": ruling,
        "ruling_name": wording.action_name(ruling),
        "options": [wording.action_name(str(option)) for option in _part(found, "options") or ()],
        "mandatory": bool(_part(found, "mandatory")),
        "corrected": state == "corrected",
        "minor": ruling == "stand" and state != "corrected",
        "compact": compact,
    }


#: Code of a status, ruling or reason -> (kind of badge, icon).
BADGES: Final[dict[str, tuple[str, str]]] = {
    "open": ("due", "open"),
    "closed": ("", "closed"),
    "voided": ("danger", "stop"),
    "unreadable": ("danger", "alert"),
    "corrected": ("ok", "corrected"),
    "decided": ("ok", "check"),
    "superseded": ("", "undo"),
    "stand": ("ok", "check"),
    "correct": ("due", "arrow"),
    "void hand": ("danger", "stop"),
    "void insurance": ("danger", "stop"),
    "void bet": ("danger", "stop"),
    "burn card": ("due", "out"),
    "reuse card": ("ok", "undo"),
    "cancel shoe": ("danger", "stop"),
    "replace shoe": ("danger", "stop"),
    "discretion": ("info", "person"),
    "finished": ("", "check"),
    "cancelled": ("danger", "stop"),
    "replaced": ("due", "undo"),
    "faulty": ("danger", "alert"),
}


@register.simple_tag
def badge(code: object, text: str = "", kind: str = "") -> SafeString:
    """A status or ruling as a chip of icon and words; ``text`` and ``kind`` (ok due danger info) for other codes."""
    name = str(code)
    look, drawing = BADGES.get(name, ("", "info"))
    words = text
    for known in (wording.STATUSES, wording.ACTIONS, wording.SHOE_REASONS):
        if not words and name in known:
            words = str(known[name])
    kind = kind or look
    return format_html(
        '<span class="badge{}">{}{}</span>', f" badge-{kind}" if kind else "", icon(drawing), words or name
    )


@register.simple_tag
def money(amount: Any, sign: bool = False) -> SafeString:
    """A decimal amount with its digits grouped; ``sign`` puts + before a gain. None is a dash."""
    return _money(get_language() or "en", "" if amount is None else str(amount), sign)


@lru_cache(maxsize=4096)
def _money(language: str, amount: str, sign: bool) -> SafeString:
    if not amount:
        return mark_safe('<span class="money">–</span>')
    try:
        value = Decimal(amount)
    except InvalidOperation:
        return format_html('<span class="money">{}</span>', amount)
    exponent = value.as_tuple().exponent
    places = max(2, -exponent) if isinstance(exponent, int) else 2
    text = number_format(abs(value), decimal_pos=places, use_l10n=True, force_grouping=True)
    before = "−" if value < 0 else "+" if sign and value > 0 else ""
    return format_html('<span class="money{}">{}{}</span>', " money-minus" if value < 0 else "", before, text)


@register.inclusion_tag("components/field.html")
def field_row(bound: BoundField, beside: bool = True) -> dict[str, Any]:
    """A form field: label, hint, control, and what is wrong with it beside it."""
    return {"field": bound, "beside": beside}


# Names, for templates.

for _name in (
    "finding_title",
    "finding_sentence",
    "action_name",
    "action_sentence",
    "place_name",
    "side_name",
    "winner_name",
    "bet_name",
    "event_name",
    "status_name",
    "shoe_reason_name",
    "moment_name",
    "scope_name",
    "face_name",
    "rank_name",
    "suit_name",
):
    register.filter(_name, getattr(wording, _name))
register.filter("card_name", card_name)


# People.

register.filter("may", lambda user, what: may(user, May(what)) if user else False)
register.filter("can_record", lambda user: may(user, May.RECORD) if user else False)
register.filter("can_supervise", lambda user: may(user, May.SUPERVISE) if user else False)
register.filter("can_decide", lambda user: may(user, May.DECIDE) if user else False)
register.filter("can_read", lambda user: may(user, May.READ) if user else False)


@register.filter
def role_name(user: Any) -> str:
    """What the person is here: the strongest role in words."""
    role = people.main_role(user)
    return wording.role_name(role) if role else _("No role")


@dataclass(frozen=True, slots=True)
class Section:
    """A place in the bar at the top."""

    name: str
    href: str
    icon: str
    current: bool
    exact: bool


@register.simple_tag(takes_context=True)
def navigation(context: Context) -> list[Section]:
    """The sections that the person may enter, as far as they are installed."""
    user, request = context.get("user"), context.get("request")
    if not user or not may(user, May.READ):
        return []
    offered = [("console:tables", _("Tables"), "table"), ("incidents:queue", _("Incidents"), "incident")]
    if may(user, May.OVERSEE):
        offered.append(("dealers:list", _("Dealers"), "person"))
        offered.append(("reports:list", _("Reports"), "report"))
    if may(user, May.ADMINISTER):
        offered.append(("admin:index", _("Master data"), "settings"))
    path = request.path if request else ""
    sections = []
    for name, words, drawing in offered:
        try:
            href = reverse(name)
        except NoReverseMatch:
            continue
        sections.append(Section(words, href, drawing, path.startswith(href), path == href))
    return sections
