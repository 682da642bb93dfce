"""The catalogue of findings: everything that can be wrong with a hand or a shoe, and the vocabulary of rulings.

What a finding *means* (its rule and ruling) belongs to the ruleset; the catalogue only knows what may be raised, which
variants a ruleset may tell apart, and what a manager may choose where no documented rule speaks (rulebook section 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

State = Literal["open", "corrected"]

#: Rulings on a hand, strongest first (rulebook 7.3).
RULINGS: Final[tuple[str, ...]] = (
    "void hand",
    "void insurance",
    "void bet",
    "correct",
    "burn card",
    "reuse card",
    "stand",
)
DISCRETION: Final = "discretion"
#: Measures that act on the shoe and stand beside a hand's ruling (rulebook 7.3).
SHOE_MEASURES: Final[tuple[str, ...]] = ("cancel shoe", "replace shoe")


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One finding code.

    ``cases`` are the variants that a ruleset may rule on separately as ``code:case``; ``unruled`` is the ruling and the
    options where no rule of the ruleset speaks. Of the cases in ``always`` one always holds. An ``optional`` finding is
    raised only where a rule of the ruleset speaks of it, or the ruleset asks for it.
    """

    code: str
    options: tuple[str, ...]
    unruled: str = DISCRETION
    cases: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    optional: bool = False


_KINDS: Final = (
    FindingKind("initial-card-misplaced", ("correct", "void hand")),
    # player-stands: the card was drawn for a Player who must stand, and belongs to Banker
    FindingKind("fifth-card-misplaced", ("correct", "void hand"), cases=("player-stands",)),
    FindingKind("sixth-card-misplaced", ("correct", "void hand")),
    # player-stands: the same, and Banker draws none either
    FindingKind(
        "card-overdrawn",
        ("burn card", "reuse card", "void hand"),
        cases=("player-stands", "up", "down"),
        always=("up", "down"),
    ),
    FindingKind("card-not-drawn", ("correct", "void hand")),
    # betting: before betting was closed; together: with a card of the hand, while one was still due
    FindingKind("extra-card-exposed", ("burn card", "void hand"), cases=("betting", "together")),
    FindingKind("extra-card-unseen", ("reuse card", "burn card", "void hand"), cases=("together",), optional=True),
    FindingKind("held-card-not-dealt", ("stand", "void hand"), optional=True),
    FindingKind("exposed-during-betting", ("stand", "void hand")),
    FindingKind("dealt-during-betting", ("stand", "void hand")),
    FindingKind("exposed-during-draw", ("stand", "burn card", "void hand")),
    FindingKind("exposed-at-start", ("stand",)),
    FindingKind("opened-out-of-turn", ("stand", "correct")),
    FindingKind("insurance-not-due", ("stand", "void insurance")),
    FindingKind("insurance-dealt-early", ("stand", "void insurance")),
    FindingKind("insurance-odds-missing", ("stand", "void insurance")),
    FindingKind("insurance-odds-misplaced", ("stand", "void insurance")),
    FindingKind("insurance-odds-wrong", ("stand", "void insurance")),
    FindingKind("insurance-late-bet", ("stand", "void insurance")),
    FindingKind("wrong-result-called", ("correct", "void hand")),
    # frozen: after a card was seen with which bets may not be changed any more
    FindingKind("bet-after-close", ("stand", "void bet"), cases=("frozen",)),
    FindingKind("opposing-bets", ("void bet", "stand")),
    FindingKind("side-bet-after-limit", ("void bet", "stand")),
    # A bet that is not on the layout has no odds: there is nothing to leave standing.
    FindingKind("bet-not-offered", ("void bet",), unruled="void bet"),
    FindingKind("payout-wrong", ("correct",)),
    FindingKind("card-dropped", ("reuse card", "void hand")),
    FindingKind("card-dropped-opened", ("void hand", "replace shoe")),
    FindingKind("card-scan-differs", ("stand", "void hand"), optional=True),
    FindingKind("burn-missing", ("stand", "replace shoe"), cases=("before-first-hand",)),
    FindingKind("burn-count-wrong", ("stand", "replace shoe"), cases=("before-first-hand",)),
    FindingKind("free-hand-over-limit", ("stand",), optional=True),
    FindingKind("hand-after-last", ("stand", "void hand")),
    FindingKind("card-impossible", ("void hand", "replace shoe")),
    FindingKind("hand-incomplete", ("correct", "void hand")),
)

#: Every finding by its code, in the order of the catalogue.
CATALOGUE: Final[dict[str, FindingKind]] = {kind.code: kind for kind in _KINDS}

#: A misplaced card or an opening out of turn makes insurance impossible while it stands (INS-void).
SPOILS_INSURANCE: Final = frozenset(
    {"initial-card-misplaced", "fifth-card-misplaced", "sixth-card-misplaced", "opened-out-of-turn"}
)

#: Findings of a card beyond the hand: where a rule says ``reuse card`` of one, the card is kept for the next hand.
KEPT: Final = frozenset({"card-overdrawn", "extra-card-exposed", "extra-card-unseen"})
