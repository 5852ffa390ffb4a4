"""Nodes of schedules in texts: `S.schedule name(function, target=…):`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import tir
from ..base import Attrs, Commented, Node


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


class Element(tir.PrimExpr, frozen=True, eq=False):
    """Element of a list: `loops[0]`, `S.get_loops("C")[-1]`."""

    owner: tir.PrimExpr
    index: tir.PrimExpr | int


class Part(tir.PrimExpr, frozen=True, eq=False):
    """List of the elements of a list from one position to another: `loops[2:]`, `S.get_loops("C")[:-1]`."""

    owner: tir.PrimExpr
    start: tir.PrimExpr | int | None
    stop: tir.PrimExpr | int | None


class Result(tir.PrimExpr, frozen=True, eq=False):
    """Result of a call inside of an expression: `S.get_extent(i) % 4 == 0`."""

    step: Step


class TextComparison(tir.PrimExpr, frozen=True, eq=False):
    """Comparison of a value with a string: `S.get_dtype(block) == "float32"`."""

    value: tir.PrimExpr
    text: str
    is_equal: bool


class Spread(Node, frozen=True, eq=False):
    """Elements of a list as arguments: `*loops`."""

    owner: tir.PrimExpr


class Statement(Commented, frozen=True, eq=False):
    """Statement of a schedule."""


class Step(Statement, frozen=True, eq=False):
    """Step of a schedule, `i0, i1 = S.split(i, factors=[None, 16])`: a primitive, its arguments, names of its results.

    Arguments are plain values, tuples, dicts, the nodes above, and nodes such as index maps. The first argument and
    variadic ones are positional, all others are named. A step may also call a function of schedules, or a schedule.
    """

    primitive: str
    args: tuple[Any, ...]
    named: Attrs
    results: tuple[str, ...] = ()
    unpacks: bool = False
    """Whether each result has a name; if not, a single name denotes the list of all results."""
    function: ScheduleFunction | ScheduleText | None = None
    """What it calls, if that is not a primitive."""


class Assignment(Statement, frozen=True, eq=False):
    """Names of values: `bm, bn = 8, S.get_extent(j)`."""

    names: tuple[str, ...]
    unpacks: bool
    value: Any


class ForEach(Statement, frozen=True, eq=False):
    """Statements for each element of a list: `for loop in loops:`."""

    names: tuple[str, ...]
    unpacks: bool
    values: Any
    body: tuple[Statement, ...]


class Branch(Statement, frozen=True, eq=False):
    """Statements under a condition: `if S.get_extent(j) % 16 == 0:`."""

    condition: Any
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


class Assertion(Statement, frozen=True, eq=False):
    """Condition that has to hold: `assert S.get_extent(j) % bn == 0, "choose a divisor"`."""

    condition: Any
    message: str = ""


class ScheduleFunction(Commented, frozen=True, eq=False):
    """A function that schedules can call: `S.function name(loop, factor=4):`."""

    name: str
    params: tuple[str, ...]
    defaults: Attrs
    """Default values of the last parameters."""
    steps: tuple[Statement, ...]
    result: Any = None


class ScheduleText(Commented, frozen=True, eq=False):
    """Schedule of a text, `S.schedule name(function, bm=8, target=…):`, with its steps."""

    name: str
    function: str
    """Name of the loop function that it schedules."""
    target: str | Attrs | None
    """Target that it is for; None for every target."""
    steps: tuple[Statement, ...]
    parameters: Attrs = {}
    """Parameters with their values, which a call, a command line or a tuner may change."""


def kind_of(target: object) -> str | None:
    """Return the kind of a target, as schedules and command lines write it: "llvm" for `{"kind": "llvm", …}`."""
    if isinstance(target, Mapping):
        target = target.get("kind")  # type: ignore[reportUnknownMemberType]
    return target.split()[0] if isinstance(target, str) and target else None
