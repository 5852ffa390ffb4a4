"""Software pipelines: the annotations of a loop, and the conditions on its body.

`software_pipeline_stage` gives each statement of the loop body its stage: a statement of stage `s` runs `s` iterations
after one of stage 0. `software_pipeline_order` numbers the statements in the order in which one step of the pipeline runs
them. Schedules check the annotations when they are set and after every later step; the lowering builds the pipeline
(`codegen/lower/pipeline.py`). Both read the annotations here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from . import tir
from .access import detect_regions, full_region
from .base import Op
from .idioms import sequence
from .jumps import has_jump
from .local_stage import local_stage_of
from .visit import walk

STAGE, ORDER, ASYNC = "software_pipeline_stage", "software_pipeline_order", "software_pipeline_async_stages"
_CHECK = Op("tir.check")
_KINDS = (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)


class NotPipelined(Exception):
    """A loop that is annotated as a pipeline but cannot be one: reason and remedy."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


class Part(Struct, frozen=True, eq=False):
    """A statement of the body as a block, its stage, and its position in the order."""

    block: tir.Block
    stage: int
    order: int

    def reads(self, buffer: tir.Buffer) -> bool:
        """Whether the part reads the memory of `buffer`."""
        return any(region.buffer.data is buffer.data for region in self.block.reads)

    def writes(self, buffer: tir.Buffer) -> bool:
        """Whether the part writes the memory of `buffer`."""
        return any(region.buffer.data is buffer.data for region in self.block.writes)


class Body(Struct, frozen=True, eq=False):
    """The statements of an iteration of a pipelined loop, and the buffers that it allocates."""

    buffers: tuple[tir.Buffer, ...]
    statements: tuple[tir.Stmt, ...]

    @property
    def checks(self) -> Iterator[tir.Stmt]:
        """The checks before the first statement."""
        first = self.statements[0] if self.statements else None
        return takewhile(_is_check, first.seq if isinstance(first, tir.SeqStmt) else ())


def is_pipeline(loop: tir.For | tir.Block) -> bool:
    """Whether annotations of a loop request a software pipeline."""
    return STAGE in loop.annotations or ORDER in loop.annotations


def _has_both(loop: tir.For) -> bool:
    return STAGE in loop.annotations and ORDER in loop.annotations


def body_of(loop: tir.For) -> Body:
    """Return the statements of a loop body. An unconditional block is replaced by its own statements if it is the whole body or
    one of several statements; a block with a predicate is one statement. Checks (`T.check`) belong to the statement after them.
    """
    buffers, statements, body = list[tir.Buffer](), list[tir.Stmt](), loop.body
    if isinstance(body, tir.BlockRealize) and runs_always(body):
        buffers += body.block.alloc_buffers
        body = _with_init(body.block)
    for stmt in body.seq if isinstance(body, tir.SeqStmt) else (body,):
        inner = _with_init(stmt.block) if isinstance(stmt, tir.BlockRealize) and runs_always(stmt) else stmt
        if isinstance(stmt, tir.BlockRealize) and isinstance(inner, tir.SeqStmt):
            buffers += stmt.block.alloc_buffers
            statements += inner.seq
        elif (stage := local_stage_of(stmt)) is not None:
            buffers.append(stage.buffer)
            statements += (stage.load, stage.store)
        elif isinstance(stmt, tir.For) and (nested := _nested(stmt)) is not None:
            buffers += nested.buffers
            statements += nested.statements
        else:
            statements.append(stmt)
    return Body(tuple(buffers), _with_checks(statements))


def _with_checks(statements: Sequence[tir.Stmt]) -> tuple[tir.Stmt, ...]:
    """Return statements with the checks between them joined to the next one; the lowering has inserted them."""
    found, checks = list[tir.Stmt](), list[tir.Stmt]()
    for stmt in statements:
        if _is_check(stmt):
            checks.append(stmt)
        else:
            found.append(sequence([*checks, stmt]) if checks else stmt)
            checks.clear()
    return (*found, *checks)


