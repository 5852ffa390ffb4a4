"""`rolling_buffer`: shrink a buffer to the window of elements that iterations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...analysis.regions import RegionSet, is_covered, relaxed
from ...base import Node
from ...simplify import simplify
from ...visit import substitute, walk
from ..analysis.bindings import domains_of, fixed_domains
from ..analysis.blocks import COMM_REDUCE, DATA_PAR, check_not_output
from ..analysis.caching import ACCESSED, accessed_buffer
from ..analysis.loops import check_starts_at_zero
from ..analysis.order import check_concurrent_loops, tells_iterators
from ..analysis.pipeline import bindings_of, bound_region, is_region_covered
from ..analysis.removal import OPAQUE, check_not_opaque
from ..analysis.scope import DepKind, Scope, scope_root
from ..arguments import Block, Integer
from ..conditions import (
    COMPLETE_OR_REDUCTION,
    DISTINCT_WRITES,
    IN_ORDER,
    NOT_OUTPUT,
    NOT_ROOT,
    STAGE_PIPELINE,
    STARTS_AT_ZERO,
    Condition,
    name_of,
)
from ..declaration import primitive
from ..program import Program

UNDER_ONE_LOOP = Condition(
    "E0585",
    "a loop is around all blocks that use the buffer",
    "compute_at the block under a loop of its consumers",
)
ROLLS = Condition(
    "E0586",
    "along some axis, each iteration of a serial loop writes a window that overlaps the one before",
    "tile the consumer along an axis on which its windows overlap, and compute_at the block there",
)
_Item = TypeVar("_Item")
_SERIAL = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)


class Window(Struct, frozen=True):
    """Window of elements that one iteration of `loop` writes along an axis of the buffer.

    It has `extent` elements, the first `overlap` of which the previous iteration has also written. `place` is the
    position of the element that an iteration of the block writes.
    """

    axis: int
    loop: tir.For
    extent: int
    overlap: int
    place: tir.PrimExpr

    @property
    def is_new(self) -> tir.PrimExpr:
        """Condition that the previous iteration has not written an element."""
        variable = self.loop.loop_var
        return make.logical_or(make.less(variable, 1), make.less_equal(self.overlap, self.place))


@primitive(
    requires=(
        NOT_ROOT, ACCESSED, OPAQUE, NOT_OUTPUT, STAGE_PIPELINE, COMPLETE_OR_REDUCTION, UNDER_ONE_LOOP, ROLLS,
        STARTS_AT_ZERO, IN_ORDER, DISTINCT_WRITES,
    )
)  # fmt: skip
def rolling_buffer(program: Program, block: Block, write_buffer_index: Integer) -> None:
    """Compute each element of a buffer only once, if a block under a loop of its consumers recomputes elements of the
    previous iteration. The elements are kept while they are needed. Along the axis of the outermost such loop, the
    buffer shrinks to the extent of one iteration and is used as a circular buffer.

    Preserves: what every other block computes. The iterations must stay in order from then on. Comments stay.
    """
    root = scope_root(program, block)
    buffer = accessed_buffer(block, write_buffer_index, writes=True)
    scope = Scope(root)
    check_not_output(block, root)
    check_not_opaque(root, buffer)
    _check_only_read(scope, block, buffer)
    consumers = scope.consumers(block)
    lowest = _common_loop(program, block, consumers)
    for consumer in consumers:
        if not is_region_covered(program, scope, consumer):
            raise STAGE_PIPELINE.refuse(
                f"{name_of(consumer)} may read elements that are not written in the same iteration", consumer
            )
    windows = _windows(program, block, buffer, lowest)
    _check_written_before(program, block, buffer, lowest, windows)
    _roll(program, root, (block, *consumers), buffer, windows)
    check_concurrent_loops(program, program.current(block))


def _check_only_read(scope: Scope, block: tir.Block, buffer: tir.Buffer) -> None:
    """Check that the block only feeds readers (else E0517) and is idempotent (else E0520 or E0592)."""
    if scope.is_used_outside(buffer):
        raise STAGE_PIPELINE.refuse(f"a statement outside of blocks uses '{buffer.name}'", block)
    if block.init is None and any(read.buffer is buffer for read in block.reads):
        raise COMPLETE_OR_REDUCTION.refuse(f"{name_of(block)} reads '{buffer.name}', which it writes", block)
    if not tells_iterators(block):
        raise DISTINCT_WRITES.refuse(f"different iterations of {name_of(block)} may write the same element", block)
    for dependency in (*scope.before(block), *scope.after(block)):
        if dependency.kind is not DepKind.RAW:
            other = dependency.src if dependency.dst is block else dependency.dst
            raise STAGE_PIPELINE.refuse(f"{name_of(block)} and {name_of(other)} write the same buffer", block, other)


def _common_loop(program: Program, block: tir.Block, consumers: Sequence[tir.Block]) -> tir.For:
    """Return the innermost loop around a block and all its consumers; refused if there is none (E0585)."""
    around = [set(program.loops_of(consumer)) for consumer in consumers]
    for loop in reversed(program.loops_of(block)):
        if consumers and all(loop in members for members in around):
            return loop
    missing = f"no loop is around both {name_of(block)} and its consumers"
    raise UNDER_ONE_LOOP.refuse(missing, block, *consumers)


def _windows(program: Program, block: tir.Block, buffer: tir.Buffer, lowest: tir.For) -> list[Window]:
    """Return the overlapping windows, that of the outermost loop first (TVM: `MatchRollingBuffer`)."""
    loops = program.loops_of(block)
    inner = domains_of(loops[loops.index(lowest) + 1 :])
    write = next(region for region in block.writes if region.buffer is buffer)
    bound = bound_region(write, bindings_of(program.realize_of(block)))
    found: list[Window] = []
    for at, (axis, span) in enumerate(zip(bound, relaxed(bound, buffer.shape, inner), strict=True)):
        variable, stride = _stride(span.min)
        loop = next((other for other in loops if other.loop_var is variable), None)
        if loop is None or not isinstance(span.extent, tir.IntImm) or not 0 < stride < span.extent.value:
            continue
        place = simplify(substitute(axis.min, {loop.loop_var: make.const(0, loop.loop_var.dtype)}))
        found.append(Window(at, loop, span.extent.value, span.extent.value - stride, place))
    if not found:
        raise ROLLS.refuse(f"no two iterations of {name_of(lowest)} write overlapping parts of '{buffer.name}'", block)
    for window in found:
        check_starts_at_zero(window.loop)
        if window.loop.kind not in _SERIAL:
            raise ROLLS.refuse(f"iterations of {name_of(window.loop)} are not ordered", block, window.loop)
    return sorted(found, key=lambda window: loops.index(window.loop))


def _stride(start: tir.PrimExpr) -> tuple[tir.PrimExpr, int]:
    """Return the variable of `variable * stride`, or of a quotient of it, and its largest step."""
    match start:
        case tir.FloorDiv(a=tir.Mul(a=tir.Var() as variable, b=tir.IntImm() as factor), b=tir.IntImm() as divisor):
            return variable, -(-factor.value // divisor.value)
        case tir.FloorDiv(a=tir.Var() as variable, b=tir.IntImm()):
            return variable, 1
        case tir.Mul(a=tir.Var() as variable, b=tir.IntImm() as factor):
            return variable, factor.value
        case _:
            return start, 1


def _check_written_before(
    program: Program, block: tir.Block, buffer: tir.Buffer, lowest: tir.For, windows: Sequence[Window]
) -> None:
    """Refuse windows whose overlap might not consist of elements that the previous iteration has written (E0586)."""
    realize, loops = program.realize_of(block), program.loops_of(block)
    inner = loops[loops.index(lowest) + 1 :]
    variables = {loop.loop_var for loop in inner}
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        outer = any(isinstance(node, tir.Var) and node not in variables for node in walk(value))
        if axis.iter_type is COMM_REDUCE and outer:
            raise ROLLS.refuse(
                f"the reduction into '{buffer.name}' is not complete after one iteration of {name_of(lowest)}", block
            )
    write = next(other for other in block.writes if other.buffer is buffer)
    region, domains = bound_region(write, bindings_of(realize)), domains_of(inner)
    for window in windows:
        before = {window.loop.loop_var: make.sub(window.loop.loop_var, 1)}
        earlier = tuple([tir.Range(substitute(axis.min, before), axis.extent) for axis in region])
        again = RegionSet(region, domains, (realize.predicate, make.logical_not(window.is_new)))
        by = RegionSet(earlier, domains, (substitute(realize.predicate, before),))
        if not is_covered(again, [by], fixed_domains(program, block, inner)).is_proven:
            reason = f"elements of '{buffer.name}' that the previous iteration of {name_of(window.loop)} has not written may be skipped"
            raise ROLLS.refuse(reason, block, window.loop)


def _roll(
    program: Program, root: tir.Block, blocks: Sequence[tir.Block], buffer: tir.Buffer, windows: Sequence[Window]
) -> None:
    """Shrink the buffer to the first window and let `blocks` use it; the first, its writer, skips existing elements."""
    rolled, writer = windows[0], blocks[0]
    size = make.const(rolled.extent, buffer.shape[rolled.axis].dtype)
    small = replace(buffer, shape=_with(buffer.shape, rolled.axis, size))

    def instead(node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() | tir.BufferStore() if node.buffer is buffer:
                index = make.floormod(node.indices[rolled.axis], size)
                return replace(node, buffer=small, indices=_with(node.indices, rolled.axis, index))
            case tir.BufferRegion() if node.buffer is buffer:
                return tir.BufferRegion(
                    small, _with(node.region, rolled.axis, _wrapped(node.region[rolled.axis], size))
                )
            case _:
                return None

    for block in blocks:
        ordered = _in_order(block, buffer, rolled.axis)
        program.replace(block, ordered)
        program.replace(ordered, program.rewrite(ordered, instead))
    realize = program.realize_of(program.current(writer))
    conditions = [other.is_new for other in sorted(windows, key=lambda window: window.axis)]
    predicate = realize.predicate
    for condition in conditions:
        predicate = make.logical_and(predicate, condition)
    program.replace(realize, replace(realize, predicate=predicate))
    now = program.current(root)
    program.replace(
        now,
        replace(
            now,
            alloc_buffers=tuple(
                [small if alloc_buffer is buffer else alloc_buffer for alloc_buffer in now.alloc_buffers]
            ),
        ),
    )


def _in_order(block: tir.Block, buffer: tir.Buffer, axis: int) -> tir.Block:
    """Return a block whose spatial iterators in the index of the axis are marked as ordered."""
    used = {
        node
        for region in (*block.writes, *block.reads)
        if region.buffer is buffer
        for node in walk(region.region[axis].min)
    }
    axes = [
        replace(iter_var, iter_type=tir.IterVarType.OPAQUE)
        if iter_var.var in used and iter_var.iter_type is DATA_PAR
        else iter_var
        for iter_var in block.iter_vars
    ]
    return replace(block, iter_vars=tuple(axes))


def _wrapped(axis: tir.Range, size: tir.PrimExpr) -> tir.Range:
    """Return the position of a part of the axis in the circular buffer."""
    if isinstance(axis.extent, tir.IntImm) and axis.extent.value == 1:
        return tir.Range(make.floormod(axis.min, size), axis.extent)
    return tir.Range(make.const(0, size.dtype), size)


def _with(items: tuple[_Item, ...], at: int, item: _Item) -> tuple[_Item, ...]:
    return (*items[:at], item, *items[at + 1 :])
