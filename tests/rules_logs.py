"""Table logs in a shorthand, for the tests of the judge.

A log is a text of tokens, each one event; ``*`` before a token marks the event a finding should point at.

=====================  ==============================================================================================
``open`` ``close``     betting opened, closed
``bet:1:banker=100``   a bet of seat 1
``P1:9h`` ``B3:Kd-``   a card, face up, or face down (``B3:-``: face down and not known)
``up:B3:Kd``           opened
``x:9h`` ``x:9h-``     an extra card, face up, face down (``x:-``: not known)
``seen:drawing``       exposed; ``seen:drawing:9h:P3`` names the card and its place
``B3>P3``              moved
``out:B3`` ``out:x``   discarded: a place, an extra card
``drop:drawing``       dropped unopened; ``drop!opening:9h`` dropped after it was opened
``ins:1`` ``/ins:1``   insurance opened, closed
``odds:banker=1.5``    odds put up; ``odds:banker@player=1.5``: on the player's spot
``call:player``        called; ``call:tie:4-4`` with totals (player first)
``pay:1:banker=95``    paid
``end``                hand closed
``void:hand``          voided (``void:insurance``)
``cut``                the cut card within the hand; ``|cut`` between hands
``hand:2``             what follows belongs to hand 2; ``late:1`` likewise, for events on a hand already left
``shoe:2``             what follows belongs to shoe 2 (and to no hand)
``shoe-open``          ``shoe-open:insurance`` shoe opened; ``shoe-end:finished`` closed
``burn:5h``            burn card; ``burned:5`` cards burned
``|seen:burn``         exposed, of the shoe; ``|drop:start`` dropped, of the shoe
``fix:9=P1:8h``        amended: event 9 reads like this; ``fix:9`` withdraws it
=====================  ==============================================================================================
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from dealing.rules.events import Event, EventError, format_event, parse_event, parse_line
from dealing.rules.judge import FoldedTable, HandAudit, ShoeAudit, fold_all

TABLE = "B07"
START = dt.datetime(2026, 11, 28, 20, 0, 0, tzinfo=dt.timezone(dt.timedelta(hours=7)))

#: A started shoe, as most hands need one: three events, so the hand's first is number 4.
PRELUDE = "shoe-open:{ruleset} burn:5h burned:5 hand:1"


def log(text: str, ruleset: str = "commission", prelude: bool = True) -> tuple[list[tuple[int, Event]], list[int]]:
    """The numbered events of a shorthand text, and the numbers of the marked ones."""
    tokens = f"{PRELUDE if prelude else ''} {text}".format(ruleset=ruleset).split()
    events: list[tuple[int, Event]] = []
    marked: list[int] = []
    shoe, hand = 1, None
    for token in tokens:
        word, _, rest = token.partition(":")
        if word == "shoe":
            shoe, hand = int(rest), None
        elif word in {"hand", "late"}:
            hand = int(rest)
        else:
            seq = len(events) + 1
            if token.startswith("*"):
                marked.append(seq)
                token = token[1:]
            at = (START + dt.timedelta(seconds=seq)).isoformat(timespec="milliseconds")
            events.append((seq, parse_event(_line(token, {"at": at, "table": TABLE, "shoe": shoe}, hand, events))))
    return events, marked


def _line(token: str, common: dict[str, Any], hand: int | None, events: list[tuple[int, Event]]) -> dict[str, Any]:
    word, *rest = token.replace("=", ":").split(":")
    of_hand = common if hand is None else {**common, "hand": hand}
    if "!" in word:
        word, _, when = word.partition("!")
        rest = [when, *rest]
    match word, rest:
        case "shoe-open", [ruleset, *decks]:
            return {"event": "shoe_opened", **common, "ruleset": ruleset, **({"decks": int(decks[0])} if decks else {})}
        case "shoe-end", [reason]:
            return {"event": "shoe_closed", **common, "reason": reason}
        case "burn", [card]:
            return {"event": "burn_card", **common, "card": card}
        case "burned", [count]:
            return {"event": "cards_burned", **common, "count": int(count)}
        case "|cut", []:
            return {"event": "cut_card", **common}
        case "cut", []:
            return {"event": "cut_card", **of_hand}
        case "open", []:
            return {"event": "betting_opened", **of_hand}
        case "close", []:
            return {"event": "betting_closed", **of_hand}
        case "bet", [seat, bet, stake]:
            return {"event": "bet", **of_hand, "seat": int(seat), "bet": bet, "stake": stake}
        case "up", [place, card]:
            return {"event": "opened", **of_hand, "place": place, "card": card}
        case "x", [card]:
            return {"event": "extra", **of_hand, **_card(card)}
        case (("seen" | "|seen"), [when, *more]):
            keys = dict(zip(("card", "place"), more, strict=False))
            return {"event": "exposed", **(common if word[0] == "|" else of_hand), "when": when, **keys}
        case (("drop" | "|drop"), [when, *more]):
            keys = dict(zip(("card",), more, strict=False))
            base = common if word[0] == "|" else of_hand
            return {"event": "dropped", **base, "when": when, "opened": "!" in token, **keys}
        case "out", ["x"]:
            return {"event": "discarded", **of_hand, "extra": True}
        case "out", [place]:
            return {"event": "discarded", **of_hand, "place": place}
        case "ins", [window]:
            return {"event": "insurance_opened", **of_hand, "window": int(window)}
        case "/ins", [window]:
            return {"event": "insurance_closed", **of_hand, "window": int(window)}
        case "odds", [side, odds]:
            side, _, placed = side.partition("@")
            return {"event": "insurance_odds", **of_hand, "side": side, "placed": placed or side, "odds": odds}
        case "call", [winner, *totals]:
            said = _totals(totals[0]) if totals else {}
            return {"event": "called", **of_hand, "winner": winner, **said}
        case "pay", [seat, bet, amount]:
            return {"event": "paid", **of_hand, "seat": int(seat), "bet": bet, "amount": amount}
        case "end", []:
            return {"event": "hand_closed", **of_hand}
        case "void", [scope]:
            return {"event": "voided", **of_hand, "scope": scope, "reason": "decided at the table"}
        case "fix", [seq, *new]:
            old = events[int(seq) - 1][1]
            base = {**common, "shoe": old.shoe} | ({} if old.hand is None else {"hand": old.hand})
            line = {"event": "amended", **base, "seq": int(seq), "reason": "typed wrongly"}
            if new:
                at = old.at.isoformat(timespec="milliseconds")
                line["entry"] = _line(token.split("=", 1)[1], {**base, "at": at}, old.hand, events)
                if not old.hand:
                    line["entry"].pop("hand", None)
            return line
        case (("P1" | "P2" | "P3" | "B1" | "B2" | "B3"), [card]):
            return {"event": "card", **of_hand, "to": word, **_card(card)}
        case _ if ">" in word and not rest:
            source, _, to = word.partition(">")
            return {"event": "moved", **of_hand, "from": source, "to": to}
    raise AssertionError(f"no event is written {token!r}")


def _totals(text: str) -> dict[str, int]:
    player, banker = text.split("-")
    return {"player": int(player), "banker": int(banker)}


def _card(text: str) -> dict[str, Any]:
    if text == "-":
        return {"face": "down"}
    if text.endswith("-"):
        return {"card": text[:-1], "face": "down"}
    return {"card": text}


@dataclass
class Judged:
    """One hand of a judged log, and the numbers of the log's marked events."""

    hand: HandAudit
    marked: list[int]
    table: FoldedTable
    events: list[tuple[int, Event]] = field(repr=False)

    @property
    def json(self) -> dict[str, Any]:
        """The hand as ``audit_log`` prints it."""
        return self.hand.as_dict()

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.hand.findings]

    def finding(self, code: str) -> dict[str, Any]:
        """The one finding with this code, as the audit prints it (without the code)."""
        found = [finding.as_dict() for finding in self.hand.findings if finding.code == code]
        assert len(found) == 1, f"{len(found)} findings {code} in {self.codes}"
        assert found[0].pop("code") == code
        return found[0]

    @property
    def shoe(self) -> ShoeAudit:
        """The first shoe of the log."""
        return next(audit for audit in self.table.audits if isinstance(audit, ShoeAudit))


def judge(text: str, ruleset: str = "commission", hand: int = 1, shoe: int = 1, prelude: bool = True) -> Judged:
    """Judge a shorthand log and give one of its hands."""
    events, marked = log(text, ruleset, prelude)
    folded = fold_all(TABLE, events)
    audit = next(a for a in folded.audits if isinstance(a, HandAudit) and (a.shoe, a.hand) == (shoe, hand))
    return Judged(audit, marked, folded, events)


__all__ = ["TABLE", "EventError", "Judged", "format_event", "judge", "log", "parse_line"]
