"""Constructors of loops, vectors and memory for rules. Numbers take the dtype of the other operand, or
int64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...ir import make, tir
from ...ir.base import Op
from ...ir.buffers import decl_buffer
from ...ir.dtype import is_vector, lanes_of, with_lanes
from ...ir.visit import substitute
from ..lower.rewriter import sequence

Index: TypeAlias = tir.PrimExpr | int
Statements: TypeAlias = "tir.Stmt | Sequence[tir.Stmt]"
Body: TypeAlias = "Callable[[tir.Var], Statements]"
Lane: TypeAlias = "Callable[[tir.PrimExpr, tir.PrimExpr], Statements]"

TRUE = tir.IntImm("bool", 1)


# --- Indices --------------------------------------------------------------------------------------------------


def index(value: Index, dtype: str = "int64") -> tir.PrimExpr:
    """Return `value` as an expression; a number as a constant of `dtype`."""
    return tir.IntImm(dtype, value) if isinstance(value, int) else value


def constant(expr: Index) -> int | None:
    """Return the value of `expr`; None if it is not constant."""
    return expr if isinstance(expr, int) else expr.value if isinstance(expr, tir.IntImm) else None


def _together(a: Index, b: Index) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    dtype = next((side.dtype for side in (a, b) if isinstance(side, tir.PrimExpr) and constant(side) is None), None)
    known = (constant(a), constant(b))
    if dtype is None:
        dtype = next((side.dtype for side in (a, b) if isinstance(side, tir.PrimExpr)), "int64")
    left, right = [index(side if number is None else number, dtype) for side, number in zip((a, b), known, strict=True)]
    return left, right


def is_multiple(size: Index, part: int) -> bool:
    """Return whether `size` is known to be a multiple of `part`."""
    number = constant(size)
    return number is not None and number % part == 0


def times(a: Index, b: Index) -> tir.PrimExpr:
    """Return `a * b`, without factors of one."""
    left, right = _together(a, b)
    known = (constant(left), constant(right))
    if 0 in known:
        return left if known[0] == 0 else right
    return right if known[0] == 1 else left if known[1] == 1 else make.mul(left, right)


def plus(a: Index, b: Index) -> tir.PrimExpr:
    """Return `a + b`, without zeros."""
    left, right = _together(a, b)
    return right if constant(left) == 0 else left if constant(right) == 0 else make.add(left, right)


def minus(a: Index, b: Index) -> tir.PrimExpr:
    """Return `a - b`, without zeros."""
    left, right = _together(a, b)
    return left if constant(right) == 0 else make.sub(left, right)


def least(a: Index, b: Index) -> tir.PrimExpr:
    """Return the minimum of both."""
    return make.minimum(*_together(a, b))


def most(a: Index, b: Index) -> tir.PrimExpr:
    """Return the maximum of both."""
    return make.maximum(*_together(a, b))


def divide(a: Index, b: int) -> tir.PrimExpr:
    """Return `a // b`; `a` is not negative."""
    return index(a) if b == 1 else make.floordiv(*_together(a, b))


def floor_divide(a: Index, b: Index) -> tir.PrimExpr:
    """Return `a // b`; both are constant, or `b` is not."""
    left, right = _together(a, b)
    return left if constant(right) == 1 else make.floordiv(left, right)


def ceil_divide(a: Index, b: int) -> tir.PrimExpr:
    """Return `a / b` rounded up; `a` is not negative."""
    return index(a) if b == 1 else divide(plus(a, b - 1), b)


def below(a: Index, b: Index) -> tir.PrimExpr:
    """Return `a < b`."""
    return make.less(*_together(a, b))


# --- Control --------------------------------------------------------------------------------------------------


def block_of(statements: Statements) -> tir.Stmt:
    """Return the statements as a single one."""
    return statements if isinstance(statements, tir.Stmt) else sequence(statements)


def loop(name: str, extent: Index, body: Body, kind: tir.ForKind = tir.ForKind.SERIAL) -> tir.Stmt:
    """Return a loop of `extent` iterations; only its body if there is one iteration."""
    size = index(extent)
    var, zero = tir.Var(size.dtype, name), tir.IntImm(size.dtype, 0)
    if constant(size) == 1:
        return substitute(block_of(body(var)), {var: zero})
    return tir.For(var, zero, size, kind, block_of(body(var)))


def unrolled(name: str, extent: Index, body: Body) -> tir.Stmt:
    """Return an unrolled loop of `extent` iterations."""
    return loop(name, extent, body, tir.ForKind.UNROLLED)


def parallel(name: str, extent: Index, body: Body) -> tir.Stmt:
    """Return a parallel loop of `extent` iterations."""
    return loop(name, extent, body, tir.ForKind.PARALLEL)


def vectorized(name: str, extent: Index, body: Body) -> tir.Stmt:
    """Return a vectorized loop of `extent` iterations."""
    return loop(name, extent, body, tir.ForKind.VECTORIZED)


def vector_loop(name: str, extent: Index, width: int, body: Lane) -> tir.Stmt:
    """Return `body(start, lane)` for every `start + lane` below `extent`, `width` of them at a time; the tail
    uses a partial vector.
    """
    whole = divide(extent, width)
    done = times(whole, width)
    size, count = constant(extent), index(width, whole.dtype)
    parts: list[tir.Stmt] = []
    if size is None or size >= width:
        parts.append(loop(name, whole, lambda number: vectorized("v", count, lambda v: body(times(number, width), v))))
    if size is None or size % width:
        rest = minus(extent, done)
        parts.append(when(below(0, rest), vectorized("v", count, lambda v: when(below(v, rest), body(done, v)))))
    return block_of(parts)


def when(condition: tir.PrimExpr, body: Statements) -> tir.Stmt:
    """Return an `if`, folded if the condition is constant."""
    if isinstance(condition, tir.IntImm):
        return block_of(body) if condition.value else sequence(())
    return tir.IfThenElse(condition, block_of(body))


# --- Memory ---------------------------------------------------------------------------------------------------


def new_buffer(name: str, dtype: str, shape: Sequence[Index], scope: str = "global") -> tir.Buffer:
    """Return a new buffer, to be allocated by `allocated`."""
    return decl_buffer([index(size, "int32") for size in shape], dtype, name, scope)


def allocated(buffers: Sequence[tir.Buffer], body: Statements) -> tir.Stmt:
    """Return `body` inside allocations of `buffers`."""
    result = block_of(body)
    for buffer in reversed(buffers):
        result = tir.Allocate(buffer.data, buffer.dtype, buffer.shape, TRUE, tir.DeclBuffer(buffer, result))
    return result


def view(buffer: tir.Buffer, shape: Sequence[Index], strides: Sequence[Index], offset: Index) -> tir.Buffer:
    """Return a view of the memory of `buffer` with another shape."""
    sizes, steps = tuple([index(size) for size in shape]), tuple([index(stride) for stride in strides])
    start = None if constant(offset) == 0 else index(offset)
    return tir.Buffer(
        buffer.data, buffer.dtype, sizes, f"{buffer.name}_view", strides=steps, elem_offset=start, scope=buffer.scope
    )


# --- Expressions ----------------------------------------------------------------------------------------------


def lanes(start: Index, count: int) -> tir.PrimExpr:
    """Return the `count` consecutive indices from `start`."""
    first = index(start, "int32")
    if count == 1:
        return first
    return tir.Ramp(with_lanes(first.dtype, count), first, tir.IntImm(first.dtype, 1), tir.IntImm("int32", count))


def splat(value: tir.PrimExpr, count: int) -> tir.PrimExpr:
    """Return `value` in `count` lanes."""
    if count == 1 or is_vector(value.dtype):
        return value
    return tir.Broadcast(with_lanes(value.dtype, count), value, tir.IntImm("int32", count))


def load(buffer: tir.Buffer, *indices: Index, where: tir.PrimExpr | None = None) -> tir.BufferLoad:
    """Return the element or vector at `indices`; zero in the lanes where `where` does not hold."""
    places = tuple([index(position, "int32") for position in indices])
    count = max(lanes_of(place.dtype) for place in places)
    return tir.BufferLoad(with_lanes(buffer.dtype, count), buffer, places, where)


def store(buffer: tir.Buffer, value: tir.PrimExpr, *indices: Index, where: tir.PrimExpr | None = None) -> tir.Stmt:
    """Return the store of `value` at `indices`, in the lanes where `where` holds."""
    places = tuple([index(position, "int32") for position in indices])
    count = max(lanes_of(place.dtype) for place in places)
    return tir.BufferStore(buffer, splat(value, count), places, where)


def address(buffer: tir.Buffer, *indices: Index) -> tir.PrimExpr:
    """Return the address of an element."""
    return tir.Call("handle", Op("tir.address_of"), (load(buffer, *indices),))


def prefetch(buffer: tir.Buffer, *indices: Index, cache: int = 1) -> tir.Stmt:
    """Prefetch an element into the L1 cache, or L2 if `cache` is 2; an address beyond the end of the buffer is
    harmless.
    """
    hints = (tir.IntImm("int32", hint) for hint in (0, 4 - cache, 1))  # read, locality, data
    return tir.Evaluate(tir.Call("void", Op("tir.prefetch"), (address(buffer, *indices), *hints)))


def multiply_add(a: tir.PrimExpr, b: tir.PrimExpr, c: tir.PrimExpr, is_fused: bool) -> tir.PrimExpr:
    """Return `a * b + c`, rounded once if `is_fused`."""
    return tir.Call(c.dtype, Op("tir.fma"), (a, b, c)) if is_fused else make.add(make.mul(a, b), c)


def if_then_else(condition: tir.PrimExpr, value: tir.PrimExpr, otherwise: tir.PrimExpr) -> tir.PrimExpr:
    """Return the value that the condition selects; the other one is not evaluated."""
    return tir.Call(value.dtype, Op("tir.if_then_else"), (condition, value, otherwise))
