"""The incident on one page of paper, to be signed: what it says as data, and the PDF that Typst makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from dealing import dates, wording
from dealing.console.limits import decimals
from dealing.rules.audit import HandAudit
from dealing.rules.judge import HandContext, HandFold
from dealing.templatetags.shapes import SUITS
from dealing.templatetags.table_tags import FeltSide, Laid, felt_pair, split_card
from incidents import rulings
from incidents.models import Decision, Incident, IncidentFinding, IncidentReview
from incidents.paper import make_pdf, plain
from incidents.selectors import Case

from .lines import places

TEMPLATE: Final = Path(settings.BASE_DIR) / "templates" / "incidents" / "incident.typ"

#: What one page holds; beyond it the sheet says how much it leaves out, and the incident page has it all.
FINDINGS, BETS, CHARACTERS = 5, 8, 300


def make_sheet(case: Case) -> bytes:
    """The PDF, one A4 page, in the language that is active."""
    return render(sheet(case))


def render(data: Mapping[str, Any]) -> bytes:
    """The PDF of what `sheet` says."""
    return make_pdf(TEMPLATE, data)


def sheet(case: Case) -> dict[str, Any]:
    """Everything that stands on the page, in words."""
    incident, decision, note = case.incident, case.decision, case.review
    zone = incident.table.venue.zone
    left_out = len(case.findings) - FINDINGS
    audit = case.fold.audit() if case.fold is not None else None
    return {
        "lang": get_language() or "en",
        "house": incident.table.venue.name,
        "title": _("Incident report"),
        "number": str(incident),
        "facts": [
            [_("Status"), str(incident.get_status_display())],
            [_("Raised"), _clock(incident.opened_at, zone)],
            [_("Rules"), case.ruleset.title(get_language() or "en") if case.ruleset else incident.ruleset],
            *_result(audit),
        ],
        "suits": SUITS,
        "felts": _felts(case),
        "findings_title": _("What went wrong"),
        "findings": _findings(case),
        "findings_more": ngettext(
            "%(n)d more finding stands on the incident page.",
            "%(n)d more findings stand on the incident page.",
            left_out,
        )
        % {"n": left_out}
        if left_out > 0
        else "",
        "nothing_wrong": _("The record was amended and nothing is left of this incident."),
        "decision_title": _("Decision"),
        "decision": _decision(decision, incident),
        "undecided": _("Not decided yet."),
        **_money(case, audit),
        "review_title": _("Review"),
        "review_short": _review(note, incident),
        "review_long": _review_long(note, incident),
        "signatures_title": _("Signatures"),
        "signatures": [
            [_("Dealer"), note.dealer_name if note else ""],
            [_("Supervisor"), note.supervisor_name if note else ""],
            [_("Manager"), decision.decided_by_name if decision else ""],
        ],
        "date": _("Date"),
        "foot": _("Printed %(time)s") % {"time": _clock(timezone.now(), zone)},
    }


def _clock(when: Any, zone: Any) -> str:
    return dates.moment(when.astimezone(zone))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return plain(text if len(text) <= CHARACTERS else text[: CHARACTERS - 1].rstrip() + "…")


def _amount(amount: Decimal | None) -> str:
    if amount is None:
        return "–"
    sign = "−" if amount < 0 else ""
    return sign + number_format(abs(amount), decimal_pos=max(2, decimals(amount)), use_l10n=True, force_grouping=True)


def _result(audit: HandAudit | None) -> list[list[str]]:
    if audit is None:
        return []
    if audit.status == "voided" or audit.result is None:
        return [[_("Hand"), wording.status_name(audit.status)]]
    result = audit.result
    totals = _("Player %(player)d, Banker %(banker)d") % {"player": result.player, "banker": result.banker}
    return [[_("Result by the rules"), f"{wording.winner_name(result.winner)} ({totals})"]]


def as_first_dealt(case: Case) -> HandAudit | None:
    """The judge's answer before the first decision touched the hand; None where there is no hand."""
    if case.fold is None or case.hand is None:
        return None
    decided = {seq for decision in case.decisions for seq in decision.events}
    events = []
    for seq, event in case.fold.trail:
        if seq in decided:
            break
        events.append((seq, event))
    return HandFold.of(HandContext.from_json(case.hand.context), events).audit()


def _felts(case: Case) -> list[dict[str, Any]]:
    audit = as_first_dealt(case)
    if audit is None:
        return []
    pair = felt_pair(
        places(audit.dealt),
        {**places(audit.correct), "next": audit.next_due},
        totals=audit.totals if audit.layout.drawn else None,
        winner=audit.result.winner if audit.result and audit.status != "voided" else None,
    )
    return [
        {
            "title": felt["title"],
            "sides": [_side(side, arrow) for side in felt["sides"]],
            "extra": [_card(laid, arrow) for laid in felt["extra"]],
            "extra_title": _("Extra"),
        }
        for felt, arrow in ((pair["as_dealt"], "→"), (pair["by_rules"], "←"))
    ]


