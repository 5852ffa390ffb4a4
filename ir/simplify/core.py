"""The simplifier: what is known at a place, and expressions in their normal form there.

Every operator family has its own file, which registers what to do with its nodes. What they share is here: equal
expressions are one object ("interned"), so that `is` compares them; sums are linear combinations (`sums.Sum`);
bounds, residues and given conditions decide side conditions.

What is assumed: index expressions (int32, int64) do not overflow, as in TVM. Other integers wrap around, and stay
exact: their sums are rearranged modulo the width, and whatever else looks at the value of one first makes sure that
it does not wrap (`exact`). Expressions that may fault (division by zero) are taken to not fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from .. import tir
from ..analysis.const_bounds import Bounds, Domains, bounds_of, ends, of_domain
from ..analysis.modular_set import ModularSet, modular_of
from ..base import Op
from ..dtype import int_range, is_bool, is_int, parse_dtype
from ..fold import wrap
from ..ops.tir import get
from ..promote import const
from ..visit import children, field_names
from .sums import Sum

_Rule = Callable[["Simplifier", Any], tir.PrimExpr]
_R = TypeVar("_R", bound=_Rule)
_RULES: dict[type[tir.PrimExpr], _Rule] = {}


def simplifies(*kinds: type[tir.PrimExpr]) -> Callable[[_R], _R]:
    """Register the function that brings nodes of these kinds into normal form."""

    def register(rule: _R) -> _R:
        _RULES.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def is_index(dtype: str) -> bool:
    """Whether `dtype` is one of those whose expressions are taken not to overflow."""
    return dtype in ("int32", "int64")


def is_scalar_int(dtype: str) -> bool:
    return is_int(dtype) and parse_dtype(dtype).lanes == 1 and not parse_dtype(dtype).scalable


class _Nodes:
    """One object for equal expressions, and the sums that they are."""

    def __init__(self) -> None:
        self.by_key: dict[Any, tir.PrimExpr] = {}
        self.sums: dict[tir.PrimExpr, Sum] = {}

    def intern(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the one node equal to `expr`, whose operands are interned."""
        return self.by_key.setdefault(self._key(expr), expr)

    def _key(self, expr: tir.PrimExpr) -> Any:
        match expr:
            case tir.Var() | tir.Let() | tir.Reduce() | tir.ProducerLoad():
                return expr
            case tir.Mul() if is_int(expr.dtype):
                return (tir.Mul, expr.dtype, frozenset(Counter(factors(expr)).items()))
            case tir.EQ() | tir.NE():
                return (type(expr), frozenset((expr.a, expr.b)))
            case tir.FloatImm():
                return (tir.FloatImm, expr.dtype, repr(expr.value))
            case tir.Call():
                return expr if expr.annotations or not is_pure_call(expr) else (expr.dtype, expr.op, expr.args)
            case _:
                return (type(expr), *[getattr(expr, name) for name in field_names(type(expr))])


