"""Computations that the meanings of many operators share; names of blocks and axes are TVM's (`tvm.topi`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .. import tir
from . import expr as e
from .expr import Expr
from .tensor import ReduceAxis, Tensor, compute, reduce_axis

Operand: TypeAlias = Tensor | Expr


def elementwise(x: Tensor, f: Callable[[Expr], e.Value], name: str = "compute") -> Tensor:
    """Return `f` of every element."""
    return compute(x.shape, lambda *i: f(x(*i)), name)


def broadcast_shape(a: Sequence[tir.PrimExpr], b: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...]:
    """Return the shape that `a` and `b` broadcast to, taking what is not 1."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    offset = len(long) - len(short)
    aligned = zip(long[offset:], short, strict=True)
    return (*long[:offset], *(y if _is_one(x) else x for x, y in aligned))


def _is_one(dim: tir.PrimExpr) -> bool:
    return isinstance(dim, tir.IntImm) and dim.value == 1


def element(x: Operand, index: Sequence[Expr]) -> Expr:
    """Return the element of `x`, broadcast, at `index`; a scalar is its own."""
    if isinstance(x, Expr):
        return x
    return x(*batch_index(index, x.shape))


def shape_of(*operands: Operand) -> tuple[tir.PrimExpr, ...]:
    """Return the shape that all `operands` broadcast to."""
    shape: tuple[tir.PrimExpr, ...] = ()
    for operand in operands:
        if isinstance(operand, Tensor):
            shape = broadcast_shape(shape, operand.shape)
    return shape


def broadcast(f: Callable[[Expr, Expr], e.Value], a: Operand, b: Operand, name: str) -> Tensor:
    """Return `f` of the elements of `a` and `b`, broadcast against each other."""
    return compute(shape_of(a, b), lambda *ax: f(element(a, ax), element(b, ax)), name)


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

    def source(index: tuple[Expr, ...]) -> list[Expr]:
        result = list(index)
        for position, axis in enumerate(axes):
            result[axis] = index[position]
        return result

    return compute([x.shape[axis] for axis in axes], lambda *ax: x(*source(ax)), "T_transpose")


def cast(x: Tensor, dtype: str) -> Tensor:
    return elementwise(x, lambda value: value.astype(dtype))


def normal_axes(axis: Sequence[int] | int | None, ndim: int) -> list[int]:
    """Return `axis` as sorted numbers counted from the front; None means all."""
    if axis is None:
        return list(range(ndim))
    axes = [axis] if isinstance(axis, int) else axis
    return sorted(item % ndim for item in axes)


def reduce_axes(x: Tensor, axes: Sequence[int]) -> list[ReduceAxis]:
    """Return an axis `k<n>` over each of `axes` of `x`."""
    return [reduce_axis((e.const(0, x.shape[axis].dtype), x.shape[axis]), f"k{axis}") for axis in axes]


def reduced_shape(x: Tensor, axes: Sequence[int], keepdims: bool) -> list[tir.PrimExpr]:
    """Return the shape of `x` reduced over `axes`."""
    one = tir.IntImm("int64", 1)
    shape = [one if number in axes else dim for number, dim in enumerate(x.shape)]
    return shape if keepdims else [dim for number, dim in enumerate(x.shape) if number not in axes]


def source_index(
    index: Sequence[Expr], axes: Sequence[int], reduced: Sequence[Expr], ndim: int, keepdims: bool
) -> list[Expr]:
    """Return the index into the tensor being reduced, from that of the result and those of the reduced axes."""
    kept = iter(index if not keepdims else [i for number, i in enumerate(index) if number not in axes])
    inner = iter(reduced)
    return [next(inner) if number in axes else next(kept) for number in range(ndim)]


