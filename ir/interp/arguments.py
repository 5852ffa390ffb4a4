"""Checks of arguments against declared parameters: kinds, dtypes, ranks and sizes; binds symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np

from .. import tir
from ..base import Node
from ..diagnostics import count
from ..dtype import int_range, is_bool, is_float, is_int
from ..numpy_dtype import numpy_dtype
from .expressions import compile_expr
from .frame import Frame, fault
from .memory import Array, View, compact_strides, pointer_to
from .scalars import Value, constant


class Size(NamedTuple):
    """A declared size, its actual value, and the message for a mismatch."""

    declared: tir.PrimExpr
    actual: int
    code: str
    said: str
    node: Node


def settle(frame: Frame, sizes: Iterable[Size], free: set[tir.Var]) -> None:
    """Bind each variable of `free` to the first size that declares it alone; then check all sizes."""
    sizes = list(sizes)
    for size in sizes:
        if isinstance(size.declared, tir.Var) and size.declared in free:
            check_fit(size)
            frame[size.declared] = size.actual
            free.discard(size.declared)
    for size in sizes:
        expected = compile_expr(size.declared)(frame)
        if expected != size.actual:
            is_known = isinstance(size.declared, tir.IntImm)
            shown = str(expected) if is_known else f"{size.declared}, which is {expected}"
            raise fault(size.code, f"{size.said} is {shown}", size.node)


def check_fit(size: Size) -> None:
    """Raise E0703 if a size does not fit the dtype of the variable that it binds."""
    dtype = size.declared.dtype
    if not int_range(dtype)[0] <= size.actual <= int_range(dtype)[1]:
        said = f"{size.said} is bound to {size.declared} of dtype {dtype}"
        raise fault("E0703", said, size.node, "declare the size as int64")


def shape_sizes(shape: Sequence[tir.PrimExpr], actual: Sequence[int], subject: str, node: Node) -> list[Size]:
    """Return the dimensions of a value; E0704 if its rank is wrong."""
    if len(shape) != len(actual):
        raise fault("E0704", f"{subject} has {count(len(actual), 'dimension')}, but {len(shape)} are declared", node)
    said = f"{subject} has shape {tuple(actual)}, but its dimension "
    return [Size(d, n, "E0705", f"{said}{axis}", node) for axis, (d, n) in enumerate(zip(shape, actual, strict=True))]


def check_count(name: str, params: Sequence[Any], args: Sequence[Any], node: Node) -> None:
    """Raise E0701 if a function is called with the wrong number of arguments."""
    if len(params) != len(args):
        given = f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
        raise fault("E0701", f"'{name}' takes {count(len(params), 'argument')}, but {given}", node)


def to_array(value: Any, dtype: str, subject: str, node: Node) -> Array:
    """Return `value`, which must be a NumPy array of `dtype`; E0702 or E0703 otherwise."""
    if not isinstance(value, np.ndarray):
        raise fault("E0702", f"{subject} is of type {type(value).__name__}, but must be a NumPy array", node)
    array = cast("Array", value)
    if dtype != "void" and array.dtype != numpy_dtype(dtype):
        raise fault("E0703", f"{subject} has dtype {array.dtype}, but must be {dtype}", node)
    return array


def to_scalar(value: Any, dtype: str, subject: str, node: Node) -> Value:
    """Return `value` as a scalar of `dtype`; E0702 if it is not a scalar, E0703 if it does not fit."""
    if dtype == "handle":
        return pointer_to(cast("Array", value)) if isinstance(value, np.ndarray) else value
    number = np.asarray(value)
    if number.ndim or not (number.dtype.kind in "biuf" or number.dtype == numpy_dtype(dtype)):
        raise fault("E0702", f"{subject} is of type {type(value).__name__}, but must be a number", node)
    value = number[()]
    if not is_float(dtype) and number.dtype.kind == "f":
        raise fault("E0703", f"{subject} is {value}, but must be of dtype {dtype}", node)
    if is_int(dtype) or is_bool(dtype):
        low, high = int_range(dtype)
        if not low <= value <= high:
            raise fault("E0703", f"{subject} is {value}, which is outside {dtype}", node)
    return constant(value, dtype)


def view_argument(value: Any, buffer: tir.Buffer, subject: str) -> View:
    """Return the view of an array that is the argument for `buffer`."""
    array = to_array(value, buffer.dtype, subject, buffer)
    lanes = () if (size := View(pointer_to(np.empty(0, array.dtype)), buffer.dtype, (0,)).lanes) == 1 else (size,)
    if lanes:
        if array.shape[-1:] != lanes:
            said = f"{subject} has shape {array.shape}, but its last dimension is that of the lanes, {size}"
            raise fault("E0705", said, buffer)
        array = array[..., 0]
    steps = [step // (array.itemsize * size) for step in array.strides]
    if any(step < 0 or step % (array.itemsize * size) for step in array.strides):
        said = f"{subject} has strides of {array.strides} bytes"
        raise fault("E0706", said, buffer, "pass numpy.ascontiguousarray of it")
    return View(pointer_to(value), buffer.dtype, array.shape, tuple(steps))


def buffer_sizes(buffer: tir.Buffer, view: View, subject: str, node: Node) -> Iterable[Size]:
    """Return the sizes of a view that its buffer declares: dimensions, strides, offset.

    The constant stride of a dimension of extent 1, or of an empty buffer, may differ, since it addresses nothing.
    """
    yield from shape_sizes(buffer.shape, view.shape, subject, node)
    said = f"{subject} has strides {view.strides}, but its stride "
    for axis, (declared, actual) in enumerate(zip(buffer.strides, view.strides, strict=False)):
        if not isinstance(declared, tir.IntImm) or (view.shape[axis] != 1 and 0 not in view.shape):
            yield Size(declared, actual, "E0706", f"{said}{axis}", node)
    if buffer.elem_offset is not None and not isinstance(buffer.elem_offset, tir.IntImm):
        yield Size(buffer.elem_offset, view.offset, "E0706", f"{subject} starts at {view.offset}, but its offset", node)


def check_compact(buffer: tir.Buffer, view: View, subject: str) -> None:
    """Raise E0706 if a buffer without strides gets an array that is not row-major."""
    steps = zip(view.shape, view.strides, compact_strides(view.shape), strict=True)
    if not buffer.strides and 0 not in view.shape and any(a != b for size, a, b in steps if size > 1):
        said = f"{subject} has strides {view.strides}, but must be contiguous in row-major order"
        raise fault("E0706", said, buffer, "pass numpy.ascontiguousarray of it")


def compile_match(match: tir.MatchBufferRegion) -> Callable[[Frame, View], None]:
    """Return a function that binds the variables of a matched buffer to the sizes of its source.

    The buffer binds those variables that have no value when the match is first executed.
    """
    buffer, subject = match.buffer, f"matched buffer '{match.buffer.name}'"
    offset = (buffer.elem_offset,) if buffer.elem_offset is not None else ()
    names = [expr for expr in chain(buffer.shape, buffer.strides, offset) if isinstance(expr, tir.Var)]

    def bind(frame: Frame, view: View) -> None:
        if match not in frame:
            frame[match] = [name for name in names if name not in frame]
        settle(frame, buffer_sizes(buffer, view, subject, match), set(frame[match]))

    return bind