def _side(side: FeltSide, arrow: str) -> dict[str, Any]:
    return {
        "letter": side.letter,
        "name": side.name + (f" · {_('wins')}" if side.won else ""),
        "total": "" if side.total is None else str(side.total),
        "places": [
            {"name": place.name, "due": place.due, "cards": [_card(laid, arrow) for laid in place.cards]}
            for place in side.places
        ],
    }


def _card(laid: Laid, arrow: str = "") -> dict[str, str]:
    """A card as it is drawn; `where`: where the other felt has it, after an arrow."""
    rank, suit = ("", "") if laid.card is None else split_card(laid.card)
    elsewhere = _("extra") if laid.elsewhere == "extra" else laid.elsewhere
    where = f"{arrow} {elsewhere}" if elsewhere else ""
    return {"rank": "10" if rank == "T" else rank, "suit": suit, "where": where}


def _findings(case: Case) -> list[dict[str, Any]]:
    """The findings; a rule that several of them cite is worded with the first."""
    out = [_finding(case, finding) for finding in case.findings[:FINDINGS]]
    worded: set[str] = set()
    for citation in (one for finding in out for one in finding["citations"]):
        if citation["rule"] in worded:
            citation["text"] = ""
        worded.add(citation["rule"])
    return out


def _finding(case: Case, finding: IncidentFinding) -> dict[str, Any]:
    language = get_language() or "en"
    cited = [case.ruleset.cite(rule, language) for rule in finding.rules] if case.ruleset else []
    if finding.state == IncidentFinding.State.CORRECTED:
        says = str(finding.get_state_display())
    elif finding.closed_by_rule:
        says = wording.action_name(rulings.STAND)
    else:
        says = (_("The rules require:") if finding.mandatory else _("The manager decides:")) + " "
        says += (" + " if finding.mandatory else " · ").join(map(wording.action_name, finding.options))
    return {
        "title": wording.finding_title(finding.code),
        "cards": [_card(Laid(None if card == "??" else card)) for card in finding.cards],
        "says": says,
        "citations": [
            {"rule": one.rule, "text": _cut(one.text), "document": one.document} for one in cited if one is not None
        ],
        "no_rule": "" if finding.rules else _("No documented rule covers this."),
    }


def _decision(decision: Decision | None, incident: Incident) -> dict[str, Any] | None:
    if decision is None:
        return None
    return {
        "actions": " + ".join(map(wording.action_name, decision.actions)),
        "departs": _("departs from the rules") if decision.departs else "",
        "reason": plain(decision.reason),
        "by": " · ".join(
            [
                _("Decision %(number)d") % {"number": decision.number},
                decision.decided_by_name,
                _clock(decision.decided_at, incident.table.venue.zone),
            ]
        ),
    }


def _money(case: Case, audit: HandAudit | None) -> Mapping[str, Any]:
    lines: Sequence[rulings.MoneyLine] = rulings.money(audit, audit, case.ruleset) if audit and case.ruleset else ()
    more = len(lines) - BETS
    return {
        "money_title": _("Money"),
        "money_head": [_("Bet"), _("Stake"), _("As dealt"), _("By the rules"), _("Stake back"), _("Paid so far")],
        "money": [
            [
                _("seat %(seat)d · %(bet)s") % {"seat": line.seat, "bet": wording.bet_name(line.bet)},
                *map(_amount, (line.stake, line.as_dealt, line.owed, line.returned, line.paid)),
            ]
            for line in lines[:BETS]
        ],
        "money_more": ngettext(
            "%(n)d more bet stands on the incident page.", "%(n)d more bets stand on the incident page.", more
        )
        % {"n": more}
        if more > 0
        else "",
    }


def _review(note: IncidentReview | None, incident: Incident) -> list[list[str]]:
    if note is None:
        return []
    facts = [
        [_("Whose error"), str(note.get_error_by_display()) if note.error_by else _("Not known yet")],
        [_("Dealer on duty"), note.dealer_name],
        [_("Supervisor on duty"), note.supervisor_name],
        [_("Second reviewer"), note.second_reviewer_name],
        [_("Camera"), plain(note.camera)],
        [_("Time of the video"), _clock(note.video_at, incident.table.venue.zone) if note.video_at else ""],
        [_("Money lost to the house"), _amount(note.money_lost) if note.money_lost is not None else ""],
        [_("Money saved for the house"), _amount(note.money_saved) if note.money_saved is not None else ""],
    ]
    return [fact for fact in facts if fact[1]]


def _review_long(note: IncidentReview | None, incident: Incident) -> list[list[str]]:
    facts = []
    if note is not None:
        done = _("Done") if note.follow_up_done else _("To do")
        facts += [
            [_("Follow-up"), f"{_cut(note.follow_up)} ({done})" if note.follow_up else ""],
            [_("Note"), _cut(note.note)],
        ]
    # Each with the beginning of its SHA-256: what is signed names the very file.
    files = [f"{file.name} ({file.sha256[:12]})" for file in incident.attachments.order_by("pk")]
    facts.append([_("Attachments"), _cut(", ".join(files))])
    return [fact for fact in facts if fact[1]]
