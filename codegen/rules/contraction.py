"""Contractions: sums of products of two tensors, classified by the axes that the factors share.

    C[b, i, j] += A[b, i, k] * B[b, k, j]     i in C and A · j in C and B · k in A and B, reduced · b in all three

Matrix products are contractions, and so are convolutions, which read their image at `y * stride + ky`:
only the strides of each operand along the axes matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Node
from ...ir.equal import structural_equal
from ...ir.ops.dims import is_equal
from ...ir.visit import rewrite, substitute, walk
from ..lower.vectors import widen
from ..machine import Machine
from .build import Index, constant, loop, parallel, plus, times, view
from .nest import Axis, Declined, Nest
from .strides import linear_steps, plain_steps

FEW = 4096
"""Minimum number of steps of a contraction that is tiled."""
PARALLEL_STEPS = 1 << 18
"""Minimum number of steps of a parallel contraction; fewer take some microseconds, and threads do not pay
off.
"""
Offsets = Mapping[tir.Var, Index]


class Operand(Struct, frozen=True, eq=False):
    """A buffer with its stride along each axis and the position of its first element."""

    buffer: tir.Buffer
    steps: Mapping[tir.Var, tir.PrimExpr]
    start: tir.PrimExpr

    def step(self, axes: Sequence[Axis]) -> Index:
        """Return the stride of the innermost of `axes`, which are contiguous."""
        return self.steps.get(axes[-1].var, 0) if axes else 0

    def at(self, offsets: Offsets) -> tir.PrimExpr:
        """Return the position of the element at which the axes have the values of `offsets`, and all others are 0."""
        place = self.start
        for var, value in offsets.items():
            if var in self.steps:
                place = plus(place, times(value, self.steps[var]))
        return place

    def matrix(self, rows: Sequence[Axis], columns: Sequence[Axis], offsets: Offsets) -> tir.Buffer:
        """Return the operand as a matrix whose rows and columns are fused axes."""
        sizes, steps = (extent_of(rows), extent_of(columns)), (self.step(rows), self.step(columns))
        return view(self.buffer, sizes, steps, self.at(offsets))


class Contraction(Struct, frozen=True, eq=False):
    """The operands, and the axes by kind; at least one axis of `columns` is contiguous in the result `c`."""

    nest: Nest
    a: Operand
    b: Operand
    c: Operand
    batch: list[Axis]
    rows: list[Axis]
    columns: list[Axis]
    depth: list[Axis]

    @property
    def is_large(self) -> bool:
        """Return whether threads pay off."""
        return _steps(self.nest, PARALLEL_STEPS) >= PARALLEL_STEPS

    def parallel(self, outer: Sequence[Axis], machine: Machine, inner: str) -> str | None:
        """Return what threads share: the loops `outer` ("batch"), the loops `inner` in them, or nothing."""
        if not self.is_large:
            return None
        return "batch" if is_enough(outer, machine) else inner


def read_contraction(
    nest: Nest, narrow: Sequence[str] = (), few: int = FEW, byte_pairs: tuple[tuple[str, str], ...] = ()
) -> Contraction:
    """Return the contraction that `nest` computes; Declined if it is not one, or has fewer steps than `few`. The
    dtypes `narrow` are also accepted, and factors that are widened from them to the dtype of the result, and products of bytes that are
    summed in int32 if the dtypes of the factors, in alphabetical order, are among `byte_pairs`.
    """
    pairs = byte_pairs if nest.store.buffer.dtype == "int32" else ()
    found = _contraction_or_reason(nest, tuple(narrow), few, pairs)
    if isinstance(found, str):
        raise Declined(found)
    return found


@lru_cache(maxsize=32)
def _contraction_or_reason(
    nest: Nest, narrow: tuple[str, ...], few: int, byte_pairs: tuple[tuple[str, str], ...]
) -> Contraction | str:
    """Return the contraction, or why there is none: several rules ask, and then the step."""
    try:
        return _contraction(nest, narrow, few, byte_pairs)
    except Declined as problem:
        return str(problem)


def _contraction(nest: Nest, narrow: Sequence[str], few: int, byte_pairs: Sequence[tuple[str, str]]) -> Contraction:
    nest = _without_units(nest)
    if {axis.var for axis in nest.spatial} != set(plain_steps(nest.store, nest.axes)):
        raise Declined("a spatial axis does not occur in the indices of the result")
    nest = _split_quotients(nest)
    c, a, b = _operands(nest, narrow, byte_pairs)
    batch, rows, columns, depth = _kinds(nest, a, b)
    if not rows and not columns:
        raise Declined("it is a product of vectors")
    if not any(constant(c.steps[axis.var]) == 1 for axis in columns):
        a, b, rows, columns = b, a, columns, rows
    if not any(constant(c.steps[axis.var]) == 1 for axis in columns):
        raise Declined("no axis of the result is contiguous")
    if _steps(nest, few) < few:
        raise Declined(f"it is too small: fewer than {few} steps")
    return Contraction(nest, a, b, c, batch, rows, columns, depth)


BYTE_DTYPES = ("int8", "uint8")
SIGNED_BY_UNSIGNED = (BYTE_DTYPES,)
ANY_BYTES = (BYTE_DTYPES, ("int8", "int8"), ("uint8", "uint8"))
"""Dtypes of the factors of products of bytes."""


def _operands(
    nest: Nest, narrow: Sequence[str], byte_pairs: Sequence[tuple[str, str]]
) -> tuple[Operand, Operand, Operand]:
    """Return the result and the two factors."""
    store, value = nest.store, nest.store.value
    is_of_bytes = bool(byte_pairs)
    if not (isinstance(nest.init, tir.IntImm if is_of_bytes else tir.FloatImm) and nest.init.value == 0):
        raise Declined("it is not a sum that starts from zero")
    if not isinstance(value, tir.Add):
        raise Declined("it is not a sum")
    before, product = (value.a, value.b) if _is_result(value.a, store) else (value.b, value.a)
    if not (_is_result(before, store) and isinstance(product, tir.Mul)):
        raise Declined("it is not a sum of products")
    left, right = (_widened(expr, BYTE_DTYPES if is_of_bytes else narrow) for expr in (product.a, product.b))
    if not (isinstance(left, tir.BufferLoad) and isinstance(right, tir.BufferLoad)):
        raise Declined("a factor is not an element of a buffer")
    taken = ("float32", "float64", *narrow)
    if is_of_bytes:
        if tuple(sorted((left.dtype, right.dtype))) not in byte_pairs:
            raise Declined("its factors are not unsigned and signed bytes")
    elif any(dtype not in taken for dtype in (store.buffer.dtype, left.dtype, right.dtype)):
        raise Declined(f"its dtype is not {', '.join(taken[:-1])} or {taken[-1]}")
    if store.buffer.data in (left.buffer.data, right.buffer.data):
        raise Declined("the result is a factor")
    operands = (Operand(access.buffer, *linear_steps(access, nest.axes)) for access in (store, left, right))
    return next(operands), next(operands), next(operands)


def _widened(factor: tir.PrimExpr, narrow: Sequence[str]) -> tir.PrimExpr:
    """Return the operand of a cast from one of the dtypes `narrow`; other factors unchanged."""
    return factor.value if isinstance(factor, tir.Cast) and factor.value.dtype in narrow else factor


def _is_result(expr: tir.PrimExpr, store: tir.BufferStore) -> bool:
    return (
        isinstance(expr, tir.BufferLoad)
        and expr.buffer is store.buffer
        and structural_equal(expr.indices, store.indices)
    )


def _kinds(nest: Nest, a: Operand, b: Operand) -> tuple[list[Axis], list[Axis], list[Axis], list[Axis]]:
    """Return the axes by kind: batch, rows, columns and depth."""
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


def joined(axes: Sequence[Axis], operands: Sequence[Operand]) -> tuple[list[Axis], list[Axis]]:
    """Return the axes that can be fused in all operands, outermost first, and the others."""
    first = operands[0].steps
    rest = sorted(axes, key=lambda axis: _size(first[axis.var]))
    together, rest = rest[:1], rest[1:]
    while rest:
        found = [axis for axis in rest if all(_follows(axis, together[-1], operand) for operand in operands)]
        if not found:
            break
        together.append(found[0])
        rest.remove(found[0])
    return together[::-1], rest


def _follows(outer: Axis, inner: Axis, operand: Operand) -> bool:
    return is_next(operand.steps[outer.var], operand.steps[inner.var], inner)


def is_next(outer_step: tir.PrimExpr, inner_step: tir.PrimExpr, inner: Axis) -> bool:
    """Return whether one step along an outer axis is as long as all of `inner`, so that both are one axis."""
    return is_equal(outer_step, times(inner_step, widen(inner.extent)))


def _size(step: tir.PrimExpr) -> int:
    """Return the sort key of a stride; symbolic strides come last."""
    number = constant(step)
    return 1 << 62 if number is None else number


def _steps(nest: Nest, unknown: int) -> int:
    """Return how often the statement of a nest executes; an axis of symbolic extent counts as `unknown`."""
    return prod(unknown if axis.size is None else axis.size for axis in nest.axes)


def extent_of(axes: Sequence[Axis]) -> Index:
    """Return the product of the extents of `axes`."""
    extent: Index = 1
    for axis in axes:
        extent = times(extent, widen(axis.extent))
    return extent


def _without_units(nest: Nest) -> Nest:
    """Return `nest` without axes of extent 1."""
    units = {axis.var: tir.IntImm(axis.var.dtype, 0) for axis in nest.axes if axis.size == 1}
    if not units:
        return nest
    init = None if nest.init is None else substitute(nest.init, units)
    axes = tuple(axis for axis in nest.axes if axis.var not in units)
    after = tuple([substitute(store, units) for store in nest.after])
    return replace(nest, axes=axes, store=substitute(nest.store, units), init=init, after=after)


def _split_quotients(nest: Nest) -> Nest:
    """Return `nest` with each divided axis split in two: `A[f // 8 * 4 + k]` reads `A[g * 4 + k]`, `f = g * 8 +
    i`.

    Grouped convolutions have such axes.
    """
    axes: list[Axis] = []
    for axis in nest.axes:
        divisor = _divisor(nest, axis)
        if divisor is None:
            axes.append(axis)
            continue
        assert axis.size is not None
        dtype = axis.var.dtype
        outer, inner = tir.Var(dtype, f"{axis.var.name}_outer"), tir.Var(dtype, f"{axis.var.name}_inner")
        after = tuple([_split(store, axis.var, divisor, outer, inner) for store in nest.after])
        nest = replace(nest, store=_split(nest.store, axis.var, divisor, outer, inner), after=after)
        sizes = (axis.size // divisor, divisor)
        for var, size in zip((outer, inner), sizes, strict=True):
            axes.append(Axis(var, tir.IntImm(dtype, size), axis.is_reduced))
    return replace(nest, axes=tuple(axes))


def _divisor(nest: Nest, axis: Axis) -> int | None:
    """Return the divisor of `axis`, if it is unique and divides the extent."""
    found = {
        node.b.value
        for node in walk(nest.store)
        if isinstance(node, tir.FloorDiv | tir.FloorMod) and node.a is axis.var and isinstance(node.b, tir.IntImm)
    }
    divisor = found.pop() if len(found) == 1 else 0
    return divisor if divisor > 0 and axis.size is not None and axis.size % divisor == 0 else None


def _split(store: tir.BufferStore, var: tir.Var, divisor: int, outer: tir.Var, inner: tir.Var) -> tir.BufferStore:
    """Return `store` with `var` replaced by `outer * divisor + inner`, and its quotient and remainder
    simplified.
    """
    whole = plus(times(outer, divisor), inner)

    def part(node: Node) -> Node | None:
        if node is var:
            return whole
        if isinstance(node, tir.FloorDiv | tir.FloorMod) and node.a is whole and constant(node.b) == divisor:
            return outer if isinstance(node, tir.FloorDiv) else inner
        return None

    return rewrite(store, part)


def is_enough(outer: Sequence[Axis], machine: Machine) -> bool:
    """Return whether the loops around a product have enough iterations for all threads."""
    return bool(outer) and sum(1 if axis.size is None else axis.size for axis in outer) >= machine.threads


def loops_around(outer: Sequence[Axis], is_parallel: bool, body: Callable[[Offsets], tir.Stmt]) -> tir.Stmt:
    """Return loops over `outer` around `body`; the outermost loop is parallel if `is_parallel`."""

    def around(rest: Sequence[Axis], offsets: Offsets) -> tir.Stmt:
        if not rest:
            return body(offsets)
        distribute = parallel if is_parallel and len(rest) == len(outer) else loop
        axis = rest[0]
        return distribute(axis.var.name, widen(axis.extent), lambda var: around(rest[1:], {**offsets, axis.var: var}))

    return around(outer, {})
