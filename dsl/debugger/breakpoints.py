"""Breakpoints: at lines, functions and blocks, and at writes to buffers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import count

from msgspec import Struct

from ...ir import tir
from ...ir.diagnostics import error
from .places import Place
from .timeline import Step

_HITS = re.compile(r"\s*(==|>=|<=|>|<|%)?\s*(\d{1,18})\s*")
_COUNTS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda hits, number: hits == number,
    ">=": lambda hits, number: hits >= number,
    "<=": lambda hits, number: hits <= number,
    ">": lambda hits, number: hits > number,
    "<": lambda hits, number: hits < number,
    "%": lambda hits, number: number > 0 and hits % number == 0,
}


class Breakpoint(Struct, eq=False):
    """A place where the run stops if `condition` holds: a line of the text `file`, or a function or block called `name`.

    `hits` counts the times that the condition held; `when` is a condition on that number, such as `3`, `>= 10` or
    `% 100`. Instead of stopping, a log point says `log`, a text with expressions in braces.
    """

    number: int
    file: str | None = None
    line: int = 0
    name: str | None = None
    condition: str | None = None
    when: str | None = None
    log: str | None = None
    hits: int = 0

    def is_at(self, step: Step) -> bool:
        """Return whether the breakpoint is at `step`."""
        place = step.place
        if self.name is None:
            return place.line == self.line and place.source.name == self.file and can_break(place)
        if isinstance(place.node, tir.Block) and place.node.name_hint == self.name:
            return True
        return step.is_first and step.activation.name == self.name

    def counts(self) -> bool:
        """Count a hit; return whether the run stops at it."""
        self.hits += 1
        if self.when is None:
            return True
        sign, number = parse_hits(self.when)
        return _COUNTS[sign](self.hits, number)


class Watch(Struct, frozen=True, eq=False):
    """A stop after each write to the buffer `name`, or only to its element at `indices`."""

    number: int
    name: str
    indices: tuple[int, ...] | None = None
    condition: str | None = None

    @property
    def text(self) -> str:
        """The watched element or buffer."""
        return self.name if self.indices is None else f"{self.name}[{', '.join(map(str, self.indices))}]"


class Breakpoints:
    """The breakpoints of a session."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.all: tuple[Breakpoint, ...] = ()
        self.watches: tuple[Watch, ...] = ()
        self._lines: frozenset[int] = frozenset()
        self._has_names = False

    def number(self) -> int:
        """Return the number of a new breakpoint or watch."""
        return next(self._numbers)

    def set(self, chosen: Iterable[Breakpoint]) -> None:
        """Replace all breakpoints."""
        self.all = tuple(chosen)
        self._has_names = any(breakpoint.name is not None for breakpoint in self.all)
        self._lines = frozenset(breakpoint.line for breakpoint in self.all if breakpoint.name is None)

    def forget_hits(self) -> None:
        """Count hits from zero."""
        for breakpoint in self.all:
            breakpoint.hits = 0

    def at(self, step: Step) -> list[Breakpoint]:
        """Return the breakpoints at a step."""
        if not self._has_names and step.place.line not in self._lines:
            return []
        return [breakpoint for breakpoint in self.all if breakpoint.is_at(step)]


def can_break(place: Place) -> bool:
    """Return whether a breakpoint in a line is at `place`; the end of a loop function has no line of its own."""
    return place.is_head and not (place.is_end and isinstance(place.node, tir.PrimFunc))


def parse_hits(text: str) -> tuple[str, int]:
    """Return the comparison and the number of a condition on hits; raise E0826 if it is not one."""
    match = _HITS.fullmatch(text)
    if match is None:
        raise error("E0826", f"'{text}' is not a condition on the number of hits", None, "write 3, >= 10 or % 100")
    return match[1] or "==", int(match[2])


def resolve(places: Iterable[Place], file: str, line: int) -> int | None:
    """Return the first line from `line` on in which a run can stop; None if there is none."""
    lines = (place.line for place in places if place.source.name == file and can_break(place))
    return min((found for found in lines if found >= line), default=None)
