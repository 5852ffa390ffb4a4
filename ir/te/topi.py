"""Computations that many operators share; names of blocks and axes are TVM's (`tvm.topi`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from .. import tir
from ..idioms import is_one
from . import expr as e
from .tensor import Tensor, compute, reduce_axis

Operand: TypeAlias = Tensor | tir.PrimExpr


def elementwise(x: Tensor, f: Callable[[tir.PrimExpr], e.Value], name: str = "compute") -> Tensor:
    """Apply `f` to every element."""
    return compute(x.dims, lambda *i: f(x(*i)), name)


def broadcast_shape(a: Sequence[tir.PrimExpr], b: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...]:
    """Return the shape that `a` and `b` broadcast to: in each dimension the size that is not 1."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    offset = len(long) - len(short)
    aligned = zip(long[offset:], short, strict=True)
    return (*long[:offset], *(y if is_one(x) else x for x, y in aligned))


def element(x: Operand, index: Sequence[tir.PrimExpr], shape: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the element of `x`, broadcast to `shape`, at `index`; a scalar is returned unchanged."""
    return x if isinstance(x, tir.PrimExpr) else x(*broadcast_index(index, shape, x.dims))


def broadcast_index(
    index: Sequence[tir.PrimExpr], shape: Sequence[tir.PrimExpr], dims: Sequence[tir.PrimExpr]
) -> list[tir.PrimExpr]:
    """Return the index into a tensor of shape `dims` for `index` into its broadcast to `shape`."""
    offset = len(index) - len(dims)
    parts = zip(index[offset:], shape[offset : len(index)], dims, strict=True)
    return [e.const(0, i.dtype) if is_one(dim) and not is_one(out) else i for i, out, dim in parts]


def shape_of(*operands: Operand) -> tuple[tir.PrimExpr, ...]:
    """Return the shape that all `operands` broadcast to."""
    shape: tuple[tir.PrimExpr, ...] = ()
    for operand in operands:
        if isinstance(operand, Tensor):
            shape = broadcast_shape(shape, operand.dims)
    return shape


def broadcast(f: Callable[[tir.PrimExpr, tir.PrimExpr], e.Value], a: Operand, b: Operand, name: str) -> Tensor:
    """Apply `f` to the elements of `a` and `b`, broadcast against each other."""
    shape = shape_of(a, b)
    return compute(shape, lambda *ax: f(element(a, ax, shape), element(b, ax, shape)), name)


def add(a: Operand, b: Operand) -> Tensor:
    return broadcast(lambda x, y: x + y, a, b, "T_add")


def subtract(a: Operand, b: Operand) -> Tensor:
    return broadcast(lambda x, y: x - y, a, b, "T_subtract")


def multiply(a: Operand, b: Operand) -> Tensor:
    return broadcast(lambda x, y: x * y, a, b, "T_multiply")


def divide(a: Operand, b: Operand) -> Tensor:
    return broadcast(lambda x, y: x / y, a, b, "T_divide")


def transpose(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return `x` with its dimensions in the order `axes`."""

    def source(index: tuple[tir.PrimExpr, ...]) -> list[tir.PrimExpr]:
        result = list(index)
        for position, axis in enumerate(axes):
            result[axis] = index[position]
        return result

    return compute([x.dims[axis] for axis in axes], lambda *ax: x(*source(ax)), "T_transpose")


def cast(x: Tensor, dtype: str) -> Tensor:
    return elementwise(x, lambda value: value.astype(dtype))


def normal_axes(axis: Sequence[int] | int | None, ndim: int) -> list[int]:
    """Return `axis` as sorted numbers counted from the front; None means all axes."""
    if axis is None:
        return list(range(ndim))
    axes = [axis] if isinstance(axis, int) else axis
    return sorted(item % ndim for item in axes)


def reduce_axes(x: Tensor, axes: Sequence[int]) -> list[tir.IterVar]:
    """Return a reduction axis `k<n>` for each of `axes` of `x`."""
    return [reduce_axis((e.const(0, x.dims[axis].dtype), x.dims[axis]), f"k{axis}") for axis in axes]


def reduced_shape(x: Tensor, axes: Sequence[int], keepdims: bool) -> list[tir.PrimExpr]:
    """Return the shape of `x` reduced over `axes`."""
    one = tir.IntImm("int64", 1)
    shape = [one if number in axes else dim for number, dim in enumerate(x.dims)]
    return shape if keepdims else [dim for number, dim in enumerate(x.dims) if number not in axes]


def source_index(
    index: Sequence[tir.PrimExpr], axes: Sequence[int], reduced: Sequence[tir.IterVar], ndim: int, keepdims: bool
) -> list[tir.PrimExpr]:
    """Return the index into the reduced tensor from the index of the result and the reduction axes."""
    kept = iter(index if not keepdims else [i for number, i in enumerate(index) if number not in axes])
    inner = iter(reduced)
    return [next(inner).var if number in axes else next(kept) for number in range(ndim)]


def reduce(
    x: Tensor, axis: Sequence[int] | int | None, keepdims: bool, reducer: Callable[..., Any], name: str | None = None
) -> Tensor:
    """Return `x` reduced over `axis` with `reducer`, such as `te.sum`."""
    axes = normal_axes(axis, x.ndim)
    inner = reduce_axes(x, axes)

    def value(*ax: tir.PrimExpr) -> Any:
        return reducer(x(*source_index(ax, axes, inner, x.ndim, keepdims)), axis=inner)

    return compute(reduced_shape(x, axes, keepdims), value, name or f"{x.name}_red")


def count(x: Tensor, axis: Sequence[int] | int | None) -> tir.PrimExpr:
    """Return the number of elements that are reduced into each result over `axis`, as int64."""
    total = e.const(1, "int64")
    for number in normal_axes(axis, x.ndim):
        total = total * x.dims[number]
    return total


def reshape(x: Tensor, shape: Sequence[tir.PrimExpr]) -> Tensor:
    """Return `x` reshaped, in row-major order."""
    is_empty = any(isinstance(dim, tir.IntImm) and dim.value == 0 for dim in x.dims)

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        if is_empty:
            return e.const(0, x.dtype)
        position = _position(ax, shape)
        index: list[tir.PrimExpr] = []
        for dim in reversed(x.dims):
            index.append(position.remainder(dim))
            position = position.quotient(dim)
        return x(*reversed(index))

    return compute(shape, value, "T_reshape")


class _Position(Struct, frozen=True):
    """A position to be divided into indices: `inner // divisor` plus the sum of each value times its factor."""

    terms: tuple[tuple[tir.PrimExpr, int], ...]
    inner: tir.PrimExpr | None = None
    divisor: int = 1

    def value(self, *, without: int = 0) -> tir.PrimExpr | None:
        """Return the sum, except for terms with factors that are multiples of `without`."""
        terms = [(value, factor) for value, factor in self.terms if not without or factor % without]
        if self.inner is not None:
            terms.insert(0, (self.inner // self.divisor if self.divisor > 1 else self.inner, 1))
        terms.sort(key=lambda term: -term[1])
        scaled = (value if factor == 1 else value * factor for value, factor in terms)
        return functools.reduce(lambda a, b: a + b, scaled) if terms else None

    def quotient(self, dim: tir.PrimExpr) -> _Position:
        """Return `self // dim`; terms that are multiples of `dim` are divided exactly."""
        if not isinstance(dim, tir.IntImm):
            whole = self.value()
            return _Position(() if whole is None else ((whole // dim, 1),))
        outer = tuple((value, factor // dim.value) for value, factor in self.terms if factor % dim.value == 0)
        if len(outer) == len(self.terms):
            return _Position(outer, self.inner, self.divisor * dim.value)
        return _Position(outer, self.value(without=dim.value), dim.value)

    def remainder(self, dim: tir.PrimExpr) -> tir.PrimExpr:
        """Return `self % dim`; the remainder is taken before a division."""
        if not isinstance(dim, tir.IntImm):
            whole = self.value()
            return e.const(0, dim.dtype) if whole is None else whole % dim
        if dim.value == 1:
            return e.const(0, dim.dtype)
        if self.inner is not None and self.divisor > 1 and all(factor % dim.value == 0 for _, factor in self.terms):
            return self.inner % (self.divisor * dim.value) // self.divisor
        rest = self.value(without=dim.value)
        return e.const(0, dim.dtype) if rest is None else rest % dim.value


def _position(index: Sequence[tir.PrimExpr], shape: Sequence[tir.PrimExpr]) -> _Position:
    """Return the row-major position of `index` in a tensor of `shape`."""
    terms: list[tuple[tir.PrimExpr, int]] = []
    stride = 1
    symbolic: tir.PrimExpr | None = None
    for i, dim in zip(reversed(index), reversed(shape), strict=True):
        terms.append((i if symbolic is None else i * symbolic, stride))
        if isinstance(dim, tir.IntImm):
            stride *= dim.value
        else:
            symbolic = dim if symbolic is None else symbolic * dim
    return _Position(tuple(reversed(terms)))
