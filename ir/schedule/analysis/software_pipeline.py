"""Check after every primitive that loops annotated as software pipelines can be lowered as such."""

from __future__ import annotations

from ... import software_pipeline as pipelines
from ... import tir
from ...base import IRModule
from ...software_pipeline import NotPipelined
from ...visit import walk
from ..conditions import PIPELINED, name_of
from ..program import Program, follow
from .pipeline import is_region_covered
from .scope import Scope


def check_software_pipelines(program: Program, before: IRModule) -> None:
    """Refuse a loop annotated as a pipeline that it cannot run as (E0588), unless it was so before the primitive."""
    for name, function in program.module.functions.items():
        if function is before.functions.get(name) or not isinstance(function, tir.PrimFunc):
            continue
        for loop in program.tree(name).pipelines:
            problem = _why_not(program, loop)
            if problem is None:
                continue
            known = _before(program, before, name, loop)
            if known is not None and _why_not(_as_it_was(program, before), known) is not None:
                continue
            places = () if known is None else (known,)
            raise PIPELINED.refuse(
                f"{name_of(loop)} cannot run as a software pipeline: {problem.reason}", *places, help=problem.remedy
            )


def _as_it_was(program: Program, before: IRModule) -> Program:
    return Program(before, {}, program.working_on, program.random)


def _before(program: Program, before: IRModule, name: str, loop: tir.For) -> tir.For | None:
    """Return the loop of the previous program that became `loop`."""
    if name not in before.functions:
        return None
    loops = [node for node in walk(before.functions[name]) if isinstance(node, tir.For)]
    same = (node for node in loops if follow(node, program.became) is loop)
    return next(same, next((node for node in loops if node.loop_var is loop.loop_var), None))


def _why_not(program: Program, loop: tir.For) -> NotPipelined | None:
    """Return why a loop cannot run as its annotations say; None if it can, or if they are incomplete."""
    try:
        body = pipelines.body_of(loop)
        if pipelines.is_complete(loop, body):
            parts = pipelines.parts_of(loop, body)
            own = [*body.buffers, *_used_here_alone(program, loop)]
            _check_filled(program, loop, pipelines.check_order(parts, own))
    except NotPipelined as problem:
        return problem
    return None


def _used_here_alone(program: Program, loop: tir.For) -> list[tir.Buffer]:
    """Return the buffers allocated around a loop that only the loop uses, so that lowering can move them inside."""
    around = list(program.around(loop))
    allocated = [buffer for stmt in around if isinstance(stmt, tir.Block) for buffer in stmt.alloc_buffers]
    outside, stack = set[object](), [around[-1] if around else loop]
    inside = {node for node in walk(loop) if isinstance(node, tir.BufferLoad | tir.BufferStore)}
    for node in walk(stack[0]):
        if isinstance(node, tir.BufferLoad | tir.BufferStore) and node not in inside:
            outside.add(node.buffer)
    return [item for item in allocated if item not in outside]


def _check_filled(program: Program, loop: tir.For, shared: list[tir.Buffer]) -> None:
    """Raise NotPipelined if stages share a buffer and an iteration may read what an earlier iteration wrote to it."""
    scope = Scope(loop)
    for block in scope.blocks:
        for read in block.reads:
            if read.buffer in shared and scope.writers(read.buffer):
                writes = [producer for producer in scope.producers(block) if producer in scope.writers(read.buffer)]
                if not writes or not is_region_covered(program, scope, block):
                    reason = f"an iteration may read elements of '{read.buffer.name}' that an earlier one has written"
                    raise NotPipelined(
                        reason,
                        "write all elements that are read in the same iteration, or put both accesses in one stage",
                    )
