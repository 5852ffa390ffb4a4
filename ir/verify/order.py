"""Commutativity of reduction steps, tested by computing both orders exactly on a few values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import prod

from msgspec import Struct

from .. import tir
from ..analysis.update import Key, Number, Update, is_plain_update, key_of
from ..dtype import is_bool
from ..visit import walk

_SAMPLES = 80
_NEAR = 6
"""Number of tried values of an axis."""


class OrderDependence(Struct, frozen=True):
    """A description of two steps whose order matters; `among_equals` means that it matters among equal values only."""

    example: str
    among_equals: bool


def order_matters(block: tir.Block, axes: list[tir.IterVar]) -> OrderDependence | None:
    """Return two steps along the reduction `axes` whose order matters, or None if none are found.

    Operands that do not depend on the axes are the same in both steps. Numbers are exact.
    """
    if is_plain_update(block.body):
        return None
    update = Update.of(block.body)
    if update is None or update.is_plain():
        return None
    picking = {node for element in update.elements.values() for index in element.indices for node in walk(index)}
    axes = [axis for axis in axes if axis.var not in picking]  # steps along the other axes update different elements
    if not axes:
        return None
    steps = _Steps(update, block, axes)
    for are_distinct in (True, False):
        for start, one, two in steps.samples(are_distinct):
            forth, back = update(update(start, one), two), update(update(start, two), one)
            if forth != back:
                return OrderDependence(steps.show(start, one, two, forth, back), not are_distinct)
    return None


def repetition_matters(block: tir.Block) -> bool:
    """Whether there is a step that gives another result when it is repeated."""
    update = Update.of(block.body, takes_others=True)
    if update is None:
        return False
    samples = _Steps(update, block, []).samples(are_distinct=True)
    return any(update(update(start, one), one) != update(start, one) for start, one, _ in samples)


class _Steps:
    """Random sequences of steps of a reduction."""

    def __init__(self, update: Update, block: tir.Block, axes: list[tir.IterVar]) -> None:
        self.update, self._init = update, update.start(block.init)
        self.domains = {key_of(axis.var): axis.dom for axis in block.iter_vars}
        reduced = {axis.var for axis in axes}
        if self._init is not None and any(_reads(operand, reduced) for operand in self._init.operands.values()):
            self._init = None
        self._operands = {**update.operands, **(self._init.operands if self._init is not None else {})}
        self.moving = [key for key, operand in self._operands.items() if _reads(operand, reduced)]
        self._own = [key_of(axis.var) for axis in axes]
        sizes = [axis.dom.extent.value for axis in axes if axis.dom and isinstance(axis.dom.extent, tir.IntImm)]
        self._are_many = len(sizes) < len(axes) or prod(sizes) > 2
        self._numbers = random.Random(0)
        self._taken: set[Number] | None = None

    def samples(self, are_distinct: bool) -> Iterator[tuple[tuple[Number, ...], dict[Key, Number], dict[Key, Number]]]:
        """Yield old elements and two steps; with `are_distinct`, all numbers in them differ."""
        dtypes = [store.value.dtype for store in self.update.elements.values()]
        for number in range(_SAMPLES // 2):
            self._taken = set() if are_distinct else None
            same = {key: self._operand(key) for key in self._operands if key not in self.moving}
            before, one, two = ({**same, **{key: self._operand(key) for key in self.moving}} for _ in range(3))
            if not are_distinct and number % 2:  # steps that differ only in their axes
                two.update({key: value for key, value in one.items() if key not in self._own})
            if self._is_same(one, two):
                continue
            start = self._start(same)
            if start is None:
                yield tuple([self._sample(dtype) for dtype in dtypes]), one, two
            elif number % 4 != 3 and self._are_many and not (self._is_same(before, one) or self._is_same(before, two)):
                yield self.update(start, before), one, two
            else:
                yield start, one, two

    def _start(self, same: dict[Key, Number]) -> tuple[Number, ...] | None:
        """Return the initial values of the elements; None if they are not known."""
        if self._init is None:
            return None
        values = dict(zip(self._init.elements, self._init([0] * len(self._init.elements), same), strict=True))
        return tuple([values[key] for key in self.update.elements])

    def _is_same(self, one: dict[Key, Number], two: dict[Key, Number]) -> bool:
        """Whether two steps have the same values of all reduction axes."""
        return bool(self._own) and all(key in one and one[key] == two[key] for key in self._own)

    def _operand(self, key: Key) -> Number:
        if key not in self.domains:
            return self._sample(self._operands[key].dtype)
        match self.domains[key]:
            case tir.Range(min=tir.IntImm(value=least), extent=tir.IntImm(value=extent)) if extent > 0:
                return least + self._numbers.randrange(min(extent, _NEAR))
            case _:
                return self._numbers.randrange(_NEAR)

    def _sample(self, dtype: str) -> int:
        """Return a small number; if all must differ, one that was not used yet."""
        if is_bool(dtype):
            return self._numbers.randint(0, 1)
        least, most = (0 if "uint" in dtype else -4), 5
        found = self._numbers.randint(least, most)
        while self._taken is not None and found in self._taken:
            most += 1
            found = self._numbers.randint(least, most)
        if self._taken is not None:
            self._taken.add(found)
        return found

    def show(
        self,
        start: tuple[Number, ...],
        one: dict[Key, Number],
        two: dict[Key, Number],
        forth: tuple[Number, ...],
        back: tuple[Number, ...],
    ) -> str:
        """Return a description of the results of the steps in both orders."""
        first, second = [" and ".join(str(step[key]) for key in self.moving) for step in (one, two)]
        results = [_shown(result) for result in (start, forth, back)]
        return f"from {results[0]}, the steps {first}, then {second} give {results[1]}, in reverse order {results[2]}"


def _reads(operand: tir.PrimExpr, variables: set[tir.Var]) -> bool:
    return any(part in variables for part in walk(operand))


def _shown(values: tuple[Number, ...]) -> str:
    return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"
