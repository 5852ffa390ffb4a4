"""Escaping of user text for terminals and for other languages: SVG, C, JSON, workflow commands.

Block names, comments, file names and attributes may contain any characters: terminal escape sequences, characters that
reorder text, lone surrogates, and syntax of the output language. Sinks accept `Safe` text only. Only the functions of
this module create it; the type checker and a house test enforce that.

Programs are an exception: files and pipes get their exact bytes; terminals get escaped text.
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
    """Text that a sink may write unchanged."""

    __slots__ = ()


def visible(text: str, keep: str = "\n") -> Safe:
    """Return `text` with control, invisible and reordering characters escaped, except those in `keep`."""
    if text.isprintable():
        return Safe(text)
    return Safe("".join([char if char.isprintable() or char in keep else _escaped(char) for char in text]))


def _escaped(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


def fill(template: LiteralString, *parts: Safe | int) -> Safe:
    """Return a trusted template with safe parts inserted for each `{}`."""
    return Safe(template.format(*parts))


def joined(separator: LiteralString, parts: Iterable[Safe | LiteralString]) -> Safe:
    """Concatenate safe parts."""
    return Safe(separator.join(parts))


def painted(text: Safe, *codes: LiteralString) -> Safe:
    """Return `text` in terminal colors."""
    return Safe(f"\x1b[{';'.join(codes)}m{text}\x1b[0m")


def colored(text: Safe, highlight: Callable[[str], str]) -> Safe:
    """Return the output of a trusted highlighter for safe text."""
    return Safe(highlight(text))


def markup(text: str) -> Safe:
    """Return `text` escaped for the contents or an attribute of an element of SVG or HTML."""
    return Safe(_escape_markup(visible(text)))


def c_comment(text: str) -> Safe:
    """Return `text` escaped for a comment in C."""
    return Safe(visible(text, keep="").replace("*/", "* /").replace("/*", "/ *"))


def symbol(text: str, replacement: Callable[[str], str]) -> Safe:
    """Return `text` as an identifier for LLVM, linkers and C: letters, digits and `_`; others become `replacement`."""
    return Safe(re.sub(r"[^A-Za-z0-9_]", lambda match: replacement(match[0]), text))


def json_text(value: Any, indent: int | None = None) -> Safe:
    """Return `value` as JSON with invisible characters escaped and lone surrogates spelled out."""
    text = json.dumps(_whole(value), indent=indent, ensure_ascii=False)
    return Safe(text if text.isprintable() else "".join([char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text]))  # fmt: skip


def _whole(value: Any) -> Any:
    """Return a value without lone surrogates, which JSON cannot represent."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):x}", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value  # type: ignore[reportUnknownVariableType]


def workflow_value(text: str, is_property: bool = False) -> Safe:
    """Return `text` escaped for a workflow command of GitHub."""
    pairs = [("%", "%25"), ("\n", "%0A")] + ([(":", "%3A"), (",", "%2C")] if is_property else [])
    shown: str = visible(text)
    for old, new in pairs:
        shown = shown.replace(old, new)
    return Safe(shown)


# --- Sinks ----------------------------------------------------------------------------------------------------


def wants_color(stream: TextIO) -> bool:
    """Whether to color text for `stream`: NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE decide, else whether it is a terminal.

    An empty variable counts as unset. A terminal has no colors if TERM is `dumb` or CLICOLOR is 0.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(variable, "") not in ("", "0") for variable in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return os.environ.get("TERM") != "dumb" and os.environ.get("CLICOLOR") != "0" and stream.isatty()


def emit(text: Safe, stream: TextIO | None = None, end: LiteralString = "\n") -> None:
    """Write safe text to a stream, standard output by default."""
    if not isinstance(text, Safe):  # type: ignore[reportUnnecessaryIsInstance]  # where no type checker looked
        raise TypeError("expected Safe text")
    out = sys.stdout if stream is None else stream
    out.write(f"{text}{end}")
    out.flush()


def say(text: str, stream: TextIO | None = None, end: LiteralString = "\n") -> None:
    """Write any text to a stream, escaped."""
    emit(visible(text), stream, end)


def write_program(text: str) -> None:
    """Write the text of a program to standard output: escaped on a terminal, otherwise byte by byte."""
    if sys.stdout.isatty():
        emit(visible(text, keep="\n\t"), end="")
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    else:
        sys.stdout.write(text)  # standard output was replaced by a text stream
