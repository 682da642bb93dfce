"""What the trail keeps of a row: its columns, as canonical JSON, so that a change of any of them shows.

An entry is held against the columns that it names: columns that a later version adds say nothing of older entries.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from decimal import Decimal
from typing import Any, Final

#: The columns of each kind, by attribute. `figures` and `statement` are kept as SHA-256 over their canonical JSON.
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "incident": (
        *("table_id", "shoe_number", "hand_number", "ruleset", "status", "opened_at", "opened_seq", "version"),
    ),
    "decision": (
        *("incident_id", "number", "actions", "reason", "departs", "rulings", "decided_by_id", "decided_by_name"),
        *("decided_at", "supersedes_id", "events"),
    ),
    "review": (
        *("incident_id", "number", "error_by", "dealer_id", "dealt_by_id", "dealer_name", "supervisor_id"),
        *("supervisor_name", "camera", "video_at", "second_reviewer_id", "second_reviewer_name", "money_lost"),
        *("money_saved", "follow_up", "follow_up_done", "note", "written_by_id", "written_by_name", "written_at"),
    ),
    "attachment": (
        *("incident_id", "name", "caption", "media_type", "size", "sha256", "stored", "added_by_id"),
        *("added_by_name", "added_at"),
    ),
    "report": (
        *("venue_id", "kind", "day", "revision", "run_id", "cause", "made_at", "hands", "events", "findings"),
        *("attention", "flags", "chain_whole", "figures"),
    ),
    "shift": ("table_id", "dealer_id", "started_at", "ended_at", "recorded_by"),
    "signed": ("venue_id", "number", "signed_at", "report_id", "statement", "signature"),
}


#: So begins the payload of a row that is older than the trail.
ADOPTED: Final = '{"adopted":true,'


def columns(kind: str, row: Any) -> dict[str, Any]:
    """The columns of a row as plain JSON data."""
    return {name: plain(name, getattr(row, name)) for name in COLUMNS[kind]}


def plain(name: str, value: Any) -> Any:
    """A value as it stands in an entry: times in UTC with six decimals, amounts as text with two."""
    if name in ("figures", "statement"):
        return digest(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat(timespec="microseconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    return f"{value:.2f}" if isinstance(value, Decimal) else value


def canonical(data: Any) -> str:
    """JSON with sorted keys and no spaces, other alphabets as themselves."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(data: Any) -> str:
    """SHA-256 over canonical JSON, as hex."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def payload(kind: str, row: Any, *, adopted: bool = False) -> str:
    """The payload of an entry. `adopted`: the row is older than the trail."""
    data = {"kind": kind, "row": row.pk, "columns": columns(kind, row)}
    return canonical({**data, "adopted": True} if adopted else data)
