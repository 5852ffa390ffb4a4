"""Definitions in the files of a host: Python programs, Jupyter notebooks, Markdown pages. Nothing in them is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir.diagnostics import Diagnostic, Note, Source, Span, error
from ..parser.driver import parse_lines


class Cell(Struct, frozen=True, eq=False):
    """A piece of code in a host: a whole program, a cell of a notebook, a fenced block of a page."""

    source: Source
    """The text that positions refer to: the file, or one cell of a notebook."""
    start: int
    end: int
    is_python: bool = True
    """Whether the code is Python; else it is a text in our own dialect."""


class Definition(Struct, frozen=True, eq=False):
    """A module or function of a host, as whole lines of `source`."""

    name: str
    source: Source
    start: int
    end: int
    uses: tuple[tuple[int, int], ...] = ()
    """Lines of the macros of the host that it uses, in order."""
    names: Mapping[str, Any] = {}
    """The values of the names that it captures from the host, as far as they are known."""
    captured: Mapping[str, Span] = {}
    """The other names that it captures, with the place in the host that binds them."""
    code: frozenset[str] = frozenset()
    """Those of `captured` that are functions, classes or modules, which no text can give."""
    is_python: bool = True

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """The ranges of the source to read: its macros and itself."""
        return (*self.uses, (self.start, self.end))

    @property
    def indentation(self) -> str:
        """The white space before its first line that is not a comment."""
        for line in self.source.text[self.start : self.end].split("\n"):
            code = line.lstrip(" \t")
            if code.strip() and not code.startswith("#"):
                return line[: len(line) - len(code)]
        return ""

    def given(self, values: Mapping[str, Any]) -> Definition:
        """Return the definition with the values of captured names in `values`."""
        names = {name: values[name] for name in self.captured if name in values}
        left = {name: span for name, span in self.captured.items() if name not in values}
        return replace(self, names={**self.names, **names}, captured=left)

    def missing(self) -> tuple[Diagnostic, ...]:
        """Return an error E0822 if it captures names without known values."""
        if not self.captured:
            return ()
        names = list(self.captured)
        shown = ", ".join(f"'{name}'" for name in names[:-1]) + " and " * (len(names) > 1) + f"'{names[-1]}'"
        noun = "value" if len(names) == 1 else "values"
        start = self.start + len(self.indentation)
        end = self.source.text.find("\n", start)
        span = Span(self.source, start, len(self.source.text) if end < 0 else end)
        message = f"'{self.name}' is not read: it captures {shown}, whose {noun} only the running program knows"
        values = " ".join(f"-D {name}=VALUE" for name in names if name not in self.code)
        if self.code:
            given = f"; then give {values}" if values else ""
            help = f"write what '{min(self.code)}' computes into the definition{given}"
        else:
            help = f"give {'it' if len(names) == 1 else 'them'}: {values}"
        notes = tuple(Note(f"'{name}' is bound here", place) for name, place in self.captured.items())
        return (Diagnostic("E0822", message, span, help, notes),)

    def text(self) -> str:
        """Return its text without the indentation of its first line; lines inside strings stay as they are."""
        lines = self.source.text[self.start : self.end].split("\n")
        inside = _inside_strings(self.source, ((self.start, self.end),))
        place, found = self.start, list[str]()
        for line in lines:
            found.append(line if place in inside else _without(line, self.indentation))
            place += len(line) + 1
        return "\n".join(found)

    def indented(self, text: str) -> str:
        """Return `text` with the indentation of the definition, lines inside strings as they are."""
        inside = _inside_strings(Source(self.name, text), None)
        place, found = 0, list[str]()
        for line in text.split("\n"):
            found.append(line if place in inside or not line.strip() else self.indentation + line)
            place += len(line) + 1
        return "\n".join(found)


def _without(line: str, indentation: str) -> str:
    """Return a line without an indentation, or as much of it as the line has."""
    if line.startswith(indentation):
        return line[len(indentation) :]
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(blank, len(indentation)) :]


def _inside_strings(source: Source, parts: Sequence[tuple[int, int]] | None) -> set[int]:
    """Return the offsets of the lines that start inside a string."""
    _, _, lines = parse_lines(source, parts)
    found: set[int] = set()
    for line in lines:
        for kind, token in line.tokens:
            if kind == "STRING" and "\n" in token.text:
                found.update(token.start + at + 1 for at, sign in enumerate(token.text) if sign == "\n")
    return found


class Host(Struct, frozen=True, eq=False):
    """A file that holds definitions among other things, and its definitions in order."""

    source: Source
    definitions: tuple[Definition, ...]

    def given(self, values: Mapping[str, Any]) -> Host:
        """Return the host with the values of captured names in `values`."""
        return Host(self.source, tuple(definition.given(values) for definition in self.definitions))

    def select(self, name: str) -> Host:
        """Return the host with only the definition `name`; raise E0823 if there is none, or several."""
        found = tuple(definition for definition in self.definitions if definition.name == name)
        if len(found) != 1:
            names = ", ".join(dict.fromkeys(definition.name for definition in self.definitions))
            what = f"{len(found)} definitions" if found else "no definition"
            raise error("E0823", f"'{self.source.name}' has {what} '{name}'", help=f"it defines {names}")
        return Host(self.source, found)
