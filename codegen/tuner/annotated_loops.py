"""Parallel loops, vectors and unrolling by the annotations of `ParallelizeVectorizeUnroll`, for `RewriteParallelVectorizeUnroll`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from msgspec import Struct

from ...ir import tir
from ...ir.schedule import BlockRV, LoopRV, Schedule
from ...ir.simplify import simplify
from ...ir.visit import substitute
from . import block_facts as facts

_NAMES = {name: f"meta_schedule.{name}" for name in ("parallel", "vectorize", "unroll_explicit", "unroll_implicit")}


class Request(Struct, frozen=True):
    """The annotations of a root block: the most iterations in parallel, elements of a vector, and steps that are unrolled."""

    parallel: int | None = None
    vectorize: int | None = None
    unroll_explicit: int | None = None
    unroll_implicit: int | None = None


def take_request(sch: Schedule, root: BlockRV) -> Request | None:
    """Remove the annotations of a root block, and return them; None if there are none."""
    found: dict[str, int] = {}
    for field, name in _NAMES.items():
        value = sch.get(root).annotations.get(name)
        if value is not None:
            found[field] = int(getattr(value, "value", value))
            sch.unannotate(root, name)
    return Request(**found) if found else None


def change_loops(sch: Schedule, block: BlockRV, request: Request) -> None:
    """Make loops around a block parallel, vectors, and unrolled."""
    loops = list(sch.get_loops(block))
    if not loops:
        return
    parallel, vectors = _counts(sch, block, loops, request)
    first = loops[0]
    if parallel == vectors == len(loops):
        first, inner = sch.split(sch.fuse(*loops), factors=[None, request.vectorize or 1])
        sch.parallel(first)
        sch.vectorize(inner)
    else:
        if parallel:
            first = sch.fuse(*loops[:parallel])
            sch.parallel(first)
        if vectors:
            fused = sch.fuse(*loops[-vectors:])
            sch.vectorize(fused)
            first = fused if vectors == len(loops) else first
    explicit, implicit = request.unroll_explicit, request.unroll_implicit
    steps = explicit if explicit is not None else implicit
    if steps is not None and steps > 0 and not facts.is_spatial(sch.get(block)):
        sch.annotate(first, "pragma_auto_unroll_max_step", steps)
        sch.annotate(first, "pragma_unroll_explicit", int(explicit is not None))


def _counts(sch: Schedule, block: BlockRV, loops: Sequence[LoopRV], request: Request) -> tuple[int, int]:
    """Return how many outer loops run in parallel, and how many inner ones become a vector."""
    nodes, kinds = [sch.get(loop) for loop in loops], facts.loop_kinds(sch, block)
    extents = [facts.extent_of(sch, loop) for loop in loops]
    is_free = [
        not (node.annotations or node.thread_binding is not None) and kind is facts.SPATIAL and extent is not None
        for node, kind, extent in zip(nodes, kinds, extents, strict=True)
    ]
    known = [extent or 1 for extent in extents]
    contiguous = _contiguous(sch, block, nodes, known)
    parallel = 0 if request.parallel is None else _outer(nodes, known, is_free, request.parallel)
    vectors = 0
    if request.vectorize is not None:
        single = [free and facts.is_single(node) for free, node in zip(is_free, nodes, strict=True)]
        vectors = _inner(known, single, request.vectorize, contiguous)
    if parallel and vectors:
        if contiguous == len(loops) and all(
            free and facts.is_single(node) for free, node in zip(is_free, nodes, strict=True)
        ):
            return len(loops), len(loops)
        parallel = min(parallel, len(loops) - vectors)
    return parallel, vectors


def _outer(nodes: Sequence[tir.For], extents: Sequence[int], is_free: Sequence[bool], most: int) -> int:
    count, size = 0, 1
    for node, extent, free in zip(nodes, extents, is_free, strict=True):
        if not free:
            break
        count, size = count + 1, size * extent
        if size > most or not facts.is_single(node):
            break
    return count if size > 1 else 0


def _inner(extents: Sequence[int], is_free: Sequence[bool], most: int, contiguous: int) -> int:
    count = 0
    for place in reversed(range(len(extents))):
        if count >= contiguous or not is_free[place] or prod(extents[place:]) > most:
            break
        count += 1
    return count if prod(extents[len(extents) - count :]) > 1 else 0


# --- Accesses ---------------------------------------------------------------------------------------------------


def _contiguous(sch: Schedule, block: BlockRV, loops: Sequence[tir.For], extents: Sequence[int]) -> int:
    """Return how many inner loops step through contiguous elements in all accesses of a block."""
    realize = sch.program().realize_of(sch.get(block))
    axes = {
        axis.var: value for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    }  # fmt: skip
    accesses = [*realize.block.reads, *realize.block.writes]
    return min((_contiguous_in(access, axes, loops, extents) for access in accesses), default=len(loops))


def _contiguous_in(
    access: tir.BufferRegion, axes: Mapping[tir.Var, tir.PrimExpr], loops: Sequence[tir.For], extents: Sequence[int]
) -> int:
    indices = [simplify(substitute(axis.min, axes)) for axis in access.region]
    strides = [_stride(access.buffer, indices, loop.loop_var) for loop in loops]
    count, last = 0, None
    for place in reversed(range(len(loops))):
        if strides[place]:
            if last is None:
                if strides[place] != 1 and count:
                    break
            elif strides[place] != strides[last] * extents[last]:
                break
            last = place
        count += 1
    return count


def _stride(buffer: tir.Buffer, indices: Sequence[tir.PrimExpr], variable: tir.Var) -> int:
    """Return the number of elements that a step of a loop moves an access; 0 if it does not depend on the loop."""
    elements = 1
    for index, size in reversed(list(zip(indices, buffer.shape, strict=True))):
        coefficient = _coefficient(index, variable)
        if coefficient:
            return coefficient * elements
        elements *= size.value if isinstance(size, tir.IntImm) else 1
    return 0


def _coefficient(index: tir.PrimExpr, variable: tir.Var) -> int:
    """Return the smallest factor of a variable in sums and products of an index; 0 if there is none."""
    match index:
        case tir.Var():
            return int(index is variable)
        case tir.Mul(a=a, b=tir.IntImm(value=factor)) | tir.Mul(a=tir.IntImm(value=factor), b=a):
            return _coefficient(a, variable) * factor
        case tir.Add(a=a, b=b):
            found = [factor for factor in (_coefficient(a, variable), _coefficient(b, variable)) if factor]
            return min(found, default=0)
        case _:
            return 0
