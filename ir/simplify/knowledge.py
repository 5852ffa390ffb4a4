"""Facts known at a point of a program: bounds and residues of expressions, and conditions that hold."""

from __future__ import annotations

from collections.abc import Iterator

from .. import tir
from ..analysis.const_bounds import Bounds, bounds_of, of_domain, of_dtype
from ..analysis.modular_set import ModularSet, modular_of
from ..base import Op
from ..dtype import int_range, is_index, parse_dtype
from ..intern import Nodes, few_factors, is_scalar_int
from ..sums import Sum

MOST_FACTS = 32
"""Maximum number of facts that `at_most` searches; older facts are dropped."""


class Knowledge:
    """Facts about interned expressions. `facts` are sums known to be at most 0, `truths` the values of conditions."""

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.sums: dict[tir.PrimExpr, Sum] = {}
        self.truths: dict[tir.PrimExpr, bool] = {}
        self.facts: list[Sum] = []
        self.values: dict[tir.PrimExpr, tir.PrimExpr] = {}
        self._given_bounds: dict[tir.PrimExpr, Bounds] = {}
        self._given_residues: dict[tir.PrimExpr, ModularSet] = {}
        self._bounds: dict[tir.PrimExpr, Bounds] = {}
        self._residues: dict[tir.PrimExpr, ModularSet] = {}

    def take_over(self, other: Knowledge) -> None:
        """Copy the facts of `other`, and share its nodes."""
        self.nodes, self.sums = other.nodes, other.sums
        self.truths, self.facts = dict(other.truths), list(other.facts)
        self.values = dict(other.values)
        self._given_bounds, self._given_residues = dict(other._given_bounds), dict(other._given_residues)

    def forget_conclusions(self) -> None:
        """Discard cached conclusions, since a new fact may allow stronger ones."""
        self._bounds, self._residues = {}, {}

    # --- Facts ----------------------------------------------------------------------------------------------------

    def learn_bounds(self, expr: tir.PrimExpr, bounds: Bounds) -> None:
        """Record that `expr` lies within `bounds`."""
        self._given_bounds[expr] = bounds.meet(self.bounds(expr))
        if isinstance(expr, tir.Var) and self._given_bounds[expr].is_point:
            self.values[expr] = self.nodes.intern(tir.IntImm(expr.dtype, bounds.min))
        self.forget_conclusions()

    def learn_residue(self, expr: tir.PrimExpr, residue: ModularSet) -> None:
        """Record the residue of `expr`."""
        self._given_residues[expr] = residue.meet(self.residue(expr))
        self.forget_conclusions()

    def learn(self, condition: tir.PrimExpr, holds: bool) -> None:
        """Record that a condition in normal form is true, or false if not `holds`."""
        match condition:
            case tir.Not(a=a):
                self.learn(a, not holds)
            case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
                self.learn(inner, holds)
            case tir.And(a=a, b=b) if holds:
                self.learn(a, True)
                self.learn(b, True)
            case tir.Or(a=a, b=b) if not holds:
                self.learn(a, False)
                self.learn(b, False)
            case tir.CmpOp() if is_scalar_int(condition.a.dtype):
                self._learn_order(condition, holds)
            case _:
                pass
        if not isinstance(condition, tir.IntImm):
            self.truths[condition] = holds
        self.forget_conclusions()

    def _learn_order(self, condition: tir.CmpOp, holds: bool) -> None:
        a, b = self.exact(condition.a), self.exact(condition.b)
        match condition, holds:
            case (tir.LT(), True) | (tir.GE(), False):
                self.add_fact(a.plus(b, -1).shifted(1))
            case (tir.LE(), True) | (tir.GT(), False):
                self.add_fact(a.plus(b, -1))
            case (tir.GT(), True) | (tir.LE(), False):
                self.add_fact(b.plus(a, -1).shifted(1))
            case (tir.GE(), True) | (tir.LT(), False):
                self.add_fact(b.plus(a, -1))
            case (tir.EQ(), True) | (tir.NE(), False):
                self._learn_equality(condition.a, condition.b)
                self.add_fact(a.plus(b, -1))
                self.add_fact(b.plus(a, -1))
            case _:
                pass

    def _learn_equality(self, a: tir.PrimExpr, b: tir.PrimExpr) -> None:
        match a, b:
            case tir.FloorMod() | tir.Mod(), tir.IntImm(value=base) if isinstance(a.b, tir.IntImm) and a.b.value > 0:
                self.learn_residue(a.a, ModularSet(a.b.value, base % a.b.value))
            case tir.Var(), tir.IntImm():
                self.values[a] = b
            case _:
                pass

    def add_fact(self, fact: Sum) -> None:
        """Record that `fact <= 0`: as a bound if it has one term and does not contradict its bounds, else as a fact."""
        is_bound = False
        if len(fact.terms) == 1:
            ((term, factor),) = fact.terms.items()
            known = self.bounds(term)
            limit = -fact.constant // factor if factor > 0 else -(fact.constant // factor)
            is_bound = limit >= known.min if factor > 0 else limit <= known.max
            if is_bound and factor > 0:
                self._given_bounds[term] = Bounds(known.min, min(known.max, limit))
            elif is_bound:
                self._given_bounds[term] = Bounds(max(known.min, limit), known.max)
            if isinstance(term, tir.FloorDiv | tir.Div) and isinstance(term.b, tir.IntImm) and term.b.value > 0:
                self.add_fact(undivided(type(term), self.exact(term.a), term.b.value, factor, fact.constant))
        if not is_bound:
            self.facts = [*self.facts[1 - MOST_FACTS :], fact]
        self.forget_conclusions()

    # --- Questions ------------------------------------------------------------------------------------------------

    def bounds(self, expr: tir.PrimExpr) -> Bounds:
        """Return the constant bounds of an interned expression."""
        found = self._bounds.get(expr)
        if found is None:
            found = of_domain(expr, None, self.bounds) if isinstance(expr, tir.Var) else bounds_of(expr, self.bounds)
            value = self.sums.get(expr)
            if value is not None and self.fits(value, expr.dtype):
                found = self.bounds_of_sum(value).meet(found)
            given = self._given_bounds.get(expr)
            found = self._bounds[expr] = found if given is None else found.meet(given)
        return found

    def bounds_of_sum(self, value: Sum) -> Bounds:
        """Return the constant bounds of a sum."""
        result = Bounds(value.constant, value.constant)
        for term, factor in value.factors():
            result = result.plus(self.bounds(term), factor)
        return result

    def residue(self, expr: tir.PrimExpr) -> ModularSet:
        """Return the modular set of an interned expression."""
        found = self._residues.get(expr)
        if found is None:
            given = self._given_residues.get(expr)
            found = self._residues[expr] = modular_of(expr, self.residue) if given is None else given
        return found

    def residue_of_sum(self, value: Sum) -> ModularSet:
        """Return the modular set of a sum."""
        result = ModularSet(0, value.constant)
        for term, factor in value.factors():
            result = result.plus(self.residue(term), factor)
        return result

    def at_most(self, value: Sum, limit: int = 0, depth: int = 2) -> bool:
        """Return whether `value <= limit` follows from constant bounds and at most `depth` given facts."""
        if self.bounds_of_sum(value).max <= limit:
            return True
        if depth == 0:
            return False
        for fact in (*self.facts, *self._scaled_facts(value)):
            for term, factor in fact.factors():
                ours = value.terms.get(term, 0)
                if ours * factor > 0:
                    rest = value.scaled(abs(factor)).plus(fact, -abs(ours))
                    if self.at_most(rest, limit * abs(factor), depth - 1):
                        return True
                    break
        return False

    def _scaled_facts(self, value: Sum) -> Iterator[Sum]:
        """Yield facts multiplied by a non-negative factor, if that gives a product in `value`: `i < n` times `n`."""
        for term, _ in value.factors():
            parts = few_factors(term)
            for part in parts if len(parts) == 2 and is_index(term.dtype) else ():
                other = parts[1] if part is parts[0] else parts[0]
                if self.bounds(other).min >= 0:
                    yield from (self._times(fact, other) for fact in self._facts_about(part))

    def _facts_about(self, term: tir.PrimExpr) -> Iterator[Sum]:
        """Yield the constant bounds of a term and the facts that contain it."""
        bounds = self.bounds(term)
        yield Sum({term: -1}, bounds.min)
        yield Sum({term: 1}, -bounds.max)
        yield from (fact for fact in self.facts if term in fact.terms)

    def _times(self, value: Sum, factor: tir.PrimExpr) -> Sum:
        result = Sum({factor: value.constant} if value.constant else {})
        for term, number in value.factors():
            result.add_term(self.nodes.intern(tir.Mul(factor.dtype, term, factor)), number)
        return result

    def fits(self, value: Sum, dtype: str) -> bool:
        """Return whether `dtype` can represent every value of the sum."""
        return is_index(dtype) or self.bounds_of_sum(value).within(of_dtype(dtype))

    # --- Sums -----------------------------------------------------------------------------------------------------

    def sum(self, expr: tir.PrimExpr) -> Sum:
        """Return a scalar integer expression in normal form as a sum, modulo its width."""
        if isinstance(expr, tir.IntImm):
            return Sum({}, expr.value)
        return self.sums.get(expr) or Sum({expr: 1})

    def exact(self, expr: tir.PrimExpr) -> Sum:
        """Return a sum that equals `expr` exactly, without wrapping around."""
        value = self.sum(expr)
        if self.fits(value, expr.dtype):
            return value
        steps = (self.bounds_of_sum(value).min - int_range(expr.dtype)[0]) >> (bits := parse_dtype(expr.dtype).bits)
        value = value.shifted(-(steps << bits))
        return value if self.fits(value, expr.dtype) else Sum({expr: 1})


def undivided(kind: type[tir.FloorDiv | tir.Div], dividend: Sum, divisor: int, factor: int, constant: int) -> Sum:
    """Return the sum that is at most 0 exactly if `dividend // divisor * factor + constant` is.

    Rounding towards zero maps more dividends to 0 than rounding down.
    """
    if factor > 0:
        most = -constant // factor
        return dividend.shifted(-most * divisor - (0 if kind is tir.Div and most < 0 else divisor - 1))
    least = -(constant // factor)
    return dividend.scaled(-1).shifted(least * divisor - (divisor - 1 if kind is tir.Div and least <= 0 else 0))
