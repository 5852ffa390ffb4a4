"""Struct info at run time: checks of values, and allocation of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from .. import relax, tir
from ..base import Node, StructInfo
from ..diagnostics import count
from ..numpy_dtype import numpy_dtype
from .arguments import Size, shape_sizes, to_array, to_scalar
from .buffers import new_memory
from .expressions import compile_expr
from .frame import Frame, fault
from .memory import Array


class Shape(tuple[int, ...]):
    """A shape, as opposed to a tuple of values."""

    __slots__ = ()


def variables_in(info: StructInfo) -> set[tir.Var]:
    """Return the variables that `info` can bind: those that are a whole dimension or value in it."""
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values)):
            return {value for value in values if isinstance(value, tir.Var)}
        case relax.ShapeStructInfo(values=tuple() as values):
            return {value for value in values if isinstance(value, tir.Var)}
        case relax.PrimStructInfo(value=tir.Var() as value):
            return {value}
        case relax.TupleStructInfo(fields=fields):
            return set[tir.Var]().union(*map(variables_in, fields))
        case relax.DTensorStructInfo(tensor_sinfo=tensor):
            return variables_in(tensor)
        case _:
            return set()


def sizes_in(value: Any, info: StructInfo, frame: Frame, subject: str, node: Node) -> Iterator[Size]:
    """Yield the sizes of `value` that `info` declares; E0702 to E0705 if its kind, dtype or rank differs."""
    match info:
        case relax.TensorStructInfo():
            yield from _tensor_sizes(value, info, frame, subject, node)
        case relax.DTensorStructInfo(tensor_sinfo=tensor):
            yield from _tensor_sizes(value, tensor, frame, subject, node)
        case relax.ShapeStructInfo(values=values, ndim=ndim):
            shape = _to_shape(value, subject, node)
            _check_rank(len(shape), ndim, subject, node)
            yield from shape_sizes(values, shape, subject, node) if values is not None else ()
        case relax.PrimStructInfo(dtype=dtype, value=declared):
            scalar = to_scalar(value, dtype, subject, node)
            if declared is not None:
                yield Size(declared, scalar, "E0705", f"{subject} is {scalar}, but its value", node)
        case relax.TupleStructInfo(fields=fields):
            if not isinstance(value, tuple | list):
                raise fault("E0702", f"{subject} is of type {type(value).__name__}, but must be a tuple", node)
            items = cast("Sequence[Any]", value)
            if len(items) != len(fields):
                said = f"{subject} has {count(len(items), 'field')}, but {len(fields)} are declared"
                raise fault("E0704", said, node)
            for index, (item, field) in enumerate(zip(items, fields, strict=True)):
                yield from sizes_in(item, field, frame, f"field {index} of {subject}", node)
        case relax.FuncStructInfo():
            if not callable(value):
                raise fault("E0702", f"{subject} is of type {type(value).__name__}, but must be a function", node)
        case _:
            pass


def _to_shape(value: Any, subject: str, node: Node) -> tuple[int, ...]:
    kind = type(value).__name__
    sizes: tuple[Any, ...] = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (None,)
    if not all(isinstance(size, int | np.integer) for size in sizes):
        raise fault("E0702", f"{subject} is of type {kind}, but must be a shape: a tuple of integers", node)
    return tuple([int(size) for size in sizes])


def _tensor_sizes(value: Any, info: relax.TensorStructInfo, frame: Frame, subject: str, node: Node) -> Iterator[Size]:
    array = to_array(value, info.dtype, subject, node)
    _check_rank(array.ndim, info.ndim, subject, node)
    if isinstance(info.shape, relax.ShapeExpr):
        yield from shape_sizes(info.shape.values, array.shape, subject, node)
    elif info.shape is not None and frame.get(info.shape, array.shape) != array.shape:
        said = f"{subject} has shape {array.shape}, but {tuple(frame[info.shape])} is declared"
        raise fault("E0705", said, node)


def _check_rank(rank: int, declared: int, subject: str, node: Node) -> None:
    if declared not in (-1, rank):
        raise fault("E0704", f"{subject} has {count(rank, 'dimension')}, but {declared} are declared", node)


def make_result(info: StructInfo, frame: Frame, node: Node) -> Any:
    """Return poisoned memory for a value of `info`: an array, or a tuple of them."""
    match info:
        case relax.TupleStructInfo(fields=fields):
            return tuple(make_result(field, frame, node) for field in fields)
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values), dtype=dtype):
            return new_array(frame, tuple(compile_expr(value)(frame) for value in values), dtype, node)
        case relax.TensorStructInfo(shape=relax.Var() as shape, dtype=dtype):
            return new_array(frame, tuple(frame[shape]), dtype, node)
        case relax.DTensorStructInfo(tensor_sinfo=tensor):
            return make_result(tensor, frame, node)
        case _:
            raise fault("E0712", "the shape of this call's result is not known", node, "give its shape in out_sinfo")


def new_array(frame: Frame, shape: tuple[int, ...], dtype: str, node: Node) -> Array:
    """Return a poisoned array; E0717 if it cannot be allocated."""
    pointer = new_memory(frame, dtype, (*shape, prod(shape)), "global", "result", node)
    return pointer.memory.data.view(numpy_dtype(dtype)).reshape(shape)
