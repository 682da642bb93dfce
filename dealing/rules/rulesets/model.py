"""What a ruleset is once it is read: its rules, what each says of a finding, what it offers, and how it deals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, get_args

from dealing.rules.bets import BetOffer, Money
from dealing.rules.cards import BURN_COUNTS, Card
from dealing.rules.findings import CATALOGUE, DISCRETION
from dealing.rules.insurance import InsuranceTable

BurnBy = Literal["first-card", "decks", "fixed", "none"]
BURN_BY: Final[tuple[BurnBy, ...]] = get_args(BurnBy)


class Citation(NamedTuple):
    """A rule as it is shown: its id, its text, and where it stands.

    ``document`` is the name of the document the rule comes from; ``ruleset`` the title of the ruleset that applies it;
    ``adopted`` is True where the two differ, and then both are to be named.
    """

    rule: str
    text: str
    document: str
    ruleset: str
    adopted: bool


class Ruling(NamedTuple):
    """What a ruleset says of a finding: the rule ids cited, the ruling, the manager's options, and shoe measures
    allowed. ``freezes_bets``: bets may not be changed from then on.
    """

    rules: tuple[str, ...]
    ruling: str
    options: tuple[str, ...]
    measures: tuple[str, ...]
    freezes_bets: bool = False

    @property
    def mandatory(self) -> bool:
        """True where the rule leaves nothing to choose."""
        return self.ruling != DISCRETION


class Said(NamedTuple):
    """A rule's word on one finding."""

    ruling: str
    options: tuple[str, ...]
    freezes_bets: bool = False


class Rule(NamedTuple):
    """One rule of a document, restated; ``text`` and ``document`` by language."""

    id: str
    owner: str
    section: int
    text: Mapping[str, str]
    document: Mapping[str, str]
    rulings: Mapping[str, Said]
    measures: tuple[str, ...]


class Burn(NamedTuple):
    """How many cards are burned when a shoe is started: as the first card shows, one for each deck, a fixed
    number (``fixed``), or no rule of it. ``rule`` is the rule that says so, empty where none does.
    """

    by: BurnBy = "first-card"
    fixed: int = 0
    rule: str = ""

    def due(self, first: Card | None, decks: int) -> int | None:
        """The number of cards to burn; None where there is no rule, or while the first card is not known."""
        if self.by == "first-card":
            return None if first is None else BURN_COUNTS[first.rank]
        return {"decks": decks, "fixed": self.fixed}.get(self.by)

    def missing(self, first: Card | None, burned: int | None) -> bool:
        """Whether something of it was left out when the first hand begins."""
        return self.by != "none" and (burned is None or (self.by == "first-card" and first is None))


class CutCardRule(NamedTuple):
    """How many hands are dealt after the one in which, or before which, the cut card came out."""

    more_hands: int = 0
    rule: str = ""


class FreeHands(NamedTuple):
    """How many hands without betting may be dealt at the start of a shoe."""

    most: int
    rule: str


class Procedure(NamedTuple):
    """How a house deals, where houses differ.

    ``free_hands`` None: hands without betting mean nothing. ``standing_player``: what becomes of a card drawn for a
    Player who must stand while Banker draws: it is ``banker``'s third card, or ``rejected``. ``raises``: findings of
    the catalogue that are raised only on request, beside those that a rule speaks of.
    """

    burn: Burn = Burn()
    cut_card: CutCardRule = CutCardRule()
    free_hands: FreeHands | None = None
    standing_player: str = "banker"
    raises: frozenset[str] = frozenset()


STANDING_PLAYER: Final = ("banker", "rejected")


class Ruleset:
    """A house's rules: what it offers, pays and rules. Get one with :func:`dealing.rules.rulesets.get_ruleset`."""

    __slots__ = ("_raised", "_rulings", "bets", "decks", "insurance", "money", "name", "procedure", "rules", "titles")

    def __init__(
        self,
        name: str,
        titles: Mapping[str, str],
        decks: int,
        money: Money,
        bets: Mapping[str, BetOffer],
        insurance: InsuranceTable,
        rules: Mapping[str, Rule],
        procedure: Procedure,
    ) -> None:
        self.name = name
        self.titles = titles
        self.decks = decks
        self.money = money
        self.bets = bets
        self.insurance = insurance
        #: The rules in force by id: own ones first, then adopted ones.
        self.rules = rules
        self.procedure = procedure
        self._rulings: dict[tuple[str, ...], Ruling] = {}
        spoken_of = {key.partition(":")[0] for rule in rules.values() for key in rule.rulings}
        self._raised = procedure.raises | spoken_of

    def title(self, lang: str = "en") -> str:
        """The ruleset's name for people."""
        return self.titles.get(lang, self.titles["en"])

    def cite(self, rule_id: str, lang: str = "en") -> Citation | None:
        """A rule with its text and document; None where the ruleset has no such rule."""
        rule = self.rules.get(rule_id)
        if rule is None:
            return None
        text = rule.text.get(lang, rule.text["en"])
        document = rule.document.get(lang, rule.document["en"])
        return Citation(rule_id, text, document, self.title(lang), rule.owner != self.name)

    def raises(self, code: str) -> bool:
        """Whether a finding is raised here: all but those that only some houses ask for, and of the burn where there
        is no rule of it.
        """
        if code in ("burn-missing", "burn-count-wrong"):
            return self.procedure.burn.by != "none"
        return not CATALOGUE[code].optional or code in self._raised

    def ruling_for(self, code: str, *cases: str) -> Ruling:
        """What the rules say of a finding ``code`` in its variants (see :mod:`dealing.rules.findings`): the first of
        ``cases`` that a rule speaks of, else the code as such.

        Where none speaks the ruling is the catalogue's (``discretion``), with no rule to cite (rulebook 7.2).
        """
        key = (code, *cases)
        ruling = self._rulings.get(key)
        if ruling is None:
            self._rulings[key] = ruling = self._find(code, cases)
        return ruling

    def payout_ruling(self, bet: str) -> Ruling:
        """What the rules say of a wrong payout: the bet's own PAY rule is cited, the payout is put right."""
        offer = self.bets.get(bet)
        if offer is None:
            return Ruling((), DISCRETION, CATALOGUE["payout-wrong"].options, ())
        return Ruling((offer.rule,), "correct", ("correct",), ())

    def _find(self, code: str, cases: tuple[str, ...]) -> Ruling:
        for key in (*(f"{code}:{case}" for case in cases if case), code):
            for rule in self.rules.values():
                if key in rule.rulings:
                    said = rule.rulings[key]
                    return Ruling((rule.id,), said.ruling, said.options, rule.measures, said.freezes_bets)
        kind = CATALOGUE[code]
        return Ruling((), kind.unruled, kind.options, ())

    def __repr__(self) -> str:
        return f"<Ruleset {self.name}>"
