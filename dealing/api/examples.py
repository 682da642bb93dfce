"""What answers look like, for the description of the API."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import OpenApiExample

SITE: Final = "https://audit.example"
API: Final = f"{SITE}/api/v1"
TABLE_LINK: Final = f"{API}/tables/B07/"
SHOE_LINK: Final = f"{TABLE_LINK}shoes/3/"
HAND_LINK: Final = f"{SHOE_LINK}hands/12/"

FINDING_OF_HAND: Final[dict[str, Any]] = {
    "code": "fifth-card-misplaced",
    "seq": [2031],
    "cards": ["6h"],
    "state": "open",
    "rules": ["MIS-02"],
    "ruling": "correct",
    "options": ["correct", "void hand"],
    "mandatory": True,
}

HAND: Final = OpenApiExample(
    "A fifth card on the wrong side",
    value={
        "table": "B07",
        "shoe": 3,
        "hand": 12,
        "status": "open",
        "dealt": {"P": ["2h", "3d"], "B": ["4s", "Kc", "6h"], "extra": []},
        "correct": {"P": ["2h", "3d", "6h"], "B": ["4s", "Kc"], "extra": [], "next": "B3"},
        "result": None,
        "findings": [FINDING_OF_HAND],
        "ruling": "correct",
        "settlement": [{"seat": 2, "bet": "banker", "stake": "1000.00", "owed": None, "returned": None}],
        "venue": "RIVER",
        "ruleset": "commission",
        "first_seq": 2025,
        "last_seq": 2031,
        "started_at": "2026-07-11T21:14:03.120+07:00",
        "closed_at": None,
        "links": {
            "self": HAND_LINK,
            "table": TABLE_LINK,
            "shoe": SHOE_LINK,
            "events": f"{TABLE_LINK}events/?shoe=3&hand=12",
            "page": f"{SITE}/tables/B07/3/12/",
        },
    },
    response_only=True,
)

EVENT: Final = OpenApiExample(
    "A card",
    value={
        "table": "B07",
        "seq": 2031,
        "line": '{"event":"card","at":"2026-07-11T21:14:51.480+07:00","table":"B07","shoe":3,"hand":12,'
        '"to":"B3","card":"6h"}',
        "event": {
            "event": "card",
            "at": "2026-07-11T21:14:51.480+07:00",
            "table": "B07",
            "shoe": 3,
            "hand": 12,
            "to": "B3",
            "card": "6h",
        },
        "actor": "device:SHOE-7",
        "recorded_at": "2026-07-11T14:14:51.502113+00:00",
        "prev_hash": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
        "hash": "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
    },
    response_only=True,
)

FINDING: Final = OpenApiExample(
    "A fifth card on the wrong side",
    value={
        **FINDING_OF_HAND,
        "table": "B07",
        "venue": "RIVER",
        "shoe": 3,
        "hand": 12,
        "at": "2026-07-11T21:14:51.480+07:00",
        "links": {"table": TABLE_LINK, "shoe": SHOE_LINK, "hand": HAND_LINK},
    },
    response_only=True,
)
