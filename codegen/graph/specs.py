"""The specs of arguments and results of graph functions, from their struct info."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...ir import relax, tir
from ...ir.base import Span, StructInfo
from ...ir.diagnostics import error
from ...ir.numpy_dtype import numpy_dtype
from ..runtime.sizes import Frame, Slots, compile_size
from ..runtime.specs import ArgumentContext, ScalarSpec, ShapeSpec, kind_of
from .home import Home, Spec


class Shape(tuple[int, ...]):
    """A shape, as opposed to a tuple of values."""

    __slots__ = ()


class AnySpec:
    """Any value."""

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> Any:
        """Return `value`."""
        return value

    def check_deferred(self, value: Any, place: ArgumentContext, frame: Frame) -> None:
        """Do nothing."""


class NumberSpec(AnySpec):
    """A scalar, optionally with a declared value."""

    def __init__(self, info: relax.PrimStructInfo, slots: Slots) -> None:
        variable = info.value if isinstance(info.value, tir.Var) else None
        slot = None if variable is None else slots.setdefault(variable, len(slots))
        self._scalar = ScalarSpec(info.dtype, slot)
        self._make = numpy_dtype(info.dtype).type
        self._declared = None if info.value is None or variable is not None else compile_size(info.value, slots)

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> Any:
        """Return `value` as a NumPy scalar of the dtype."""
        return self._make(self._scalar.check(value, place, frame))

    def check_deferred(self, value: Any, place: ArgumentContext, frame: Frame) -> None:
        """Compare with the declared value."""
        if self._declared is not None and self._declared(frame) != value:
            raise place.fault("E0705", f"expected {self._declared(frame)}, got {value}")


class SizesSpec(AnySpec):
    """A shape: a tuple of integers."""

    def __init__(self, info: relax.ShapeStructInfo, slots: Slots) -> None:
        self._ndim = info.ndim
        self._sizes = None if info.values is None else ShapeSpec(info.values, slots)

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> Shape:
        """Return `value` as a shape."""
        items = cast("Sequence[Any]", value) if isinstance(value, tuple | list) else None
        if items is None or not all(isinstance(item, int | np.integer) for item in items):
            raise place.fault("E0702", f"expected a shape, a tuple of integers, got {kind_of(value)}")
        shape = Shape(map(int, items))
        if self._sizes is not None and not self._sizes.bind(shape, frame):
            raise self._sizes.fault(place, shape, frame)
        if self._ndim not in (-1, len(shape)):
            raise place.fault("E0704", f"expected a shape of {self._ndim} dimensions, got {tuple(shape)}")
        return shape

    def check_deferred(self, value: Any, place: ArgumentContext, frame: Frame) -> None:
        """Compare the sizes that are expressions."""
        if self._sizes is not None and not self._sizes.agrees(value, frame):
            raise self._sizes.fault(place, tuple(value), frame)


class TupleSpec:
    """A tuple, with a spec for each field."""

    def __init__(self, fields: Sequence[Spec]) -> None:
        self._fields = tuple(fields)

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> tuple[Any, ...]:
        """Return `value` with all fields checked."""
        if not isinstance(value, tuple | list):
            raise place.fault("E0702", f"expected a tuple, got {kind_of(value)}")
        items = cast("Sequence[Any]", value)
        if len(items) != len(self._fields):
            raise place.fault("E0704", f"expected a tuple of {len(self._fields)}, got {len(items)} fields")
        checked = zip(self._fields, items, _fields_of(place, len(items)), strict=True)
        return tuple(spec.check(item, where, frame) for spec, item, where in checked)

    def check_deferred(self, value: Any, place: ArgumentContext, frame: Frame) -> None:
        """Compare the rest in every field."""
        for spec, item, where in zip(self._fields, value, _fields_of(place, len(value)), strict=True):
            spec.check_deferred(item, where, frame)


def _fields_of(place: ArgumentContext, count: int) -> list[ArgumentContext]:
    return [ArgumentContext(f"{place.argument}[{index}]", place.function, place.span) for index in range(count)]


def make_spec(info: StructInfo | None, slots: Slots, home: Home) -> Spec:
    """Return the spec of a value of `info`, whose tensors are at `home`; allocate slots for new variables."""
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values), dtype=dtype):
            return home.spec(dtype, values, slots)
        case relax.TensorStructInfo(dtype=dtype, ndim=ndim):
            return home.spec(dtype, None, slots, ndim)
        case relax.ShapeStructInfo():
            return SizesSpec(info, slots)
        case relax.PrimStructInfo():
            return NumberSpec(info, slots)
        case relax.TupleStructInfo(fields=fields):
            return TupleSpec([make_spec(field, slots, home) for field in fields])
        case _:
            return AnySpec()


def declare_sizes(info: StructInfo | None, slots: Slots) -> None:
    """Allocate slots for the variables that are whole dimensions in `info`, which a value binds."""
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values)):
            declared = values
        case relax.ShapeStructInfo(values=tuple() as values):
            declared = values
        case relax.PrimStructInfo(value=tir.Var() as value):
            declared = (value,)
        case relax.TupleStructInfo(fields=fields):
            for field in fields:
                declare_sizes(field, slots)
            return
        case _:
            return
    for size in declared:
        if isinstance(size, tir.Var):
            slots.setdefault(size, len(slots))


def make_allocator(info: StructInfo, slots: Slots, span: Span | None, home: Home) -> Callable[[Frame], Any]:
    """Return a function that allocates uninitialized memory at `home` for a value of `info`: a tensor, or a
    tuple of tensors.
    """
    empty = home.empty
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values), dtype=dtype) if dtype != "void":
            sizes = tuple(compile_size(value, slots) for value in values)
            kind = numpy_dtype(dtype)
            if all(isinstance(value, tir.IntImm) for value in values):
                shape = tuple(size([]) for size in sizes)
                return lambda frame: empty(shape, kind)
            return lambda frame: empty([size(frame) for size in sizes], kind)
        case relax.TensorStructInfo(shape=relax.Var() as variable, dtype=dtype) if dtype != "void":
            slot, kind = slots[variable], numpy_dtype(dtype)
            return lambda frame: empty(frame[slot], kind)
        case relax.TupleStructInfo(fields=fields):
            parts = tuple(make_allocator(field, slots, span, home) for field in fields)
            return lambda frame: tuple(part(frame) for part in parts)
        case _:
            help = "give its shape and dtype in out_sinfo"
            raise error("E0606", "the shape or dtype of this call's result is not known", span, help)
