"""Conversion of loop nests to blocks: each iterator is divided into parts from the outer and from the inner loops.

TVM: `BlockizeImpl`, `BlockizeBlocks` (`src/tir/schedule/primitive/blockize_tensorize.cc`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...access import detect_regions
from ...analysis.iter_map_use import subspace_divide
from ...base import Node
from ...buffers import buffers_of
from ...dtype import is_bool, is_int
from ...idioms import is_one, is_zero, uses
from ...int_set import cover, eval_set, from_range
from ...simplify import simplify
from ...visit import substitute, walk
from ..conditions import Condition, name_of
from ..program import Program
from .bindings import Domains, domains_of
from .blocks import COMM_REDUCE, DATA_PAR, check_reduction
from .copies import fresh_copy
from .loops import not_negative
from .reductions import check_runs_once, start_condition
from .scope import scope_root

_Stmt = TypeVar("_Stmt", bound=tir.Stmt)
DIVISIBLE = Condition(
    "E0580",
    "the target is a nest of loops around one block, or several adjacent nests, and each iterator is divided into a part "
    "of the outer loops and a part of the inner loops",
    "split the loops where the part ends, and reorder them so that the inner part is innermost",
)


class Divided(Struct, frozen=True):
    """Block divided between the loops outside and inside of a new block."""

    axes: tuple[tir.IterVar, ...]
    """Iterators of the new block; they are bound to `values` under `predicate`."""
    values: tuple[tir.PrimExpr, ...]
    predicate: tir.PrimExpr
    inner: tir.BlockRealize
    """The divided block in terms of the new iterators, without T.init."""
    nest: tir.Stmt
    """The inner block in the inner loops."""
    init: tir.Stmt | None
    """T.init of the new block, with its loops."""
    reads: tuple[tir.BufferRegion, ...]
    writes: tuple[tir.BufferRegion, ...]
    became: dict[tir.Stmt, tir.Stmt | None]

    def block(self, name: str) -> tir.BlockRealize:
        """Return the new block."""
        block = tir.Block(self.axes, self.reads, self.writes, name, self.nest, init=self.init)
        return tir.BlockRealize(self.values, self.predicate, block)


def divide(program: Program, block: tir.Block, inside: tuple[tir.For, ...], keeps_units: bool) -> Divided:
    """Divide a block between the loops around it; the innermost ones, `inside`, become part of a new block.

    With `keeps_units`, iterators bound to loops of extent 1 stay bound to them. Refused if the iterators cannot be
    divided (E0580).
    """
    realize, loops = program.realize_of(block), program.loops_of(block)
    outside = loops[: len(loops) - len(inside)]
    _check_nest(realize, inside, outside)
    variables = [loop.loop_var for loop in inside]
    parts = subspace_divide(
        realize.iter_values, domains_of(loops), variables, realize.predicate, simplify_trivial_iterators=not keeps_units
    )
    if parts is None:
        reason = "combine inner and outer loops, or do not have stride 1"
        raise DIVISIBLE.refuse(f"the iterators of {name_of(block)} {reason}", block)
    far = [stmt for stmt in program.around(scope_root(program, block)) if isinstance(stmt, tir.For)]
    if uses(parts.inner_predicate, far):
        reason = "which the new block can use only in its bindings"
        raise DIVISIBLE.refuse(f"the predicate of {name_of(block)} uses a loop outside of its scope, {reason}", block)
    if block.init is not None:
        check_reduction(program, block, scope_root(program, block))
        check_runs_once(realize, loops, inside or loops, _loops_of_reduction(realize, inside))
    axes, values = list[tir.IterVar](), list[tir.PrimExpr]()
    own, bindings = list[tir.IterVar](), list[tir.PrimExpr]()
    mapping: dict[tir.Var, Node] = {}
    for axis, part in zip(block.iter_vars, parts.divisions, strict=True):
        outer = tir.IterVar(_up_to(part.outer_extent), replace(axis.var, name=f"{axis.var.name}_o"), axis.iter_type)
        told, start = part.outer, part.inner_start
        inner = part.inner if is_zero(start) else simplify(make.sub(part.inner, start))
        is_alone = is_one(part.outer_extent) and not (keeps_units and is_one(part.inner_extent))
        whole = make.const(0, outer.var.dtype) if is_alone else make.mul(outer.var, part.inner_extent)
        if uses(start, far):  # the new block can use loops outside of its scope only in its bindings
            told, start = simplify(make.add(make.mul(part.outer, part.inner_extent), start)), make.const(0, start.dtype)
            outer, whole = replace(outer, dom=axis.dom), outer.var
        axes.append(outer)
        values.append(told)
        if not is_one(part.inner_extent):
            name = f"{axis.var.name}_i"
            own.append(tir.IterVar(_up_to(part.inner_extent), replace(axis.var, name=name), axis.iter_type))
            bindings.append(inner)
            whole = make.add(whole, own[-1].var)
        mapping[axis.var] = make.add(whole, start)
    known = {axis.var: axis.dom for axis in own if axis.dom is not None}
    body = with_indices(program, replace(block, iter_vars=()), mapping, known)
    bare = replace(body, iter_vars=tuple(own), init=None)
    if body.init is not None and any(axis.iter_type is COMM_REDUCE for axis in axes):
        bare = replace(bare, reads=(*body.writes, *body.reads))
    here = tir.BlockRealize(tuple(bindings), parts.inner_predicate, bare, trivia=realize.trivia)
    nest, became = _nest(here, inside)
    became[block] = bare
    init = None if body.init is None else _init(program.prim_func_of(block), here, body.init, inside)
    return Divided(
        tuple(axes), tuple(values), parts.outer_predicate, here, nest, init,
        _relaxed(body.reads, own, inside), _relaxed(body.writes, own, inside), became,
    )  # fmt: skip


def _check_nest(realize: tir.BlockRealize, inside: tuple[tir.For, ...], outside: tuple[tir.For, ...]) -> None:
    for loop, child in zip(inside, (*inside[1:], realize), strict=False):
        if loop.body is not child:
            raise DIVISIBLE.refuse(f"{name_of(loop)} contains a condition, or more than one block", loop)
        if uses(loop.min, outside) or uses(loop.extent, outside):
            raise DIVISIBLE.refuse(f"the domain of {name_of(loop)} varies with an outer loop", loop)


def _up_to(extent: tir.PrimExpr) -> tir.Range:
    return tir.Range(make.const(0, extent.dtype), not_negative(extent))


def with_indices(program: Program, node: _Stmt, mapping: Mapping[tir.Var, Node], known: Domains) -> _Stmt:
    """Return `node` with its iterators replaced, and the affected indices simplified."""
    changed = {inner for value in mapping.values() for inner in walk(value)}

    def change(node: Any) -> Node | None:
        if node in mapping:
            return mapping[node]
        is_index = isinstance(node, tir.PrimExpr) and (is_int(node.dtype) or is_bool(node.dtype))
        if not is_index or not any(inner in changed for inner in walk(node)):
            return None
        short = simplify(node, known)
        changed.add(short)
        return short

    return program.rewrite(node, change)


def _nest(realize: tir.BlockRealize, loops: Sequence[tir.For]) -> tuple[tir.Stmt, dict[tir.Stmt, tir.Stmt | None]]:
    """Return a block in loops, and the mapping of the given loops to the new ones."""
    nest, became = realize, dict[tir.Stmt, tir.Stmt | None]()
    for loop in reversed(loops):
        nest = became[loop] = replace(loop, body=nest)
    return nest, became


def _relaxed(
    regions: Sequence[tir.BufferRegion], axes: Sequence[tir.IterVar], loops: tuple[tir.For, ...]
) -> tuple[tir.BufferRegion, ...]:
    """Return the regions accessed when `axes`, and `loops` of blocks without iterators, range over their domains."""
    spans = {**domains_of(loops), **{axis.var: axis.dom for axis in axes if axis.dom is not None}}
    domains = {variable: from_range(span.min, span.extent) for variable, span in spans.items()}
    found: list[tir.BufferRegion] = []
    for region in regions:
        spans = [eval_set(from_range(axis.min, axis.extent), domains) for axis in region.region]
        box = [cover(span, extent) for span, extent in zip(spans, region.buffer.shape, strict=True)]
        found.append(tir.BufferRegion(region.buffer, tuple(box)))
    return tuple(found)


def _loops_of_reduction(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> list[tir.For]:
    """Return the loops of reduction iterators that no other iterator uses."""
    used = {
        is_reduced: {
            loop
            for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
            for loop in loops
            if (axis.iter_type is COMM_REDUCE) is is_reduced and uses(value, [loop])
        }
        for is_reduced in (True, False)
    }
    return [loop for loop in loops if loop in used[True] - used[False]]


def _loops_of(values: Sequence[tir.PrimExpr], loops: tuple[tir.For, ...]) -> list[tir.For]:
    """Return the loops that `values` depend on, and those that their domains depend on."""
    found: list[tir.For] = []
    for loop in reversed(loops):
        bounds = [bound for inner in found for bound in (inner.min, inner.extent)]
        if any(uses(value, [loop]) for value in (*values, *bounds)):
            found.insert(0, loop)
    return found


def _init(function: tir.PrimFunc, realize: tir.BlockRealize, init: tir.Stmt, loops: tuple[tir.For, ...]) -> tir.Stmt:
    """Return `init`, which runs at the start of reduction axes, in those loops of `realize` that it needs (TVM: `GenerateOuterInit`)."""
    block = realize.block
    starts = {
        axis.var: axis.dom.min for axis in block.iter_vars if axis.iter_type is COMM_REDUCE and axis.dom is not None
    }
    init = substitute(init, starts)
    used = set(walk(init))
    pairs = [
        (axis, value)
        for axis, value in zip(block.iter_vars, realize.iter_values, strict=True)
        if axis.iter_type is DATA_PAR and axis.var in used
    ]
    kept = _loops_of([value for _, value in pairs], loops)
    dropped = [loop for loop in loops if loop not in kept]
    predicate = start_condition(realize, loops, kept, dropped)
    bare = tir.Block(tuple([axis for axis, _ in pairs]), (), block.writes, f"{block.name_hint}_init", init)
    reads, _, _ = detect_regions(bare, buffers_of(init))
    here = tir.BlockRealize(tuple([value for _, value in pairs]), predicate, replace(bare, reads=reads))
    named: dict[Any, Node] = {axis.var: replace(axis.var, name=f"{axis.var.name}_init") for axis, _ in pairs}
    nest, _ = _nest(here, [replace(loop, trivia=None) for loop in kept])
    return fresh_copy(nest, named, function)
