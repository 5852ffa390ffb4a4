"""`loop_partition`: divide a loop into consecutive loops."""

from __future__ import annotations

from itertools import accumulate

from msgspec.structs import replace

from ... import make, tir
from ...access import detect_regions
from ...analysis.proof import prove
from ...buffers import buffers_of
from ...idioms import sequence, uses
from ...visit import rewrite
from ..analysis.bindings import domains_of
from ..analysis.copies import fresh_copy
from ..analysis.loops import check_plain
from ..analysis.order import check_concurrent_loops
from ..arguments import Factors, Flag, Loop
from ..conditions import IN_ORDER, ONE_INFERRED, PLAIN_LOOP, POSITIVE, Condition, name_of
from ..declaration import primitive
from ..program import Program, child_blocks
from ..tree import walk_statements

CONSTANT = Condition("E0530", "the domain of the loop is constant", "partition a loop of constant extent")
FITS = Condition("E0531", "the parts are shorter than the loop", "leave an iteration for the last part")
NOT_REDUCED = Condition(
    "E0535", "the loop is not in a reduction with T.init, which would execute in each part", "decompose_reduction first"
)
_TRUE = tir.IntImm("bool", 1)


@primitive(requires=(PLAIN_LOOP, NOT_REDUCED, CONSTANT, ONE_INFERRED, POSITIVE, FITS, IN_ORDER), results=("part",))
def loop_partition(program: Program, loop: Loop, factors: Factors, preserve_unit_iters: Flag = True) -> list[tir.For]:
    """Divide a loop into consecutive loops with the extents `factors`, one of which may be None. Remaining iterations
    form one more loop.

    Each part is in a block of its own. The blocks below are copied, and the copies are named after the part.

    Preserves: how often, and in which order, everything below executes. Comments of the loop stay above the first part,
    those below it are copied to every part.
    """
    check_plain(loop)
    _check_not_reduced(program, loop)
    ends = _ends(loop, factors)
    names = [block.name_hint for block in child_blocks(loop)]
    name = f"{names[0] if names else 'loop'}_{loop.loop_var.name}"
    dtype = loop.loop_var.dtype
    parts: list[tir.For] = []
    start, function = _value(loop.min), program.prim_func_of(loop)
    for index, end in enumerate(ends):
        variable = tir.Var(dtype, f"{loop.loop_var.name}{index}")
        domain = tir.Range(make.const(start, dtype), make.const(end - start, dtype))
        body = _renamed(fresh_copy(loop.body, {loop.loop_var: variable}, function), variable, domain)
        parts.append(tir.For(variable, domain.min, domain.extent, tir.ForKind.SERIAL, body))
        start = end
    parts[0] = replace(parts[0], trivia=loop.trivia)
    stmts = [_block(f"{name}{index}_partition", part) for index, part in enumerate(parts)]
    common = _block(f"{name}_common", sequence(stmts))
    program.replace(loop, common, {loop: None})
    check_concurrent_loops(program, common.block)
    return parts


def _check_not_reduced(program: Program, loop: tir.For) -> None:
    for realize in walk_statements(loop.body):
        if not isinstance(realize, tir.BlockRealize) or realize.block.init is None:
            continue
        around = program.loops_of(realize.block)
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if axis.iter_type is not tir.IterVarType.COMM_REDUCE:
                continue
            if uses(value, [loop]):
                reason = f"{name_of(loop)} is in the reduction iterator '{axis.var.name}' of {name_of(realize)}"
                raise NOT_REDUCED.refuse(reason, loop, realize.block)
            for index, outer in enumerate(around[: around.index(loop)] if loop in around else ()):
                runs = prove(make.greater_equal(outer.extent, 1), domains_of(around[:index])).is_proven
                if uses(value, [outer]) and not runs:
                    reason = (
                        f"{name_of(outer)} may be empty, and then no part initializes what {name_of(realize)} reduces"
                    )
                    raise NOT_REDUCED.refuse(reason, outer, realize.block)


def _ends(loop: tir.For, factors: tuple[tir.PrimExpr | None, ...]) -> list[int]:
    """Return the end of each part (TVM: `ConcreteScheduleNode::LoopPartition`)."""
    if not isinstance(loop.min, tir.IntImm) or not isinstance(loop.extent, tir.IntImm):
        raise CONSTANT.refuse(f"{name_of(loop)} has start {loop.min} and extent {loop.extent}", loop)
    count = sum(expr is None for expr in factors)
    if count > 1:
        raise ONE_INFERRED.refuse(f"{count} of its factors are None", loop, argument="factors")
    for index, factor in enumerate(factors):
        if factor is not None and (not isinstance(factor, tir.IntImm) or factor.value <= 0):
            raise POSITIVE.refuse(f"factor {index + 1} is {factor}", loop, argument="factors", element=index)
    sizes = [None if expr is None else _value(expr) for expr in factors]
    total, extent = sum(size or 0 for size in sizes), loop.extent.value
    if total >= extent:
        reason = f"{name_of(loop)} has {extent} iterations, and the given parts have {total}"
        raise FITS.refuse(reason, loop, argument="factors")
    lengths = [extent - total if size is None else size for size in sizes]
    return list(accumulate([*lengths, *([] if count else [extent - total])], initial=loop.min.value))[1:]


def _value(expr: tir.PrimExpr) -> int:
    assert isinstance(expr, tir.IntImm)
    return expr.value


def _renamed(body: tir.Stmt, variable: tir.Var, domain: tir.Range) -> tir.Stmt:
    """Return the body of a part: blocks are named after it, and iterators bound to its variable get its domain."""

    def rename(node: object) -> tir.Block | tir.BlockRealize | None:
        if isinstance(node, tir.Block):
            return replace(node, name_hint=f"{node.name_hint}_{variable.name}")
        if isinstance(node, tir.BlockRealize) and any(value is variable for value in node.iter_values):
            axes = [
                replace(axis, dom=domain) if value is variable else axis
                for axis, value in zip(node.block.iter_vars, node.iter_values, strict=True)
            ]
            return replace(node, block=replace(node.block, iter_vars=tuple(axes)))
        return None

    return rewrite(body, rename)


def _block(name: str, body: tir.Stmt) -> tir.BlockRealize:
    """Return a block without iterators around `body`, with its regions."""
    bare = tir.Block((), (), (), name, body)
    reads, writes, _ = detect_regions(bare, buffers_of(body))
    return tir.BlockRealize((), _TRUE, replace(bare, reads=reads, writes=writes))
