"""Nodes of schedules in texts: `S.schedule name(function, target=…):`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import tir
from ..base import Attrs, Commented, Node
from ..visit import substitute, walk


class Name(tir.Var, frozen=True, eq=False):
    """Name bound by an earlier step: a block, a loop, a list of them, or a number, which may occur in expressions.

    Names are equal if their strings are.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and other.name == self.name

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)


class Element(Node, frozen=True, eq=False):
    """Element of a list of results: `loops[0]`."""

    id: str
    index: int


class Spread(Node, frozen=True, eq=False):
    """List of results, unpacked into arguments: `*loops`."""

    id: str


class Step(Commented, frozen=True, eq=False):
    """Step of a schedule, `i0, i1 = S.split(i, factors=[None, 16])`: a primitive, its arguments, names of its results.

    Arguments are plain values, tuples, dicts, the nodes above, and nodes such as index maps. The first argument and
    variadic ones are positional, all others are named.
    """

    primitive: str
    args: tuple[Any, ...]
    named: Attrs
    results: tuple[str, ...] = ()
    unpacks: bool = False
    """Whether each result has a name; if not, a single name denotes the list of all results."""


class ScheduleText(Commented, frozen=True, eq=False):
    """Schedule of a text, `S.schedule name(function, target=…):`, with its steps."""

    name: str
    function: str
    """Name of the loop function that it schedules."""
    target: str | Attrs | None
    """Target that it is for; None for every target."""
    steps: tuple[Step, ...]


def resolve(value: Any, known: Mapping[str, Any]) -> Any:
    """Return an argument of a step with its names replaced by their values."""
    match value:
        case Name():
            return known[value.name]
        case Element():
            return known[value.id][value.index]
        case tuple():
            return tuple([element for item in value for element in _resolved(item, known)])  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: resolve(item, known) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
        case tir.PrimExpr() | tir.IndexMap():
            names = {node: known[node.name] for node in walk(value) if isinstance(node, Name)}
            return substitute(value, names) if names else value
        case _:
            return value


def _resolved(item: Any, known: Mapping[str, Any]) -> list[Any]:
    return list(known[item.id]) if isinstance(item, Spread) else [resolve(item, known)]
