"""The analyzer (TVM: `tvm.arith.analyzer`): what is known at a place, and questions asked there."""

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
from ...te.expr import Value, node_of
from ...visit import substitute
from .int_set import IntervalSet, intervals_of
from .values import Domain, range_of, variable_of

__all__ = ["Analyzer", "ConstIntBound", "Extension", "ModularSet", "ProofStrength"]


class ProofStrength(IntEnum):
    """How hard to try: taken where TVM takes it; here every proof is as hard as it gets."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class Extension(Flag):
    """What TVM's simplifier leaves out unless asked: taken where TVM takes it; here nothing is left out."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


class ConstIntBound(Struct, frozen=True):
    """The integers from `min_value` to `max_value`, both included."""

    min_value: int
    max_value: int

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    @staticmethod
    def of(bounds: Bounds) -> ConstIntBound:
        """Return bounds of the analyses: what is beyond an int64, or its end, is infinite."""
        low, high = ConstIntBound.NEG_INF, ConstIntBound.POS_INF
        return ConstIntBound(max(low, bounds.min), min(high, bounds.max))

    def interval(self, dtype: str) -> Interval:
        """Return the same as an interval of the analyses."""
        least = None if self.min_value <= self.NEG_INF else tir.IntImm(dtype, self.min_value)
        return Interval(least, None if self.max_value >= self.POS_INF else tir.IntImm(dtype, self.max_value))


class Analyzer:
    """Knows the ranges of variables and the conditions that hold around, and answers questions there."""

    def __init__(self) -> None:
        self._domains: dict[tir.Var, tir.Range | Interval] = {}
        self._values: dict[tir.Var, tir.PrimExpr] = {}
        self._given: list[tir.PrimExpr] = []
        self._simplifier = Simplifier()
        self.enabled_extensions = Extension.NoExtensions

    def bind(self, var: Value, expr: Value | Domain) -> None:
        """Take in what a variable is: a value, or one of a range."""
        name = variable_of(var)
        if isinstance(expr, tir.Range | tuple):
            self._take_in(name, range_of(expr, name.dtype))
        else:
            self._values[name] = self._node(expr, name.dtype)

    def update(self, var: Value, info: ConstIntBound, override: bool = False) -> None:
        """Take in that a variable lies within bounds; ValueError where others are known, unless `override`."""
        name = variable_of(var)
        new = info.interval(name.dtype)
        if name in self._domains and not override:
            raise ValueError(f"bounds of '{name.name}' are known already: pass override=True to replace them")
        self._take_in(name, new)

    def _take_in(self, name: tir.Var, domain: tir.Range | Interval) -> None:
        self._domains[name] = domain
        self._simplifier = Simplifier(self._domains, self._given)

    def _node(self, expr: Value, dtype: str = "int32") -> tir.PrimExpr:
        """Return `expr` with values for the variables that have one."""
        return substitute(node_of(expr, dtype), self._values)

    def const_int_bound_is_bound(self, var: Value) -> bool:
        """Whether anything was said of a variable."""
        return variable_of(var) in {*self._domains, *self._values}

    @contextmanager
    def constraint_scope(self, constraint: Value) -> Generator[None]:
        """Let `constraint` hold inside of a `with` statement."""
        outside = self._simplifier
        self._given.append(self._node(constraint, "bool"))
        self._simplifier = outside.assuming(self._given[-1])
        try:
            yield
        finally:
            self._given.pop()
            self._simplifier = outside

    @deep
    def simplify(self, expr: Value, steps: int = 2) -> te.Expr:
        """Return `expr` in normal form; one step leads there, however many are asked for."""
        return te.Expr(self._simplifier.visit(self._node(expr)))

    rewrite_simplify = canonical_simplify = simplify
    """TVM's two simplifiers: here there is one."""

    @deep
    def const_int_bound(self, expr: Value) -> ConstIntBound:
        """Return the least and the greatest value that `expr` may have."""
        return ConstIntBound.of(self._simplifier.bounds(self._simplifier.visit(self._node(expr))))

    @deep
    def modular_set(self, expr: Value) -> ModularSet:
        """Return the remainder that `expr` is known to leave."""
        return self._simplifier.residue_of_sum(self._simplifier.exact(self._simplifier.visit(self._node(expr))))

    @deep
    def int_set(self, expr: Value, dom_map: Mapping[te.Expr, IntervalSet]) -> IntervalSet:
        """Return an interval that holds `expr` for all values of variables in their sets."""
        domains = intervals_of(dom_map)
        inner = self._simplifier.inside()
        for name, domain in domains.items():
            inner.bind(name, domain)
        found = evaluate(inner.visit(self._node(expr)), domains)
        return IntervalSet.of(
            Interval(*(None if end is None else self._simplifier.visit(end) for end in (found.min, found.max)))
        )

    def prove(self, condition: Value) -> Proof:
        """Say whether `condition` holds, and if not, where it does not."""
        return prove(self._node(condition, "bool"), self._domains, tuple(self._given))

    def can_prove(self, expr: Value, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """Whether `expr` is known to hold."""
        return self.prove(expr).is_proven

    def can_prove_equal(self, lhs: Value, rhs: Value) -> bool:
        """Whether `lhs == rhs` is known to hold."""
        return self.can_prove(te.equal(lhs, rhs))
