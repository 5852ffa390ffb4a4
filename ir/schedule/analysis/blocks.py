"""Complete blocks and reduction blocks, whose iterations may run in any order, with TVM's definitions.

A complete block has only spatial iterators, is the only writer of its outputs, and does not read them. A reduction
block has an `init`, affine bindings, and spatial and reduction iterators that range over their domains within its
scope; it is the only writer of its outputs, and their indices do not depend on reduction iterators.
"""

from __future__ import annotations

from ... import tir
from ...analysis.dependence import is_parallel
from ...buffers import may_overlap
from ...visit import walk
from ..conditions import COMPACT, COMPLETE, COMPLETE_OR_REDUCTION, NOT_OUTPUT, REDUCTION, Condition, name_of
from ..program import Program
from .affine import is_affine_block
from .bindings import fixed_domains
from .scope import Scope, is_output_block

DATA_PAR, COMM_REDUCE = tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE


def why_not_complete(block: tir.Block, writers: Scope) -> str | None:
    """Return why `block` is not complete in a scope; None if it is."""
    for axis in block.iter_vars:
        if axis.iter_type is not DATA_PAR:
            return f"its iterator '{axis.var.name}' is not spatial but {axis.iter_type.value}"
    shared = _shared_output(block, writers)
    if shared is not None:
        return shared
    written = {region.buffer.data: region.buffer for region in block.writes}
    for region in block.reads:
        other = written.get(region.buffer.data)
        if other is not None:
            memory = "which it writes" if other is region.buffer else f"whose memory it writes as '{other.name}'"
            return f"it reads '{region.buffer.name}', {memory}"
    return None


def why_not_reduction(program: Program, block: tir.Block, writers: Scope) -> str | None:
    """Return why `block` is not a reduction block in a scope; None if it is."""
    if block.init is None:
        return "it has no T.init"
    if not is_affine_block(program, block):
        return "its bindings are not affine"
    for axis in block.iter_vars:
        if axis.iter_type not in (DATA_PAR, COMM_REDUCE):
            return f"its iterator '{axis.var.name}' is {axis.iter_type.value}"
    axis = reduced_outside(program, block)
    if axis is not None:
        return f"its reduction over '{axis.name}' continues in the next execution of its scope"
    return _shared_output(block, writers) or _reduction_index(block)


def reduced_outside(program: Program, block: tir.Block) -> tir.Var | None:
    """Return a reduction iterator that varies with loops outside of the scope; None if there is none.

    The block executes T.init only in some executions of its scope then.
    """
    outside = fixed_domains(program, block, program.loops_of(block))
    for axis, value in zip(block.iter_vars, program.realize_of(block).iter_values, strict=True):
        if axis.iter_type is COMM_REDUCE and any(node in outside for node in walk(value)):
            return axis.var
    return None


def _shared_output(block: tir.Block, writers: Scope) -> str | None:
    for region in block.writes:
        if may_overlap(region.buffer):
            return f"elements of '{region.buffer.name}', which it writes, overlap by their strides"
        others = [writer for writer in writers.writers(region.buffer) if writer is not block]
        if others:
            return f"{name_of(others[0])} also writes '{region.buffer.name}'"
    return None


def _reduction_index(block: tir.Block) -> str | None:
    """Return a message on a reduction iterator that the index of a store depends on; None if there is none."""
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type is COMM_REDUCE}
    written = {region.buffer for region in block.writes}
    for node in walk(block.body):
        if isinstance(node, tir.LetStmt | tir.Let):
            if any(inner in reduced for inner in walk(node.value)):
                reduced.add(node.var)
        elif isinstance(node, tir.BufferStore) and node.buffer in written:
            for index in node.indices:
                used = next((inner for inner in walk(index) if inner in reduced), None)
                if isinstance(used, tir.Var):
                    return f"its reduction iterator '{used.name}' determines the element of '{node.buffer.name}'"
    return None


def check_complete(block: tir.Block, scope: tir.Block) -> None:
    """Refuse a block that is not complete in its scope (E0518)."""
    _check(COMPLETE, block, why_not_complete(block, Scope(scope)))


def check_reduction(program: Program, block: tir.Block, scope: tir.Block) -> None:
    """Refuse a block that is not a reduction block in its scope (E0519)."""
    _check(REDUCTION, block, why_not_reduction(program, block, Scope(scope)))


def check_complete_or_reduction(program: Program, block: tir.Block, scope: tir.Block) -> None:
    """Refuse a block that is neither complete nor a reduction block in its scope (E0520)."""
    _check(COMPLETE_OR_REDUCTION, block, _why_neither(program, block, Scope(scope)))


def check_not_output(block: tir.Block, scope: tir.Block, help: str | None = None) -> None:
    """Refuse a block that writes a buffer not allocated in its scope (E0522)."""
    if is_output_block(block, scope):
        reason = f"{name_of(block)} is an output block: it writes a buffer that {name_of(scope)} does not allocate"
        raise NOT_OUTPUT.refuse(reason, block, help=help)


def check_compact_dataflow(program: Program, loop: tir.For) -> None:
    """Refuse a loop with a block that is neither complete nor a reduction block among the blocks under the loop, unless its
    iterations are proven to be independent (E0521).

    TVM: `CheckSubtreeCompactDataflow`, without proofs.
    """
    under = Scope(loop)
    found = [(block, _why_neither(program, block, under)) for block in under.blocks]
    refused = next((pair for pair in found if pair[1] is not None), None)
    if refused is None or is_parallel(loop):
        return
    block, reason = refused
    rest = "and the iterations of the loop are not proven to be independent"
    raise COMPACT.refuse(f"{name_of(block)} under it {reason}, {rest}", loop, block)


def _why_neither(program: Program, block: tir.Block, writers: Scope) -> str | None:
    complete = why_not_complete(block, writers)
    if complete is None:
        return None
    reduction = why_not_reduction(program, block, writers)
    return (
        None if reduction is None else f"is neither a complete block ({complete}) nor a reduction block ({reduction})"
    )


def _check(condition: Condition, block: tir.Block, reason: str | None) -> None:
    if reason is not None:
        verb = reason if reason.startswith("is neither") else f"cannot be used here: {reason}"
        raise condition.refuse(f"{name_of(block)} {verb}", block)
