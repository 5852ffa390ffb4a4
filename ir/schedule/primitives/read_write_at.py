"""`read_at` and `write_at`: copy the part of a buffer that the blocks under a loop access, in one block."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ... import make, tir
from ...analysis.regions import RegionSet, hull, is_covered, relaxed
from ...idioms import is_zero, sequence
from ...visit import substitute, walk
from ..analysis.affine import may_be_skipped
from ..analysis.bindings import domains_of, fixed_domains
from ..analysis.blocks import DATA_PAR
from ..analysis.caching import ACCESSED, IN_BOUNDS, Cache, accessed_buffer, allocate, clipped
from ..analysis.loops import not_negative
from ..analysis.memory import check_in_memory
from ..analysis.moving import blocks_under, parts_of, relaxed_loops
from ..analysis.order import check_concurrent_loops, is_shared
from ..analysis.pipeline import bindings_of, bound_region, check_stage_pipeline
from ..analysis.reductions import STARTS_ALIKE
from ..analysis.removal import OPAQUE, check_not_opaque
from ..analysis.scope import Scope, scope_root
from ..analysis.speculation import evaluable_box
from ..analysis.written import ALL_WRITTEN, FRESH, WRITTEN_BEFORE, check_starts_anew, check_written_before, sure_writes
from ..arguments import Block, Loop
from ..buffer_arguments import BufferIndex, StorageScope
from ..conditions import IN_ORDER, STAGE_PIPELINE, Condition, name_of
from ..declaration import primitive
from ..program import Program
from ..tree import walk_statements
from .decompose_reduction import AROUND

ONE_WAY = Condition(
    "E0587",
    "under the loop, the buffer is not written after it is read (read_at), or not read after it is written (write_at)",
    "choose a loop under which the buffer is only read or only written, or change the order of the blocks",
)
_SHARED = (AROUND, ACCESSED, STAGE_PIPELINE, OPAQUE, ONE_WAY, WRITTEN_BEFORE, IN_ORDER)


@primitive(requires=(*_SHARED, IN_BOUNDS), results=("block that copies",))
def read_at(
    program: Program, loop: Loop, block: Block, read_buffer_index: BufferIndex, storage_scope: StorageScope
) -> tir.Block:
    """Copy the part of a buffer that the blocks under a loop read, right before the first of them, and let them read
    the copy. The copying block is annotated with "auto_copy".

    Preserves: what every block computes. Comments stay where they are.
    """
    accesses = _LoopAccesses(program, loop, block, read_buffer_index, storage_scope, writes=False)
    at = accesses.reading[0]
    if any(number >= at for number in accesses.writing):
        raise ONE_WAY.refuse(f"'{accesses.buffer.name}' is written after it is read", loop, block)
    check_in_memory(program, loop, tir.BufferRegion(accesses.buffer, accesses.box))
    return accesses.copy(range(at, len(accesses.under)), at)


@primitive(requires=(*_SHARED, ALL_WRITTEN, FRESH, STARTS_ALIKE), results=("block that copies",))
def write_at(
    program: Program, loop: Loop, block: Block, write_buffer_index: BufferIndex, storage_scope: StorageScope
) -> tir.Block:
    """Let the blocks under a loop that write a buffer write a new one, which is copied back right after the last of
    them. The copying block is annotated with "auto_copy".

    Preserves: what every other block computes, and all that is written. Comments stay where they are.
    """
    accesses = _LoopAccesses(program, loop, block, write_buffer_index, storage_scope, writes=True)
    at = accesses.writing[-1]
    if any(number > at for number in accesses.reading):
        raise ONE_WAY.refuse(f"'{accesses.buffer.name}' is read after it is written", loop, block)
    for item in (member for blocks in accesses.under for member in blocks):
        if any(region.buffer is accesses.buffer for region in item.writes):
            check_starts_anew(program, item, accesses.buffer)
            _check_copied_if_empty(program, item, loop)
    accesses.check_all_written()
    return accesses.copy(range(at + 1), at + 1)


def _check_copied_if_empty(program: Program, block: tir.Block, loop: tir.For) -> None:
    """Refuse a reduction whose initial value would not be copied back, as the loops around the copy may be empty (E0572)."""
    realize, loops = program.realize_of(block), program.loops_of(block)
    pairs = zip(block.iter_vars, realize.iter_values, strict=True)
    spatial = [value for axis, value in pairs if axis.iter_type is not tir.IterVarType.COMM_REDUCE]
    around = loops[: loops.index(loop) + 1]
    if block.init is not None and (may_be_skipped(spatial, around) or any(is_zero(outer.extent) for outer in around)):
        reason = f"a loop around {name_of(block)} may be empty, and then its initial value is not copied"
        raise STARTS_ALIKE.refuse(reason, loop, block)


class _LoopAccesses:
    """Loop, and the accesses of the blocks under it to a buffer."""

    def __init__(
        self, program: Program, loop: tir.For, block: tir.Block, index: BufferIndex, storage_scope: str, writes: bool
    ) -> None:
        self.program, self.loop, self.writes, self.storage_scope = program, loop, writes, storage_scope
        if loop not in program.loops_of(block):
            raise AROUND.refuse(f"{name_of(loop)} is not around {name_of(block)}", loop, block, argument="loop")
        self.buffer = accessed_buffer(block, index, writes)
        self.root = scope_root(program, loop)
        check_stage_pipeline(program, self.root)
        check_not_opaque(self.root, self.buffer)
        if any(isinstance(stmt, tir.DeclBuffer) and stmt.buffer is self.buffer for stmt in walk_statements(loop)):
            raise OPAQUE.refuse(f"'{self.buffer.name}' is declared under {name_of(loop)}, beside the copy")
        self._check_threads()
        self.under = blocks_under(loop)
        self.reading, self.writing = self._positions(False), self._positions(True)
        self.domains = {**domains_of((loop,)), **fixed_domains(program, loop)}
        spans = [
            relaxed(region, self.buffer.shape, domains_of(relaxed_loops(program, member, loop, storage_scope)))
            for member, region in self._uses()
        ]
        shape = self.buffer.shape
        self.box = clipped(evaluable_box(program, loop, hull(spans, shape), shape), shape, self.domains)

    def _check_threads(self) -> None:
        for stmt in walk_statements(self.loop):
            thread = stmt.thread_binding if isinstance(stmt, tir.For) else None
            if thread is not None and not is_shared(self.storage_scope, thread.thread_tag):
                reason = f"each thread of {name_of(stmt)} would have its own copy"
                raise STAGE_PIPELINE.refuse(reason, self.loop, stmt)

    def _positions(self, writes: bool) -> list[int]:
        """Return the indices of the child statements of the loop that write, or read, the buffer."""
        return [
            at
            for at, blocks in enumerate(self.under)
            for block in blocks
            if any(region.buffer is self.buffer for region in (block.writes if writes else block.reads))
        ]

    def _uses(self) -> Iterator[tuple[tir.Block, tuple[tir.Range, ...]]]:
        for block in (member for blocks in self.under for member in blocks):
            values = bindings_of(self.program.realize_of(block))
            for region in block.writes if self.writes else block.reads:
                if region.buffer is self.buffer:
                    yield block, bound_region(region, values)

    def check_all_written(self) -> None:
        """Refuse a copy of elements that the blocks under the loop may leave unwritten (E0552)."""
        places = [place for part in parts_of(self.loop) for place in sure_writes(part, self.buffer)]
        if not is_covered(RegionSet(self.box), places, self.domains).is_proven:
            reason = f"the blocks under {name_of(self.loop)} may leave elements of '{self.buffer.name}' unwritten"
            raise ALL_WRITTEN.refuse(reason, self.loop)

    def copy(self, changed: range, at: int) -> tir.Block:
        """Insert the copy before child statement `at` of the loop, and return its block.

        The blocks in the statements `changed` that declare an access to the old buffer use the new one.
        """
        program = self.program
        cache = Cache(self.root, self.buffer, self.box, self.storage_scope, is_compact=False)
        blocks = [block for place in changed for block in self.under[place]]
        users = [block for block in blocks if any(use.buffer is self.buffer for use in (*block.reads, *block.writes))]
        used = {user: cache.use(program, user) for user in users}
        new = [program.substitute(part, used) for part in parts_of(self.loop)]
        realize = self._copying(cache)
        program.replace(self.loop, replace(self.loop, body=sequence((*new[:at], realize, *new[at:]))))
        allocate(program, program.current(self.root), cache.buffer)
        self._check_after(realize.block, cache.buffer)
        return realize.block

    def _copying(self, cache: Cache) -> tir.BlockRealize:
        """Return the block that copies the box, with loops inside (TVM: `ReadWriteAtImpl::MakeBlock`)."""
        source, target = (cache.buffer, self.buffer) if self.writes else (self.buffer, cache.buffer)
        loops_around = [stmt for stmt in self.program.around(self.loop) if isinstance(stmt, tir.For)]
        around = {loop.loop_var: loop for loop in (*loops_around, self.loop)}
        named = [node for axis in self.box for node in walk(axis) if isinstance(node, tir.Var)]
        used = dict.fromkeys(around[node] for node in named if node in around)
        axes = [
            tir.IterVar(
                tir.Range(loop.min, not_negative(loop.extent)), tir.Var(loop.loop_var.dtype, f"v{at}"), DATA_PAR
            )
            for at, loop in enumerate(used)
        ]
        own = {loop.loop_var: axis.var for loop, axis in zip(used, axes, strict=True)}
        box = tuple([substitute(axis, own) for axis in self.box])
        loops = [tir.Var(axis.extent.dtype, f"ax{at}") for at, axis in enumerate(box)]
        places = tuple([make.add(axis.min, loop) for axis, loop in zip(box, loops, strict=True)])
        body: tir.Stmt = tir.BufferStore(target, make.buffer_load(source, places), places)
        for variable, axis in reversed(list(zip(loops, box, strict=True))):
            body = tir.For(variable, make.const(0, variable.dtype), axis.extent, tir.ForKind.SERIAL, body)
        reads, writes = (tir.BufferRegion(source, box),), (tir.BufferRegion(target, box),)
        block = tir.Block(tuple(axes), reads, writes, cache.block_name, body, annotations={"auto_copy": True})
        return tir.BlockRealize(tuple([loop.loop_var for loop in used]), make.const(True, "bool"), block)

    def _check_after(self, copying: tir.Block, new: tir.Buffer) -> None:
        """Refuse copies of elements that may be unwritten (E0550), and races between iterations (E0534)."""
        program, scope = self.program, Scope(self.program.current(self.root))
        of = new if self.writes else self.buffer
        readers = [copying]
        if self.writes:
            adds_up = [writer for writer in scope.writers(new) if writer.init is not None]
            readers = [reader for reader in scope.readers(new) if reader is not copying and reader not in adds_up]
        for reader in readers:
            check_written_before(program, scope, next(iter(scope.writers(of)), None), reader, of)
        check_concurrent_loops(program, copying)
