"""A schedule that is written down: `S.schedule name(function, target=…):` as nodes of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import Attrs, Commented, Node


class Name(Node, frozen=True, eq=False):
    """A block, loop or number, by the name that a step before gave it."""

    id: str


class Element(Node, frozen=True, eq=False):
    """One of several results that a step gave one name: `loops[0]`."""

    id: str
    index: int


class Step(Commented, frozen=True, eq=False):
    """`i0, i1 = S.split(i, factors=[None, 16])`: a primitive, its arguments by name, and the names of its results.

    Arguments are plain values, tuples, dicts, `Name`s, `Element`s, and nodes such as index maps.
    """

    primitive: str
    arguments: Attrs
    results: tuple[str, ...] = ()
    unpacks: bool = False
    """Whether there is a name for each result; else one name stands for all that the primitive returns."""


class ScheduleText(Commented, frozen=True, eq=False):
    """`S.schedule name(function, target=…):` with its steps."""

    name: str
    function: str
    """The loop-level function that it schedules."""
    target: Attrs | None
    """What it is meant for; None where it is for every target."""
    steps: tuple[Step, ...]


def resolve(value: Any, known: Mapping[str, Any]) -> Any:
    """Return an argument of a step with what its names stand for."""
    match value:
        case Name():
            return known[value.id]
        case Element():
            return known[value.id][value.index]
        case tuple():
            return tuple([resolve(each, known) for each in value])  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: resolve(each, known) for key, each in value.items()}  # type: ignore[reportUnknownVariableType]
        case _:
            return value
