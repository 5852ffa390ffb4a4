"""A schedule that is written down: `S.schedule name(function, target=…):` as nodes of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import tir
from ..base import Attrs, Commented, Node
from ..visit import substitute, walk


class Name(tir.Var, frozen=True, eq=False):
    """What a step before gave a name: a block, a loop, several of them, or a number, which may stand in expressions.

    The same name is the same thing.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and other.name == self.name

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)


class Element(Node, frozen=True, eq=False):
    """One of several results that a step gave one name: `loops[0]`."""

    id: str
    index: int


class Spread(Node, frozen=True, eq=False):
    """All of several results that a step gave one name, each an argument: `*loops`."""

    id: str


class Step(Commented, frozen=True, eq=False):
    """`i0, i1 = S.split(i, factors=[None, 16])`: a primitive, its arguments, and the names of its results.

    Arguments are plain values, tuples, dicts, the references above, and nodes such as index maps. The first one, and
    those of which there may be any number, stand by position, all others by name.
    """

    primitive: str
    args: tuple[Any, ...]
    named: Attrs
    results: tuple[str, ...] = ()
    unpacks: bool = False
    """Whether there is a name for each result; else one name stands for all that the primitive returns."""


class ScheduleText(Commented, frozen=True, eq=False):
    """`S.schedule name(function, target=…):` with its steps."""

    name: str
    function: str
    """The loop-level function that it schedules."""
    target: str | Attrs | None
    """What it is meant for; None where it is for every target."""
    steps: tuple[Step, ...]


def resolve(value: Any, known: Mapping[str, Any]) -> Any:
    """Return an argument of a step with what its names stand for."""
    match value:
        case Name():
            return known[value.name]
        case Element():
            return known[value.id][value.index]
        case tuple():
            return tuple([each for item in value for each in _resolved(item, known)])  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: resolve(each, known) for key, each in value.items()}  # type: ignore[reportUnknownVariableType]
        case tir.PrimExpr() | tir.IndexMap():
            names = {each: known[each.name] for each in walk(value) if isinstance(each, Name)}
            return substitute(value, names) if names else value
        case _:
            return value


def _resolved(item: Any, known: Mapping[str, Any]) -> list[Any]:
    return list(known[item.id]) if isinstance(item, Spread) else [resolve(item, known)]
