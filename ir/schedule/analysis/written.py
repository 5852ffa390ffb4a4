"""Validity of copies: elements that blocks are certain to write, and elements that are written before they are read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ... import tir
from ...analysis.regions import RegionSet, is_covered, lies_in, relaxed
from ...equal import structural_equal
from ...visit import walk
from ..conditions import Condition, name_of
from ..program import Program
from ..tree import statements_in
from .bindings import domains_of, fixed_domains
from .blocks import reduced_outside
from .caching import Spot
from .pipeline import bindings_of, bound_region, is_conditional, is_region_covered, sure_writes
from .scope import DepKind, Scope, scope_root

WRITTEN_BEFORE = Condition(
    "E0550", "all elements of the buffer are written before they are read", "compute the buffer fully before it is read"
)
FRESH = Condition(
    "E0551",
    "no block reads the buffer before the block has written it",
    "compute the buffer fully before it is read",
)
ALL_WRITTEN = Condition(
    "E0552",
    "the block is known to write all elements that are copied",
    "do this before the block gets a condition, or let it write all elements",
)


def writes_all(
    program: Program, block: tir.Block, buffer: tir.Buffer, region: tuple[tir.Range, ...], spot: Spot
) -> bool:
    """Return whether a block is certain to write all elements of a region in one iteration of `spot.place`."""
    if is_conditional(program, block, spot.place):
        return False
    loops = program.loops_of(block)
    inner = loops[loops.index(spot.place) + 1 :] if isinstance(spot.place, tir.For) else loops
    places = sure_writes(inner[0] if inner else program.realize_of(block), buffer)
    return is_covered(RegionSet(region), places, fixed_domains(program, block, inner)).is_proven


def check_written_before(
    program: Program, scope: Scope, writer: tir.Block | None, reader: tir.Block, buffer: tir.Buffer
) -> None:
    """Refuse a block that may read elements that `writer` has not yet written (E0550)."""
    if writer is not None:
        is_before = scope.blocks.index(writer) < scope.blocks.index(reader)
        if not is_before or not is_region_covered(program, scope, reader):
            raise WRITTEN_BEFORE.refuse(
                f"{name_of(reader)} may read elements of '{buffer.name}' that {name_of(writer)} has not written", reader
            )
    elif isinstance(scope.node, tir.Block):
        check_written_outside(program, scope.node, buffer)


def check_written_outside(program: Program, root: tir.Stmt, buffer: tir.Buffer) -> None:
    """Refuse to read all of a declared region that preceding blocks outside may not have written completely (E0550)."""
    around = program.scope_of(root) if isinstance(root, tir.Block) else None
    if around is None or not isinstance(root, tir.Block):
        return
    outside = Scope(around)
    writers = [dependency.src for dependency in outside.before(root) if dependency.src in outside.writers(buffer)]
    if not writers:
        check_written_outside(program, around, buffer)
    elif not is_region_covered(program, outside, root):
        reason = f"{name_of(root)} may read elements of '{buffer.name}' that {name_of(writers[0])} has not written"
        raise WRITTEN_BEFORE.refuse(reason, root)


def check_all_read(program: Program, copying: tir.Block) -> None:
    """Refuse a block that may read unwritten elements of a buffer (E0550).

    Elements that no preceding block of the scope writes must lie in the region that the scope declares to read.
    """
    root, realize = scope_root(program, copying), program.realize_of(copying)
    scope = Scope(root)
    read = copying.reads[0]
    written = [dependency for dependency in scope.before(copying) if dependency.kind is DepKind.RAW]
    declared = next((region.region for region in root.reads if region.buffer is read.buffer), None)
    if written:
        is_filled = is_region_covered(program, scope, copying)
    else:
        box = relaxed(
            bound_region(read, bindings_of(realize)), read.buffer.shape, domains_of(program.loops_of(copying))
        )
        is_filled = declared is None or lies_in(box, declared, fixed_domains(program, root)).is_proven
    if is_filled and not written:
        check_written_outside(program, root, read.buffer)
    if not is_filled:
        raise WRITTEN_BEFORE.refuse(f"a copy of '{read.buffer.name}' may read unwritten elements", root)


def check_starts_anew(program: Program, block: tir.Block, buffer: tir.Buffer) -> None:
    """Refuse a block that accumulates onto values from an earlier execution of its scope, or onto given ones (E0551).

    Blocks need not declare that they read the elements that they update, and a T.init may store nothing.
    """
    if block.init is None:
        is_known = any(region.buffer is buffer for region in block.reads)  # callers check the reads that are declared
    else:
        is_known = surely_stores(block.init, buffer)
    outside = {*fixed_domains(program, block), *[axis.var for axis in block.iter_vars]}
    if not is_known and _loads_earlier_value(block.body, buffer, outside):
        raise FRESH.refuse(f"{name_of(block)} may update earlier values of '{buffer.name}'", block)
    axis = None if block.init is None else reduced_outside(program, block)
    if axis is not None:
        raise FRESH.refuse(
            f"{name_of(block)} accumulates onto earlier values of '{buffer.name}', as '{axis.name}' continues outside of its scope",
            block,
        )


def _loads_earlier_value(
    stmt: tir.Stmt, buffer: tir.Buffer, outside: Collection[tir.Var], stored: Sequence[tuple[tir.PrimExpr, ...]] = ()
) -> bool:
    """Return whether a statement may load an element that it has not stored before, without a block that declares this.

    `stored` are the indices of elements stored so far, and `outside` the variables that do not change in the block.
    """
    known = list(stored)
    for part in stmt.seq if isinstance(stmt, tir.SeqStmt) else (stmt,):
        match part:
            case tir.BufferStore() | tir.Evaluate():
                loads = [node for node in walk(part) if isinstance(node, tir.BufferLoad) and node.buffer is buffer]
                if not all(any(structural_equal(load.indices, indices) for indices in known) for load in loads):
                    return True
            case tir.BlockRealize(block=block):
                is_declared = any(region.buffer is buffer for region in block.reads)
                if not is_declared and _updates_earlier_value(part, buffer, outside):
                    return True
            case _:
                if any(_loads_earlier_value(inner, buffer, outside, known) for inner in statements_in(part)):
                    return True
        if isinstance(part, tir.BufferStore) and part.buffer is buffer and part.predicate is None:
            known.append(part.indices)
    return False


def _updates_earlier_value(realize: tir.BlockRealize, buffer: tir.Buffer, outside: Collection[tir.Var]) -> bool:
    """Return the same for a nested block, which may start with its T.init only in some executions of the outer block."""
    block = realize.block
    bound = list(zip(block.iter_vars, realize.iter_values, strict=True))
    fixed = [axis for axis, value in bound if any(node in outside for node in walk(value))]
    if block.init is not None and surely_stores(block.init, buffer):
        return any(axis.iter_type is tir.IterVarType.COMM_REDUCE for axis in fixed)
    return _loads_earlier_value(block.body, buffer, {*outside, *[axis.var for axis in fixed]})


def surely_stores(body: tir.Stmt, buffer: tir.Buffer) -> bool:
    """Return whether each execution of a block stores to a buffer."""
    if isinstance(body, tir.BufferStore):
        return body.buffer is buffer and body.predicate is None
    return isinstance(body, tir.SeqStmt) and any(surely_stores(statement, buffer) for statement in statements_in(body))
