"""The simplifier: facts known at a point of a program, and the normal form of expressions there.

Every operator family has its own file, which registers the rules for its nodes. They share this file: equal
expressions are one object ("interned"), so that `is` compares them; sums are linear combinations (`sums.Sum`);
bounds, residues and given conditions decide side conditions.

Assumptions: index expressions (int32, int64) do not overflow, as in TVM. Other integers wrap around and stay
exact: their sums are rearranged modulo the width, and a rule that needs the value of one first checks that
it does not wrap (`exact`). Expressions that may fault (division by zero) are assumed not to fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import tir
from ..analysis.const_bounds import Bounds, Domain, Domains, ends, of_domain
from ..dtype import int_range, is_bool, is_index, is_vector
from ..intern import is_pure_call, may_fault, nodes_with_effects
from ..promote import const
from ..sums import Sum, render
from ..visit import children, rebuilt
from .knowledge import Knowledge

_Rule = Callable[["Simplifier", Any], tir.PrimExpr]
_R = TypeVar("_R", bound=_Rule)
_Visit = Callable[[tir.PrimExpr], tir.PrimExpr]
_RULES: dict[type[tir.PrimExpr], _Rule] = {}


def simplifies(*kinds: type[tir.PrimExpr]) -> Callable[[_R], _R]:
    """Register the function that simplifies nodes of these kinds."""

    def register(rule: _R) -> _R:
        _RULES.update(dict.fromkeys(kinds, rule))
        return rule

    return register


class Simplifier(Knowledge):
    """Simplifies expressions at one point of a program, given domains of variables and conditions that hold there."""

    def __init__(self, domains: Domains | None = None, given: Sequence[tir.PrimExpr] = ()) -> None:
        super().__init__()
        self._memo: dict[tir.PrimExpr, tir.PrimExpr] = {}
        for variable, domain in (domains or {}).items():
            self.bind(variable, domain)
        for condition in given:
            self.assume(condition)

    # --- Places ---------------------------------------------------------------------------------------------------

    def bind(self, variable: tir.Var, domain: Domain) -> None:
        """Record that `variable` ranges over `domain`, whose ends may be symbolic."""
        least, most, slack = ends(domain)
        self.learn_bounds(variable, of_domain(variable, domain, self._bounds_of_end))
        position = Sum({variable: 1})
        if least is not None and not isinstance(least, tir.IntImm):
            self.add_fact(self.exact(self.visit(least)).plus(position, -1))
        if most is not None and not isinstance(most, tir.IntImm) and is_index(variable.dtype):
            self.add_fact(position.plus(self.sum(self.visit(most)), -1).shifted(-slack))

    def _bounds_of_end(self, end: tir.PrimExpr) -> Bounds:
        return Bounds(end.value, end.value) if isinstance(end, tir.IntImm) else self.bounds(self.visit(end))

    def assume(self, condition: tir.PrimExpr, holds: bool = True) -> None:
        """Record that `condition` is true, or false if not `holds`."""
        self._add_fact(*self._with_opposite(condition), holds)

    def _with_opposite(self, condition: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        known = self.visit(condition)
        return known, self.visit(tir.Not(known.dtype, known))

    def _add_fact(self, known: tir.PrimExpr, opposite: tir.PrimExpr, holds: bool) -> None:
        self.learn(known, holds)
        if isinstance(opposite, tir.CmpOp):
            self.truths[opposite] = not holds

    def inside(self) -> Simplifier:
        """Return a copy of this simplifier for an inner scope; facts added to it do not affect this one."""
        inner = Simplifier()
        inner.take_over(self)
        return inner

    def assuming(self, condition: tir.PrimExpr, holds: bool = True) -> Simplifier:
        """Return a copy of this simplifier that also assumes that `condition` is true, or false if not `holds`.

        This simplifier normalizes the condition: it remembers its results, which the copy would compute again.
        """
        known, opposite = self._with_opposite(condition)
        inner = self.inside()
        inner._add_fact(known, opposite, holds)
        return inner

    def forget_conclusions(self) -> None:
        super().forget_conclusions()
        self._memo = {}

    # --- Expressions ----------------------------------------------------------------------------------------------

    def run(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the normal form of `expr`. In parts with side effects, only operands without them are simplified."""
        acting = nodes_with_effects(expr)

        def run(part: tir.PrimExpr) -> tir.PrimExpr:
            return _rebuilt(part, run) if part in acting else self.visit(part)

        return run(expr)

    def visit(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the normal form of `expr`, which must not have side effects."""
        found = self._memo.get(expr)
        if found is None:
            found = self.values.get(expr)
        if found is None:
            rule = _RULES.get(type(expr))
            found = self.rebuild(expr) if rule is None else rule(self, expr)
            if is_bool(found.dtype) and found in self.truths:
                found = self.constant(int(self.truths[found]), found.dtype)
            self._memo[expr] = found
            self._memo[found] = found
        return found

    def intern(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the unique node equal to `expr`, whose operands are interned."""
        return self.nodes.intern(expr)

    def rebuild(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` with its operands in normal form."""
        return self.intern(_rebuilt(expr, self.visit))

    def combine(self, kind: type[tir.BinaryOp], operands: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
        """Return the operation of some kind on all of `operands`, at least one, from the left."""
        result, *others = operands
        for operand in others:
            result = self.intern(kind(result.dtype, result, operand))
        return result

    def constant(self, value: int, dtype: str) -> tir.PrimExpr:
        """Return an integer constant, broadcast if the dtype is a vector."""
        return self.visit(const(value, dtype)) if is_vector(dtype) else self.nodes.number(value, dtype)

    def is_total(self, expr: tir.PrimExpr) -> bool:
        """Return whether evaluating `expr` cannot fault and has no side effect, so that it may leave its branch."""
        found = self.nodes.total.get(expr)
        if found is None:
            found = self.nodes.total[expr] = self._is_total(expr)
        return found

    def _is_total(self, expr: tir.PrimExpr) -> bool:
        match expr:
            case tir.Var() | tir.IntImm() | tir.FloatImm():
                return True
            case tir.BufferLoad() | tir.ProducerLoad() | tir.Reduce():
                return False
            case tir.Call() if not is_pure_call(expr):
                return False
            case _:
                parts = (child for child in children(expr) if isinstance(child, tir.PrimExpr))
                return not may_fault(expr) and all(map(self.is_total, parts))

    def to_expr(self, value: Sum, dtype: str) -> tir.PrimExpr | None:
        """Return a sum as an expression, negative terms last, or None if `dtype` cannot represent its constants."""
        value = self._rendered(value, dtype)
        key = (Sum, dtype, *value.key())
        found = self.nodes.by_key.get(key)
        if found is None:
            found = render(value, dtype, self.intern)
            if found is None:
                return None
            self.nodes.by_key[key] = found
            if not isinstance(found, tir.IntImm) and value.single is None:
                self.sums[found] = value
        return found

    def _rendered(self, value: Sum, dtype: str) -> Sum:
        """Return `value` with nested sums flattened and, if it does not fit `dtype`, factors wrapped to the width."""
        if any(term in self.sums for term in value.terms):
            flat = Sum({}, value.constant)
            for term, factor in value.factors():
                flat.add(self.sum(term), factor)
            value = flat
        most = int_range(dtype)[1]
        numbers = map(abs, (value.constant, *value.terms.values()))
        if is_index(dtype) or (max(numbers) <= most and self.fits(value, dtype)):
            return value
        return value.wrapped(dtype)


def _rebuilt(expr: tir.PrimExpr, visit: _Visit) -> tir.PrimExpr:
    """Return `expr` with `visit` applied to its operands."""
    return rebuilt(expr, lambda part: visit(part) if isinstance(part, tir.PrimExpr) else part)
