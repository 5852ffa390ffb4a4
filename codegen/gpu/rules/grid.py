"""Building blocks of kernel schedules: thread bindings, arithmetic with powers of two, conditions."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import make, tir
from ....ir.base import Op
from ...rules import build
from ...rules.build import Body, Index, constant, index
from ...rules.nest import Axis

X, Y, Z = "threadIdx.x", "threadIdx.y", "threadIdx.z"
BLOCK_X, BLOCK_Y, BLOCK_Z = "blockIdx.x", "blockIdx.y", "blockIdx.z"


def bound(tag: str, extent: Index, var: tir.Var, body: tir.Stmt) -> tir.Stmt:
    """Return a loop over `body` that binds `var` to the threads or blocks of axis `tag`."""
    axis = tir.IterVar(None, tir.Var(var.dtype, ""), tir.IterVarType.THREAD_INDEX, tag)
    count = make.cast(index(extent, var.dtype), var.dtype)
    return tir.For(var, make.const(0, var.dtype), count, tir.ForKind.THREAD_BINDING, body, axis)


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
