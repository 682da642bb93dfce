"""What the tests of the game say, in the language that is active: a verdict, a sentence for each flag, the frequencies.

`dealing.wording` names cards, bets and sides; a detail that a flag of an older report does not have is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from dealing import dates, wording

from .figures import Flag, Frequency, Game

#: What each test looks at (`statistics.TESTS`).
TESTS: Final[Mapping[str, Promise]] = {
    "ranks": gettext_lazy("Ranks of the cards, by shoe and by table"),
    "suits": gettext_lazy("Suits of the cards, by shoe and by table"),
    "frequency": gettext_lazy("Banker, ties, naturals and pairs, by shoe, by table and in the house"),
    "runs": gettext_lazy("How Banker and Player take turns, by table"),
    "streak": gettext_lazy("The longest streak of one side, by table"),
    "dealer": gettext_lazy("Hands with findings, by dealer"),
    "findings": gettext_lazy("Hands with findings, by table"),
    "commission": gettext_lazy("Bets paid without commission, by table"),
}

_FREQUENCIES: Final[Mapping[str, Promise]] = {
    "banker": pgettext_lazy("frequency", "Banker wins"),
    "player": pgettext_lazy("frequency", "Player wins"),
    "tie": pgettext_lazy("frequency", "Tie"),
    "natural": pgettext_lazy("frequency", "Natural"),
    "player_pair": pgettext_lazy("frequency", "Player pair"),
    "banker_pair": pgettext_lazy("frequency", "Banker pair"),
    "four_cards": pgettext_lazy("frequency", "Four cards"),
    "five_cards": pgettext_lazy("frequency", "Five cards"),
    "six_cards": pgettext_lazy("frequency", "Six cards"),
}

#: Of a fair table's frequencies these are shown for each table.
BY_TABLE: Final = ("banker", "player", "tie", "natural", "player_pair", "banker_pair")


@dataclass(frozen=True)
class FlagWords:
    """A flag: where, what was seen and expected, and how probable that is."""

    where: str
    said: str
    chance: str

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return f"{self.where}: {self.said} {self.chance}"


@dataclass(frozen=True)
class FrequencyWords:
    """A row of frequencies; shares are text with their per cent sign."""

    name: str
    count: str
    of: str
    share: str
    expected: str
    band: str
    outside: bool


@dataclass(frozen=True)
class GameWords:
    """All that is said of a night's game. `tables`: the code of each, its hands, and the shares of `columns`."""

    verdict: str
    clear: bool
    flags: Sequence[FlagWords]
    rows: Sequence[FrequencyWords]
    small: str
    method: str = ""
    columns: Sequence[str] = field(default_factory=list)
    tables: Sequence[tuple[str, str, list[str]]] = field(default_factory=list)


def game_words(game: Game) -> GameWords:
    """What is said of a night."""
    return GameWords(
        verdict(game),
        bool(game.tests and not game.flags),
        [flag_words(flag) for flag in game.flags],
        [_row(one) for one in game.frequencies],
        small_print(game),
        method_words(game),
        [frequency_name(name) for name in BY_TABLE],
        [_table(code, of) for code, of in sorted(game.by_table.items()) if of],
    )


def verdict(game: Game) -> str:
    """The answer in one sentence."""
    if game.flags:
        return ngettext(
            "Chance does not explain %(n)d thing.", "Chance does not explain %(n)d things.", len(game.flags)
        ) % {"n": len(game.flags)}
    if not game.tests:
        return _("Too little was dealt to say whether the game is right.")
    return _("Nothing here that chance does not explain.")


def small_print(game: Game) -> str:
    """How it was judged, in plain words; empty where nothing was tested."""
    if not game.tests:
        return ""
    said = _(
        "A thing is named here only where chance hardly explains it: of 100 nights of honest play, at most %(share)s "
        "would show anything at all. Of 20 results listed, one lies outside its usual range by chance alone."
    ) % {"share": _number(game.share * 100, 1 if game.share * 100 % 1 else 0)}
    if game.left_out:
        more = ngettext(
            "The cards of %(n)s shoe were too few or not known.",
            "The cards of %(n)s shoes were too few or not known.",
            game.left_out,
        ) % {"n": _number(game.left_out)}
        said = f"{said} {more}"
    return said


