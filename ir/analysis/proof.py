"""Proofs: whether a condition holds for all values of its variables, and if not, for which it does not.

First the simplifier is asked (constant bounds, modular sets, sums), then isl, which decides every quasi-affine question
(`affine` says which those are). What is not quasi-affine is proven where it holds whatever the unknown parts are, and
otherwise tried out: at every point of a small domain, which decides it, or at some points of a large one, which can
only refute it. "Not proven" is an answer of its own, never "false".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import product
from math import prod
from random import Random
from typing import Any

from msgspec import Struct

from .. import tir
from ..deep import deep
from ..int_set import Interval
from ..intern import joined
from ..simplify import Simplifier
from ..visit import walk
from .const_bounds import Bounds, Domain, Domains, ends
from .evaluate import evaluate
from .question import question

MAX_POINTS = 2048
"""Domains of at most as many points are tried out whole; of larger ones as many points at random."""
_CACHED = 4096


class Verdict(Enum):
    PROVEN = "proven"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Proof(Struct, frozen=True):
    """An answer; `counterexample` says where a refuted condition does not hold, `reason` how the answer was found."""

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
"""What was found, by the key of the question, and the variables in whose terms it is said."""


def prove(condition: tir.PrimExpr, domains: Domains | None = None, given: Sequence[tir.PrimExpr] = ()) -> Proof:
    """Say whether `condition` holds wherever its variables lie in `domains` and all of `given` hold.

    Variables without a domain are any numbers of their dtype; the ends of a domain may be symbolic. Index expressions
    (int32, int64) are taken not to overflow.
    """
    key, variables = question(condition, domains or {}, given)
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
    """Forget what was proven, so that the next questions cost what they cost at first."""
    _cache.clear()


def find_solution(conditions: Sequence[tir.PrimExpr], domains: Domains | None = None) -> dict[tir.Var, int] | None:
    """Return values of the variables for which all of `conditions` hold; None where there are none, or none is found."""
    proof = prove(tir.IntImm("bool", 0), domains, conditions)
    return None if proof.counterexample is None else dict(proof.counterexample)


_OBVIOUS = Proof(Verdict.PROVEN, reason="it follows from the bounds of its variables")


@deep
def _prove(condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr]) -> Proof:
    if isinstance(condition, tir.Not) and isinstance(
        condition.a, tir.And
    ):  # isl sooner sees what does not fit together
        found = _by_affine(
            _place(Simplifier(domains), domains), condition, domains, given, joined(tir.And, condition.a)
        )
        if found.verdict is not Verdict.UNKNOWN:
            return found
    known = () if isinstance(condition, tir.IntImm) else given  # a constant is what it is
    simplifier = Simplifier(domains, known)
    simple = simplifier.visit(condition)
    if isinstance(simple, tir.IntImm) and simple.value:
        return _OBVIOUS
    place = _place(Simplifier(domains) if known else simplifier, domains)
    found = _by_affine(place, condition, domains, given, [tir.Not("bool", condition)])
    return _by_trial(place, condition, domains, given, found.reason) if found.verdict is Verdict.UNKNOWN else found


def _place(s: Simplifier, domains: Domains) -> Simplifier:
    """Return what knows the constant bounds of variables, and nothing else: symbolic ends are asked about."""
    if all(map(_is_constant, domains.values())):
        return s
    return Simplifier({v: _constant_ends(s.bounds(v), v.dtype) for v in domains})


def _is_constant(domain: Domain) -> bool:
    return all(end is None or isinstance(end, tir.IntImm) for end in ends(domain)[:2])


def _constant_ends(bounds: Bounds, dtype: str) -> Interval:
    return Interval(tir.IntImm(dtype, bounds.min), tir.IntImm(dtype, bounds.max))


def _given(s: Simplifier, domains: Domains, given: Sequence[tir.PrimExpr]) -> Iterator[tir.PrimExpr]:
    """Yield what is known: that variables lie in domains with symbolic ends, and `given`."""
    for variable, domain in domains.items():
        least, most, slack = ends(domain)
        if least is not None and not isinstance(least, tir.IntImm):
            yield s.visit(tir.LE("bool", least, variable))
        if most is not None and not isinstance(most, tir.IntImm):
            last = tir.Add(variable.dtype, most, tir.IntImm(variable.dtype, slack))
            yield s.visit(tir.LE("bool", variable, last))
    for each in given:
        yield s.visit(each)


def _by_affine(
    s: Simplifier,
    condition: tir.PrimExpr,
    domains: Domains,
    given: Sequence[tir.PrimExpr],
    opposite: Sequence[tir.PrimExpr],
) -> Proof:
    """Say whether `opposite`, which together say that `condition` does not hold, can be."""
    from .affine import GaveUp, solve

    asked = [*_given(s, domains, given), *map(s.visit, opposite)]
    if any(isinstance(each, tir.IntImm) and not each.value for each in asked):
        return _OBVIOUS
    try:
        solution = solve(s, [each for each in asked if not isinstance(each, tir.IntImm)])
    except GaveUp:
        return Proof(Verdict.UNKNOWN, reason="it is too large to decide")
    if solution is None:
        return Proof(Verdict.PROVEN, reason="it follows from linear arithmetic")
    values = {v: solution.get(v, _nearest_zero(s.bounds(v))) for v in _variables(condition, domains, given)}
    if _is_counterexample(condition, domains, given, values):
        return Proof(Verdict.REFUTED, values, "there is a counterexample")
    return Proof(Verdict.UNKNOWN, reason="it is not quasi-affine")


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


def _is_counterexample(
    condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr], values: Mapping[tir.Var, int]
) -> bool:
    """Whether `values` lie in the domains, where all that is given holds and the condition does not."""
    return (
        all(_is_inside(values[variable], domain, values) for variable, domain in domains.items())
        and all(evaluate(each, values) for each in given)
        and evaluate(condition, values) == 0
    )


def _is_inside(value: int, domain: Domain, values: Mapping[tir.Var, int]) -> bool:
    least, most, slack = ends(domain)
    low = value if least is None else evaluate(least, values)
    high = value - slack if most is None else evaluate(most, values)
    return low is not None and high is not None and low <= value <= high + slack


def _by_trial(
    s: Simplifier, condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr], reason: str
) -> Proof:
    variables = _variables(condition, domains, given)
    bounds = [s.bounds(variable) for variable in variables]
    is_small = prod(each.max - each.min + 1 for each in bounds) <= MAX_POINTS
    is_decided = is_small
    for point in _points(bounds, is_small):
        values = dict(zip(variables, point, strict=True))
        if _is_counterexample(condition, domains, given, values):
            return Proof(Verdict.REFUTED, values, "there is a counterexample")
        is_decided = is_decided and all(evaluate(each, values) is not None for each in (condition, *given))
    if is_decided:
        return Proof(Verdict.PROVEN, reason="it holds at every point of its domain")
    return Proof(Verdict.UNKNOWN, reason=reason)


def _points(bounds: Sequence[Bounds], is_small: bool) -> Iterator[Sequence[int]]:
    """Yield all points, or some: corners, points near zero, and points anywhere."""
    if is_small:
        yield from product(*[range(each.min, each.max + 1) for each in bounds])
        return
    random = Random(0)
    for number in range(MAX_POINTS // 8):
        near = number % 4 < 2
        yield [
            random.choice((each.min, each.max, random.randint(each.min, each.max)))
            if not near or each.min > 16 or each.max < -16
            else random.randint(max(each.min, -16), min(each.max, 16))
            for each in bounds
        ]
