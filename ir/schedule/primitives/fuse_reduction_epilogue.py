"""`fuse_reduction_epilogue`: start a reduction from the value that a following block combines with its result."""

from __future__ import annotations

from msgspec.structs import replace

from ... import tir
from ...access import with_regions
from ...idioms import is_one
from ...simplify import simplify
from ...visit import substitute
from ..analysis.blocks import check_complete, check_not_output, check_reduction
from ..analysis.pipeline import check_stage_pipeline
from ..analysis.reductions import KNOWN_REDUCER, Reduction, reduction_of
from ..analysis.removal import ONLY_LEAF, OPAQUE, add_comments, check_not_opaque, comments_in, remove_leaf
from ..analysis.scope import Scope, scope_root
from ..arguments import Block
from ..conditions import COMPLETE, NOT_OUTPUT, NOT_ROOT, REDUCTION, SINGLE_STORE, STAGE_PIPELINE, Condition, name_of
from ..declaration import primitive
from ..program import Program
from .compute_inline import INVERTIBLE
from .reverse_compute_inline import ONE_PRODUCER, elements_of, loads_of, only_producer

SAME_REDUCER = Condition(
    "E0593",
    "the epilogue combines each result of the reduction, once and with the reducer itself, with a value that does not depend on it",
    "a sum takes D[i] = C[i] + bias; use reverse_compute_at for a bound, a scale or an activation",
)


@primitive(
    requires=(
        REDUCTION, KNOWN_REDUCER, SAME_REDUCER, NOT_ROOT, STAGE_PIPELINE, ONE_PRODUCER, COMPLETE, NOT_OUTPUT, SINGLE_STORE,
        INVERTIBLE, ONLY_LEAF, OPAQUE,
    )
)  # fmt: skip
def fuse_reduction_epilogue(program: Program, reduction_block: Block, epilogue_block: Block) -> None:
    """Let `T.init` of a reduction start from the value that an epilogue combines with the result, such as a bias, and
    let the reduction store the output of the epilogue, which is removed. The buffer between them stays allocated, as in
    TVM; the lowering removes it.

    Preserves: what `epilogue_block` writes, up to the rounding of another order of summation. Comments of the epilogue
    move above the reduction.
    """
    scope = scope_root(program, reduction_block)
    check_stage_pipeline(program, scope)
    buffer, producer = only_producer(epilogue_block, Scope(scope))
    if producer is not reduction_block:
        reason = f"{name_of(epilogue_block)} reads '{buffer.name}', which {name_of(producer)} writes"
        raise ONE_PRODUCER.refuse(reason, reduction_block, epilogue_block, argument="epilogue_block")
    check_reduction(program, reduction_block, scope)
    check_complete(epilogue_block, scope)
    check_not_output(reduction_block, scope)
    found = reduction_of(reduction_block)
    if found.reducer.size > 1:
        reason = f"{name_of(reduction_block)} reduces to {found.reducer.size} values at once"
        raise SAME_REDUCER.refuse(reason, reduction_block)
    (result,), (value,) = found.elements, found.values
    made = tir.BufferStore(buffer, value, result.indices)
    iterators, inside = elements_of(program, epilogue_block, buffer, reduction_block, made)
    store = epilogue_block.body
    assert isinstance(store, tir.BufferStore)
    start = _start(found, epilogue_block, store.value, buffer)
    ranges = {axis.var: axis.dom for axis in reduction_block.iter_vars if axis.dom is not None}
    if not is_one(simplify(inside, ranges)):
        reason = f"{name_of(epilogue_block)} does not read all elements that {name_of(reduction_block)} computes"
        raise INVERTIBLE.refuse(reason, epilogue_block, reduction_block)
    check_not_opaque(scope, buffer)
    place = substitute(store, iterators).indices
    element = tir.BufferLoad(store.buffer.dtype, store.buffer, place)
    (sum_,) = found.reducer.combine((element,), (value,))
    init, body = (
        tir.BufferStore(store.buffer, stored, place, trivia=old.trivia)
        for stored, old in ((substitute(start, iterators), reduction_block.init), (sum_, reduction_block.body))
        if old is not None
    )
    sources = tuple(
        [region.buffer for region in (*epilogue_block.reads, *reduction_block.reads, *epilogue_block.writes)]
    )
    fused = with_regions(replace(reduction_block, body=body, init=init), sources)
    comments = comments_in(remove_leaf(program, epilogue_block))
    add_comments(program, program.current(reduction_block), comments)
    program.replace(program.current(reduction_block), fused)


def _start(found: Reduction, epilogue: tir.Block, value: tir.PrimExpr, buffer: tir.Buffer) -> tir.PrimExpr:
    """Return what an epilogue that stores `value` combines with the result of a reduction; otherwise refused (E0593)."""
    if isinstance(value, tir.Add | tir.Mul | tir.Min | tir.Max):
        for result, start in ((value.a, value.b), (value.b, value.a)):
            (pattern,) = found.reducer.combine((result,), (start,))
            is_result = isinstance(result, tir.BufferLoad) and result.buffer is buffer
            if is_result and type(pattern) is type(value) and not loads_of(start, buffer):
                return start
    reason = f"{name_of(epilogue)} does more than combine the result of the reduction with another value"
    raise SAME_REDUCER.refuse(reason, epilogue, argument="epilogue_block")
