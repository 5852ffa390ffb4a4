"""How statements are reached: which loops run around an access, over which constants, and under which conditions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias

from .. import tir
from ..base import Node, Op
from ..linear import linear
from ..visit import children, substitute

Access: TypeAlias = tir.BufferLoad | tir.BufferStore
Bounds: TypeAlias = tuple[int, int]


class Flow:
    """One pass over a function, with what is known at each place while it is there.

    `domains` has the constant bounds of loop variables, both ends included and both reached, independently of each
    other; `bindings` says what block axes are, in terms of loop variables; `loops` are those around, outermost first;
    `certain` is false where a condition or a bound around cannot be told.
    """

    def __init__(
        self, check_access: Callable[[Access, Flow], None], check_block: Callable[[tir.BlockRealize, Flow], bool]
    ) -> None:
        """`check_access` and `check_block` are called at certain places only; where `check_block` is false, nothing
        is said about what stands in the block."""
        self.check_access = check_access
        self.check_block = check_block
        self.domains: dict[tir.Var, Bounds] = {}
        self.bindings: dict[tir.Var, tir.PrimExpr] = {}
        self.loops: list[tir.For] = []
        self.certain = True

    def resolve(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` in terms of loop variables."""
        return substitute(expr, self.bindings) if self.bindings else expr

    def bounds(self, expr: tir.PrimExpr) -> Bounds | None:
        """Return the least and the greatest value of `expr`, both reached for certain, or None where not known."""
        form = linear(self.resolve(expr))
        least = most = form.constant
        for term in form.terms.values():
            domain = self.domains.get(term.expr) if isinstance(term.expr, tir.Var) else None
            if domain is None:
                return None
            ends = sorted(term.factor * end for end in domain)
            least, most = least + ends[0], most + ends[1]
        return least, most

    def visit(self, node: Node) -> None:
        """Visit `node` and everything below it."""
        match node:
            case tir.For():
                self._visit_for(node)
            case tir.IfThenElse():
                self._visit_choice(node.condition, node.then_case, node.else_case)
            case tir.Call(op=Op(name="tir.if_then_else"), args=(tir.PrimExpr() as condition, then_case, else_case)):
                self._visit_choice(condition, then_case, else_case)
            case tir.Select():
                self._visit_choice(node.condition, node.true_value, node.false_value)
            case tir.And() | tir.Or():
                self.visit(node.a)
                with self._where(node.a, isinstance(node, tir.And)):
                    self.visit(node.b)
            case tir.While() | tir.AssertStmt():
                self.visit(node.condition)
                with self._uncertain():
                    self.visit(node.body)
            case tir.BlockRealize():
                self._visit_realize(node)
            case tir.BufferLoad() | tir.BufferStore():
                self._visit_all((*node.indices, *((node.value,) if isinstance(node, tir.BufferStore) else ())))
                if self.certain and node.predicate is None:
                    self.check_access(node, self)
            case tir.Call(op=Op(name="tir.address_of")):
                return
            case _:
                self._visit_all([each for each in children(node) if isinstance(each, tir.PrimExpr | tir.Stmt)])

    def _visit_all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.visit(node)

    def _visit_for(self, node: tir.For) -> None:
        self._visit_all((node.min, node.extent))
        start, extent = self.bounds(node.min), self.bounds(node.extent)
        self.loops.append(node)
        if start is None or extent is None or start[0] != start[1] or extent[0] != extent[1]:
            with self._uncertain():
                self.visit(node.body)
        elif extent[0] > 0:
            with self._within(node.loop_var, (start[0], start[0] + extent[0] - 1)):
                self.visit(node.body)
        self.loops.pop()

    def _visit_choice(self, condition: tir.PrimExpr, then_case: Node, else_case: Node | None) -> None:
        self.visit(condition)
        with self._where(condition, True):
            self.visit(then_case)
        if else_case is not None:
            with self._where(condition, False):
                self.visit(else_case)

    def _visit_realize(self, node: tir.BlockRealize) -> None:
        block = node.block
        self._visit_all((*node.iter_values, node.predicate))
        with self._where(node.predicate, True):
            self.certain = self.certain and self.check_block(node, self)
            for axis, value in zip(block.iter_vars, node.iter_values, strict=False):
                self.bindings[axis.var] = self.resolve(value)
            if block.init is not None:
                with self._uncertain():
                    self.visit(block.init)
            self.visit(block.body)
        for axis in block.iter_vars:
            self.bindings.pop(axis.var, None)

    @contextmanager
    def _uncertain(self) -> Generator[None]:
        before, self.certain = self.certain, False
        yield
        self.certain = before

    @contextmanager
    def _within(self, variable: tir.Var, domain: Bounds) -> Generator[None]:
        before = self.domains.get(variable)
        self.domains[variable] = domain
        yield
        if before is None:
            del self.domains[variable]
        else:
            self.domains[variable] = before

    @contextmanager
    def _where(self, condition: tir.PrimExpr, holds: bool) -> Generator[None]:
        """Take in that `condition` holds, or does not: bounds of single loop variables are kept exactly."""
        certain, changed = self.certain, list[tuple[tir.Var, Bounds]]()
        for variable, domain in self._restrictions(condition, holds):
            if variable is None:
                self.certain = False
            else:
                changed.append((variable, self.domains[variable]))
                self.domains[variable] = domain
        yield
        self.certain = certain
        for variable, domain in reversed(changed):
            self.domains[variable] = domain

    def _restrictions(self, condition: tir.PrimExpr, holds: bool) -> Generator[tuple[tir.Var | None, Bounds]]:
        """Yield the variables that a condition bounds, with their new bounds; None for what cannot be told."""
        match condition:
            case tir.IntImm(value=value):
                if bool(value) != holds:
                    yield None, (0, 0)
            case tir.Not(a=a):
                yield from self._restrictions(a, not holds)
            case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
                yield from self._restrictions(inner, holds)
            case tir.And(a=a, b=b) if holds:
                yield from self._restrictions(a, True)
                yield from self._restrictions(b, True)
            case tir.Or(a=a, b=b) if not holds:
                yield from self._restrictions(a, False)
                yield from self._restrictions(b, False)
            case tir.LT(a=a, b=b) | tir.GT(a=b, b=a):
                yield self._at_most(a, b, -1) if holds else self._at_most(b, a, 0)
            case tir.LE(a=a, b=b) | tir.GE(a=b, b=a):
                yield self._at_most(a, b, 0) if holds else self._at_most(b, a, -1)
            case _:
                yield None, (0, 0)

    def _at_most(self, a: tir.PrimExpr, b: tir.PrimExpr, slack: int) -> tuple[tir.Var | None, Bounds]:
        """Return the variable that `a <= b + slack` bounds, and its bounds."""
        form = linear(self.resolve(a)).plus(linear(self.resolve(b)), -1)
        terms = list(form.terms.values())
        variable = terms[0].expr if len(terms) == 1 else None
        if not isinstance(variable, tir.Var) or variable not in self.domains:
            return None, (0, 0)
        factor, limit = terms[0].factor, slack - form.constant
        least, most = self.domains[variable]
        if factor > 0:
            most = min(most, limit // factor)
        else:
            least = max(least, -(limit // -factor))
        return (variable, (least, most)) if least <= most else (None, (0, 0))
