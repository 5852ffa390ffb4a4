"""The analyzer (TVM: `tvm.arith.analyzer`): assumptions about variables, and queries under them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from enum import Flag, IntEnum

from msgspec import Struct

from ... import te, tir
from ...analysis.const_bounds import Bounds
from ...analysis.modular_set import ModularSet
from ...analysis.proof import Proof, prove
from ...deep import deep
from ...int_set import Interval, evaluate
from ...simplify import Simplifier
from ...simplify.restated import restated
from ...te.expr import Value, operand
from ...visit import substitute
from .int_set import IntervalSet, intervals_of
from .values import Domain, range_of, variable_of

__all__ = ["Analyzer", "ConstIntBound", "Extension", "ModularSet", "ProofStrength"]


class ProofStrength(IntEnum):
    """Accepted for compatibility with TVM and ignored: every proof uses full strength."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class Extension(Flag):
    """Accepted for compatibility with TVM and ignored: all extensions of the simplifier are always enabled."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


class ConstIntBound(Struct, frozen=True):
    """The integers from `min_value` to `max_value`, inclusive."""

    min_value: int
    max_value: int

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    @staticmethod
    def of(bounds: Bounds) -> ConstIntBound:
        """Return `Bounds` as a ConstIntBound: the limits of int64 and values beyond them become infinite."""
        low, high = ConstIntBound.NEG_INF, ConstIntBound.POS_INF
        return ConstIntBound(max(low, bounds.min), min(high, bounds.max))

    def interval(self, dtype: str) -> Interval:
        """Return the bound as an `Interval`."""
        least = None if self.min_value <= self.NEG_INF else tir.IntImm(dtype, self.min_value)
        return Interval(least, None if self.max_value >= self.POS_INF else tir.IntImm(dtype, self.max_value))


class Analyzer:
    """Answers queries under given ranges of variables and conditions."""

    def __init__(self) -> None:
        self._domains: dict[tir.Var, tir.Range | Interval] = {}
        self._values: dict[tir.Var, tir.PrimExpr] = {}
        self._given: list[tir.PrimExpr] = []
        self._simplifier = Simplifier()
        self.enabled_extensions = Extension.NoExtensions

    def bind(self, var: Value, expr: Value | Domain) -> None:
        """Bind a variable to a value or a range."""
        name = variable_of(var)
        if isinstance(expr, tir.Range | tuple):
            self._set_domain(name, range_of(expr, name.dtype))
        else:
            self._values[name] = self._node(expr, name.dtype)

    def update(self, var: Value, info: ConstIntBound, override: bool = False) -> None:
        """Set the bounds of a variable; ValueError if it has other bounds, unless `override`."""
        name = variable_of(var)
        new = info.interval(name.dtype)
        if name in self._domains and not override:
            raise ValueError(f"bounds of '{name.name}' are already set: pass override=True to replace them")
        self._set_domain(name, new)

    def _set_domain(self, name: tir.Var, domain: tir.Range | Interval) -> None:
        self._domains[name] = domain
        self._simplifier = Simplifier(self._domains, self._given)

    def _node(self, expr: Value, dtype: str = "int32") -> tir.PrimExpr:
        """Return `expr` with bound variables replaced by their values."""
        return substitute(operand(expr, dtype), self._values)

    def const_int_bound_is_bound(self, var: Value) -> bool:
        """Whether a variable has a value or bounds."""
        return variable_of(var) in {*self._domains, *self._values}

    @contextmanager
    def constraint_scope(self, constraint: Value) -> Generator[None]:
        """Assume `constraint` inside a `with` statement."""
        outside = self._simplifier
        self._given.append(self._node(constraint, "bool"))
        self._simplifier = outside.assuming(self._given[-1])
        try:
            yield
        finally:
            self._given.pop()
            self._simplifier = outside

    @deep
    def simplify(self, expr: Value, steps: int = 2) -> tir.PrimExpr:
        """Return `expr` in normal form, with comparisons as strict as they are written, regardless of `steps`: one step is
        sufficient.
        """
        node = self._node(expr)
        return restated(self._simplifier, self._simplifier.visit(node), node)

    rewrite_simplify = canonical_simplify = simplify
    """Return `expr` in normal form; TVM's two simplifiers are one here."""

    @deep
    def const_int_bound(self, expr: Value) -> ConstIntBound:
        """Return the minimum and maximum of `expr`."""
        return ConstIntBound.of(self._simplifier.bounds(self._simplifier.visit(self._node(expr))))

    @deep
    def modular_set(self, expr: Value) -> ModularSet:
        """Return the modular set of `expr`."""
        return self._simplifier.residue_of_sum(self._simplifier.exact(self._simplifier.visit(self._node(expr))))

    @deep
    def int_set(self, expr: Value, dom_map: Mapping[tir.PrimExpr, IntervalSet]) -> IntervalSet:
        """Return an interval that contains `expr` for all values of the variables in their sets."""
        domains = intervals_of(dom_map)
        inner = self._simplifier.inside()
        for name, domain in domains.items():
            inner.bind(name, domain)
        found = evaluate(inner.visit(self._node(expr)), domains)
        return IntervalSet.of(
            Interval(*(None if end is None else self._simplifier.visit(end) for end in (found.min, found.max)))
        )

    def prove(self, condition: Value) -> Proof:
        """Prove `condition`, or return a counterexample."""
        return prove(self._node(condition, "bool"), self._domains, tuple(self._given))

    def can_prove(self, expr: Value, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """Whether `expr` is proven."""
        return self.prove(expr).is_proven

    def can_prove_equal(self, lhs: Value, rhs: Value) -> bool:
        """Whether `lhs == rhs` is proven."""
        return self.can_prove(te.equal(lhs, rhs))
