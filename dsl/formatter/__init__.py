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
from .text import layout, layout_range

POSITIONS = frozenset({"start", "end", "name_start", "name_end"})


MOST_ROUNDS = 3
"""Maximum number of layouts until one is stable. A comment in the middle of a line that is broken moves into the first broken
bracket, which may make another break unnecessary.
"""


def format_text(
    text: str, name: str = "<string>", line_length: int | None = None, lines: tuple[int, int] | None = None
) -> str:
    """Return `text` in its canonical layout, with names, sugar and comments unchanged.

    A bracket that the author broke into lines stays broken, one element per line, with a trailing comma; so do operators
    in it. With a `line_length`, brackets and operators are broken only in longer lines, and brackets if they have a trailing
    comma; a value that is broken at operators gets parentheses. With `lines`, the first and the last one from 1, only
    statements in these lines change, and keep their indentation unless all statements are among them. Raise TvmsError for a
    text with syntax errors.
    """
    source = Source(name, text)
    before, logical = _parsed(source)
    if lines is not None and not _covers(text, logical, lines):
        formatted = layout_range(text, logical, line_length, lines)
        if _same(before, _parsed(Source(name, formatted))[0]):
            return formatted
        raise _unsafe(source)
    formatted = layout(text, logical, line_length)
    for _ in range(MOST_ROUNDS):
        if formatted == text:
            return text
        after, logical = _parsed(Source(name, formatted))
        again = layout(formatted, logical, line_length)
        if not _same(before, after):
            break
        if again == formatted:
            return formatted
        formatted = again
    raise _unsafe(source)


def _unsafe(source: Source) -> TvmsError:
    help = "please report this text; it is not changed"
    return error("E0017", "the layout of this text cannot be changed safely", Span(source, 0, 0), help)


def _covers(text: str, logical: list[Line], lines: tuple[int, int]) -> bool:
    """Return whether a range of lines contains all statements of a text."""
    starts = [line.tokens[0][1].start for line in logical[:-1]]  # the last line is the end of the text
    return not starts or (lines[0] <= text.count("\n", 0, starts[0]) + 1 and text.count("\n", 0, starts[-1]) < lines[1])


def format_host(host: Host, line_length: int | None = None, lines: tuple[int, int] | None = None) -> str:
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
        shift = definition.source.text.count("\n", 0, definition.start)
        inside = None if lines is None else (lines[0] - shift, lines[1] - shift)
        after = format_text(before, definition.source.name, width, inside)
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