def method_words(game: Game) -> str:
    """The names of the methods, for who wants to check them; empty where nothing was tested."""
    if not game.tests:
        return ""
    tests = ngettext("%(n)s test", "%(n)s tests", game.tests) % {"n": _number(game.tests)}
    shoes = ngettext("%(n)s shoe", "%(n)s shoes", game.shoes) % {"n": _number(game.shoes)}
    return _("%(tests)s of %(shoes)s, judged together (%(method)s). The ranges hold 95 %% of fair nights each.") % {
        "tests": tests,
        "shoes": shoes,
        "method": game.method,
    }


def frequency_name(name: str) -> str:
    """`banker` → Banker wins."""
    return str(_FREQUENCIES.get(name, name))


def test_name(test: str) -> str:
    """What a test looks at."""
    return str(TESTS.get(test, test))


def flag_words(flag: Flag) -> FlagWords:
    """A flag in words."""
    say = _SAID.get(flag.test)
    return FlagWords(_where(flag), say(flag) if say else _unnamed(flag), _chance(flag))


def _where(flag: Flag) -> str:
    """`B07 shoe 3`; in a monthly report with its day."""
    if flag.dealer:
        place = _("Dealer %(dealer)s") % {"dealer": flag.dealer}
    elif not flag.table:
        place = _("The house")
    elif flag.shoe is None:
        place = flag.table
    else:
        place = _("%(table)s shoe %(shoe)d") % {"table": flag.table, "shoe": flag.shoe}
    return f"{dates.day(flag.day)} {place}" if flag.day else place


def _chance(flag: Flag) -> str:
    return {
        "shoe": _("Chance of that in a fair shoe: %(chance)s."),
        "table": _("Chance of that at a fair table: %(chance)s."),
        "dealer": _("Chance of that if all deal alike: %(chance)s."),
    }.get(flag.subject, _("Chance of that on a fair night: %(chance)s.")) % {"chance": chance(flag.p)}


def chance(p: float) -> str:
    """`about 1 in 2,300`, `less than 1 in 10 million`."""
    if p < 1e-7:
        return _("less than 1 in 10 million")
    one_in = 1 / p
    digits = max(0, len(str(int(one_in))) - 2)
    return _("about 1 in %(n)s") % {"n": _number(round(one_in, -digits))}


def _expected(flag: Flag) -> str:
    low, high = flag.detail.get("low"), flag.detail.get("high")
    if low is None or high is None:
        return _number(flag.expected, 1)
    return _("%(low)s to %(high)s") % {"low": _number(low), "high": _number(high)}


def _cards(flag: Flag) -> str:
    detail = flag.detail
    values = {"n": _number(flag.observed), "expected": _expected(flag), "seen": _number(detail.get("seen", 0))}
    if flag.test == "ranks":
        values["card"] = wording.rank_name(detail.get("rank", ""))
        said = _("Cards of rank %(card)s seen: %(n)s, expected: %(expected)s.") % values
    else:
        values["card"] = wording.suit_name(detail.get("suit", ""))
        said = _("Cards of suit %(card)s seen: %(n)s, expected: %(expected)s.") % values
    if flag.subject == "table" and "shoes" in detail:
        said += " " + ngettext("In %(n)d shoe together.", "In %(n)d shoes together.", detail["shoes"]) % {
            "n": detail["shoes"]
        }
    return said


def _frequency(flag: Flag) -> str:
    detail = flag.detail
    values = {
        "what": frequency_name(detail.get("name", "")),
        "n": _number(flag.observed),
        "of": _number(detail.get("of", 0)),
        "expected": _expected(flag),
    }
    if detail.get("name") == "banker":
        return _("%(what)s: %(n)s of %(of)s hands without ties, expected: %(expected)s.") % values
    return _("%(what)s: %(n)s of %(of)s hands, expected: %(expected)s.") % values


