"""Proofs that an access is inside its buffer and its allocation, from the loops and conditions around it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from ...ir import make, tir
from ...ir.analysis.const_bounds import Domain
from ...ir.dtype import element_bytes, lanes_of
from ...ir.int_set import Interval
from ...ir.visit import walk
from .facts import Facts, are_pure
from .layout import strides_of
from .pointers import Pointed, constant
from .vectors import in_lane, widen
from .wrapping import Arithmetic, Exact, Limits

_ZERO = tir.IntImm("int64", 0)


class Proofs:
    """What is known at a place of a function with these `parameters`, and what follows from it; nothing if not `is_proving`."""

    def __init__(self, parameters: Iterable[tir.Buffer], is_proving: bool) -> None:
        self._is_proving, self._arithmetic = is_proving, Arithmetic(parameters)
        self._domains: dict[tir.Var, Domain] = {
            extent: Interval(make.const(0, extent.dtype), None) for extent in self._arithmetic.extents
        }
        self._taken: dict[tir.Var, Limits] = {}
        self.facts = Facts()
        self.limits: Limits = frozenset()
        """The limits of sizes that proofs assumed."""

    @contextmanager
    def inside(self, loop: tir.For) -> Generator[None]:
        """Know the domain of a loop; outside of the loop, it may be empty."""
        self._domains[loop.loop_var], self._taken[loop.loop_var] = self._arithmetic.enter(loop)
        yield
        del self._domains[loop.loop_var], self._taken[loop.loop_var]

    @contextmanager
    def in_lane(self, access: tir.BufferLoad | tir.BufferStore) -> Generator[Sequence[tir.PrimExpr | None]]:
        """Yield the indices of an access in any lane in which its predicate holds, and know that it does; None for an index whose
        lanes are computed in another way.
        """
        lanes = max((lanes_of(index.dtype) for index in access.indices), default=1)
        if lanes == 1:
            yield access.indices
            return
        lane, height, zero = tir.Var("int32", "lane"), self.facts.height, make.const(0, "int32")
        with self.inside(tir.For(lane, zero, make.const(lanes, "int32"), tir.ForKind.SERIAL, tir.Evaluate(zero))):
            holds = None if access.predicate is None else in_lane(access.predicate, lane)
            if holds is not None and are_pure(walk(holds)):
                self.learn(holds)
            yield [in_lane(index, lane) for index in access.indices]
            self.facts.forget(height)

    def name(self, var: tir.Var, value: tir.PrimExpr) -> None:
        """Record the value of `var`."""
        self._arithmetic.name(var, value)

    def learn(self, condition: tir.PrimExpr) -> None:
        """Record that `condition` holds."""
        self.facts.add(self._arithmetic.exact(condition))

    def is_whole(self, value: tir.PrimExpr) -> bool:
        """Return whether `value` does not overflow its dtype."""
        exact = self._arithmetic.exact(value)
        if exact.is_whole:
            self.limits |= exact.limits
        return exact.is_whole

    def is_position_inside(self, buffer: tir.Buffer, indices: Sequence[tir.PrimExpr | None], pointed: Pointed) -> bool:
        """Return whether an element of a view is proven to be inside its allocation, whose size is a constant."""
        extent, start, size = pointed.extent, pointed.offset, element_bytes(buffer.dtype)
        if not (isinstance(extent, tir.IntImm) and isinstance(start, tir.IntImm)) or start.value % size:
            return False
        first = _ZERO if buffer.elem_offset is None else widen(buffer.elem_offset)
        position = make.add(first, constant(start.value // size))
        for index, step in zip(indices, strides_of(buffer), strict=True):
            if index is None:
                return False
            position = make.add(position, make.mul(widen(index), step))
        return self.is_inside(position, constant(extent.value // size))

    def is_inside(self, index: tir.PrimExpr | None, extent: tir.PrimExpr) -> bool:
        """Return whether `index` is proven to be in a dimension of size `extent`; None is not known."""
        from ...ir.analysis.const_bounds import const_bounds

        if index is None or not self._is_proving:
            return False
        if isinstance(extent, tir.IntImm):
            exact = self._arithmetic.exact(index)
            bounds = const_bounds(exact.expr, self._domains)
            if bounds.min >= 0 and bounds.max < extent.value:
                self._take([exact])
                return True
        zero = make.const(0, index.dtype)
        return all(map(self.is_proven, (make.greater_equal(index, zero), make.less(index, extent))))

    def is_proven(self, condition: tir.PrimExpr) -> bool:
        """Return whether `condition` follows from what is known."""
        from ...ir.analysis.proof import prove

        if not self._is_proving:
            return False
        asked = self._arithmetic.exact(condition)
        known = self.facts.about(asked.expr)
        is_proven = prove(asked.expr, self._domains, [fact.expr for fact in known]).is_proven
        if is_proven:
            self._take([asked, *known])
        return is_proven

    def _take(self, proven: Iterable[Exact]) -> None:
        """Record the limits that a proof of these assumed."""
        self.limits = self.limits.union(*(exact.limits for exact in proven), *self._taken.values())
