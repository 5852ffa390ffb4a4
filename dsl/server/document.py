"""An open file: its text, its chunks, and what is found in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from lsprotocol.types import Range

from ...ir.base import IRModule, Node, Source, Span
from ..embedded import read_host
from ..fixes import CheckSchedules
from .chunks import Chunk, Division, Placed, divide
from .lines import Lines
from .program import Findings, Program
from .scopes import Occurrence, Symbol


class Document:
    """A file that a client has opened; `name` is its path, or the URI of a text that is not a file."""

    def __init__(self, uri: str, name: str, text: str, version: int, check_schedules: CheckSchedules) -> None:
        self.uri, self.name, self.version = uri, name, version
        self.check_schedules = check_schedules
        self.program = Program(check_schedules)
        self.latest = Findings(())
        """What was found last, perhaps in an earlier version of the text."""
        self._examined: Division | None = None
        self.division = Division(())
        self.update(Lines(text), version)

    def update(self, lines: Lines, version: int) -> None:
        """Replace the text."""
        known = [placed.chunk for placed in self.division.chunks]
        self.lines, self.version = lines, version
        self.division = divide(lines.text, self.name, known)
        self.__dict__.pop("header", None)

    @property
    def chunks(self) -> tuple[Placed, ...]:
        """The chunks of the text in order."""
        return self.division.chunks

    @cached_property
    def header(self) -> Placed:
        """The text above the chunks, with the head of the module."""
        return Placed(Chunk(self.division.header, self.name, False), 0)

    def examine(self) -> Findings:
        """Return what is found in the text. A client's requests read `latest` while this runs in another thread."""
        division, text = self.division, self.lines.text
        if self._examined is not division:
            self.latest = self.program.update(division, text)
            self._examined = division
        return self.latest

    def forget(self) -> None:
        """Forget what was built."""
        self.program.forget()
        self.latest = Findings((), is_exact=False)

    @property
    def names_tensors(self) -> bool:
        """Whether the text may name tensors, which are in a file beside it."""
        return "I.constant" in self.lines.text

    @property
    def module(self) -> IRModule | None:
        """The module as far as it was built last."""
        return self.latest.module

    # --- Positions

    def chunk_at(self, offset: int) -> Placed | None:
        """Return the chunk at an offset."""
        index = bisect_right(self.chunks, offset, key=lambda placed: placed.start) - 1
        if index >= 0 and offset <= self.chunks[index].end:
            return self.chunks[index]
        return None

    def excerpt(self, placed: Placed) -> str:
        """Return the text of a definition below the parts that it needs: shared statements, and the definitions that it names."""
        named = {found.chunk for name, (found, _) in self.definitions().items() if name in placed.chunk.words}
        others = [chunk for chunk, _ in self.chunks if chunk is not placed.chunk]
        needed = [chunk.text for chunk in others if chunk in named or not chunk.is_definition]
        return "".join([self.division.header if self.division.module else "", *needed, placed.chunk.text])

    def holds(self, span: Span) -> bool:
        """Return whether a span is in the current text; what was found last may be about an earlier one."""
        return any(placed.chunk.source is span.source for placed in self.chunks)

    def place(self, span: Span) -> tuple[int, int]:
        """Return the offsets of a span of one of the chunks."""
        for placed in self.chunks:
            if placed.chunk.source is span.source:
                return placed.start + span.start, placed.start + span.end
        return span.start, span.end

    def range(self, start: int, end: int) -> Range:
        """Return the range between two offsets."""
        return self.lines.range(start, end)

    # --- Names

    def name_at(self, offset: int) -> tuple[Placed, Occurrence] | None:
        """Return the occurrence of a name at an offset, with its chunk."""
        placed = self.chunk_at(offset)
        found = placed.chunk.names.at(offset - placed.start) if placed else None
        return (placed, found) if placed and found else None

    def occurrences(self, placed: Placed, of: Occurrence) -> Iterator[tuple[int, int, bool]]:
        """Yield start, end and whether it is a definition, for all occurrences of a symbol."""
        for other in self.chunks if of.symbol.is_shared else (placed,):
            if other is placed or of.symbol.name in other.chunk.words:
                for found in other.chunk.names.of(of.symbol.key):
                    yield other.start + found.start, other.start + found.end, found.is_definition

    def definitions(self) -> dict[str, tuple[Placed, Symbol]]:
        """Return the functions, schedules and macros of the module by name."""
        found: dict[str, tuple[Placed, Symbol]] = {}
        for placed in self.chunks:
            for occurrence in placed.chunk.names.globals:
                found.setdefault(occurrence.symbol.name, (placed, occurrence.symbol))
        return found

    def definition_of(self, name: str) -> tuple[Placed, Symbol] | None:
        """Return the definition of a name of the module."""
        return self.definitions().get(name)

    def part_of(self, name: str) -> str | None:
        """Return the definition of a host that contains a function or schedule, as command lines name it; None in other texts."""
        host, found = read_host(Source(self.name, self.lines.text)), self.definition_of(name)
        starts = (
            {} if host is None else {part.start: part.name for part in host.definitions if part.source is host.source}
        )
        return starts.get(found[0].start) if found is not None else None

    def blocks(self) -> list[str]:
        """Return the names of all blocks."""
        return [name for placed in self.chunks for name in placed.chunk.names.blocks]

    def node_of(self, chunk: Chunk) -> Node | None:
        """Return what a chunk defines, if it could be built."""
        return self.program.node_of(chunk)
