"""Products of matrices, recognised by which axes the operands share.

    C[b, i, j] += A[b, i, k] * B[b, k, j]     i in C and A · j in C and B · k in A and B, reduced · b in all three

Several axes of a kind that lie one after the other in memory are one; other ones become loops around the product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from msgspec import Struct

from ...ir import tir
from ...ir.dtype import parse_dtype
from ...ir.equal import structural_equal
from ..lower.vectors import widen
from ..machine import Machine
from .build import Index, constant, loop, parallel, plus, times, view
from .gemm import Product, emit_product
from .nest import Axis, Declined, Nest
from .strides import plain_steps

FEW = 4096
"""A product of fewer steps than this is not worth tiles."""
PARALLEL_STEPS = 1 << 18
"""With fewer steps, which take some microseconds, threads cost more than they give."""


class _Operand(Struct, frozen=True, eq=False):
    """A buffer, and how far apart the elements are that neighbours on an axis read or write."""

    buffer: tir.Buffer
    steps: Mapping[tir.Var, tir.PrimExpr]


def schedule_matmul(nest: Nest, machine: Machine) -> tir.Stmt:
    """Return the product that `nest` is as tiles; Declined where it is none."""
    c, a, b = _operands(nest)
    batch, rows, columns, depth = _kinds(nest, a, b)
    if not rows and not columns:
        raise Declined("it is a product of vectors")
    if not any(constant(c.steps[axis.var]) == 1 for axis in columns):
        a, b, rows, columns = b, a, columns, rows
    if not any(constant(c.steps[axis.var]) == 1 for axis in columns):
        raise Declined("no axis of the result is contiguous")
    if not rows and constant(b.steps[columns[0].var]) != 1:
        raise Declined("it is a matrix times a vector: a sum of each row")
    n, more_columns = _joined(columns, (c, b))
    m, more_rows = _joined(rows, (c, a))
    k, more_depth = _joined(depth, (a, b))
    if more_depth:
        raise Declined("the axes that are summed over do not lie one after the other")
    _check_size(nest)
    return _emit(nest, (a, b, c), (m, n, k), (*batch, *more_rows, *more_columns), machine)


def _operands(nest: Nest) -> tuple[_Operand, _Operand, _Operand]:
    """Return the result and the two factors."""
    store, value = nest.store, nest.store.value
    if not (nest.init is not None and isinstance(nest.init, tir.FloatImm) and nest.init.value == 0.0):
        raise Declined("it is no sum that starts at zero")
    if not isinstance(value, tir.Add):
        raise Declined("it is no sum")
    before, product = (value.a, value.b) if _is_result(value.a, store) else (value.b, value.a)
    if not (_is_result(before, store) and isinstance(product, tir.Mul)):
        raise Declined("it is no sum of products")
    if not (isinstance(product.a, tir.BufferLoad) and isinstance(product.b, tir.BufferLoad)):
        raise Declined("a factor is no element of a buffer")
    if any(dtype not in ("float32", "float64") for dtype in (store.buffer.dtype, product.a.dtype, product.b.dtype)):
        raise Declined("it is not in float32 or float64")
    if store.buffer.data in (product.a.buffer.data, product.b.buffer.data):
        raise Declined("the result is a factor")
    operands = (_Operand(each.buffer, plain_steps(each, nest.axes)) for each in (store, product.a, product.b))
    return next(operands), next(operands), next(operands)


def _is_result(expr: tir.PrimExpr, store: tir.BufferStore) -> bool:
    return (
        isinstance(expr, tir.BufferLoad)
        and expr.buffer is store.buffer
        and structural_equal(expr.indices, store.indices)
    )


def _kinds(nest: Nest, a: _Operand, b: _Operand) -> tuple[list[Axis], list[Axis], list[Axis], list[Axis]]:
    """Return the axes that are batch, rows, columns and depth."""
    kinds: dict[tuple[bool, bool, bool], list[Axis]] = {
        (False, True, True): [], (False, True, False): [], (False, False, True): [], (True, True, True): [],
    }  # fmt: skip
    for axis in nest.axes:
        kind = kinds.get((axis.is_reduced, axis.var in a.steps, axis.var in b.steps))
        if kind is None:
            raise Declined(f"axis '{axis.var.name}' is in neither factor")
        kind.append(axis)
    batch, rows, columns, depth = kinds.values()
    return batch, rows, columns, depth


def _joined(axes: Sequence[Axis], operands: Sequence[_Operand]) -> tuple[list[Axis], list[Axis]]:
    """Return the axes that are one in both operands, outermost first, and the others."""
    first = operands[0].steps
    ordered = sorted(axes, key=lambda axis: _size(first[axis.var]))
    joined = ordered[:1]
    for axis in ordered[1:]:
        if all(_follows(axis, joined[-1], operand) for operand in operands):
            joined.append(axis)
        else:
            break
    return joined[::-1], ordered[len(joined) :]


def _follows(outer: Axis, inner: Axis, operand: _Operand) -> bool:
    outer_step, inner_step = constant(operand.steps[outer.var]), constant(operand.steps[inner.var])
    if outer_step is None or inner_step is None or inner.size is None:
        return False
    return outer_step == inner_step * inner.size


def _size(step: tir.PrimExpr) -> int:
    """Symbolic steps come last."""
    number = constant(step)
    return 1 << 62 if number is None else number


def _check_size(nest: Nest) -> None:
    if _steps(nest, FEW) < FEW:
        raise Declined(f"it is too small: fewer than {FEW} steps")


def _steps(nest: Nest, unknown: int) -> int:
    """How often the statement of a nest runs, where an axis of unknown size counts as `unknown`."""
    return prod(unknown if axis.size is None else axis.size for axis in nest.axes)


def _extent(axes: Sequence[Axis]) -> Index:
    extent: Index = 1
    for axis in axes:
        extent = times(extent, widen(axis.extent))
    return extent


def _emit(
    nest: Nest,
    operands: tuple[_Operand, _Operand, _Operand],
    groups: tuple[list[Axis], list[Axis], list[Axis]],
    outer: Sequence[Axis],
    machine: Machine,
) -> tir.Stmt:
    (a, b, c), (m, n, k) = operands, groups
    is_large = _steps(nest, PARALLEL_STEPS) >= PARALLEL_STEPS
    is_many = is_large and sum(1 if axis.size is None else axis.size for axis in outer) >= machine.threads
    element_bytes = parse_dtype(c.buffer.dtype).bytes

    def at(offsets: Mapping[tir.Var, tir.PrimExpr]) -> tir.Stmt:
        def matrix(operand: _Operand, first: Sequence[Axis], second: Sequence[Axis]) -> tir.Buffer:
            start: Index = 0 if operand.buffer.elem_offset is None else widen(operand.buffer.elem_offset)
            for axis in outer:
                if axis.var in operand.steps:
                    start = plus(start, times(offsets[axis.var], operand.steps[axis.var]))
            steps = [operand.steps[axes[-1].var] if axes else 0 for axes in (first, second)]
            return view(operand.buffer, (_extent(first), _extent(second)), steps, start)

        product = Product(_extent(m), _extent(n), _extent(k), matrix(a, m, k), matrix(b, k, n), matrix(c, m, n))
        return emit_product(product, machine, element_bytes, is_parallel=is_large and not (outer and is_many))

    def around(rest: Sequence[Axis], offsets: dict[tir.Var, tir.PrimExpr]) -> tir.Stmt:
        if not rest:
            return at(offsets)
        distribute = parallel if is_many and len(rest) == len(outer) else loop
        axis = rest[0]
        return distribute(axis.var.name, widen(axis.extent), lambda var: around(rest[1:], {**offsets, axis.var: var}))

    return around(outer, {})
