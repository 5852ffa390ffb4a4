"""Building blocks of kernel schedules: thread bindings, arithmetic with powers of two, conditions."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import make, tir
from ....ir.base import Op
from ....ir.visit import substitute
from ...rules import build
from ...rules.build import Body, Index, constant, index
from ...rules.nest import Axis
from ..architectures import MOST_EXTENT

X, Y, Z = "threadIdx.x", "threadIdx.y", "threadIdx.z"
BLOCK_X, BLOCK_Y, BLOCK_Z = "blockIdx.x", "blockIdx.y", "blockIdx.z"
MOST_LENGTH = 1 << 30
"""Maximum number of terms of a sum that threads share, since their positions are numbers of 32 bits."""


def bound(tag: str, extent: Index, var: tir.Var, body: tir.Stmt) -> tir.Stmt:
    """Return a loop over `body` that binds `var` to the threads or blocks of axis `tag`."""
    axis = tir.IterVar(None, tir.Var(var.dtype, ""), tir.IterVarType.THREAD_INDEX, tag)
    count = make.cast(index(extent, var.dtype), var.dtype)
    return tir.For(var, make.const(0, var.dtype), count, tir.ForKind.THREAD_BINDING, body, axis)


def blocks(axes: Sequence[tuple[Index, tir.Var]], body: tir.Stmt) -> tir.Stmt:
    """Return `body` for a grid of blocks, whose `axes`, extents and variables, are given with the slowest first.

    CUDA launches few blocks along y and z. If an axis may have more of them, all axes are folded into x:
    `for by, bx in (70000, 4)` becomes `for block in 280000` with `by = block // 4` and `bx = block % 4`.
    """
    tagged = list(zip((BLOCK_Z, BLOCK_Y, BLOCK_X)[-len(axes) :], axes, strict=True))
    sizes = [(constant(extent), MOST_EXTENT[tag]) for tag, (extent, _) in tagged if tag != BLOCK_X]
    if all(size is not None and size <= most for size, most in sizes):
        for tag, (extent, var) in reversed(tagged):
            body = bound(tag, extent, var, body)
        return body
    whole, total = tir.Var("int64", "block"), index(1)
    folded = [Axis(var, make.cast(index(extent, "int64"), "int64"), False) for extent, var in axes]
    for axis in folded:
        total = make.mul(total, axis.extent)
    return bound(BLOCK_X, total, whole, substitute(body, unravel(whole, folded)))


def unrolled(name: str, extent: int, body: Body) -> tir.Stmt:
    """Return an unrolled loop of `extent` iterations."""
    return build.unrolled(name, tir.IntImm("int32", extent), body)


def vectorized(name: str, extent: int, body: Body) -> tir.Stmt:
    """Return a vectorized loop of `extent` iterations."""
    return build.vectorized(name, tir.IntImm("int32", extent), body)


def over(value: Index, part: int) -> tir.PrimExpr:
    """Return `value // part`, for a value that is not negative and a power of two."""
    return _bits("shift_right", value, part.bit_length() - 1) if part > 1 else index(value, "int32")


def rest(value: Index, part: int) -> tir.PrimExpr:
    """Return `value % part`, for a value that is not negative and a power of two."""
    return _bits("bitwise_and", value, part - 1) if part > 1 else tir.IntImm("int32", 0)


def mixed(value: Index, other: Index) -> tir.PrimExpr:
    """Return `value ^ other`."""
    return _bits("bitwise_xor", value, other)


def _bits(name: str, value: Index, other: Index) -> tir.PrimExpr:
    a, b = constant(value), constant(other)
    if a is not None and b is not None:
        return tir.IntImm("int32", {"shift_right": a >> b, "bitwise_and": a & b, "bitwise_xor": a ^ b}[name])
    return tir.Call(
        "int32", Op(f"tir.{name}"), tuple([make.cast(index(term, "int32"), "int32") for term in (value, other)])
    )


def unravel(number: tir.PrimExpr, axes: Sequence[Axis]) -> dict[tir.Var, tir.PrimExpr]:
    """Return the values of `axes` at the linear index `number`; the last axis varies fastest."""
    values: dict[tir.Var, tir.PrimExpr] = {}
    for position, axis in reversed(list(enumerate(axes))):
        extent = make.cast(axis.extent, number.dtype)
        left = make.floordiv(number, extent) if position else make.const(0, number.dtype)
        values[axis.var] = make.cast(make.sub(number, make.mul(left, extent)), axis.var.dtype)
        number = left
    return {axis.var: values[axis.var] for axis in axes}


def all_of(conditions: Sequence[tir.PrimExpr]) -> tir.PrimExpr | None:
    """Return the conjunction of `conditions`; None if there are none."""
    whole: tir.PrimExpr | None = None
    for condition in conditions:
        whole = condition if whole is None else make.logical_and(whole, condition)
    return whole
