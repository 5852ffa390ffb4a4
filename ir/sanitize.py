"""The only way for text that a user wrote to a terminal, or into another language: SVG, C, JSON, workflow commands.

Block names, comments, file names and attributes hold any characters: escape sequences that a terminal obeys, characters
that reorder text, halves of surrogate pairs, and whatever is syntax elsewhere. A sink takes `Safe` text only; the
functions of this module alone make it, which the type checker and a test of the house keep so.

Programs are an exception: in a file or a pipe they stay as they are, byte by byte; on a terminal they are escaped.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from html import escape as _escape_markup
from typing import Any, LiteralString, TextIO


class Safe(str):
    """Text that a sink may write as it is."""

    __slots__ = ()


def visible(text: str, keep: str = "\n") -> Safe:
    """Return `text` with control, invisible and reordering characters as escapes, but for those to `keep`."""
    if text.isprintable():
        return Safe(text)
    return Safe("".join([char if char.isprintable() or char in keep else _escaped(char) for char in text]))


def _escaped(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


def fill(template: LiteralString, *parts: Safe | int) -> Safe:
    """Return a template of our own with safe parts in the place of each `{}`."""
    return Safe(template.format(*parts))


def joined(separator: LiteralString, parts: Iterable[Safe | LiteralString]) -> Safe:
    """Return safe parts as one text."""
    return Safe(separator.join(parts))


def painted(text: Safe, *codes: LiteralString) -> Safe:
    """Return `text` in the colours of a terminal."""
    return Safe(f"\x1b[{';'.join(codes)}m{text}\x1b[0m")


def coloured(text: Safe, highlight: Callable[[str], str]) -> Safe:
    """Return what a highlighter of our own makes of safe text."""
    return Safe(highlight(text))


def markup(text: str) -> Safe:
    """Return `text` as the contents of an element of SVG or HTML, or of an attribute."""
    return Safe(_escape_markup(visible(text)))


def c_comment(text: str) -> Safe:
    """Return `text` for a comment of C."""
    return Safe(visible(text, keep="").replace("*/", "* /").replace("/*", "/ *"))


def symbol(text: str, replacement: Callable[[str], str]) -> Safe:
    """Return `text` as a name for LLVM, linkers and C: letters, digits and `_`; others as `replacement` says."""
    return Safe(re.sub(r"[^A-Za-z0-9_]", lambda match: replacement(match[0]), text))


def json_text(value: Any, indent: int | None = None) -> Safe:
    """Return `value` as JSON, in which invisible characters are escapes, and halves of surrogate pairs are spelled out."""
    text = json.dumps(_whole(value), indent=indent, ensure_ascii=False)
    return Safe(text if text.isprintable() else "".join([char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text]))  # fmt: skip


def _whole(value: Any) -> Any:
    """Return a value without halves of surrogate pairs, which JSON has no way to write."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):x}", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value  # type: ignore[reportUnknownVariableType]


def workflow_value(text: str, is_property: bool = False) -> Safe:
    """Return `text` for a workflow command of GitHub, which has syntax of its own."""
    pairs = [("%", "%25"), ("\n", "%0A")] + ([(":", "%3A"), (",", "%2C")] if is_property else [])
    shown: str = visible(text)
    for old, new in pairs:
        shown = shown.replace(old, new)
    return Safe(shown)


# --- Sinks ----------------------------------------------------------------------------------------------------


def wants_color(stream: TextIO) -> bool:
    """Whether to colour text for `stream`: NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE decide, else whether it is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(variable, "0") != "0" for variable in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def emit(text: Safe, stream: TextIO | None = None, end: LiteralString = "\n") -> None:
    """Write safe text to a stream, standard output where none is given."""
    if not isinstance(text, Safe):  # type: ignore[reportUnnecessaryIsInstance]  # where no type checker looked
        raise TypeError("expected Safe text")
    out = sys.stdout if stream is None else stream
    out.write(f"{text}{end}")
    out.flush()


def say(text: str, stream: TextIO | None = None, end: LiteralString = "\n") -> None:
    """Write any text to a stream, escaped."""
    emit(visible(text), stream, end)


def write_program(text: str) -> None:
    """Write the text of a program to standard output: escaped on a terminal, else byte by byte."""
    if sys.stdout.isatty():
        emit(visible(text, keep="\n\t"), end="")
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    else:
        sys.stdout.write(text)  # a stream of text in the place of standard output
