"""Arithmetic in Python (TVM: `tvm.arith`): expressions in normal form, what is known of them, and proofs.

analyzer = arith.Analyzer()
analyzer.bind(j, (0, 32))
analyzer.simplify((i * 32 + j) // 32)  # i
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from .. import te, tir
from ..analysis.const_bounds import Bounds
from ..analysis.iter_map import IterMapLevel, IterMapResult
from ..analysis.iter_map import detect_iter_map as _detect
from ..analysis.iter_map_use import normalize_iter_map_to_expr as _normalize
from ..analysis.modular_set import ModularSet
from ..analysis.proof import Proof, Verdict, prove
from ..deep import deep
from ..int_set import Interval
from ..simplify import Simplifier
from ..te.expr import Value, node_of

__all__ = ["Analyzer", "IterMapLevel", "Proof", "Verdict", "detect_iter_map", "iter_map_simplify"]

Domain: TypeAlias = "tir.Range | tuple[Value, Value]"
"""A range, or its start and its extent."""


class Analyzer:
    """Knows the ranges of variables and the conditions that hold around, and answers questions there."""

    def __init__(self) -> None:
        self._domains: dict[tir.Var, tir.Range | Interval] = {}
        self._given: list[tir.PrimExpr] = []
        self._simplifier = Simplifier()

    def bind(self, variable: Value, value: Value | Domain) -> None:
        """Take in what a variable is: a value, or one of a range."""
        name = _variable(variable)
        if isinstance(value, tir.Range | tuple):
            self._domains[name] = _range(value, name.dtype)
        else:
            node = node_of(value, name.dtype)
            self._domains[name] = Interval(node, node)
        self._simplifier = Simplifier(self._domains, self._given)

    @contextmanager
    def constraint_scope(self, condition: Value) -> Generator[None]:
        """Let `condition` hold inside of a `with` statement."""
        outside = self._simplifier
        self._given.append(node_of(condition, "bool"))
        self._simplifier = outside.assuming(self._given[-1])
        try:
            yield
        finally:
            self._given.pop()
            self._simplifier = outside

    @deep
    def simplify(self, expr: Value) -> te.Expr:
        """Return `expr` in normal form."""
        return te.Expr(self._simplifier.visit(node_of(expr)))

    rewrite_simplify = canonical_simplify = simplify
    """TVM's two simplifiers: here there is one."""

    @deep
    def const_int_bound(self, expr: Value) -> Bounds:
        """Return the least and the greatest value that `expr` may have."""
        return self._simplifier.bounds(self._simplifier.visit(node_of(expr)))

    @deep
    def modular_set(self, expr: Value) -> ModularSet:
        """Return the remainder that `expr` is known to leave."""
        return self._simplifier.residue_of_sum(self._simplifier.exact(self._simplifier.visit(node_of(expr))))

    def prove(self, condition: Value) -> Proof:
        """Say whether `condition` holds, and if not, where it does not."""
        return prove(node_of(condition, "bool"), self._domains, tuple(self._given))

    def can_prove(self, condition: Value) -> bool:
        """Whether `condition` is known to hold."""
        return self.prove(condition).is_proven

    def can_prove_equal(self, a: Value, b: Value) -> bool:
        """Whether `a == b` is known to hold."""
        return self.can_prove(te.equal(a, b))


def detect_iter_map(
    indices: Sequence[Value],
    input_iters: Mapping[te.Expr, Domain],
    predicate: Value | None = None,
    check_level: IterMapLevel | str = IterMapLevel.SURJECTIVE,
) -> IterMapResult:
    """Return indices as sums of splits of iterators (see `tvms.ir.analysis.iter_map`)."""
    domains = {_variable(name): _range(domain, name.dtype) for name, domain in input_iters.items()}
    given = None if predicate is None else node_of(predicate, "bool")
    return _detect([node_of(index) for index in indices], domains, given, check_level)


def iter_map_simplify(
    indices: Sequence[Value], input_iters: Mapping[te.Expr, Domain], predicate: Value | None = None
) -> list[te.Expr]:
    """Return indices in normal form: as sums of splits where they are such."""
    found = detect_iter_map(indices, input_iters, predicate, IterMapLevel.NO_CHECK)
    if found.is_detected:
        return [te.Expr(_normalize(index)) for index in found.indices]
    analyzer = Analyzer()
    for name, domain in input_iters.items():
        analyzer.bind(name, domain)
    with analyzer.constraint_scope(True if predicate is None else predicate):
        return [analyzer.simplify(index) for index in indices]


def _variable(value: Value) -> tir.Var:
    node = node_of(value)
    if not isinstance(node, tir.Var):
        raise TypeError(f"{value} is no variable")
    return node


def _range(domain: Domain, dtype: str) -> tir.Range:
    start, extent = domain if isinstance(domain, tuple) else (domain.min, domain.extent)
    return tir.Range(node_of(start, dtype), node_of(extent, dtype))