def _is_check(stmt: tir.Stmt) -> TypeGuard[tir.Evaluate]:
    return isinstance(stmt, tir.Evaluate) and isinstance(stmt.value, tir.Call) and stmt.value.op == _CHECK


def _nested(loop: tir.For) -> Body | None:
    """Return what a pipeline in the body of another one consists of: the steps before it is filled, the loop itself, and those
    after its last iteration. None if the loop is not a pipeline, or all its statements have the same stage.
    """
    if not _has_both(loop):
        return None
    body = body_of(loop)
    stages = _numbers(loop, STAGE, len(body.statements))
    depth = max(stages)
    if depth == 0:
        return None
    first, last = (
        replace(loop, body=sequence([stmt for stmt, at in zip(body.statements, stages, strict=True) if at != left_out]))
        for left_out in (depth, 0)
    )
    return Body(body.buffers, (first, loop, last))


def _with_init(block: tir.Block) -> tir.Stmt:
    """Return the body of a block preceded by its T.init, as the lowering makes it."""
    if block.init is None:
        return block.body
    rest = block.body.seq if isinstance(block.body, tir.SeqStmt) else (block.body,)
    return tir.SeqStmt((block.init, *rest))


def runs_always(realize: tir.BlockRealize) -> bool:
    """Whether a block has no predicate."""
    return isinstance(realize.predicate, tir.IntImm) and realize.predicate.value == 1


def parts_of(loop: tir.For, body: Body) -> list[Part]:
    """Return the statements of a pipeline with their stages and positions; raises NotPipelined if the annotations do not
    define them.
    """
    stages, orders = (_numbers(loop, key, len(body.statements)) for key in (STAGE, ORDER))
    if has_jump(loop.body):
        raise NotPipelined("the loop may end early", "guard what the jump skips by a condition instead")
    if loop.kind not in _KINDS:
        raise NotPipelined(f"the loop is {loop.kind.value}, so its iterations have no order", "pipeline a serial loop")
    if sorted(orders) != list(range(len(orders))):
        reason = f"'{ORDER}' does not number the statements from 0 to {len(orders) - 1}"
        raise NotPipelined(reason, "give each statement a different number")
    if min(stages) < 0:
        raise NotPipelined(f"'{STAGE}' has a stage before the first one: {min(stages)}", "number stages from 0")
    wrong = next((async_stage for async_stage in sorted(async_stages(loop)) if async_stage not in stages), None)
    if wrong is not None:
        raise NotPipelined(
            f"'{ASYNC}' names stage {wrong}, but no statement runs in it", "name a stage in which a statement runs"
        )
    blocks = [as_block(stmt) for stmt in body.statements]
    return [Part(*entry) for entry in zip(blocks, stages, orders, strict=True)]


def is_complete(loop: tir.For, body: Body) -> bool:
    """Check the annotations that are present, since a schedule sets them one by one; raises NotPipelined.

    Return whether both are present and no loop inside has to become a pipeline first, which counts as three statements.
    """
    count, keys = len(body.statements), [key for key in (STAGE, ORDER) if key in loop.annotations]
    loops = [stmt for stmt in body.statements if isinstance(stmt, tir.For) and not _has_both(stmt)]
    later = [stmt for stmt in loops if stmt.kind in _KINDS and len(body_of(stmt).statements) > 1]
    if any(len(_list(loop, key)) in range(count + 2, count + 2 * len(later) + 1, 2) for key in keys):
        return False
    for key in keys:
        _numbers(loop, key, count)
    return len(keys) == 2


def async_stages(loop: tir.For) -> set[int]:
    """Return the stages whose copies are asynchronous."""
    return set(_list(loop, ASYNC))


def _numbers(loop: tir.For, key: str, count: int) -> list[int]:
    found = _list(loop, key)
    if len(found) != count:
        plural = "s" * (count != 1)
        reason = f"the loop has {count} statement{plural}, but '{key}' has {len(found)} number{'s' * (len(found) != 1)}"
        raise NotPipelined(reason, "give one number for each statement")
    return found


