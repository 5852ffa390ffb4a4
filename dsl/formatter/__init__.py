"""Canonical layout of a text: spaces, indentation, line breaks in brackets. Names, sugar and comments are kept."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, cast

from msgspec import Struct

from ...ir.base import Source, Span
from ...ir.diagnostics import TvmsError, error
from .. import syntax
from ..embedded import Definition, Host, rewritten
from ..parser.driver import parse_lines
from ..parser.lexer import Line
from .text import layout

POSITIONS = frozenset({"start", "end", "name_start", "name_end"})


MOST_ROUNDS = 3
"""Maximum number of layouts until one is stable. A comment in the middle of a line that is broken moves into the first broken
bracket, which may make another break unnecessary.
"""


def format_text(text: str, name: str = "<string>", line_length: int | None = None) -> str:
    """Return `text` in its canonical layout, with names, sugar and comments unchanged.

    A bracket that the author broke into lines stays broken, one element per line, with a trailing comma. With a
    `line_length`, brackets are broken only in longer lines or if they have a trailing comma. Raise TvmsError
    for a text with syntax errors.
    """
    source = Source(name, text)
    before, lines = _parsed(source)
    formatted = layout(text, lines, line_length)
    for _ in range(MOST_ROUNDS):
        if formatted == text:
            return text
        after, lines = _parsed(Source(name, formatted))
        again = layout(formatted, lines, line_length)
        if not _same(before, after):
            break
        if again == formatted:
            return formatted
        formatted = again
    help = "please report this text; it is not changed"
    raise error("E0017", "the layout of this text cannot be changed safely", Span(source, 0, 0), help)


def format_host(host: Host, line_length: int | None = None) -> str:
    """Return the text of a host with its definitions in canonical layout, as by `format_text`; all else is unchanged.

    Raise TvmsError with the syntax errors of all its definitions.
    """
    found = [
        problem for definition in host.definitions for problem in parse_lines(definition.source, definition.parts)[1]
    ]
    if found:
        raise TvmsError(found)
    texts: dict[Definition, str] = {}
    for definition in host.definitions:
        before = definition.text()
        width = None if line_length is None else max(line_length - len(definition.indentation), 1)
        after = format_text(before, definition.source.name, width)
        if after != before:
            texts[definition] = after if before.endswith("\n") else after.removesuffix("\n")
    return rewritten(host, texts)


def _parsed(source: Source) -> tuple[syntax.File, list[Line]]:
    file, diagnostics, lines = parse_lines(source)
    if diagnostics:
        raise TvmsError(diagnostics)
    return file, lines


def _same(left: syntax.File, right: syntax.File) -> bool:
    """Return whether two texts have equal syntax trees up to positions; comments count."""
    pairs: list[tuple[Any, Any]] = [(left.body, right.body), (left.header, right.header), (left.footer, right.footer)]
    for one, other in pairs:
        if type(one) is not type(other):
            return False
        if isinstance(one, Struct):
            shown = [field for field in one.__struct_fields__ if field not in POSITIONS]
            pairs.extend((getattr(one, field), getattr(other, field)) for field in shown)
        elif isinstance(one, tuple):
            pairs.extend(zip_longest(cast("tuple[Any, ...]", one), other, fillvalue=pairs))
        elif one != other:
            return False
    return True