def _runs(flag: Flag) -> str:
    values = {"n": _number(flag.observed), "expected": _number(flag.expected), "of": _number(flag.detail.get("of", 0))}
    if flag.observed < flag.expected:
        return (
            _("Banker and Player take turns too seldom: %(n)s streaks in %(of)s hands, expected: %(expected)s.")
            % values
        )
    return _("Banker and Player take turns too often: %(n)s streaks in %(of)s hands, expected: %(expected)s.") % values


def _streak(flag: Flag) -> str:
    values = {
        "side": wording.side_name(flag.detail.get("side", "")),
        "n": _number(flag.observed),
        "of": _number(flag.detail.get("of", 0)),
    }
    return _("%(side)s won %(n)s hands in a row (%(of)s hands without ties).") % values


def _findings(flag: Flag) -> str:
    detail = flag.detail
    values = {"n": _number(flag.observed), "expected": _number(flag.expected, 1)}
    if "hands" not in detail:
        return _("Hands with findings: %(n)s, expected: %(expected)s.") % values
    values["of"] = _number(detail["hands"])
    said = _("Hands with findings: %(n)s of %(of)s, expected: %(expected)s.") % values
    if detail.get("others"):
        rest = {"n": _number(detail["others_found"]), "of": _number(detail["others"])}
        said += " " + _("The rest of the house: %(n)s of %(of)s.") % rest
    return said


def _commission(flag: Flag) -> str:
    detail: Mapping[str, Any] = flag.detail
    values = {
        "bet": wording.bet_name(detail.get("bet", "banker")),
        "n": _number(flag.observed),
        "expected": _number(flag.expected, 1),
    }
    if "of" not in detail:
        return _("Winning bets on %(bet)s paid without commission: %(n)s.") % values
    values["of"] = _number(detail["of"])
    return (
        _("Winning bets on %(bet)s paid without commission: %(n)s of %(of)s; forgetting explains %(expected)s.")
        % values
    )


def _unnamed(flag: Flag) -> str:
    values = {"test": flag.test, "n": _number(flag.observed, 1), "expected": _number(flag.expected, 1)}
    return _("%(test)s: %(n)s, expected: %(expected)s.") % values


_SAID: Final[Mapping[str, Callable[[Flag], str]]] = {
    "ranks": _cards,
    "suits": _cards,
    "frequency": _frequency,
    "runs": _runs,
    "streak": _streak,
    "dealer": _findings,
    "findings": _findings,
    "commission": _commission,
}


def _row(one: Frequency) -> FrequencyWords:
    share = one.count / one.of if one.of else 0.0
    return FrequencyWords(
        frequency_name(one.name),
        _number(one.count),
        _number(one.of),
        percent(share),
        percent(one.probability, 2),
        f"{_number(one.low * 100, 1)}–{percent(one.high)}",
        outside(one),
    )


def outside(one: Frequency) -> bool:
    """Whether what was seen lies outside the band."""
    share = one.count / one.of if one.of else one.probability
    return not one.low - 1e-9 <= share <= one.high + 1e-9


def _table(code: str, of: Sequence[Frequency]) -> tuple[str, str, list[str]]:
    by_name = {one.name: one for one in of}
    shares = [
        percent(by_name[name].count / by_name[name].of) if name in by_name and by_name[name].of else "–"
        for name in BY_TABLE
    ]
    return code, _number(max(one.of for one in of)), shares


def percent(share: float, digits: int = 1) -> str:
    """`45.9 %`."""
    return f"{_number(share * 100, digits)}\N{NO-BREAK SPACE}%"


def _number(value: float, digits: int = 0) -> str:
    return number_format(round(value, digits), decimal_pos=digits, use_l10n=True, force_grouping=True)