def factors(expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return what is multiplied in `expr`: itself where it is no product."""
    return factors(expr.a) + factors(expr.b) if isinstance(expr, tir.Mul) else [expr]


def is_pure_call(call: tir.Call) -> bool:
    """Whether a call has no effect and the same result each time."""
    row = get(call.op.name) if isinstance(call.op, Op) else None
    return row is not None and row.is_pure


class Simplifier:
    """Brings expressions into normal form at one place of a program, where `domains` and `given` hold."""

    def __init__(self, domains: Domains | None = None, given: Sequence[tir.PrimExpr] = ()) -> None:
        self._nodes = _Nodes()
        self._memo: dict[tir.PrimExpr, tir.PrimExpr] = {}
        self._bounds: dict[tir.PrimExpr, Bounds] = {}
        self._residues: dict[tir.PrimExpr, ModularSet] = {}
        self.truths: dict[tir.PrimExpr, bool] = {}
        self.facts: list[Sum] = []
        for variable, domain in (domains or {}).items():
            self.bind(variable, domain)
        for condition in given:
            self.assume(condition)

    # --- What is known ------------------------------------------------------------------------------------------

    def bind(self, variable: tir.Var, domain: Any) -> None:
        """Take in that `variable` ranges over `domain`, whose ends may be symbolic."""
        least, most, slack = ends(domain)
        bounds = of_domain(variable, domain, lambda end: self.bounds(self.visit(end)))
        self._forget()
        self._bounds[variable] = bounds
        if bounds.is_point:
            self._memo[variable] = self.constant(bounds.min, variable.dtype)
        position = Sum({variable: 1})
        if least is not None and not isinstance(least, tir.IntImm):
            self._add_fact(self.sum(self.visit(least)).plus(position, -1))
        if most is not None and not isinstance(most, tir.IntImm) and is_index(variable.dtype):
            self._add_fact(position.plus(self.sum(self.visit(most)), -1).shifted(-slack))

    def assuming(self, condition: tir.PrimExpr, holds: bool = True) -> Simplifier:
        """Return the simplifier for where, beside all that is known here, `condition` holds, or does not."""
        inner = Simplifier.__new__(Simplifier)
        inner._nodes, inner._memo, inner._bounds, inner._residues = self._nodes, {}, dict(self._bounds), {}
        inner._memo = {node: new for node, new in self._memo.items() if isinstance(node, tir.Var)}
        inner.truths, inner.facts = dict(self.truths), list(self.facts)
        inner.assume(condition, holds)
        return inner

    def assume(self, condition: tir.PrimExpr, holds: bool = True) -> None:
        """Take in that `condition` holds, or does not."""
        self._learn(self.visit(condition), holds)
        self._forget()

    def _forget(self) -> None:
        """What was found before more was known may be less than what can be found now."""
        self._memo = {node: new for node, new in self._memo.items() if isinstance(node, tir.Var)}
        self._bounds = {node: bounds for node, bounds in self._bounds.items() if isinstance(node, tir.Var)}

    def _learn(self, condition: tir.PrimExpr, holds: bool) -> None:
        match condition:
            case tir.Not(a=a):
                self._learn(a, not holds)
            case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
                self._learn(inner, holds)
            case tir.And(a=a, b=b) if holds:
                self._learn(a, True)
                self._learn(b, True)
            case tir.Or(a=a, b=b) if not holds:
                self._learn(a, False)
                self._learn(b, False)
            case tir.CmpOp() if is_scalar_int(condition.a.dtype):
                self._learn_order(condition, holds)
            case _:
                pass
        if not isinstance(condition, tir.IntImm):
            self.truths[condition] = holds

    def _learn_order(self, condition: tir.CmpOp, holds: bool) -> None:
        a, b = self.exact(condition.a), self.exact(condition.b)
        match condition, holds:
            case (tir.LT(), True) | (tir.GE(), False):
                self._add_fact(a.plus(b, -1).shifted(1))
            case (tir.LE(), True) | (tir.GT(), False):
                self._add_fact(a.plus(b, -1))
            case (tir.GT(), True) | (tir.LE(), False):
                self._add_fact(b.plus(a, -1).shifted(1))
            case (tir.GE(), True) | (tir.LT(), False):
                self._add_fact(b.plus(a, -1))
            case (tir.EQ(), True) | (tir.NE(), False):
                self._learn_equality(condition.a, condition.b)
                self._add_fact(a.plus(b, -1))
                self._add_fact(b.plus(a, -1))
            case _:
                pass

    def _learn_equality(self, a: tir.PrimExpr, b: tir.PrimExpr) -> None:
        match a, b:
            case tir.FloorMod(a=inner, b=tir.IntImm(value=modulus)), tir.IntImm(value=base) if modulus > 0:
                self._residues[inner] = ModularSet(modulus, base % modulus)
            case tir.Var(), tir.IntImm():
                self._memo[a] = b
            case _:
                pass

    def _add_fact(self, fact: Sum) -> None:
        """Take in that `fact <= 0`."""
        self.facts.append(fact)
        if len(fact.terms) == 1:
            ((term, factor),) = fact.terms.items()
            known = self.bounds(term)
            limit = -fact.constant // factor if factor > 0 else -(fact.constant // factor)
            if factor > 0 and limit >= known.min:
                self._bounds[term] = Bounds(known.min, min(known.max, limit))
            elif factor < 0 and limit <= known.max:
                self._bounds[term] = Bounds(max(known.min, limit), known.max)

    # --- Questions ----------------------------------------------------------------------------------------------

    def bounds(self, expr: tir.PrimExpr) -> Bounds:
        """Return the constant bounds of an interned expression."""
        found = self._bounds.get(expr)
        if found is None:
            is_variable = isinstance(expr, tir.Var)
            found = of_domain(expr, None, self.bounds) if is_variable else bounds_of(expr, self.bounds)
            value = self._nodes.sums.get(expr)
            if value is not None and self.fits(value, expr.dtype):
                found = self.bounds_of_sum(value).meet(found)
            self._bounds[expr] = found
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
            found = self._residues[expr] = modular_of(expr, self.residue)
        return found

    def residue_of_sum(self, value: Sum) -> ModularSet:
        """Return the modular set of a sum."""
        result = ModularSet(0, value.constant)
        for term, factor in value.factors():
            result = result.plus(self.residue(term), factor)
        return result

    def at_most(self, value: Sum, limit: int = 0, depth: int = 2) -> bool:
        """Whether `value <= limit` is known: by constant bounds, or by these and a few of the given facts."""
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
        """Yield the facts times what is never negative, where that gives a product in `value`: `i < n` times `n`."""
        for term, _ in value.factors():
            parts = factors(term)
            for part in parts if len(parts) == 2 and is_index(term.dtype) else ():
                other = parts[1] if part is parts[0] else parts[0]
                if self.bounds(other).min >= 0:
                    yield from (self._times(fact, other) for fact in self.facts if part in fact.terms)

    def _times(self, value: Sum, factor: tir.PrimExpr) -> Sum:
        result = Sum({factor: value.constant} if value.constant else {})
        for term, each in value.factors():
            result.add_term(self.intern(tir.Mul(factor.dtype, term, factor)), each)
        return result

    def fits(self, value: Sum, dtype: str) -> bool:
        """Whether no value of the sum needs more than the bits of `dtype`."""
        return is_index(dtype) or self.bounds_of_sum(value).within(Bounds(*int_range(dtype)))

    # --- Expressions --------------------------------------------------------------------------------------------

    def visit(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` in normal form."""
        found = self._memo.get(expr)
        if found is None:
            rule = _RULES.get(type(expr))
            found = self.rebuild(expr) if rule is None else rule(self, expr)
            if is_bool(found.dtype) and found in self.truths:
                found = self.constant(int(self.truths[found]), found.dtype)
            self._memo[expr] = found
            self._memo[found] = found
        return found

    def intern(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the one node equal to `expr`, whose operands are interned."""
        return self._nodes.intern(expr)

    def rebuild(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` with its operands in normal form."""
        changes: dict[str, Any] = {}
        for name in field_names(type(expr)):
            value = getattr(expr, name)
            new = self._visit_value(value)
            if new is not value:
                changes[name] = new
        return self.intern(replace(expr, **changes) if changes else expr)

    def _visit_value(self, value: Any) -> Any:
        if isinstance(value, tir.PrimExpr):
            return self.visit(value)
        if isinstance(value, tuple):
            new = tuple([self._visit_value(each) for each in value])  # type: ignore[reportUnknownVariableType]
            return value if all(a is b for a, b in zip(new, value, strict=True)) else new  # type: ignore[reportUnknownVariableType]
        return value

    def constant(self, value: int, dtype: str) -> tir.PrimExpr:
        """Return an integer constant; of a vector dtype, broadcast."""
        if parse_dtype(dtype).lanes == 1:
            return self.intern(tir.IntImm(dtype, value))
        return self.visit(const(value, dtype))

    def is_total(self, expr: tir.PrimExpr) -> bool:
        """Whether evaluating `expr` cannot fault and has no effect: what is not, may not be moved out of a branch."""
        match expr:
            case tir.FloorDiv(a=a, b=b) | tir.FloorMod(a=a, b=b) | tir.Div(a=a, b=b) | tir.Mod(a=a, b=b):
                is_safe = isinstance(b, tir.IntImm | tir.FloatImm) and b.value != 0
                return is_safe and self.is_total(a)
            case tir.Var() | tir.IntImm() | tir.FloatImm():
                return True
            case tir.BufferLoad() | tir.ProducerLoad() | tir.Reduce():
                return False
            case tir.Call() if not is_pure_call(expr):
                return False
            case _:
                return all(self.is_total(each) for each in children(expr) if isinstance(each, tir.PrimExpr))

    # --- Sums ---------------------------------------------------------------------------------------------------

    def sum(self, expr: tir.PrimExpr) -> Sum:
        """Return the sum that a scalar integer expression in normal form is, modulo its width."""
        if isinstance(expr, tir.IntImm):
            return Sum({}, expr.value)
        return self._nodes.sums.get(expr) or Sum({expr: 1})

    def exact(self, expr: tir.PrimExpr) -> Sum:
        """Return a sum whose value, as a number, is that of `expr`."""
        value = self.sum(expr)
        if self.fits(value, expr.dtype):
            return value
        steps = (self.bounds_of_sum(value).min - int_range(expr.dtype)[0]) >> (bits := parse_dtype(expr.dtype).bits)
        value = value.shifted(-(steps << bits))
        return value if self.fits(value, expr.dtype) else Sum({expr: 1})

    def to_expr(self, value: Sum, dtype: str) -> tir.PrimExpr | None:
        """Return the expression of a sum, terms in order and subtracted last; None where `dtype` has no such numbers."""
        value = self._rendered(value, dtype)
        key = (Sum, dtype, *value.key())
        found = self._nodes.by_key.get(key)
        if found is None:
            found = _render(value, dtype, self.intern)
            if found is None:
                return None
            self._nodes.by_key[key] = found
            if not isinstance(found, tir.IntImm) and value.single is None:
                self._nodes.sums[found] = value
        return found

    def _rendered(self, value: Sum, dtype: str) -> Sum:
        """Return the sum that is written for `value`: without terms that are sums, of numbers that `dtype` has."""
        if any(term in self._nodes.sums for term in value.terms):
            flat = Sum({}, value.constant)
            for term, factor in value.factors():
                flat.add(self.sum(term), factor)
            value = flat
        most = int_range(dtype)[1]
        if is_index(dtype) or (max(map(abs, value.terms.values()), default=0) <= most and self.fits(value, dtype)):
            return value
        return value.wrapped(parse_dtype(dtype).bits)


def _render(value: Sum, dtype: str, intern: Callable[[tir.PrimExpr], tir.PrimExpr]) -> tir.PrimExpr | None:
    """As TVM: what is added, its constant last, then what is subtracted."""
    low, high = int_range(dtype)

    def number(number: int) -> tir.PrimExpr:
        return intern(tir.IntImm(dtype, wrap(number, dtype)))

    def scaled(term: tir.PrimExpr, factor: int) -> tir.PrimExpr:
        return term if factor == 1 else intern(tir.Mul(dtype, term, number(factor)))

    if is_index(dtype) and any(abs(n) > high for n in (*value.terms.values(), value.constant)):
        return None
    constant = value.constant if is_index(dtype) else wrap(value.constant, dtype)
    added = [(term, factor) for term, factor in value.factors() if factor > 0 or -factor > high]
    taken = [(term, -factor) for term, factor in value.factors() if factor < 0 and -factor <= high]
    if not added and taken and constant <= 0 and low <= -taken[0][1]:
        term, factor = taken.pop(0)
        added.append((term, -factor))
    parts = [scaled(term, factor) for term, factor in added]
    if constant > 0 or -constant > high or not parts:
        parts.append(number(constant))
    result = parts[0]
    for part in parts[1:]:
        result = intern(tir.Add(dtype, result, part))
    for term, factor in taken:
        result = intern(tir.Sub(dtype, result, scaled(term, factor)))
    if added and -high <= constant < 0:
        result = intern(tir.Sub(dtype, result, number(-constant)))
    return result
