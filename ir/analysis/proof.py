"""Proofs that a condition holds for all values of its variables, with counterexamples where it does not.

The simplifier is asked first (constant bounds, modular sets, sums), then isl, which decides every quasi-affine question
(defined in `affine`). Any other condition is proven if it holds for all values of its unknown parts; otherwise it is
tested at every point of a small domain, which decides it, or at some points of a large one, which can only refute it.
The answer is "proven", "refuted" or "unknown"; unknown never means false.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from itertools import product
from math import prod
from random import Random
from typing import Any, TypeAlias

from msgspec import Struct

from .. import tir
from ..base import Node, Op
from ..deep import deep
from ..int_set import Interval
from ..intern import is_pure_call, joined
from ..simplify import Simplifier
from ..visit import walk
from .const_bounds import Bounds, Domain, Domains, ends
from .evaluate import evaluate
from .symbolic_division import facts_of_divisions, positive_factors

MAX_POINTS = 2048
"""Maximum number of tested points: smaller domains are tested completely, larger ones at random points."""
_Ends: TypeAlias = tuple[tir.PrimExpr | None, tir.PrimExpr | None, int]
"""Minimum and maximum of a domain, as `const_bounds.ends` returns them."""
_CACHED = 4096


class Verdict(Enum):
    PROVEN = "proven"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Proof(Struct, frozen=True):
    """An answer; `counterexample` refutes the condition, `reason` tells how the answer was found."""

    verdict: Verdict
    counterexample: Mapping[tir.Var, int] | None = None
    reason: str = ""

    @property
    def is_proven(self) -> bool:
        return self.verdict is Verdict.PROVEN

    @property
    def is_refuted(self) -> bool:
        return self.verdict is Verdict.REFUTED


_cache: OrderedDict[Any, tuple[Proof, tuple[tir.Var, ...]]] = OrderedDict()
"""Cached answers by the key of the question, and the variables in their counterexamples."""


def prove(condition: tir.PrimExpr, domains: Domains | None = None, given: Sequence[tir.PrimExpr] = ()) -> Proof:
    """Decide whether `condition` holds whenever the variables are in their `domains` and all of `given` hold.

    Variables without a domain range over their dtype; the ends of a domain may be symbolic. Index expressions
    (int32, int64) are assumed not to overflow.
    """
    key, variables = _question(condition, domains or {}, given)
    known = _cache.get(key)
    if known is None:
        found = _prove(condition, domains or {}, given)
        _cache[key] = found, variables
        if len(_cache) > _CACHED:
            _cache.popitem(last=False)
        return found
    _cache.move_to_end(key)
    return _renamed(known[0], dict(zip(known[1], variables, strict=True)))


def _renamed(proof: Proof, names: Mapping[tir.Var, tir.Var]) -> Proof:
    if not proof.counterexample:
        return proof
    values = {names.get(variable, variable): value for variable, value in proof.counterexample.items()}
    return Proof(proof.verdict, values, proof.reason)


def forget() -> None:
    """Clear the cache of proofs, for instance to measure the cost of a first proof."""
    _cache.clear()


def find_solution(conditions: Sequence[tir.PrimExpr], domains: Domains | None = None) -> dict[tir.Var, int] | None:
    """Return values of the variables for which all of `conditions` hold; None if there are none or none is found."""
    proof = prove(tir.IntImm("bool", 0), domains, conditions)
    return None if proof.counterexample is None else dict(proof.counterexample)


_OBVIOUS = Proof(Verdict.PROVEN, reason="it follows from the bounds of its variables")


@deep
def _prove(condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr]) -> Proof:
    if isinstance(condition, tir.Not) and isinstance(
        condition.a, tir.And
    ):  # as separate conditions, isl finds contradictions sooner
        found = _by_affine(
            _with_constant_bounds(Simplifier(domains), domains), condition, domains, given, joined(tir.And, condition.a)
        )
        if found.verdict is not Verdict.UNKNOWN:
            return found
    known = () if isinstance(condition, tir.IntImm) else given  # a constant does not depend on `given`
    simplifier = Simplifier(domains, known)
    simple = simplifier.visit(condition)
    if isinstance(simple, tir.IntImm) and simple.value:
        return _OBVIOUS
    bounded = _with_constant_bounds(Simplifier(domains) if known else simplifier, domains)
    found = _by_affine(bounded, condition, domains, given, [tir.Not("bool", condition)])
    return _by_trial(bounded, condition, domains, given, found.reason) if found.verdict is Verdict.UNKNOWN else found


def _with_constant_bounds(s: Simplifier, domains: Domains) -> Simplifier:
    """Return a simplifier that knows only the constant bounds of variables; symbolic ends become conditions."""
    if all(map(_is_constant, domains.values())):
        return s
    return Simplifier({v: _constant_ends(s.bounds(v), v.dtype) for v in domains})


def _is_constant(domain: Domain) -> bool:
    return all(end is None or isinstance(end, tir.IntImm) for end in ends(domain)[:2])


def _constant_ends(bounds: Bounds, dtype: str) -> Interval:
    return Interval(tir.IntImm(dtype, bounds.min), tir.IntImm(dtype, bounds.max))


def _given(s: Simplifier, domains: Domains, given: Sequence[tir.PrimExpr]) -> Iterator[tir.PrimExpr]:
    """Yield the assumptions: that variables are in domains with symbolic ends, and `given`."""
    for variable, domain in domains.items():
        least, most, slack = ends(domain)
        if least is not None and not isinstance(least, tir.IntImm):
            yield s.visit(tir.LE("bool", least, variable))
        if most is not None and not isinstance(most, tir.IntImm):
            last = tir.Add(variable.dtype, most, tir.IntImm(variable.dtype, slack))
            yield s.visit(tir.LE("bool", variable, last))
    for expr in given:
        yield s.visit(expr)


def _by_affine(
    s: Simplifier,
    condition: tir.PrimExpr,
    domains: Domains,
    given: Sequence[tir.PrimExpr],
    opposite: Sequence[tir.PrimExpr],
) -> Proof:
    """Decide whether all of `opposite`, whose conjunction is the negation of `condition`, can hold."""
    from .affine import GaveUp, solve

    asked = [*_given(s, domains, given), *map(s.visit, opposite)]
    if _is_contradictory(asked):
        return _OBVIOUS
    try:
        asked += _on_divisions(s, asked, domains, lambda conditions: solve(s, conditions) is None)
        if _is_contradictory(asked):
            return _OBVIOUS
        solution = solve(s, [expr for expr in asked if not isinstance(expr, tir.IntImm)])
    except GaveUp:
        return Proof(Verdict.UNKNOWN, reason="it is too large to decide")
    if solution is None:
        return Proof(Verdict.PROVEN, reason="it follows from linear arithmetic")
    values = {v: solution.get(v, _nearest_zero(s.bounds(v))) for v in _variables(condition, domains, given)}
    if _is_counterexample(condition, _limits(domains), given, values):
        return Proof(Verdict.REFUTED, values, "there is a counterexample")
    return Proof(Verdict.UNKNOWN, reason="it is not quasi-affine")


def _is_contradictory(conditions: Sequence[tir.PrimExpr]) -> bool:
    return any(isinstance(expr, tir.IntImm) and not expr.value for expr in conditions)


def _on_divisions(
    s: Simplifier,
    asked: Sequence[tir.PrimExpr],
    domains: Domains,
    is_contradiction: Callable[[list[tir.PrimExpr]], bool],
) -> list[tir.PrimExpr]:
    """Return linear facts on the divisions by sizes in `asked`, and on sizes that are products."""
    facts = [s.visit(fact) for fact in positive_factors(s, domains)]
    known = [*_given(s, domains, ()), *facts]

    def is_positive(divisor: tir.PrimExpr) -> bool:
        opposite = s.visit(tir.LE("bool", divisor, tir.IntImm(divisor.dtype, 0)))
        return is_contradiction([expr for expr in (*known, opposite) if not isinstance(expr, tir.IntImm)])

    return [*facts, *facts_of_divisions(s, asked, is_positive)]


def _variables(condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr]) -> list[tir.Var]:
    parts: list[tir.PrimExpr] = [condition, *given]
    for domain in domains.values():
        parts += [end for end in ends(domain)[:2] if end is not None]
    found = dict.fromkeys(domains)
    for part in parts:
        found.update(dict.fromkeys(node for node in walk(part) if isinstance(node, tir.Var) and node.dtype != "handle"))
    return list(found)


def _nearest_zero(bounds: Bounds) -> int:
    return max(bounds.min, min(bounds.max, 0))


def _limits(domains: Domains) -> list[tuple[tir.Var, _Ends]]:
    return [(variable, ends(domain)) for variable, domain in domains.items()]


def _is_counterexample(
    condition: tir.PrimExpr,
    limits: Sequence[tuple[tir.Var, _Ends]],
    given: Sequence[tir.PrimExpr],
    values: Mapping[tir.Var, int],
) -> bool:
    """Whether `values` are within the limits of their domains and satisfy all of `given` but not the condition."""
    return (
        all(_is_inside(values[variable], limit, values) for variable, limit in limits)
        and all(evaluate(expr, values) for expr in given)
        and evaluate(condition, values) == 0
    )


def _is_inside(value: int, limit: _Ends, values: Mapping[tir.Var, int]) -> bool:
    least, most, slack = limit
    low = value if least is None else evaluate(least, values)
    high = value - slack if most is None else evaluate(most, values)
    return low is not None and high is not None and low <= value <= high + slack


def _by_trial(
    s: Simplifier, condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr], reason: str
) -> Proof:
    variables = _variables(condition, domains, given)
    bounds = [s.bounds(variable) for variable in variables]
    limits = _limits(domains)
    is_small = prod(bound.max - bound.min + 1 for bound in bounds) <= MAX_POINTS
    is_decided = is_small
    for point in _points(bounds, is_small):
        values = dict(zip(variables, point, strict=True))
        if _is_counterexample(condition, limits, given, values):
            return Proof(Verdict.REFUTED, values, "there is a counterexample")
        is_decided = is_decided and all(evaluate(expr, values) is not None for expr in (condition, *given))
    if is_decided:
        return Proof(Verdict.PROVEN, reason="it holds at every point of its domain")
    return Proof(Verdict.UNKNOWN, reason=reason)


def _points(bounds: Sequence[Bounds], is_small: bool) -> Iterable[Sequence[int]]:
    """Return all points, or a selection: corners, points near zero, and random points."""
    if is_small:
        return product(*[range(bound.min, bound.max + 1) for bound in bounds])
    return _some_points(tuple([(bound.min, bound.max) for bound in bounds]))


@lru_cache(64)
def _some_points(bounds: tuple[tuple[int, int], ...]) -> list[Sequence[int]]:
    """Return a selection of points: the conditions of one program have few different domains."""
    random = Random(0)
    return [
        [
            random.choice((least, most, random.randint(least, most)))
            if number % 4 >= 2 or least > 16 or most < -16
            else random.randint(max(least, -16), min(most, 16))
            for least, most in bounds
        ]
        for number in range(MAX_POINTS // 8)
    ]


def _question(
    condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr]
) -> tuple[tuple[Any, ...], tuple[tir.Var, ...]]:
    """Return the key of the question whether `condition` holds, and its variables, in the order in which the key numbers them.

    A question that contains a node that is not compared by structure, such as a buffer load, has a unique key.
    """
    ranges = [(v, d.min, d.max if isinstance(d, Interval) else d.extent) for v, d in domains.items()]
    parts: list[Node | None] = [condition, *given, *[part for range_ in ranges for part in range_]]
    key: list[Any] = [len(given), *map(type, domains.values())]
    numbers: dict[tir.Var, int] = {}
    stack = parts[::-1]
    while stack:
        match node := stack.pop():
            case tir.Var():
                key.append(numbers.get(node) or (type(node), node.dtype))
                numbers.setdefault(node, len(numbers) + 1)
            case tir.IntImm():
                key.append((node.value, node.dtype))
            case tir.BinaryOp():
                key += (type(node), node.dtype)
                stack += (node.b, node.a)
            case tir.Not():
                key += (tir.Not, node.dtype)
                stack.append(node.a)
            case tir.Cast():
                key += (tir.Cast, node.dtype)
                stack.append(node.value)
            case tir.Select():
                key += (tir.Select, node.dtype)
                stack += (node.false_value, node.true_value, node.condition)
            case tir.Call(op=Op(name=name)) if is_pure_call(node) and not node.annotations:
                key += (name, node.dtype, len(node.args))
                stack += reversed(node.args)
            case None:
                key.append(None)
            case _:
                return (*key, *parts), ()
    return tuple(key), tuple(numbers)
