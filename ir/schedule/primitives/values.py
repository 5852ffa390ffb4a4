"""Queries that return plain values, which conditions of schedules test, and assertions. They are not part of traces."""

from __future__ import annotations

from typing import Any

from ... import make, tir
from ...dtype import is_int
from ...simplify import simplify
from ...visit import substitute, walk
from ..analysis.bindings import domains_of
from ..arguments import Block, Integer, Loop, Text
from ..conditions import ARGUMENT, Change, Condition, name_of
from ..declaration import primitive
from ..program import Program

VECTOR = Condition(
    "E0537",
    "the loop is vectorized, with a constant extent, and moves every access by no or by one element",
    "vectorize the loop of the last dimension, or lay the buffer out anew with transform_layout",
)


@primitive(results=("extent",), value=True)
def get_extent(program: Program, loop: Loop) -> Any:
    """Return the extent of a loop: a number, or an expression of symbolic sizes.

    Preserves: everything; the value is not part of the trace.
    """
    extent = simplify(loop.extent, domains_of(_around(program, loop)))
    return extent.value if isinstance(extent, tir.IntImm) else extent


@primitive(results=("dtype",), value=True)
def get_dtype(program: Program, block: Block, buffer_index: Integer = 0, buf_type: Text = "write") -> Any:
    """Return the dtype of a buffer that a block writes (`buf_type="write"`) or reads ("read").

    Preserves: everything; the value is not part of the trace.
    """
    regions = block.reads if buf_type == "read" else block.writes
    if not 0 <= buffer_index < len(regions):
        reason = f"index {buffer_index} is out of range: {name_of(block)} has {len(regions)} such buffers"
        raise ARGUMENT.refuse(reason, block, argument="buffer_index", help="give an index into T.reads or T.writes")
    return regions[buffer_index].buffer.dtype


@primitive(results=("target",), value=True)
def get_target(program: Program) -> Any:
    """Return the kind of the target that is scheduled for: "llvm" or "cuda".

    Preserves: everything; the value is not part of the trace.
    """
    return program.target


@primitive(requires=(VECTOR,), results=("loop",), value=True)
def expect_vector(program: Program, loop: Loop) -> None:
    """Check that the iterations of a loop are the lanes of a vector, and that every access in it is contiguous, or the same
    in all lanes: no gathers, and no scalar code.

    Preserves: everything; the check is not part of the trace.
    """
    if loop.kind is not tir.ForKind.VECTORIZED:
        help, change = "vectorize it first", Change(before="S.vectorize({})")
        raise VECTOR.refuse(f"{name_of(loop)} is not vectorized", loop, help=help, change=change)
    if not isinstance(loop.extent, tir.IntImm):
        raise VECTOR.refuse(f"the extent of {name_of(loop)} is not constant", loop, help="split it by a number first")
    inner = next((node for node in walk(loop.body) if isinstance(node, tir.For)), None)
    if inner is not None:
        raise VECTOR.refuse(
            f"{name_of(inner)} is inside {name_of(loop)}", loop, inner, help="vectorize the innermost loop"
        )
    domains = domains_of((*_around(program, loop), loop))
    for realize in (node for node in walk(loop.body) if isinstance(node, tir.BlockRealize)):
        axes = realize.block.iter_vars
        bound: dict[tir.Var, tir.PrimExpr] = {
            axis.var: value for axis, value in zip(axes, realize.iter_values, strict=True)
        }
        for access in walk(realize.block.body):
            if isinstance(access, tir.BufferLoad | tir.BufferStore):
                _check_contiguous(loop, realize.block, access, bound, domains)


def _around(program: Program, loop: tir.For) -> tuple[tir.For, ...]:
    return tuple([node for node in program.around(loop) if isinstance(node, tir.For)])


def _check_contiguous(
    loop: tir.For,
    block: tir.Block,
    access: tir.BufferLoad | tir.BufferStore,
    bound: dict[tir.Var, tir.PrimExpr],
    domains: dict[tir.Var, tir.Range],
) -> None:
    """Refuse an access whose element moves by something else than 0 or 1 from one lane to the next (E0537)."""
    following = make.add(loop.loop_var, make.const(1, loop.loop_var.dtype))
    for place, index in enumerate(access.indices):
        here = substitute(index, bound)
        if not is_int(here.dtype):
            continue
        step = simplify(make.sub(substitute(here, {loop.loop_var: following}), here), domains)
        is_last = place == len(access.indices) - 1
        if not (isinstance(step, tir.IntImm) and (step.value == 0 or (is_last and step.value == 1))):
            verb = "writes" if isinstance(access, tir.BufferStore) else "reads"
            by = f"{step} elements" if isinstance(step, tir.IntImm) else "a number of elements that varies"
            what = f"dimension {place + 1} of '{access.buffer.name}', which {name_of(block)} {verb}, moves by {by}"
            raise VECTOR.refuse(f"{what} from lane to lane", loop, block)
