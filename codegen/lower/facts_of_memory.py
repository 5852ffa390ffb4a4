"""Facts about elements of memory: where they hold, and what a loop leaves of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.intern import has_effects, may_fault
from ...ir.linear import difference
from ...ir.visit import distinct, substitute, walk

ASSUME = Op("tir.assume")
_IN_ORDER = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)
_Vars = tuple[tuple[tir.Var, tir.Range], ...]


class Fact(Struct, frozen=True, eq=False):
    """For all values of `variables` for which the `conditions` hold, the element at `indices` is `value`."""

    buffer: tir.Buffer
    indices: tuple[tir.PrimExpr, ...]
    value: tir.PrimExpr
    conditions: tuple[tir.PrimExpr, ...] = ()
    variables: _Vars = ()
    origin: object = None
    """The fact that this one restricts."""

    @property
    def parts(self) -> tuple[Node, ...]:
        return (
            *self.indices,
            self.value,
            *self.conditions,
            *(part for _, domain in self.variables for part in (domain,)),
        )

    def where(self, *conditions: tir.PrimExpr) -> Fact:
        """Return this fact where `conditions` hold as well."""
        return replace(self, conditions=(*self.conditions, *conditions), origin=self.origin or self)

    def replaced(self, values: dict[Any, Node]) -> Fact:
        """Return this fact with variables replaced."""
        parts = {
            name: tuple([substitute(part, values) for part in getattr(self, name)])
            for name in ("indices", "conditions")
        }
        variables = tuple([(var, substitute(domain, values)) for var, domain in self.variables])
        return replace(self, value=substitute(self.value, values), variables=variables, origin=None, **parts)


class Written:
    """The elements that a loop stores to: those of each memory in one dimension at the variable of the loop plus constants."""

    def __init__(self, loop: tir.For) -> None:
        self._loop = loop
        self._memory: dict[tir.Var, list[tir.BufferStore]] = {}
        self._has_effects = False
        for node in distinct(loop.body):
            if isinstance(node, tir.BufferStore):
                self._memory.setdefault(node.buffer.data, []).append(node)
            elif isinstance(node, tir.Call) and node.op != ASSUME and has_effects(node):
                self._has_effects = True

    def _offsets(self, fact: Fact) -> tuple[int, int, int] | None:
        """Return a dimension and the least and the greatest distance of stores from the variable of the loop in it."""
        stores = self._memory[fact.buffer.data]
        if self._loop.kind not in _IN_ORDER or any(store.buffer is not fact.buffer for store in stores):
            return None
        for place in range(len(fact.indices)):
            found = [difference(store.indices[place], self._loop.loop_var) for store in stores]
            known = [offset for offset in found if offset is not None]
            if len(known) == len(found):
                return place, min(known), max(known)
        return None

    def during(self, fact: Fact) -> Fact | None:
        """Return what holds of `fact` at the start of each iteration: earlier ones have stored to lower elements."""

        def apart(index: tir.PrimExpr, _: int, most: int) -> tir.PrimExpr:
            return make.greater_equal(index, make.add(make.cast(self._loop.loop_var, index.dtype), most))

        return self._restricted(fact, apart)

    def after(self, fact: Fact) -> Fact | None:
        """Return what holds of `fact` after the loop."""

        def apart(index: tir.PrimExpr, least: int, most: int) -> tir.PrimExpr:
            start = make.cast(self._loop.min, index.dtype)
            end = make.add(start, make.cast(self._loop.extent, index.dtype))
            below, above = make.less(index, make.add(start, least)), make.greater_equal(index, make.add(end, most))
            return make.logical_or(below, above)

        return self._restricted(fact, apart)

    def _restricted(self, fact: Fact, apart: Callable[[tir.PrimExpr, int, int], tir.PrimExpr]) -> Fact | None:
        """Return `fact` where `apart` holds of its index and of the distances of stores; None if these are unknown."""
        if self._has_effects:
            return None
        if fact.buffer.data not in self._memory:
            return fact
        offsets = self._offsets(fact)
        if offsets is None:
            return None
        place, least, most = offsets
        return fact.where(apart(fact.indices[place], least, most))

    def in_all(self, fact: Fact) -> Fact | None:
        """Return what a fact of one iteration tells after all: of an element that no other iteration stores to."""
        var = self._loop.loop_var
        if self._has_effects or self._loop.kind not in _IN_ORDER:
            return None
        if fact.buffer.data in self._memory:
            offsets = self._offsets(fact)
            if offsets is None or offsets[1] != offsets[2] or difference(fact.indices[offsets[0]], var) != offsets[1]:
                return None
        if not mentions(fact, var):
            is_run = isinstance(self._loop.extent, tir.IntImm) and self._loop.extent.value > 0
            return replace(fact, origin=None) if is_run else None
        own = replace(var)
        moved = fact.replaced({var: own})
        return replace(moved, variables=(*moved.variables, (own, tir.Range(self._loop.min, self._loop.extent))))


def solved(
    variables: Iterable[tir.Var], indices: Sequence[tir.PrimExpr], places: Sequence[tir.PrimExpr]
) -> dict[Any, Node] | None:
    """Return the values of `variables` for which `indices` are `places`; None if none are found. Each variable must be an index,
    plus a constant.
    """
    found: dict[Any, Node] = {}
    for var in variables:
        for index, place in zip(indices, places, strict=True):
            offset = difference(index, var)
            if offset is not None and index.dtype == place.dtype == var.dtype:
                found[var] = make.sub(place, make.const(offset, place.dtype))
                break
        else:
            return None
    return found


def inside(var: tir.Var, domain: tir.Range) -> list[tir.PrimExpr]:
    """Return the conditions that `var` is in `domain`."""
    return [make.less_equal(domain.min, var), make.less(var, make.add(domain.min, domain.extent))]


def mentions(fact: Fact, var: tir.Var) -> bool:
    """Return whether `fact` uses `var`."""
    return any(node is var for part in fact.parts for node in walk(part))


def is_plain(expr: tir.PrimExpr) -> bool:
    """Return whether the value of an expression cannot change: it reads no memory, has no effects, and cannot fault."""
    return not has_effects(expr) and not any(
        isinstance(node, tir.BufferLoad | tir.ProducerLoad) or may_fault(node) for node in walk(expr)
    )
