"""What answers about incidents look like, for the description of the API."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import OpenApiExample

from dealing.api.examples import API, FINDING_OF_HAND, HAND_LINK, SHOE_LINK, SITE, TABLE_LINK

_CITATION: Final[dict[str, Any]] = {
    "rule": "MIS-02",
    "text": {"en": "A fifth card on the wrong side is moved to where it belongs.", "th": "…"},
    "document": {"en": "House rules", "th": "…"},
    "ruleset": {"en": "Commission baccarat", "th": "…"},
    "adopted": False,
}
_INCIDENT: Final = f"{API}/incidents/17/"
_DECISION: Final[dict[str, Any]] = {
    "incident": 17,
    "number": 1,
    "table": "B07",
    "venue": "RIVER",
    "shoe": 3,
    "hand": 12,
    "actions": ["correct"],
    "reason": "",
    "departs": False,
    "in_force": True,
    "findings": [{**FINDING_OF_HAND, "citations": [_CITATION]}],
    "events": [2032],
    "decided_by": "malee",
    "decided_by_name": "Malee S.",
    "decided_at": "2026-07-11T21:16:20.003+07:00",
    "links": {"self": f"{_INCIDENT}decisions/1/", "incident": _INCIDENT},
}

DECISION: Final = OpenApiExample("The card is moved", value=_DECISION, response_only=True)

INCIDENT: Final = OpenApiExample(
    "A fifth card on the wrong side",
    value={
        "id": 17,
        "table": "B07",
        "venue": "RIVER",
        "shoe": 3,
        "hand": 12,
        "ruleset": "commission",
        "status": "decided",
        "opened_at": "2026-07-11T21:14:51.480+07:00",
        "opened_seq": 2031,
        "version": 2,
        "findings": [{**FINDING_OF_HAND, "state": "corrected", "closed_by_rule": None}],
        "recommendation": {
            "headline": "correct",
            "mandatory": ["correct"],
            "options": ["void hand"],
            "measures": [],
            "undocumented": [],
            "citations": [_CITATION],
        },
        "decision": _DECISION,
        "links": {
            "self": _INCIDENT,
            "table": TABLE_LINK,
            "shoe": SHOE_LINK,
            "hand": HAND_LINK,
            "decisions": [f"{_INCIDENT}decisions/1/"],
            "page": f"{SITE}/incidents/17/",
        },
    },
    response_only=True,
)
