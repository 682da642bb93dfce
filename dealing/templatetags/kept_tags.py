"""`{% kept "name" key … %}…{% endkept %}`: a part of the console that is drawn once and kept.

What stands in it may depend on the keys (hashable values), on the language, and on what differs from table to table and
from hand to hand: the table's addresses, the numbers of the hands, and the hidden fields of forms. These are left open
when the part is drawn, and filled in each time.
"""

from __future__ import annotations

import re
from typing import Any, Final

from django import template
from django.template import Context, Node, NodeList, TemplateSyntaxError
from django.template.base import FilterExpression, Parser, Token
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

register = template.Library()

#: Values of the context that are left open. The marks are characters that no text has.
LEFT_OPEN: Final = ("address", "record_address", "hand_mark", "next_mark")
_GAP: Final = re.compile("\ue000([^\ue001]*)\ue001")
#: More parts than all languages, phases and results make.
_MANY: Final = 2048

_kept: dict[tuple[Any, ...], list[str]] = {}


def gap(words: str) -> SafeString:
    """A place left open: the name of a value of the context, or the event and sheet of a form's hidden fields."""
    return mark_safe(f"\ue000{words}\ue001")  # noqa: S308  # names of our own


class KeptNode(Node):
    """See the module."""

    def __init__(self, name: str, keys: list[FilterExpression], nodelist: NodeList) -> None:
        self.name, self.keys, self.nodelist = name, keys, nodelist

    def render(self, context: Context) -> SafeString:
        key = (self.name, get_language(), *(one.resolve(context) for one in self.keys))
        pieces = _kept.get(key)
        if pieces is None:
            with context.push(drawn_to_keep=True, **{name: gap(name) for name in LEFT_OPEN}):
                pieces = _GAP.split(self.nodelist.render(context))
            if len(_kept) >= _MANY:
                _kept.clear()
            _kept[key] = pieces
        from dealing.templatetags.console_tags import hidden_fields  # which needs `gap`

        out = list(pieces)
        for n in range(1, len(out), 2):
            name = out[n]
            if name in LEFT_OPEN:
                out[n] = conditional_escape(context[name])
            else:
                event, _, sheet = name.partition(" ")
                out[n] = hidden_fields(context, event, sheet)
        return mark_safe("".join(out))  # noqa: S308  # drawn by templates, and filled with what is safe


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """Draw what is between the tags once for each value of the keys."""
    words = token.split_contents()[1:]
    if not words or words[0][0] not in "\"'":
        raise TemplateSyntaxError("kept wants a name in quotes, and then the keys")
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode(words[0][1:-1], [parser.compile_filter(word) for word in words[1:]], nodelist)
