"""Divides a text into its definitions, so that an edit in one of them leaves the others as they are.

A chunk is a definition with the comments above it, or the statements between two definitions. It is parsed alone, as its own
`Source`, so that its positions do not depend on the text before it. A text that is not divided, because its lines do not look
like definitions in one module, is a single chunk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from ...ir.base import Source
from ...ir.diagnostics import Diagnostic, TvmsError
from .. import syntax
from ..embedded import is_host, read_host
from ..parser import parse_syntax
from .scopes import Names, names_of

_P = ParamSpec("_P")
_R = TypeVar("_R")
_HEAD = re.compile(r"(?:@|(?:def|class)\b|[^\W\d]\w*(?:\.\w+)+(?:\([^\n]*\))?[ \t]+[^\W\d]\w*[ \t]*[(:\[])")
"""The first line of a definition."""
_NOT_NAMES = re.compile(r"\S+[ \t]+(?:if|else|for|in|as|is|and|or|not)\b")
_MODULE = re.compile(
    r"^(?:(?:\w+\.)*ir_module(?:\([^\n]*\))?[ \t]+(?P<native>[^\W\d]\w*)[ \t]*"
    r"|@(?:\w+\.)*ir_module\b[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*class[ \t]+(?P<decorated>[^\W\d]\w*)[^\n:]*):[ \t]*(?:#[^\n]*)?$",
    re.MULTILINE,
)
_REFUSED = re.compile(r"\0|\r(?!\n)")
"""What no text may contain, not even in comments: E0003 and E0020."""
_LINE = re.compile(r"^[ \t]*\r?\n|^(?P<indent>[ \t]*)(?P<first>[^ \t\n])[^\n]*\n?", re.MULTILINE)
"""A blank line, or one with code: other white space, such as U+2028, is an error that has to be found."""
MAX_REPAIRS = 4
"""Maximum number of times that lines with syntax errors are left out of a definition."""
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*")
_CONTINUES = re.compile(r"[)\]}]|(?:else|elif)\b")
_WORD = re.compile(r"[^\W\d]\w*")


class Chunk:
    """A part of a text; positions in it count from its start. `remembered` are the last results of functions of the chunk."""

    def __init__(self, text: str, name: str, is_definition: bool = True) -> None:
        self.text = text
        self.source = Source(name, text)
        self.is_definition = is_definition
        self.remembered: dict[object, tuple[tuple[Any, ...], Any]] = {}

    @cached_property
    def _parsed(self) -> tuple[syntax.File, tuple[Diagnostic, ...]]:
        return parse_syntax(self.source, ((0, len(self.text)),))

    @property
    def file(self) -> syntax.File:
        """Its syntax tree, without definitions that have a syntax error."""
        return self._parsed[0]

    @property
    def mistakes(self) -> tuple[Diagnostic, ...]:
        """Its syntax errors."""
        return self._parsed[1]

    @cached_property
    def outline(self) -> syntax.File:
        """Its syntax tree for names and symbols: while a line is half typed, the rest of the definition is still known."""
        file, mistakes = self._parsed
        text = self.text
        for _ in range(MAX_REPAIRS):
            if file.body or not mistakes:
                break
            text = _without_lines(text, mistakes)
            file, mistakes = parse_syntax(Source(self.source.name, text), ((0, len(text)),))
        return file

    @cached_property
    def names(self) -> Names:
        """The names in it, and what they mean."""
        return names_of(self.outline)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words in it, among them all names that it mentions."""
        return frozenset(_WORD.findall(self.text))


