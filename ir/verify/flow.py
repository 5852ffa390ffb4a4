"""How statements are reached: which loops run around an access, over which constants, and under which conditions.

What is found here is certain: where a condition or a bound cannot be told, `Place.certain` is false.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from .. import tir
from ..base import Node, Op
from ..linear import Linear, linear
from ..visit import children, substitute

Access: TypeAlias = tir.BufferLoad | tir.BufferStore
Bounds: TypeAlias = tuple[int, int]


class Place(Struct, frozen=True):
    """What is known where an access stands.

    `domains` has the constant bounds of loop variables, both ends included and both reached, independently of each
    other; `bindings` says what block axes are, in terms of loop variables; `loops` are those around, outermost first.
    """

    domains: dict[tir.Var, Bounds] = {}
    bindings: dict[tir.Var, tir.PrimExpr] = {}
    loops: tuple[tir.For, ...] = ()
    certain: bool = True

    def resolve(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` in terms of loop variables."""
        return substitute(expr, self.bindings) if self.bindings else expr

    def bounds(self, expr: tir.PrimExpr) -> Bounds | None:
        """Return the least and the greatest value of `expr`, both reached for certain, or None where not known."""
        return self.bounds_of(linear(self.resolve(expr)))

    def bounds_of(self, form: Linear) -> Bounds | None:
        """Return the bounds of a linear combination; as in `bounds`."""
        least = most = form.constant
        for term in form.terms.values():
            domain = self.domains.get(term.expr) if isinstance(term.expr, tir.Var) else None
            if domain is None:
                return None
            ends = sorted(term.factor * end for end in domain)
            least, most = least + ends[0], most + ends[1]
        return least, most


class Flow:
    """One pass over a function that calls `visit_access(access, place)` for every access to a buffer, and
    `visit_block(realize, place)` for every block."""

    def __init__(
        self, visit_access: Callable[[Access, Place], None], visit_block: Callable[[tir.BlockRealize, Place], None]
    ) -> None:
        self.visit_access = visit_access
        self.visit_block = visit_block

    def visit(self, node: Node, place: Place) -> None:
        """Visit `node` and everything below it."""
        match node:
            case tir.For():
                self._visit_for(node, place)
            case tir.IfThenElse():
                self._visit_choice(node.condition, node.then_case, node.else_case, place)
            case tir.Call(op=Op(name="tir.if_then_else"), args=(tir.PrimExpr() as condition, then_case, else_case)):
                self._visit_choice(condition, then_case, else_case, place)
            case tir.Select():
                self._visit_choice(node.condition, node.true_value, node.false_value, place)
            case tir.And() | tir.Or():
                self.visit(node.a, place)
                self.visit(node.b, _guarded(place, node.a, isinstance(node, tir.And)))
            case tir.While() | tir.AssertStmt():
                self.visit(node.condition, place)
                self.visit(node.body, _unknown(place))
            case tir.BlockRealize():
                self._visit_realize(node, place)
            case tir.BufferLoad() | tir.BufferStore():
                self._visit_all((*node.indices, *((node.value,) if isinstance(node, tir.BufferStore) else ())), place)
                self.visit_access(node, place if node.predicate is None else _unknown(place))
            case tir.Call(op=Op(name="tir.address_of")):
                return
            case _:
                self._visit_all([each for each in children(node) if isinstance(each, tir.PrimExpr | tir.Stmt)], place)

    def _visit_all(self, nodes: Sequence[Node], place: Place) -> None:
        for node in nodes:
            self.visit(node, place)

    def _visit_for(self, node: tir.For, place: Place) -> None:
        self._visit_all((node.min, node.extent), place)
        loops = (*place.loops, node)
        start, extent = place.bounds(node.min), place.bounds(node.extent)
        if start is None or extent is None or start[0] != start[1] or extent[0] != extent[1]:
            self.visit(node.body, Place(place.domains, place.bindings, loops, False))
        elif extent[0] > 0:
            domains = {**place.domains, node.loop_var: (start[0], start[0] + extent[0] - 1)}
            self.visit(node.body, Place(domains, place.bindings, loops, place.certain))

    def _visit_choice(self, condition: tir.PrimExpr, then_case: Node, else_case: Node | None, place: Place) -> None:
        self.visit(condition, place)
        self.visit(then_case, _guarded(place, condition, True))
        if else_case is not None:
            self.visit(else_case, _guarded(place, condition, False))

    def _visit_realize(self, node: tir.BlockRealize, place: Place) -> None:
        self._visit_all((*node.iter_values, node.predicate), place)
        place = _guarded(place, node.predicate, True)
        self.visit_block(node, place)
        block = node.block
        values = {axis.var: place.resolve(v) for axis, v in zip(block.iter_vars, node.iter_values, strict=False)}
        inside = Place(place.domains, {**place.bindings, **values}, place.loops, place.certain)
        if block.init is not None:
            self.visit(block.init, _unknown(inside))
        self.visit(block.body, inside)


def _unknown(place: Place) -> Place:
    return Place(place.domains, place.bindings, place.loops, False)


def _guarded(place: Place, condition: tir.PrimExpr, holds: bool) -> Place:
    """Return `place` where `condition` holds (or does not): bounds of single loop variables are taken in."""
    match condition:
        case tir.IntImm(value=value):
            return place if bool(value) == holds else _unknown(place)
        case tir.Not(a=a):
            return _guarded(place, a, not holds)
        case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
            return _guarded(place, inner, holds)
        case tir.And(a=a, b=b) if holds:
            return _guarded(_guarded(place, a, True), b, True)
        case tir.Or(a=a, b=b) if not holds:
            return _guarded(_guarded(place, a, False), b, False)
        case tir.LT(a=a, b=b) | tir.GT(a=b, b=a):
            return _at_most(place, a, b, -1) if holds else _at_most(place, b, a, 0)
        case tir.LE(a=a, b=b) | tir.GE(a=b, b=a):
            return _at_most(place, a, b, 0) if holds else _at_most(place, b, a, -1)
        case _:
            return _unknown(place)


def _at_most(place: Place, a: tir.PrimExpr, b: tir.PrimExpr, slack: int) -> Place:
    """Return `place` where `a <= b + slack`."""
    form = linear(place.resolve(a)).plus(linear(place.resolve(b)), -1)
    terms = [(term.expr, term.factor) for term in form.terms.values()]
    if len(terms) != 1 or not isinstance(terms[0][0], tir.Var) or terms[0][0] not in place.domains:
        return _unknown(place)
    variable, factor = terms[0]
    assert isinstance(variable, tir.Var)
    least, most = place.domains[variable]
    limit = slack - form.constant
    if factor > 0:
        most = min(most, limit // factor)
    else:
        least = max(least, -(limit // -factor))
    if least > most:
        return _unknown(place)
    return Place({**place.domains, variable: (least, most)}, place.bindings, place.loops, place.certain)
