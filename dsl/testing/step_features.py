"""What programs have that primitives tend to forget: found in the nests that a step of a schedule is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...ir import tir
from ...ir.schedule import LoopRV, Schedule
from ...ir.schedule.program import child_blocks
from ...ir.schedule.tree import walk_statements
from ...ir.visit import walk

FEATURES = (
    "upper bound", "lower bound", "equality", "conjunction", "variables", "nested blocks", "outputs", "late loop", "late axis",
    "computed extent", "symbolic extent", "extent 0", "extent 1", "view", "annotation", "opaque axis", "scan", "no init",
    "init of several", "condition", "in place", "several writers", "rewritten", "loop kind",
)  # fmt: skip
"""The columns of the matrix of primitives and features, as `docs/fuzzing.md` explains them."""
_BOUNDS = {
    tir.LT: "upper bound",
    tir.LE: "upper bound",
    tir.GT: "lower bound",
    tir.GE: "lower bound",
    tir.EQ: "equality",
}
_MIRRORED = {"upper bound": "lower bound", "lower bound": "upper bound"}


def features_of_step(schedule: Schedule, given: Mapping[str, Any]) -> frozenset[str]:
    """Return the features of the nests that the blocks and loops among the arguments of a step stand in."""
    function = schedule.mod.functions[schedule.func_working_on or ""]
    assert isinstance(function, tir.PrimFunc)
    asked: set[tir.Stmt] = set()
    names: set[str] = set()
    for value in given.values():
        for each in value if isinstance(value, list | tuple) else (value,):  # type: ignore[reportUnknownVariableType]
            if isinstance(each, LoopRV):
                asked.add(schedule.get(each))
            elif isinstance(each, str):
                names.add(each)
    body = function.body
    root = body.block if isinstance(body, tir.BlockRealize) else None
    parts = _parts(body if root is None else root.body)
    own = [part for part in parts if any(_is_asked(each, asked, names) for each in walk_statements(part))]
    found: set[str] = set()
    for part in own:
        found.update(_features(part))
        found.update(_of_buffers(part, parts))
    return frozenset(found)


def _parts(body: tir.Stmt) -> tuple[tir.Stmt, ...]:
    return body.seq if isinstance(body, tir.SeqStmt) else (body,)


def _is_asked(stmt: tir.Stmt, asked: set[tir.Stmt], names: set[str]) -> bool:
    return stmt in asked or (isinstance(stmt, tir.Block) and stmt.name_hint in names)


def _features(nest: tir.Stmt) -> Iterator[str]:
    """Yield the features of the statements of a nest."""
    loops = {each.loop_var for each in walk_statements(nest) if isinstance(each, tir.For)}
    for stmt in walk_statements(nest):
        match stmt:
            case tir.For():
                yield from _of_loop(stmt, loops)
            case tir.BlockRealize():
                yield from _of_predicate(stmt.predicate)
            case tir.Block():
                yield from _of_block(stmt)
            case tir.IfThenElse() if child_blocks(stmt):
                yield "condition"
            case tir.LetStmt():
                yield "variables"
            case _:
                pass


def _of_loop(loop: tir.For, loops: set[tir.Var]) -> Iterator[str]:
    if not (isinstance(loop.min, tir.IntImm) and loop.min.value == 0):
        yield "late loop"
    if isinstance(loop.extent, tir.IntImm):
        if loop.extent.value < 2:
            yield f"extent {loop.extent.value}"
    elif any(each in loops for each in walk(loop.extent)):
        yield "computed extent"
    else:
        yield "symbolic extent"
    if loop.annotations:
        yield "annotation"
    if loop.kind is not tir.ForKind.SERIAL:
        yield "loop kind"


def _of_predicate(condition: tir.PrimExpr) -> Iterator[str]:
    if isinstance(condition, tir.And):
        yield "conjunction"
        yield from _of_predicate(condition.a)
        yield from _of_predicate(condition.b)
    elif isinstance(condition, tir.LT | tir.LE | tir.GT | tir.GE | tir.EQ):
        bound = _BOUNDS[type(condition)]
        is_mirrored = isinstance(condition.a, tir.IntImm)
        yield _MIRRORED.get(bound, bound) if is_mirrored else bound


def _of_block(block: tir.Block) -> Iterator[str]:
    kinds = {axis.iter_type for axis in block.iter_vars}
    if any(
        not (isinstance(axis.dom.min, tir.IntImm) and axis.dom.min.value == 0) for axis in block.iter_vars if axis.dom
    ):
        yield "late axis"
    if tir.IterVarType.OPAQUE in kinds:
        yield "opaque axis"
    if tir.IterVarType.ORDERED in kinds:
        yield "scan"
    if tir.IterVarType.COMM_REDUCE in kinds and block.init is None:
        yield "no init"
    if isinstance(block.init, tir.SeqStmt):
        yield "init of several"
    if len(block.writes) > 1:
        yield "outputs"
    if child_blocks(block):
        yield "nested blocks"
    if block.annotations:
        yield "annotation"
    if block.match_buffers:
        yield "view"
    written = {each.buffer for each in block.writes}
    if (
        block.init is None
        and any(each.buffer in written for each in block.reads)
        and not (kinds & {tir.IterVarType.ORDERED})
    ):
        yield "in place"


def _of_buffers(nest: tir.Stmt, parts: Iterable[tir.Stmt]) -> Iterator[str]:
    """Yield what other nests do with the buffers of a nest."""
    own = [each for each in walk_statements(nest) if isinstance(each, tir.Block)]
    touched = {each.buffer for block in own for each in (*block.reads, *block.writes)}
    writers: dict[tir.Buffer, int] = {}
    read: set[tir.Buffer] = set()
    for part in parts:
        for block in child_blocks(tir.SeqStmt((part,))):
            for each in block.writes:
                writers[each.buffer] = writers.get(each.buffer, 0) + 1
                if each.buffer in touched and each.buffer in read:
                    yield "rewritten"
            read.update(each.buffer for each in block.reads)
    if any(writers.get(each, 0) > 1 for each in touched):
        yield "several writers"
    pointers = [buffer.data for buffer in {*touched, *read, *writers}]
    if any(each.strides or pointers.count(each.data) > 1 for each in touched):
        yield "view"