def _list(loop: tir.For, key: str) -> list[int]:
    value: Any = loop.annotations.get(key, ())
    numbers = [number_of(item) for item in value] if isinstance(value, list | tuple) else [None]  # type: ignore[reportUnknownVariableType]
    found = [number for number in numbers if number is not None]
    if len(found) != len(numbers):
        raise NotPipelined(f"'{key}' is not a list of integers", "write a list such as [0, 1]")
    return found


def number_of(value: object) -> int | None:
    """Return an element of an annotation as an integer, or None if it is not one."""
    value = value.value if isinstance(value, tir.IntImm) else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_block(stmt: tir.Stmt, buffers: Sequence[tir.Buffer] = ()) -> tir.Block:
    """Return `stmt` as a block that allocates `buffers` and declares its other reads and writes."""
    if isinstance(stmt, tir.BlockRealize) and runs_always(stmt):
        own = (*stmt.block.alloc_buffers, *buffers)
        return replace(stmt.block, alloc_buffers=own) if buffers else stmt.block
    block = tir.Block((), (), (), "", stmt, alloc_buffers=tuple(buffers))
    mine, inner = set[tir.Var](), set[tir.Buffer]()
    for node in walk(block):
        if isinstance(node, tir.Block):
            mine.update(buffer.data for buffer in node.alloc_buffers)
        elif isinstance(node, tir.Allocate):
            mine.add(node.buffer_var)
        elif isinstance(node, tir.DeclBuffer):
            inner.add(node.buffer)
    used = dict.fromkeys(node for node in walk(stmt) if isinstance(node, tir.Buffer) and node.data not in mine)
    outer = {buffer.data: buffer for buffer in used if buffer not in inner}
    viewed = {buffer.data: outer[buffer.data] for buffer in used if buffer in inner and buffer.data in outer}
    reads, writes, both = (
        tuple([region for region in regions if region.buffer.data not in viewed])
        for regions in detect_regions(block, used)
    )
    both = (*both, *map(full_region, viewed.values()))  # views are declared inside only
    return replace(block, reads=(*reads, *both), writes=(*writes, *both))


def check_order(parts: Sequence[Part], own: Sequence[tir.Buffer]) -> list[tir.Buffer]:
    """Return the buffers that parts of different stages share. Raises NotPipelined if a part would run before one that it
    depends on, or if stages share a buffer that is not in `own`, the buffers that each iteration has its own copy of.
    """
    shared: dict[tir.Buffer, None] = {}
    for number, first in enumerate(parts):
        for other, second in enumerate(parts[number + 1 :], number + 1):
            for buffer in _conflicts(first, second):
                if (first.stage, first.order if first.stage == second.stage else 0) > (second.stage, second.order):
                    reason = f"statement {other} of the loop would run before statement {number}, and both access '{buffer.name}'"
                    raise NotPipelined(reason, "put it in the same stage with a greater order, or in a later stage")
                if first.stage != second.stage:
                    shared[buffer] = None
                    _check_name(buffer, second)
    outside = next((candidate for candidate in shared if candidate not in own), None)
    if outside is not None:
        reason = f"two stages access '{outside.name}', which one iteration shares with the next"
        raise NotPipelined(reason, "allocate it inside the loop, or put both in one stage")
    return list(shared)


def _check_name(buffer: tir.Buffer, part: Part) -> None:
    """Refuse a part that accesses the memory of `buffer`, which another stage accesses, through another buffer."""
    for region in (*part.block.reads, *part.block.writes):
        if region.buffer.data is buffer.data and region.buffer is not buffer:
            reason = f"two stages access the same memory, as '{buffer.name}' and as '{region.buffer.name}'"
            raise NotPipelined(reason, "use one buffer for both, or put both in one stage")


def _conflicts(first: Part, second: Part) -> list[tir.Buffer]:
    """Return the buffers of `first` whose memory both access and at least one of them writes."""
    touched = dict.fromkeys(region.buffer for region in (*first.block.reads, *first.block.writes))
    return [
        buffer
        for buffer in touched
        if (first.writes(buffer) and (second.reads(buffer) or second.writes(buffer)))
        or (second.writes(buffer) and first.reads(buffer))
    ]
