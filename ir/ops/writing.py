"""Tensor expressions that write values at indices: each element searches the writes for those that go to it.

There are no sequential writes, so the computation can be scheduled freely; if several values are written to one element
under "update", the last one wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from .. import te, tir

Element: TypeAlias = tuple[tir.PrimExpr, ...]


def _last(x: Any, y: Any) -> Any:
    later = x[0] < y[0]
    return te.select(later, y[0], x[0]), te.select(later, y[1], x[1])


def _nothing(position: str, value: str) -> Any:
    return te.const(-1, position), te.const(0, value)


_keep_last = te.comm_reducer(_last, _nothing)


class _Fold(Struct, frozen=True):
    """How to combine several values: the reducer, its identity, and how the result changes the old element."""

    reducer: Callable[..., Any]
    identity: Callable[[str], tir.PrimExpr]
    change: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]


def _zero(dtype: str) -> tir.PrimExpr:
    return te.const(0, dtype)


def _one(dtype: str) -> tir.PrimExpr:
    return te.const(1, dtype)


_SUM = _Fold(te.sum, _zero, lambda old, total: old + total)
_FOLDS = {
    "add": _SUM,
    "mul": _Fold(te.prod, _one, lambda old, product: old * product),
    "max": _Fold(te.max, te.least, te.maximum),
    "min": _Fold(te.min, te.greatest, te.minimum),
}


class Writes(Struct, frozen=True):
    """Values written into a copy of `data`, numbered by reduction axes of extents `extents`.

    `meets(element, axes)` is whether write number `axes` goes to `element`, and `value(element, axes)` the written value,
    which is evaluated only then.
    """

    data: te.Tensor
    extents: Sequence[Any]
    meets: Callable[[Element, Sequence[tir.Var]], tir.PrimExpr]
    value: Callable[[Element, Sequence[tir.Var]], tir.PrimExpr]

    def combined(self, reduction: str, name: str) -> te.Tensor:
        """Return the copy; `reduction` is one of "update", "add", "mul", "mean", "max" and "min"."""
        if reduction == "update":
            return self._updated(name)
        fold = _FOLDS.get(reduction, _SUM)
        written = self._folded(fold)
        result = te.compute(self.data.dims, lambda *i: fold.change(self.data(*i), written(*i)), name)
        if reduction != "mean":
            return result
        count = self._count()
        return te.compute(result.dims, lambda *i: result(*i) / te.cast(count(*i) + 1, result.dtype), f"{name}_mean")

    def _axes(self) -> list[tir.IterVar]:
        return [te.reduce_axis((te.const(0, "int64"), extent), f"k{n}") for n, extent in enumerate(self.extents)]

    def _folded(self, fold: _Fold) -> te.Tensor:
        axes = self._axes()
        places = [axis.var for axis in axes]

        def value(*i: tir.PrimExpr) -> Any:
            identity = fold.identity(self.data.dtype)
            return fold.reducer(te.if_then_else(self.meets(i, places), self.value(i, places), identity), axis=axes)

        return te.compute(self.data.dims, value, "T_written")

    def _count(self) -> te.Tensor:
        axes = self._axes()
        places = [axis.var for axis in axes]

        def value(*i: tir.PrimExpr) -> Any:
            return te.sum(te.cast(self.meets(i, places), "int64"), axis=axes)

        return te.compute(self.data.dims, value, "T_written_count")

    def _updated(self, name: str) -> te.Tensor:
        axes = self._axes()
        places = [axis.var for axis in axes]

        def pair(*i: tir.PrimExpr) -> Any:
            position: tir.PrimExpr = te.const(0, "int64")
            for axis, extent in zip(axes, self.extents, strict=True):
                position = position * te.operand(extent) + axis
            meets = self.meets(i, places)
            written = te.if_then_else(meets, self.value(i, places), te.const(0, self.data.dtype))
            return _keep_last((te.if_then_else(meets, position, te.const(-1, "int64")), written), axis=axes)

        def element(*i: tir.PrimExpr) -> tir.PrimExpr:
            return te.select(te.const(0, "int64") <= last(*i), value(*i), self.data(*i))

        last, value = te.compute(self.data.dims, pair, "T_written_last")
        return te.compute(self.data.dims, element, name)


def from_front(index: tir.PrimExpr, length: tir.PrimExpr) -> tir.PrimExpr:
    """Return an index, which may count from the end, as one from the front in int64."""
    place = te.cast(index, "int64")
    return te.select(place < 0, place + length, place)