def per_chunk(function: Callable[Concatenate[Chunk, _P], _R]) -> Callable[Concatenate[Chunk, _P], _R]:
    """Let `function` remember its last result for each chunk, as long as the chunk is in use."""

    @wraps(function)
    def call(chunk: Chunk, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        known = chunk.remembered.get(function)
        if known is None or any(a is not b for a, b in zip(known[0], args, strict=True)):
            known = chunk.remembered[function] = args, function(chunk, *args, **kwargs)
        return known[1]

    return call


def _without_lines(text: str, mistakes: Sequence[Diagnostic]) -> str:
    """Return a text of the same length in which the lines with mistakes do nothing."""
    for mistake in mistakes:
        if mistake.span is not None:
            start = text.rfind("\n", 0, mistake.span.start) + 1
            end = text.find("\n", start)
            line = text[start : len(text) if end < 0 else end]
            code = line.lstrip()
            nothing = ("pass" if len(code) >= len("pass") else "").ljust(len(code))
            text = text[: start + len(line) - len(code)] + nothing + text[start + len(line) :]
    return text


class Placed(NamedTuple):
    """A chunk, and the offset of its start in the text."""

    chunk: Chunk
    start: int

    @property
    def end(self) -> int:
        """The offset of its end."""
        return self.start + len(self.chunk.text)


class Division(NamedTuple):
    """The chunks of a text in order."""

    chunks: tuple[Placed, ...]
    module: str | None = None
    """The name of its module, if it has one and is divided."""
    is_regular: bool = False
    """Whether the chunks are the definitions of one text in order: each can then be built alone."""
    header: str = ""
    """The text up to the first line of the module, or the comments at the top."""


def divide(text: str, name: str, known: Iterable[Chunk] = ()) -> Division:
    """Return the chunks of a text or a host; those in `known` with the same text are used again, each once."""
    unused: dict[tuple[str, bool], list[Chunk]] = {}
    for old in known:
        unused.setdefault((old.text, old.is_definition), []).append(old)

    def chunk(start: int, end: int, is_definition: bool = True) -> Placed:
        part = text[start:end]
        same = unused.get((part, is_definition))
        return Placed(same.pop() if same else Chunk(part, name, is_definition), start)

    if is_host(name):
        try:
            host = read_host(Source(name, text))
        except TvmsError:
            return Division(())
        if host is not None:
            same = [definition for definition in host.definitions if definition.source is host.source]
            return Division(tuple(chunk(definition.start, definition.end) for definition in same))
    parts = _parts(text)
    if parts is None:
        return Division((chunk(0, len(text)),))
    module = _MODULE.search(text)
    placed = tuple(chunk(start, end, is_definition) for start, end, is_definition in parts)
    header = text[: module.end() + 1] if module else _COMMENTS.match(text)[0]  # type: ignore[index]
    return Division(placed, (module["native"] or module["decorated"]) if module else None, True, header)


def _parts(text: str) -> list[tuple[int, int, bool]] | None:
    """Return start, end and kind of the parts of a text: True for a definition; None if it cannot be divided."""
    modules = list(_MODULE.finditer(text))
    if len(modules) > 1 or _REFUSED.search(text):
        return None
    begin = modules[0].end() if modules else 0
    if modules and any(_starts(line) for line in _LINE.finditer(text, 0, modules[0].start())):
        return None
    lines = list(_LINE.finditer(text, begin + 1 if modules else 0))
    indentation = next((line["indent"] for line in lines if line["first"] not in (None, "#")), None)
    if indentation is None or (bool(modules) and not indentation) or (not modules and indentation):
        return None
    return list(_joined(lines, indentation, len(text)))


def _starts(line: re.Match[str]) -> bool:
    """Return whether a line opens a definition."""
    at = line.end("indent")
    return bool(_HEAD.match(line.string, at)) and not _NOT_NAMES.match(line.string, at)


def _joined(lines: list[re.Match[str]], indentation: str, size: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of a module's body, whose statements have this indentation."""
    start: int | None = None
    is_definition = after_decorator = False
    comments: int | None = None
    """The start of the comments above the next statement."""
    for line in lines:
        if line["first"] is None or (line["indent"] != indentation and line["first"] != "#"):
            continue
        if line["first"] == "#":
            if comments is None and line["indent"] == indentation:
                comments = line.start()
            continue
        above, comments = comments, None
        continues = start is not None and _CONTINUES.match(line.string, line.end("indent"))
        if continues or after_decorator:
            after_decorator = line["first"] == "@"
            continue
        opens = _starts(line)
        if not opens and start is not None and not is_definition:
            continue
        begin = line.start() if above is None else above
        if start is not None:
            yield start, begin, is_definition
        start, is_definition, after_decorator = begin, opens, line["first"] == "@"
    if start is not None:
        yield start, size, is_definition
