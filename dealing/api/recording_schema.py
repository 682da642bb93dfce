"""How recording and the feed are described (OpenAPI); what they answer is made in `recording` and `news`."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

from dealing.models import Hand
from dealing.rules.events import EVENTS
from dealing.rules.findings import DISCRETION, RULINGS
from dealing.rules.tableau import PLACES

from .schema import PROBLEM, ProblemSerializer
from .serializers import HASH, FindingSerializer, ResultSerializer, SettlementSerializer

_FINDING: Final[dict[str, Any]] = {
    "shoe": 3,
    "hand": 12,
    "code": "fifth-card-misplaced",
    "seq": [2031],
    "cards": ["6h"],
    "state": "open",
    "rules": ["MIS-02"],
    "ruling": "correct",
    "options": ["correct"],
    "mandatory": True,
    "title": "Fifth card on the wrong place",
}
_ANSWER: Final[dict[str, Any]] = {
    "index": 0,
    "key": "shoe-1-000481",
    "seq": 2031,
    "hash": "9f2c47a1b0de4c55a6f3f0b1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3e4f5",
    "at": "2026-07-11T21:14:51.480+07:00",
    "duplicate": False,
    "raised": [_FINDING],
    "next": "B3",
    "status": "open",
    "ruling": "correct",
    "result": None,
    "findings": [_FINDING],
}

#: A position in a log, as a parameter.
POSITION: Final = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
#: An event as it is sent: which keys each kind takes says docs/devices.md.
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["event", "shoe"],
    "description": "A line of a table's log. `at`, `table` and `by` may be left out.",
    "properties": {
        "event": {"type": "string", "enum": list(EVENTS)},
        "at": {"type": "string", "format": "date-time", "description": "When it happened, to the millisecond."},
        "ago": {"type": "integer", "minimum": 0, "maximum": 43_200_000, "description": "Or how many ms ago."},
        "table": {"type": "string"},
        "shoe": {"type": "integer", "minimum": 1, "maximum": 999_999},
        "hand": {"type": "integer", "minimum": 1, "maximum": 999_999},
        "key": {"type": "string", "minLength": 1, "maxLength": 128, "description": "A device has to give one."},
        "by": {"type": "string", "minLength": 1, "maxLength": 64, "description": "Who saw it; else the device's code."},
    },
}
#: One of each that a device has to know, by what it is called.
_SENT: Final[dict[str, dict[str, Any]]] = {
    "A card": {"event": "card", "shoe": 3, "hand": 12, "to": "B3", "card": "6h", "key": "shoe-1-000481"},
    "A new shoe": {"event": "shoe_opened", "shoe": 4, "ruleset": "commission", "key": "shoe-1-000482"},
    "A bet": {
        "event": "bet",
        "shoe": 3,
        "hand": 12,
        "seat": 5,
        "bet": "banker",
        "stake": "500.00",
        "key": "shoe-1-000470",
    },
    "An entry put right": {
        "event": "amended",
        "shoe": 3,
        "hand": 12,
        "seq": 2031,
        "entry": {"event": "card", "shoe": 3, "hand": 12, "to": "B3", "card": "7h"},
        "reason": "read wrongly",
        "key": "shoe-1-000483",
    },
    "An entry withdrawn": {
        "event": "amended",
        "shoe": 3,
        "hand": 12,
        "seq": 2031,
        "reason": "no card was dealt",
        "key": "shoe-1-000484",
    },
    "A void hand": {
        "event": "voided",
        "shoe": 3,
        "hand": 12,
        "scope": "hand",
        "reason": "decided by the manager",
        "key": "shoe-1-000485",
    },
}


class PlacedFindingSerializer(FindingSerializer):
    """A finding, where it is, and what it is called."""

    shoe = serializers.IntegerField(min_value=1)
    hand = serializers.IntegerField(min_value=1, allow_null=True, help_text="Null: of the shoe beside its hands.")
    title = serializers.CharField(help_text="In the reader’s language.")


class RecordedEventSerializer(serializers.Serializer[Any]):
    """Where an event stands in the log, and what the judge says of its hand with it."""

    index = serializers.IntegerField(min_value=0, help_text="Which of those sent.")
    key = serializers.CharField(allow_null=True)
    seq = serializers.IntegerField(min_value=1, help_text="Its position at the table.")
    hash = serializers.RegexField(HASH)
    at = serializers.DateTimeField(help_text="As the log has it.")
    duplicate = serializers.BooleanField(help_text="It was there before, and nothing was changed.")
    raised = PlacedFindingSerializer(many=True, help_text="What this event brought up.")
    next = serializers.ChoiceField(choices=list(PLACES), allow_null=True, help_text="The place due next in its hand.")
    status = serializers.ChoiceField(choices=Hand.Status.values, allow_null=True)
    ruling = serializers.ChoiceField(choices=[*RULINGS, DISCRETION], allow_null=True)
    result = ResultSerializer(allow_null=True)
    findings = PlacedFindingSerializer(many=True, help_text="All of the hand, or of the shoe beside its hands.")
    settlement = SettlementSerializer(many=True, required=False, help_text="Where `settlement=true` asks for it.")
    skipped = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        required=False,
        min_length=2,
        max_length=2,
        help_text="Where a hand begins and numbers before it were left out: the first and the last of these.",
    )
    burn_due = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=52,
        help_text="When the newest shoe is opened or its first card is known: how many are to be burned.",
    )


class RecordedSerializer(serializers.Serializer[Any]):
    """What became of the events sent, in their order."""

    table = serializers.CharField()
    events = RecordedEventSerializer(many=True)


class RefusedSerializer(ProblemSerializer):
    """The first event that was refused, and what came before it: that is stored."""

    index = serializers.IntegerField(min_value=0, required=False, help_text="Which of those sent was refused.")
    key = serializers.CharField(allow_null=True, required=False, help_text="Its key.")
    field = serializers.CharField(required=False, help_text="What of it will not do: a key of the log’s line.")
    code = serializers.CharField(required=False, help_text="Why, for programs: always the same text.")
    reason = serializers.CharField(required=False, help_text="Why, without the name of the field.")
    recorded = RecordedEventSerializer(many=True, required=False)
    not_tried = serializers.IntegerField(min_value=0, required=False, help_text="How many came after it.")
    seq = serializers.IntegerField(min_value=0, required=False, help_text="Where the table’s log is by now.")


def _refused(text: str) -> OpenApiResponse:
    return OpenApiResponse(RefusedSerializer, text)


record_schema = extend_schema(
    operation_id="recordEvents",
    parameters=[
        OpenApiParameter(
            "expected_seq",
            POSITION,
            description="Where the log is to stand before the first event that is new; 409 where it does not.",
        ),
        OpenApiParameter("settlement", OpenApiTypes.BOOL, description="Say what each bet is owed, too."),
    ],
    request={
        "application/json": {"oneOf": [_EVENT, {"type": "array", "minItems": 1, "maxItems": 500, "items": _EVENT}]},
        "application/x-ndjson": {"type": "string", "description": "An event a line."},
    },
    responses={
        200: OpenApiResponse(RecordedSerializer, "All of it was there before."),
        201: OpenApiResponse(RecordedSerializer, "Recorded."),
        (403, PROBLEM): _refused("The sender may not record this."),
        (409, PROBLEM): _refused("The key is another event’s, or the log has moved on."),
        (411, PROBLEM): OpenApiResponse(ProblemSerializer, "How much is sent has to be said first."),
        (422, PROBLEM): _refused("The event is none, or cannot have happened."),
        (503, PROBLEM): OpenApiResponse(ProblemSerializer, "Not now; send it again with the same keys."),
    },
    examples=[
        *(
            OpenApiExample(name, value=value, request_only=True, media_type="application/json")
            for name, value in _SENT.items()
        ),
        OpenApiExample(
            "On the wrong side",
            value={"table": "B07", "events": [_ANSWER]},
            response_only=True,
            status_codes=["201"],
        ),
    ],
)

feed_schema = extend_schema(
    operation_id="followTable",
    parameters=[
        OpenApiParameter("after", POSITION, description="The position after which it begins."),
        OpenApiParameter(
            "Last-Event-ID",
            {"type": "string", "pattern": r"^\d{1,18}$"},
            OpenApiParameter.HEADER,
            description="The same, as a browser’s EventSource sends it when it comes again.",
        ),
    ],
    responses={
        (200, "text/event-stream"): OpenApiResponse(
            OpenApiTypes.STR,
            "`id` is a row’s position, `event` its name, `data` the row as under `events/` with the findings it "
            "`raised`, as JSON. The connection ends after some seconds; the client comes again.",
        ),
        (400, PROBLEM): OpenApiResponse(ProblemSerializer, "This is no position."),
        (409, PROBLEM): OpenApiResponse(ProblemSerializer, "The log does not go as far."),
        (503, PROBLEM): OpenApiResponse(ProblemSerializer, "As many as can listen here are listening."),
    },
)
