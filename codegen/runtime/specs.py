"""The requirements on arguments, checked before any machine code runs.

A spec is made once, from the declaration of a parameter, and checks a value at every call: its kind,
dtype, rank, and each dimension. A symbolic dimension is bound by the first argument that has it and must
agree in all others; a dimension that is an expression is compared when all variables are bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from ...ir import tir
from ...ir.base import Span
from ...ir.buffers import are_too_small
from ...ir.diagnostics import TvmsError, error
from ...ir.dtype import int_range, is_bool, is_float, is_int, lanes_of
from ...ir.numpy_dtype import numpy_dtype
from .dlpack import Array, from_dlpack, has_dlpack, is_on_host
from .sizes import Frame, Size, Slots, compile_size, size_text, size_variables_in


class ArgumentContext:
    """The argument and function that a message is about."""

    def __init__(self, argument: str, function: str, span: Span | None = None) -> None:
        self.argument, self.function, self.span = argument, function, span

    def fault(self, code: str, message: str, help: str | None = None) -> TvmsError:
        """Return an error about this argument."""
        where = f"argument '{self.argument}' of '{self.function}'" if self.function else self.argument
        return error(code, f"{where}: {message}", self.span, help)


def entry_repr(entry: object, name: str, contexts: Iterable[ArgumentContext]) -> str:
    """Return the `repr` of a function of an executable: its class, name and parameters."""
    return f"<{type(entry).__name__} {name}({', '.join([context.argument for context in contexts])})>"


class ShapeSpec:
    """The declared dimensions: numbers, variables, and expressions over them."""

    def __init__(self, shape: Sequence[tir.PrimExpr], slots: Slots) -> None:
        self.declared = tuple(shape)
        self._slots = slots
        self._static = tuple(size.value for size in shape if isinstance(size, tir.IntImm))
        self._fixed = [(axis, size.value) for axis, size in enumerate(shape) if isinstance(size, tir.IntImm)]
        self._variable = [(axis, _slot(size, slots)) for axis, size in enumerate(shape) if isinstance(size, tir.Var)]
        self._deferred: list[tuple[int, Size]] = [
            (axis, compile_size(size, slots))
            for axis, size in enumerate(shape)
            if not isinstance(size, tir.IntImm | tir.Var)
        ]
        narrow = ((axis, size.dtype) for axis, size in enumerate(shape) if not isinstance(size, tir.IntImm))
        self._limits = [(axis, dtype, int_range(dtype)[1]) for axis, dtype in narrow if dtype != "int64"]
        self.is_static = len(self._fixed) == len(self.declared)
        self.has_deferred = bool(self._deferred)
        deferred = [size for size in shape if not isinstance(size, tir.IntImm | tir.Var)]
        self._needed = [slots[variable] for variable in size_variables_in(deferred) if variable in slots]
        self._agreed: tuple[Any, ...] | None = None
        """The shape that agreed last, and the sizes that its expressions depend on."""

    def bind(self, actual: tuple[int, ...], frame: Frame) -> bool:
        """Return whether `actual` has the rank and the fixed dimensions, and agrees with bound variables; bind the
        others.
        """
        if self.is_static:
            return actual == self._static
        if len(actual) != len(self.declared):
            return False
        for axis, slot in self._variable:
            if frame[slot] is None:
                frame[slot] = actual[axis]
            elif frame[slot] != actual[axis]:
                return False
        return all(actual[axis] == size for axis, size in self._fixed)

    def agrees(self, actual: tuple[int, ...], frame: Frame) -> bool:
        """Return whether the dimensions that are expressions agree."""
        now = (actual, *[frame[slot] for slot in self._needed])
        if now == self._agreed:
            return True
        agrees = all(actual[axis] == size(frame) for axis, size in self._deferred)
        if agrees:
            self._agreed = now
        return agrees

    def check_fit(self, place: ArgumentContext, actual: tuple[int, ...], what: str = "dimension") -> None:
        """Raise E0703 if a number of `actual` does not fit in the dtype of its declaration."""
        for axis, dtype, most in self._limits:
            if actual[axis] > most:
                declared = size_text(self.declared[axis])
                said = f"{what} {axis} is {actual[axis]}, but '{declared}' has dtype {dtype}, whose maximum is {most}"
                raise place.fault("E0703", said, "declare the size as int64")

    def fault(self, place: ArgumentContext, actual: tuple[int, ...], frame: Frame) -> TvmsError:
        """Return the error for a shape that is not the expected one."""
        inner = ", ".join(map(size_text, self.declared))
        expected = f"({inner},)" if len(self.declared) == 1 else f"({inner})"
        if len(actual) != len(self.declared):
            dimensions = "dimension" if len(self.declared) == 1 else "dimensions"
            help = f"pass an array of {len(self.declared)} {dimensions}"
            return place.fault("E0704", f"expected shape {expected} with ndim {len(self.declared)}, got {actual}", help)
        bound = [(var.name, frame[self._slots[var]]) for var in size_variables_in(self.declared)]
        known = ", ".join(f"{name} = {value}" for name, value in bound if value is not None)
        given = f" with {known}" if known else ""
        return place.fault("E0705", f"expected shape {expected}{given}, got {actual}", self._help(actual, frame))

    def _help(self, actual: tuple[int, ...], frame: Frame) -> str:
        expected = [*self._fixed, *((axis, frame[slot]) for axis, slot in self._variable)]
        wrong = [(axis, size) for axis, size in expected if size is not None and actual[axis] != size]
        wrong = wrong or [(axis, size(frame)) for axis, size in self._deferred if actual[axis] != size(frame)]
        axis, size = min(wrong)
        return f"dimension {axis} must be {size}, not {actual[axis]}"


def _slot(variable: tir.Var, slots: Slots) -> int:
    return slots.setdefault(variable, len(slots))


class TensorSpec:
    """A tensor of `dtype` ("void": any) and of a shape, or, if `shape` is None, of a rank (-1: any)."""

    def __init__(
        self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1,
        strides: Sequence[tir.PrimExpr] = (), is_written: bool = False,
    ) -> None:  # fmt: skip
        self.dtype, self.ndim, self.is_written = dtype, ndim, is_written
        self.is_row_major = not strides
        self._lanes = lanes_of(dtype) if dtype != "void" else 1
        self._numpy_dtype = None if dtype == "void" else numpy_dtype(dtype)
        lanes = (tir.IntImm("int64", self._lanes),) if self._lanes > 1 else ()
        self.shape = None if shape is None else ShapeSpec((*shape, *lanes), slots)
        self._strides = ShapeSpec(strides, slots) if strides else None
        self._constant_strides = [step.value if isinstance(step, tir.IntImm) else None for step in strides]

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> Array:
        """Return `value` as an array and bind its dimensions; raise an error if it does not match the declaration."""
        array = value if type(value) is np.ndarray else as_array(value, place)
        self.check_kind(array, place, frame)
        flags = array.flags
        if self.is_row_major and not flags.c_contiguous:
            help = "pass numpy.ascontiguousarray of it"
            raise place.fault("E0706", "expected a contiguous row-major array", help)
        if not flags.aligned:
            raise place.fault("E0706", "its elements are not aligned in memory", "pass a copy of it")
        if self.is_written and not flags.writeable:
            raise place.fault("E0702", "the function writes it, but it is read-only", "pass a writeable array")
        return array

    def check_kind(self, array: Any, place: ArgumentContext, frame: Frame) -> None:
        """Check the dtype, the dimensions and the declared strides of an array in any memory; bind symbolic ones."""
        if self._numpy_dtype is not None and array.dtype != self._numpy_dtype:
            help = f"convert it: x.astype({self._numpy_dtype})" if array.dtype.kind in "fiub" else None
            raise place.fault("E0703", f"expected dtype {self._numpy_dtype}, got {array.dtype}", help)
        if self.shape is not None:
            if not self.shape.bind(array.shape, frame):
                raise self.shape.fault(place, array.shape, frame)
            self.shape.check_fit(place, array.shape)
        elif self.ndim >= 0 and array.ndim != self.ndim:
            raise place.fault("E0704", f"expected ndim {self.ndim}, got shape {array.shape}")
        if self._strides is not None:
            steps = self._steps(array, place)
            if not self._strides.bind(steps, frame):
                raise place.fault("E0706", f"strides of {steps} elements do not match the declaration")
            self._strides.check_fit(place, steps, "stride")
            if (
                self.is_written
                and None in self._constant_strides
                and are_too_small(zip(steps, array.shape, strict=False))
            ):
                message = "the function writes it, but some of its elements share memory"
                raise place.fault("E0719", message, "pass a copy of it, whose elements are apart")

    def check_deferred(self, value: Any, place: ArgumentContext, frame: Frame) -> None:
        """Check the dimensions that are expressions, when every variable is bound."""
        if self.shape is not None and self.shape.has_deferred and not self.shape.agrees(value.shape, frame):
            raise self.shape.fault(place, value.shape, frame)
        if self._strides is not None and self._strides.has_deferred:
            steps = self._steps(value, place)
            if not self._strides.agrees(steps, frame):
                raise place.fault("E0706", f"strides of {steps} elements do not match the declaration")

    def _steps(self, array: Any, place: ArgumentContext) -> tuple[int, ...]:
        """Return the strides in elements; the declared ones if the array has at most one element."""
        size = array.itemsize * self._lanes
        steps = array.strides[:-1] if self._lanes > 1 else array.strides
        if any(step < 0 or step % size for step in steps):
            raise place.fault("E0706", f"has strides of {steps} bytes", "pass numpy.ascontiguousarray of it")
        is_free = [extent == 1 or 0 in array.shape for extent in array.shape]
        given = zip(steps, self._constant_strides, is_free, strict=False)
        return tuple([known if free and known is not None else step // size for step, known, free in given])


def as_array(value: Any, place: ArgumentContext) -> Array:
    """Return the NumPy array of `value`, possibly by DLPack, never a copy."""
    if isinstance(value, np.ndarray):
        return np.asarray(
            cast("Array", value)
        )  # also converts subclasses such as memmap: machine code reads plain arrays
    if isinstance(value, np.generic):  # a scalar of NumPy is an array without axes, which cannot be written
        scalar: Array = np.asarray(cast("Array", value))
        scalar.flags.writeable = False
        return scalar
    if not has_dlpack(value):
        help = "pass numpy.asarray of it" if isinstance(value, list | tuple | int | float) else None
        raise place.fault("E0702", f"expected an array, got {kind_of(value)}", help)
    try:
        is_here = is_on_host(value)
        array = from_dlpack(value) if is_here else None
    except Exception as problem:  # any exception of the library that owns the memory
        raise place.fault("E0702", f"its memory cannot be shared: {problem}") from None
    if array is None:
        raise place.fault("E0718", "it is on another device", "move it to the processor first, as with x.cpu()")
    return array


def kind_of(value: Any) -> str:
    """Return the name of the type of `value`, for messages."""
    return cast("type[Any]", type(value)).__name__


class ScalarSpec:
    """A number of `dtype`, which is bound to a slot of the frame if it is a size."""

    def __init__(self, dtype: str, slot: int | None = None) -> None:
        self._dtype, self._slot = dtype, slot
        self._convert: Callable[[Any], Any] = float if is_float(dtype) else bool if is_bool(dtype) else int

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> Any:
        """Return `value` as a Python number; E0702 or E0703 if it does not have the dtype."""
        if isinstance(value, np.ndarray):
            array = cast("Array", value)
            value = array[()] if array.ndim == 0 else array
        is_whole = isinstance(value, int | np.integer | np.bool_)
        if not is_whole and not isinstance(value, float | np.floating | numpy_dtype(self._dtype).type):
            raise place.fault("E0702", f"expected a number, got {kind_of(value)}")
        if not is_float(self._dtype) and not is_whole:
            raise place.fault("E0703", f"expected {self._dtype}, got {value}")
        number = self._convert(value)
        if is_int(self._dtype):
            low, high = int_range(self._dtype)
            if not low <= number <= high:
                raise place.fault("E0703", f"{number} does not fit in {self._dtype}")
        if self._slot is not None:
            if frame[self._slot] is not None and frame[self._slot] != number:
                raise place.fault("E0705", f"expected {frame[self._slot]}, got {number}")
            frame[self._slot] = number
        return number
