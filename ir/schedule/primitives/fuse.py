"""`fuse`: fuse nested loops into one."""

from __future__ import annotations

from functools import reduce

from ... import make, tir
from ...idioms import is_one, is_zero
from ...simplify import simplify
from ...visit import walk
from ..analysis.bindings import simplified_bindings
from ..analysis.loops import check_plain, check_starts_at_zero, widest_dtype
from ..analysis.trivia import joined
from ..arguments import Flag, Loop
from ..conditions import ARGUMENT, NESTED, PLAIN_LOOP, STARTS_AT_ZERO, Condition, name_of
from ..declaration import primitive
from ..program import Program

INDEPENDENT = Condition(
    "E0511", "the domains of the loops do not depend on each other", "fuse loops with fixed extents"
)
_LONGEST_NAME = 120


@primitive(requires=(PLAIN_LOOP, STARTS_AT_ZERO, NESTED, INDEPENDENT), results=("fused loop",))
def fuse(program: Program, *loops: Loop, preserve_unit_iters: Flag = True) -> tir.For:
    """Fuse nested loops, given from the outermost to the innermost, into one loop.

    Without `preserve_unit_iters`, loops of extent 1 are removed from bindings.

    Preserves: how often, and in which order, every block below executes. The comments of all loops stay, in order.
    """
    if not loops:
        raise ARGUMENT.refuse("expected at least one loop", help="write S.fuse(i, j)")
    _check_fusable(program, loops)
    dtype = widest_dtype(*[loop.loop_var for loop in loops])
    fused = tir.Var(dtype, _name(loops))
    values: dict[tir.Var, tir.PrimExpr] = {}
    lower: tir.PrimExpr = make.const(1, dtype)
    for loop in reversed(loops):
        if is_zero(loop.extent):  # the fused loop is empty too, and a reduction remains one over it
            values[loop.loop_var] = make.cast(fused, loop.loop_var.dtype)
            continue
        value: tir.PrimExpr = fused
        if loop is not loops[0]:
            value = make.floormod(fused, make.mul(lower, loop.extent))
        value = make.const(0, dtype) if is_one(loop.extent) else make.floordiv(value, lower)
        values[loop.loop_var] = make.cast(value, loop.loop_var.dtype)
        lower = make.mul(lower, loop.extent)
    body = program.substitute(loops[-1].body, values)
    trivia = joined(*[loop.trivia for loop in loops])
    extent = make.cast(simplify(reduce(make.mul, [loop.extent for loop in loops])), dtype)
    loop = tir.For(fused, make.const(0, dtype), extent, tir.ForKind.SERIAL, body, trivia=trivia)
    result = simplified_bindings(program, loop, program.loops_of(loops[0]), preserve_unit_iters)
    program.replace(loops[0], result, dict.fromkeys(loops))
    assert isinstance(result, tir.For)
    return result


def _name(loops: tuple[tir.For, ...]) -> str:
    """Return TVM's name for the fused loop, truncated if it is too long."""
    names = [loop.loop_var.name for loop in loops]
    name = "_".join([*names, "fused"])
    return name if len(name) <= _LONGEST_NAME else f"{names[0].split('_')[0]}_fused"


def _check_fusable(program: Program, loops: tuple[tir.For, ...]) -> None:
    variables: set[tir.Var] = set()
    for index, loop in enumerate(loops):
        check_plain(loop)
        outer = loops[index - 1] if index else None
        if outer is not None and outer.body is not loop:
            raise NESTED.refuse(_why_not_nested(program, outer, loop), loop, outer)
        check_starts_at_zero(loop)
        used = next((node for node in walk(loop.extent) if node in variables), None)
        if isinstance(used, tir.Var):
            raise INDEPENDENT.refuse(f"the extent of {name_of(loop)} depends on '{used.name}'", loop)
        variables.add(loop.loop_var)


def _why_not_nested(program: Program, outer: tir.For, inner: tir.For) -> str:
    if program.parent(inner) is outer:
        return f"{name_of(outer)} contains more than {name_of(inner)}"
    return f"{name_of(inner)} is not directly inside of {name_of(outer)}"
