"""Helpers of authors of tensor expressions (TVM: `tvm.topi.utils`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import make, te, tir
from ...simplify import simplify as _simplify


class InvalidShapeError(ValueError):
    """Shapes that an operator cannot compute (TVM: `topi.utils.InvalidShapeError`)."""


def simplify(expr: te.Value) -> te.Value:
    """Return an expression in a simpler form; a number is returned unchanged."""
    return _simplify(expr) if isinstance(expr, tir.PrimExpr) else expr


def get_const_int(expr: te.Value) -> int:
    """Return the value of a constant. Raises ValueError for an expression that is not one."""
    value = simplify(expr)
    if not isinstance(value, int | tir.IntImm):
        raise ValueError(f"expected a constant, got {expr}")
    return int(value)


def get_const_float(expr: te.Value) -> float:
    """Return the value of a constant. Raises ValueError for an expression that is not one."""
    value = simplify(expr)
    if not isinstance(value, int | float | tir.IntImm | tir.FloatImm):
        raise ValueError(f"expected a constant, got {expr}")
    return float(
        value.value if isinstance(value, tir.FloatImm) else int(value) if isinstance(value, tir.IntImm) else value
    )


def get_const_tuple(in_tuple: Sequence[te.Value]) -> tuple[te.Value, ...]:
    """Return sizes with numbers in place of constants."""
    sizes = map(simplify, in_tuple)
    return tuple(int(size) if isinstance(size, int | tir.IntImm) else size for size in sizes)


def get_float_tuple(in_tuple: Sequence[te.Value]) -> tuple[float, ...]:
    """Return the values of constants."""
    return tuple(map(get_const_float, in_tuple))


def equal_const_int(expr: te.Value, value: int) -> bool:
    """Return whether an expression is the constant `value`."""
    known = simplify(expr)
    return isinstance(known, int | tir.IntImm) and int(known) == value


def prod(x: Sequence[te.Value]) -> te.Value:
    """Return the product of sizes; 1 for none."""
    total: te.Value = 1
    for size in x:
        total = total * size  # type: ignore[reportOperatorIssue]
    return total


def ravel_index(indices: Sequence[te.Value], shape: Sequence[te.Value]) -> te.Value:
    """Return the position of an element in row-major order."""
    total: te.Value = 0
    for index, size in zip(indices, shape, strict=True):
        total = total * size + index  # type: ignore[reportOperatorIssue]
    return total


def unravel_index(idx: te.Value, shape: Sequence[te.Value]) -> list[te.Value]:
    """Return the indices of the element at a position in row-major order."""
    found: list[te.Value] = []
    rest = te.operand(idx)
    for size in reversed(shape):
        found.append(make.floormod(*te.operands(rest, size)))
        rest = make.floordiv(*te.operands(rest, size))
    return found[::-1]


def ceil_div(a: te.Value, b: te.Value) -> te.Value:
    """Return the quotient, rounded up."""
    return simplify(make.ceildiv(*te.operands(a, b)))


def is_dynamic_shape(shape: Sequence[te.Value]) -> bool:
    """Return whether a shape has symbolic sizes."""
    return not all(isinstance(size, int | tir.IntImm) for size in shape)


def is_empty_shape(shape: Sequence[te.Value]) -> bool:
    """Return whether a size is 0."""
    return any(equal_const_int(size, 0) for size in shape)


def swap(arr: Sequence[te.Value], axis: int) -> tuple[te.Value, ...]:
    """Return `arr` with element `axis` exchanged with the last one."""
    items = list(arr)
    items[axis], items[-1] = items[-1], items[axis]
    return tuple(items)


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """Return the largest power of two that divides `n`, and is at most `max_value`."""
    factor = 1
    while n % (factor * 2) == 0 and (max_value is None or factor * 2 <= max_value):
        factor *= 2
    return factor


def const_vector(vector: Sequence[float], name: str = "const_vector") -> te.Tensor:
    """Return a vector of constants as a tensor of their dtype."""
    return const_matrix([vector], name, is_vector=True)


def const_matrix(matrix: Any, name: str = "const_matrix", is_vector: bool = False) -> te.Tensor:
    """Return a matrix of constants, a list of rows or an array, as a tensor of their dtype."""
    import numpy as np

    values = np.asarray(matrix)
    dtype = str(values.dtype)
    rows, columns = values.shape

    def element(row: te.Value, column: te.Value) -> te.Value:
        found: te.Value = te.const(values[-1, -1].item(), dtype)
        for y, x in reversed([*np.ndindex(rows, columns)][:-1]):
            at = te.all(te.equal(row, y), te.equal(column, x))
            found = te.select(at, te.const(values[y, x].item(), dtype), found)
        return found

    if is_vector:

        def item(i: tir.PrimExpr) -> te.Value:
            return element(te.const(0, "int32"), i)

        return te.compute((columns,), item, name)
    return te.compute((rows, columns), element, name)


def get_shape(src_shape: Sequence[te.Value], src_layout: str, dst_layout: str) -> tuple[te.Value, ...]:
    """Return a shape in the order of dimensions of another layout. ValueError if the layouts have other letters."""
    if src_layout == dst_layout:
        return tuple(get_const_tuple(src_shape))
    if sorted(src_layout) != sorted(dst_layout) or len(src_layout) != len(src_shape):
        raise ValueError(f'cannot bring a shape with {len(src_shape)} sizes from "{src_layout}" to "{dst_layout}"')
    sizes = dict(zip(src_layout, get_const_tuple(src_shape), strict=True))
    return tuple(sizes[letter] for letter in dst_layout)