def reduce(
    x: Tensor, axis: Sequence[int] | int | None, keepdims: bool, reducer: Callable[..., Any], name: str | None = None
) -> Tensor:
    """Return `x` reduced over `axis` with `reducer`, such as `te.sum`."""
    axes = normal_axes(axis, x.ndim)
    inner = reduce_axes(x, axes)

    def value(*ax: Expr) -> Any:
        return reducer(x(*source_index(ax, axes, inner, x.ndim, keepdims)), axis=inner)

    return compute(reduced_shape(x, axes, keepdims), value, name or f"{x.name}_red")


def count(x: Tensor, axis: Sequence[int] | int | None) -> Expr:
    """Return the number of elements that are reduced into one over `axis`, as int64."""
    total = e.const(1, "int64")
    for number in normal_axes(axis, x.ndim):
        total = total * Expr(x.shape[number])
    return total


def reshape(x: Tensor, shape: Sequence[tir.PrimExpr]) -> Tensor:
    """Return the elements of `x`, in row-major order, as a tensor of another shape."""

    def value(*ax: Expr) -> Expr:
        terms = _flat_terms(ax, shape)
        index: list[Expr] = []
        for dim in reversed(x.shape):
            index.append(_remainder(terms, dim))
            terms = _quotient(terms, dim)
        return x(*reversed(index))

    return compute(shape, value, "T_reshape")


_Term: TypeAlias = tuple[Expr, int]
"""An expression and the number it is multiplied with."""


class _Flat:
    """A sum of terms, perhaps divided, that unravelling works on: `sum(factor * value) // divisor`."""

    def __init__(self, terms: list[_Term], divisor: int = 1) -> None:
        self.terms = terms
        self.divisor = divisor

    def sum(self) -> Expr:
        total: Expr | None = None
        for value, factor in self.terms:
            scaled = value if factor == 1 else value * factor
            total = scaled if total is None else total + scaled
        return e.const(0, "int64") if total is None else total


def _flat_terms(index: Sequence[Expr], shape: Sequence[tir.PrimExpr]) -> _Flat:
    """The row-major position of `index` in a tensor of `shape`."""
    terms: list[_Term] = []
    stride = 1
    position: Expr | None = None
    for i, dim in zip(reversed(index), reversed(shape), strict=True):
        if not isinstance(dim, tir.IntImm) and position is None:
            position = e.const(stride, dim.dtype)
        terms.append((i, stride) if position is None else (i * position, 1))
        if position is not None:
            position = position * Expr(dim)
        elif isinstance(dim, tir.IntImm):
            stride *= dim.value
    return _Flat(terms[::-1])


def _quotient(flat: _Flat, dim: tir.PrimExpr) -> _Flat:
    """`flat // dim`: the terms that `dim` divides leave the division."""
    if not isinstance(dim, tir.IntImm):
        return _Flat([(_divided(flat) // Expr(dim), 1)])
    divisor = flat.divisor * dim.value
    outer = [(value, factor // divisor) for value, factor in flat.terms if factor % divisor == 0]
    inner = [term for term in flat.terms if term[1] % divisor]
    if not inner:
        return _Flat(outer)
    if not outer:
        return _Flat(inner, divisor)
    return _Flat([(_Flat(inner).sum() // divisor, 1), *outer])


def _divided(flat: _Flat) -> Expr:
    return flat.sum() if flat.divisor == 1 else flat.sum() // flat.divisor


def _remainder(flat: _Flat, dim: tir.PrimExpr) -> Expr:
    """`flat % dim`, the remainder taken before the division."""
    if not isinstance(dim, tir.IntImm):
        return _divided(flat) % Expr(dim)
    if dim.value == 1:
        return e.const(0, dim.dtype)
    modulus = dim.value * flat.divisor
    kept = _Flat([term for term in flat.terms if term[1] % modulus]).sum() % modulus
    return kept if flat.divisor == 1 else kept // flat.divisor


def batch_index(index: Sequence[Expr], dims: Sequence[tir.PrimExpr]) -> list[Expr]:
    """Return the part of `index` that dimensions `dims`, broadcast, are read at."""
    own = index[len(index) - len(dims) :]
    return [e.const(0, i.dtype) if _is_one(dim) else i for dim, i in zip(dims, own, strict=True)]
