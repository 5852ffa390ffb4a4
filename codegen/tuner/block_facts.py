"""What schedule rules ask about a block: kinds of its loops, patterns of its accesses, and whether tiles or partial results help.
Questions leave no steps in the trace of a schedule.

The questions and their answers are those of TVM's schedule rules (`tir/schedule/analysis`), so that the rules apply to the same blocks.
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from ...ir import tir
from ...ir.base import Op
from ...ir.idioms import uses
from ...ir.schedule import BlockRV, LoopRV, Schedule
from ...ir.schedule.analysis.blocks import why_not_complete, why_not_reduction
from ...ir.schedule.analysis.scope import Scope, is_output_block
from ...ir.schedule.program import Program
from ...ir.schedule.tree import statements_in, walk_statements
from ...ir.simplify import simplify
from ...ir.variables import tir_variables
from ...ir.visit import walk

SPATIAL, REDUCTION, OPAQUE = tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE, tir.IterVarType.OPAQUE
TILED = "meta_schedule.tiling_structure"
"""Annotation of blocks that are divided into tiles."""
Kind = tir.IterVarType


def loop_kind(program: Program, loop: tir.For) -> Kind:
    """Return the kind of the iterators that a loop binds in all blocks below it; OPAQUE if there are several."""
    found: set[Kind] = set()
    for block in program.child_blocks(loop):
        pairs = zip(block.iter_vars, program.realize_of(block).iter_values, strict=True)
        found |= {axis.iter_type for axis, value in pairs if uses(value, [loop])}
    return (found or {SPATIAL}).pop() if len(found) < 2 else OPAQUE


def loop_kinds(sch: Schedule, block: BlockRV) -> list[Kind]:
    """Return the kinds of the loops around a block."""
    program = sch.program()
    return [loop_kind(program, loop) for loop in program.loops_of(sch.get(block))]


def consumers_of(sch: Schedule, block: BlockRV) -> list[tir.Block]:
    """Return the following blocks that read or write what a block writes."""
    scope = sch.program().scope_of(sch.get(block))
    return [] if scope is None else Scope(scope).consumers(sch.get(block))


def producers_of(sch: Schedule, block: BlockRV) -> list[tir.Block]:
    """Return the preceding blocks that write what a block reads or writes."""
    scope = sch.program().scope_of(sch.get(block))
    return [] if scope is None else Scope(scope).producers(sch.get(block))


def extent_of(sch: Schedule, loop: LoopRV) -> int | None:
    """Return the number of iterations of a loop; None if it is not constant."""
    extent = sch.get(loop).extent
    return extent.value if isinstance(extent, tir.IntImm) else None


def is_root(sch: Schedule, block: BlockRV) -> bool:
    """Return whether a block is around all others of its function."""
    return sch.program().scope_of(sch.get(block)) is None


def is_spatial(block: tir.Block) -> bool:
    """Return whether a block has only spatial iterators."""
    return all(axis.iter_type is SPATIAL for axis in block.iter_vars)


def is_spatial_function(sch: Schedule, block: BlockRV) -> bool:
    """Return whether no block of the function of a block has other than spatial iterators."""
    body = sch.program().prim_func_of(sch.get(block)).body
    return all(is_spatial(stmt) for stmt in walk_statements(body) if isinstance(stmt, tir.Block))


def is_single(loop: tir.For) -> bool:
    """Return whether there is one statement in a loop."""
    return len(statements_in(loop)) == 1 and not isinstance(loop.body, tir.SeqStmt)


def is_output(sch: Schedule, block: BlockRV) -> bool:
    """Return whether a block writes a buffer that its scope does not allocate."""
    program, node = sch.program(), sch.get(block)
    scope = program.scope_of(node)
    return scope is not None and is_output_block(node, scope)


def is_complete(program: Program, block: tir.Block) -> bool:
    """Return whether a block is complete: the only writer of its buffers, and without reductions."""
    scope = program.scope_of(block)
    return scope is not None and why_not_complete(block, Scope(scope)) is None


def annotation_of(block: tir.Block, name: str) -> str | None:
    """Return a text among the annotations of a block."""
    value = block.annotations.get(name)
    text = getattr(value, "value", value)
    return None if text is None or str(text) == "None" else str(text)


def has_trivial_bindings(program: Program, block: tir.Block) -> bool:
    """Return whether each loop around a block is one of its iterators, in their order."""
    values, loops = program.realize_of(block).iter_values, program.loops_of(block)
    return len(values) == len(loops) and all(v is loop.loop_var for v, loop in zip(values, loops, strict=True))


# --- Expressions ------------------------------------------------------------------------------------------------


def has_operator(realize: tir.BlockRealize, names: tuple[str, ...]) -> bool:
    """Return whether an operator is called in a block."""
    calls = [node for node in walk(realize) if isinstance(node, tir.Call)]
    return any(isinstance(call.op, Op) and call.op.name in names for call in calls)


def has_branch(realize: tir.BlockRealize) -> bool:
    """Return whether a block has a predicate, or a branch in statements or expressions."""
    for node in walk(realize):
        match node:
            case tir.BlockRealize(predicate=predicate):
                if not (isinstance(predicate, tir.IntImm) and predicate.value):
                    return True
            case tir.IfThenElse() | tir.Select():
                return True
            case tir.Call(op=Op(name="tir.if_then_else")):
                return True
            case _:
                pass
    return False


class ReadPattern(Struct, frozen=True):
    """How the indices of a read follow from those of a write."""

    is_injective: bool
    is_ordered: bool


def read_pattern(read: tir.BufferRegion, write: tir.BufferRegion) -> ReadPattern:
    """Return how a read follows from a write whose indices are variables: its indices are constants, or these plus constants."""
    unknown = ReadPattern(False, False)
    places: dict[tir.Var, int] = {}
    for number, axis in enumerate(write.region):
        if not isinstance(axis.extent, tir.IntImm) or not isinstance(axis.min, tir.Var):
            return unknown
        places[axis.min] = number
    found: list[int] = []
    for axis in read.region:
        if not isinstance(axis.extent, tir.IntImm):
            return unknown
        variables = dict.fromkeys(tir_variables(axis.min))
        if not variables:
            continue
        (variable, *others) = variables
        if others or variable not in places or not _is_shifted(axis.min, variable):
            return unknown
        found.append(places[variable])
    return ReadPattern(len(found) == len(set(found)), found == sorted(found))


def _is_shifted(index: tir.PrimExpr, variable: tir.Var) -> bool:
    return isinstance(simplify(tir.Sub(variable.dtype, index, variable)), tir.IntImm)


def is_write_cache(block: tir.Block) -> bool:
    """Return whether a block copies its one output from buffers with the same order of elements."""
    if len(block.writes) != 1:
        return False
    patterns = [read_pattern(read, block.writes[0]) for read in block.reads]
    return all(pattern.is_injective and pattern.is_ordered for pattern in patterns)


# --- Reductions -------------------------------------------------------------------------------------------------


def needs_tiles(program: Program, node: tir.Block) -> bool:
    """Return whether elements that a reduction reads are used for several elements of its result."""
    if TILED in node.annotations or len(node.writes) != 1 or not node.reads:
        return False
    if is_spatial(node) or program.scope_of(node) is None or not has_trivial_bindings(program, node):
        return False
    spatial = [axis.var for axis in node.iter_vars if axis.iter_type is SPATIAL and not _is_unit(axis)]
    buffers = [region.buffer for region in node.reads]
    if len(set(buffers)) < len(buffers):
        return False
    unused = 0
    for region in node.reads:
        if region.buffer is node.writes[0].buffer:
            continue
        if not all(isinstance(axis.extent, tir.IntImm) for axis in region.region):
            return False
        used = {variable for axis in region.region for variable in tir_variables(axis.min)}
        unused += sum(variable not in used for variable in spatial)
    return unused > 0


def _is_unit(axis: tir.IterVar) -> bool:
    match axis.dom:
        case tir.Range(min=tir.IntImm(value=0), extent=tir.IntImm(value=1)):
            return True
        case _:
            return False


def needs_parts(sch: Schedule, block: BlockRV, most_jobs: int, few_jobs: int) -> bool:
    """Return whether a reduction has too few results to keep `most_jobs` busy, or no elements that are worth keeping in tiles."""
    program, node = sch.program(), sch.get(block)
    scope = program.scope_of(node)
    if not node.writes or scope is None or TILED in node.annotations:
        return False
    if why_not_reduction(program, node, Scope(scope)) is not None or not has_trivial_bindings(program, node):
        return False
    loops, kinds = program.loops_of(node), loop_kinds(sch, block)
    if REDUCTION not in kinds or OPAQUE in kinds or not _is_nest(program.realize_of(node), loops):
        return False
    extents = [loop.extent.value if isinstance(loop.extent, tir.IntImm) else None for loop in loops]
    if None in extents:
        return False
    spatial, reduced = [
        prod([extent for extent, kind in zip(extents, kinds, strict=True) if kind is wanted and extent is not None])
        for wanted in (SPATIAL, REDUCTION)
    ]
    return not (spatial >= reduced or spatial > most_jobs) if needs_tiles(program, node) else reduced > 1


def _is_nest(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> bool:
    inner = [*loops[1:], realize]
    return all(loop.body is body for loop, body in zip(loops, inner, strict=True))


def fused_reduction(sch: Schedule, block: BlockRV) -> tuple[LoopRV, int]:
    """Move the reduction loops of a block inside of its spatial ones, and fuse them; return the loop, and the number of spatial ones."""
    loops, kinds = sch.get_loops(block), loop_kinds(sch, block)
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind is SPATIAL]
    reduction = [loop for loop, kind in zip(loops, kinds, strict=True) if kind is not SPATIAL]
    if [*spatial, *reduction] != list(loops):
        sch.reorder(*spatial, *reduction)
    return (sch.fuse(*reduction) if len(reduction) > 1 else reduction[0]), len(spatial)
