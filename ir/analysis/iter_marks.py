"""The nodes of iterator maps (TVM: `arith.IterMapExpr`), and the arithmetic of their factors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from .. import tir
from ..base import Node
from ..dtype import int_range
from ..idioms import is_one, is_zero
from ..linear import linear
from ..simplify import Simplifier
from ..sums import Sum
from ..visit import walk


class IterMapExpr(Node, frozen=True, eq=False):
    """A sum of splits, or a split."""


class IterMark(Node, frozen=True, eq=False):
    """An iterator from 0 to `extent`: an input iterator minus its start, or a fused sum."""

    source: tir.PrimExpr | IterMapExpr
    extent: tir.PrimExpr

    @property
    def variable(self) -> tir.Var | None:
        """The input iterator, minus the start of its range; None for a fused sum."""
        source = self.source.a if isinstance(self.source, tir.Sub) else self.source
        return source if isinstance(source, tir.Var) else None

    def __repr__(self) -> str:
        return f"IterMark({self.source}, extent={self.extent})"

    __str__ = __repr__


class IterSplitExpr(IterMapExpr, frozen=True, eq=False):
    """`source // lower_factor % extent * scale`."""

    source: IterMark
    lower_factor: tir.PrimExpr
    extent: tir.PrimExpr
    scale: tir.PrimExpr

    def __repr__(self) -> str:
        return f"IterSplit({self.source}, lower_factor={self.lower_factor}, extent={self.extent}, scale={self.scale})"

    __str__ = __repr__


class IterSumExpr(IterMapExpr, frozen=True, eq=False):
    """`base` plus the sum of `args`, the greatest scale first."""

    args: tuple[IterSplitExpr, ...]
    base: tir.PrimExpr

    def __repr__(self) -> str:
        return f"IterSum([{', '.join(map(str, self.args))}], {self.base})"

    __str__ = __repr__


_EVALUATED: dict[type[tir.BinaryOp], Callable[[int, int], int]] = {
    tir.Mul: operator.mul, tir.Add: operator.add, tir.Sub: operator.sub, tir.FloorDiv: lambda a, b: a // b, tir.FloorMod: operator.mod,
}  # fmt: skip


class NotIterMap(Exception):
    """An index cannot be built by splits and fusions; the message gives the reason."""


class Factors:
    """Arithmetic of scales and extents: constant expressions in normal form; equal ones are the same object."""

    def __init__(self, iters: Mapping[tir.Var, tir.Range], keeps_trivial: bool, as_written: bool) -> None:
        self.iters, self.as_written = dict(iters), as_written
        known = {v: d for v, d in iters.items() if not (keeps_trivial and is_one(d.extent))}
        self.simplifier = Simplifier(known)
        self.visit = self.simplifier.visit

    def read(self, expr: tir.PrimExpr) -> Sum:
        """Return an expression as a sum of terms, of its normal form or as it is written."""
        return linear(expr, self.simplifier.nodes) if self.as_written else self.simplifier.sum(self.visit(expr))

    def number(self, value: int, like: tir.PrimExpr) -> tir.PrimExpr:
        return self.simplifier.constant(value, like.dtype)

    def times(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self._applied(tir.Mul, a, b)

    def plus(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self._applied(tir.Add, a, b)

    def minus(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self._applied(tir.Sub, a, b)

    def over(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self._applied(tir.FloorDiv, a, b)

    def beyond(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self._applied(tir.FloorMod, a, b)

    def _applied(self, kind: type[tir.BinaryOp], a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        """Return an operation in normal form; most are between constants."""
        if isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) and a.dtype == b.dtype and b.value > 0:
            value = _EVALUATED[kind](a.value, b.value)
            low, high = int_range(a.dtype)
            if low <= value <= high:
                return self.simplifier.constant(value, a.dtype)
        return self.visit(kind(a.dtype, a, b))

    def quotient(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        """Return `a / b`, rounded up."""
        if self.divides(b, a):  # also if it is not known that b is positive
            return self.over(a, b)
        return self.over(tir.Add(a.dtype, a, tir.Sub(a.dtype, b, self.number(1, a))), b)

    def divides(self, divisor: tir.PrimExpr, value: tir.PrimExpr) -> bool:
        return is_zero(self.beyond(value, divisor))

    def at_most(self, a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
        return self.simplifier.at_most(self.simplifier.sum(a).plus(self.simplifier.sum(b), -1))

    def uses_iters(self, expr: tir.PrimExpr) -> bool:
        return any(node in self.iters for node in walk(expr) if isinstance(node, tir.Var))
