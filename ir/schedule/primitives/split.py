"""`split`: divide a loop into nested loops."""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ... import make, tir
from ...analysis.proof import prove
from ...base import Op
from ...dtype import parse_dtype
from ...equal import structural_equal
from ...simplify import simplify
from ...visit import walk
from ..analysis.bindings import simplified_bindings
from ..analysis.loops import check_plain, check_starts_at_zero, nest_of, widest_dtype
from ..arguments import Factors, Flag, Loop
from ..conditions import ONE_INFERRED, PLAIN_LOOP, POSITIVE, STARTS_AT_ZERO, Change, Condition, name_of
from ..declaration import primitive
from ..program import Program
from ..tree import statements_in, with_child

COVERS = Condition(
    "E0508",
    "the product of the factors is at least the extent of the loop",
    "write None for the first factor to infer it, or make a factor larger",
)
DIVIDES = Condition(
    "E0509", "without predicates on the blocks, the factors divide the extent", "leave out disable_predication"
)


@primitive(
    requires=(PLAIN_LOOP, STARTS_AT_ZERO, ONE_INFERRED, POSITIVE, COVERS, DIVIDES), results=("outer loop", "inner loop")
)
def split(
    program: Program, loop: Loop, factors: Factors, preserve_unit_iters: Flag = True, disable_predication: Flag = False
) -> list[tir.For]:
    """Divide a loop into nested loops with the extents `factors`, outermost first; one may be None and is inferred.

    If the factors do not divide the extent, the blocks below get a predicate. `disable_predication` omits
    the predicate, which must be provably redundant unless the extent depends on `T.vscale()`. Without `preserve_unit_iters`, loops
    of extent 1 are removed from bindings.

    Preserves: how often, and in which order, every block below executes. Comments stay with the outermost loop.
    """
    check_plain(loop)
    check_starts_at_zero(loop)
    extents = _inferred(loop, factors)
    dtype = widest_dtype(loop.loop_var, *extents)
    variables = [tir.Var(dtype, f"{loop.loop_var.name}_{index}") for index in range(len(extents))]
    value: tir.PrimExpr = make.const(0, dtype)
    for variable, extent in zip(variables, extents, strict=True):
        value = make.add(make.mul(value, extent), variable)
    body = program.substitute(loop.body, {loop.loop_var: make.cast(value, loop.loop_var.dtype)})
    zero = make.const(0)
    domains = {var: tir.Range(zero, extent) for var, extent in zip(variables, extents, strict=True)}
    condition = make.less(value, loop.extent)
    if not prove(condition, domains).is_proven:
        if disable_predication and not any(map(_is_scalable, extents)):
            reason = f"without a predicate, {name_of(loop)} may execute more than {loop.extent} iterations"
            raise DIVIDES.refuse(reason, loop, argument="disable_predication", change=Change())
        if not disable_predication:
            body = _guarded(program, body, condition)
    for variable, extent in reversed(list(zip(variables, extents, strict=True))):
        body = tir.For(variable, make.const(0, dtype), make.cast(extent, dtype), tir.ForKind.SERIAL, body)
    nest = simplified_bindings(program, body, program.loops_of(loop), preserve_unit_iters)
    nest = replace(nest, trivia=loop.trivia)
    program.replace(loop, nest, {loop: None})
    return nest_of(nest, len(extents))


def _inferred(loop: tir.For, factors: tuple[tir.PrimExpr | None, ...]) -> list[tir.PrimExpr]:
    """Return the extents of the new loops, including the inferred one (TVM: `ConcreteScheduleNode::Split`)."""
    count = sum(expr is None for expr in factors)
    if count > 1:
        raise ONE_INFERRED.refuse(f"{count} of its factors are None", loop, argument="factors")
    for index, factor in enumerate(factors):
        if factor is not None and prove(make.less_equal(factor, 0)).is_proven:
            reason = f"factor {index + 1} is {factor}"
            help, change = (None, None) if count else ("write None to infer it", Change("None"))
            raise POSITIVE.refuse(reason, loop, argument="factors", element=index, help=help, change=change)
    given = [None if expr is None else _fitted(expr, loop.extent.dtype) for expr in factors]
    known = [expr for expr in given if expr is not None]
    product = reduce(make.mul, known, make.const(1))
    if not count and not _covers(known, loop.extent):
        short = simplify(product)
        relation = (
            "more than"
            if isinstance(short, tir.IntImm) and isinstance(loop.extent, tir.IntImm)
            else "not known to be at most"
        )
        reason = f"{name_of(loop)} has {loop.extent} iterations, {relation} {short}"
        raise COVERS.refuse(reason, loop, argument="factors", change=Change("None", element=0))
    inferred = simplify(make.ceildiv(loop.extent, product))
    return [inferred if expr is None else expr for expr in given]


def _covers(factors: list[tir.PrimExpr], extent: tir.PrimExpr) -> bool:
    """Return whether the product of factors is at least `extent`: by proof, or as one factor is the inferred one."""
    if prove(make.greater_equal(reduce(make.mul, factors, make.const(1)), extent)).is_proven:
        return True
    for index, factor in enumerate(factors):
        others = reduce(make.mul, [*factors[:index], *factors[index + 1 :]], make.const(1))
        left = simplify(make.ceildiv(extent, others))
        if structural_equal(simplify(factor), left) and prove(make.greater_equal(others, 1)).is_proven:
            return True
    return False


def _is_scalable(extent: tir.PrimExpr) -> bool:
    return any(isinstance(node, tir.Call) and node.op == Op("tir.vscale") for node in walk(extent))


def _fitted(factor: tir.PrimExpr, dtype: str) -> tir.PrimExpr:
    """Return a factor, cast to `dtype` if its own dtype is wider."""
    return make.cast(factor, dtype) if parse_dtype(factor.dtype).bits > parse_dtype(dtype).bits else factor


def _guarded(program: Program, stmt: tir.Stmt, condition: tir.PrimExpr) -> tir.Stmt:
    """Return `stmt` under `condition`, which becomes a predicate of blocks.

    Statements outside of blocks get an `if`, as they would otherwise execute, or read, in additional iterations.
    """
    is_transparent = isinstance(stmt, tir.SeqStmt) or (
        isinstance(stmt, tir.For)
        and not any(isinstance(node, tir.BufferLoad) for end in (stmt.min, stmt.extent) for node in walk(end))
    )
    if isinstance(stmt, tir.BlockRealize):
        return replace(stmt, predicate=make.logical_and(stmt.predicate, condition))
    if not is_transparent:
        return tir.IfThenElse(condition, stmt)
    result: tir.Stmt = stmt
    for child in statements_in(stmt):
        result = with_child(result, child, _guarded(program, child, condition))
    if isinstance(stmt, tir.For):
        program.became[stmt] = result
    return result
