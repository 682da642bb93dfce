"""What the pages about sheets ask for."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from dealing.dates import DayField
from dealing.models import Venue
from dealing.rules.rulesets import ruleset_names
from dealing.sheets import words
from dealing.sheets.cells import CellError, known_outcome, outcome_key, plain, read_table
from dealing.sheets.errors import SheetError
from dealing.sheets.making import needs
from dealing.sheets.mapping import Mapping, heads_of, letters
from dealing.sheets.reading import ENCODINGS, SEPARATORS, Book
from dealing.wording import side_name

#: Words of the outcome column that the page asks about.
WORDS: Final = 12
#: Cells of a column that the page shows.
EXAMPLES: Final = 3

_NOT_CHOSEN = {"required": gettext_lazy("Choose one."), "invalid_choice": gettext_lazy("Choose one from the list.")}


class UploadForm(forms.Form):
    """A file, and for somebody who belongs to no house, which house it is of."""

    file = forms.FileField(
        label=pgettext_lazy("sheet", "File"),
        widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.txt,.xlsx,.json", "class": "sheet-file"}),
        max_length=200,
        error_messages={
            "required": gettext_lazy("Choose a file."),
            "empty": gettext_lazy("The file is empty."),
            "max_length": gettext_lazy("The name of the file is too long. Give it a shorter one."),
        },
    )
    house = forms.ModelChoiceField(
        label=gettext_lazy("House"), queryset=Venue.objects.none(), empty_label=None, error_messages=_NOT_CHOSEN
    )

    def __init__(self, houses: Any, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files)
        if houses is None:
            del self.fields["house"]
        else:
            self.fields["house"].queryset = houses  # type: ignore[attr-defined]  # it is a model's field


ENCODING_WORDS: Final = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "cp874": gettext_lazy("Thai (Windows-874, TIS-620)"),
    "cp1252": gettext_lazy("Western (Windows-1252)"),
}
SEPARATOR_WORDS: Final = {
    "comma": gettext_lazy("comma ,"),
    "semicolon": gettext_lazy("semicolon ;"),
    "tab": gettext_lazy("tab"),
    "bar": gettext_lazy("bar |"),
}


class ReadingForm(forms.Form):
    """How the file is read: which sheet, which characters, where the heads stand."""

    sheet = forms.ChoiceField(label=gettext_lazy("Sheet"), error_messages=_NOT_CHOSEN)
    encoding = forms.ChoiceField(label=gettext_lazy("Characters"), error_messages=_NOT_CHOSEN)
    separator = forms.ChoiceField(label=gettext_lazy("Separator"), error_messages=_NOT_CHOSEN)
    head_row = forms.IntegerField(
        label=gettext_lazy("Row of the heads"),
        min_value=0,
        max_value=1000,
        help_text=gettext_lazy("0: there are no heads."),
    )

    def __init__(self, book: Book, mapping: Mapping, data: Any = None) -> None:
        initial = {
            "sheet": book.sheet,
            "encoding": book.encoding,
            "separator": book.separator,
            "head_row": mapping.head_row,
        }
        super().__init__(data, initial=initial)
        for name, choices in (
            ("sheet", [(title, title) for title in book.sheets] if len(book.sheets) > 1 else []),
            ("encoding", [(code, ENCODING_WORDS[code]) for code in ENCODINGS] if book.kind == "csv" else []),
            ("separator", [(code, SEPARATOR_WORDS[code]) for code in SEPARATORS] if book.kind == "csv" else []),
        ):
            if choices:
                self.fields[name].choices = choices  # type: ignore[attr-defined]  # it is a choice
            else:
                del self.fields[name]
        if book.heads:
            del self.fields["head_row"]


class ColumnsForm(forms.Form):
    """What each column holds (`column-0` …), how its cells are written, and what the sheet does not say."""

    cards = forms.ChoiceField(
        label=gettext_lazy("The cards are written"), choices=list(words.KINDS.items()), error_messages=_NOT_CHOSEN
    )
    order = forms.ChoiceField(
        label=gettext_lazy("Order of dealing"),
        choices=list(words.ORDERS.items()),
        widget=forms.RadioSelect,
        required=False,
        help_text=gettext_lazy("Needed where the cards stand in the order dealt. It is not guessed."),
    )
    dates = forms.ChoiceField(
        label=gettext_lazy("Dates are written"), choices=list(words.DATES.items()), error_messages=_NOT_CHOSEN
    )
    table = forms.CharField(
        label=gettext_lazy("Table"),
        required=False,
        max_length=16,
        widget=forms.TextInput(attrs={"list": "tables", "autocomplete": "off", "autocapitalize": "characters"}),
        help_text=gettext_lazy("Of rows that name none."),
    )
    shoe = forms.IntegerField(
        label=gettext_lazy("Number of the first shoe"),
        required=False,
        min_value=1,
        max_value=999_999,
        help_text=gettext_lazy("Left empty: the table's next one."),
    )
    recount = forms.BooleanField(
        label=gettext_lazy("Count the shoes on: the sheet numbers them anew, each day for instance"), required=False
    )
    date = DayField(
        label=gettext_lazy("Day of the first hand"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": gettext_lazy("Write this day as 2026-07-31.")},
    )
    start = forms.TimeField(
        label=gettext_lazy("Time of the first hand"),
        required=False,
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Write this time as 20:15.")},
    )
    seconds = forms.IntegerField(
        label=gettext_lazy("Seconds from hand to hand"), min_value=0, max_value=86_400, initial=60
    )
    ruleset = forms.ChoiceField(label=gettext_lazy("Ruleset"), required=False, error_messages=_NOT_CHOSEN)
    decks = forms.IntegerField(
        label=gettext_lazy("Decks"),
        required=False,
        min_value=1,
        max_value=16,
        help_text=gettext_lazy("Left empty: the table's own."),
    )
    more_to_come = forms.BooleanField(
        label=gettext_lazy("More hands of the last shoe will follow: leave it open"), required=False
    )

    def __init__(self, book: Book, mapping: Mapping, filling: dict[str, Any], data: Any = None) -> None:
        self.book, self.start_mapping = book, mapping
        by_column = {at: name for name, at in mapping.columns.items()}
        initial = {**filling, "cards": mapping.cards, "order": mapping.order, "dates": mapping.dates}
        if data is not None:
            data = data.copy()  # what is sent may be of other words of the outcome column than those asked about now
        self.sent = data
        super().__init__(data, initial=initial)
        self.fields["ruleset"].choices = [  # type: ignore[attr-defined]  # it is a choice
            ("", _("the table's own")),
            *((name, name) for name in ruleset_names()),
        ]
        choices: list[Any] = [("", "–")]
        choices += [(group, [(name, words.field_name(name)) for name in names]) for group, names in words.GROUPS]
        self.heads = heads_of(book, mapping.head_row)
        for at in range(book.width):
            head = self.heads[at]
            label = _("Column %(letters)s, %(head)s") if head else _("Column %(letters)s")
            self.fields[f"column-{at}"] = forms.ChoiceField(
                label=label % {"letters": letters(at), "head": head},
                choices=choices,
                required=False,
                initial=by_column.get(at, ""),
                error_messages=_NOT_CHOSEN,
            )
        #: The fields that ask what a word of the outcome column means, with the word.
        self.asked: list[tuple[str, str]] = []
        #: There are words that the page has not asked about yet.
        self.unasked = False
        self._ask_outcomes(self._columns_now())

    def _columns_now(self) -> dict[str, int]:
        """The columns as they were chosen, or as guessed."""
        if not self.is_bound:
            return dict(self.start_mapping.columns)
        out: dict[str, int] = {}
        for at in range(self.book.width):
            name = self.data.get(f"column-{at}", "")
            if name and name not in out:
                out[name] = at
        return out

    def _ask_outcomes(self, columns: dict[str, int]) -> None:
        at = columns.get("outcome")
        if at is None:
            return
        body = self.start_mapping.body(self.book)
        keys = Counter(key for row in body if at < len(row.cells) and (key := outcome_key(row.cells[at])))
        sides = [("", _("not an outcome")), *((side, side_name(side)) for side in ("player", "banker", "tie"))]
        for number, (key, count) in enumerate(keys.most_common(WORDS)):
            meant = self.start_mapping.outcomes.get(key) or known_outcome(key) or ""
            name = f"outcome-{number}"
            if self.sent is not None and self.sent.get(f"{name}-word") != key:
                self.sent[name] = meant
                self.unasked = self.unasked or not meant
            self.fields[name] = forms.ChoiceField(
                label=f"“{key[:40]}” × {count}", choices=sides, required=False, initial=meant
            )
            self.asked.append((name, key))

    # -- what it comes to

    def clean(self) -> dict[str, Any]:
        """All of it together: the mapping, and what is filled in."""
        said = super().clean() or {}
        columns: dict[str, int] = {}
        for at in range(self.book.width):
            name = said.get(f"column-{at}")
            if not name:
                continue
            if name in columns:
                self.add_error(f"column-{at}", words.explain(SheetError("field-twice", field=name)))
            columns.setdefault(name, at)
        if self.unasked:
            self.add_error(None, _("Say what each word of the outcome column means."))
        outcomes = {key: said[name] for name, key in self.asked if said.get(name)}
        if self.errors:
            return said
        mapping = Mapping(
            columns=columns,
            head_row=self.start_mapping.head_row,
            cards=said["cards"],
            order=said["order"],
            outcomes=outcomes,
            dates=said["dates"],
        )
        try:
            mapping.check()
        except SheetError as error:
            self.add_error("order" if error.fill == "order" else None, words.explain(error))
        for name in needs(mapping):
            if name != "shoe" and not said.get(name) and said.get(name) != dt.time(0):
                self.add_error(name, words.explain(SheetError("fill-missing", field=name)))
        said["mapping"] = mapping
        return said

    def clean_table(self) -> str:
        """The table's code."""
        text = str(self.cleaned_data.get("table") or "")
        try:
            return read_table(text) or ""
        except CellError:
            raise forms.ValidationError(_("Use 1 to 16 of the characters A–Z, 0–9 and “-”.")) from None

    @property
    def filled(self) -> dict[str, Any]:
        """What was filled in, as plain data."""
        said = self.cleaned_data
        return {
            "table": said["table"],
            "shoe": said["shoe"],
            "recount": said["recount"],
            "date": said["date"].isoformat() if said["date"] else "",
            "start": said["start"].isoformat() if said["start"] is not None else "",
            "seconds": said["seconds"],
            "ruleset": said["ruleset"],
            "decks": said["decks"],
            "more_to_come": said["more_to_come"],
        }

    # -- for the page

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Each column: its letters, head, first cells, and field."""
        body = self.start_mapping.body(self.book)
        out = []
        for at in range(self.book.width):
            cells = [plain(row.cells[at]) for row in body[:200] if at < len(row.cells)]
            examples = list(dict.fromkeys(cell[:24] for cell in cells if cell))[:EXAMPLES]
            out.append(
                {"letters": letters(at), "head": self.heads[at], "examples": examples, "field": self[f"column-{at}"]}
            )
        return out

    @property
    def first_wrong(self) -> dict[str, str] | None:
        """The first marked field from above: the id of what is to be filled in, and its label."""
        fields = sorted(self, key=lambda field: not field.name.startswith("column-"))
        for field in fields:
            if field.errors:
                first = "_0" if isinstance(field.field.widget, forms.RadioSelect) else ""
                return {"id": f"{field.auto_id}{first}", "label": str(field.label)}
        return None

    @property
    def outcome_fields(self) -> list[tuple[Any, str, str]]:
        """The fields that ask what a word of the outcome column means, the name of the field that says the word, and
        the word.
        """
        return [(self[name], f"{name}-word", key) for name, key in self.asked]

    @property
    def wanted(self) -> set[str]:
        """What has to be filled in, as the columns stand now."""
        return set(needs(Mapping(columns=self._columns_now())))
