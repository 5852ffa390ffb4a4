"""Questions about a place: can a condition hold? Answers are a proof that it cannot, or values for which it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from .. import tir
from ..analysis.proof import Verdict, prove
from ..visit import is_larger, walk
from .affine import is_affine, negated
from .place import Facts

Values: TypeAlias = dict[tir.Var, int]
Domains: TypeAlias = Mapping[tir.Var, tir.Range]

_SMALL = (2, 8, 64)
"""Limit of the first search for small parameters of a counterexample."""


MAX_QUESTION = 2048
"""Maximum size of a condition in nodes; larger ones stay undecided."""


def is_askable(condition: tir.PrimExpr) -> bool:
    """Whether proofs understand an expression."""
    return not is_larger(condition, MAX_QUESTION) and is_affine(condition)


class Answer(Struct, frozen=True):
    """`is_safe`: the condition never holds. `values`: it holds for these. Neither: undecided."""

    is_safe: bool = False
    values: Values | None = None


SAFE, OPEN = Answer(is_safe=True), Answer()


class Solver:
    """Answers for one function, whose sizes are assumed to be at least 1."""

    def __init__(self, function: tir.PrimFunc) -> None:
        dimensions = dict.fromkeys(extent for buffer in function.buffer_map.values() for extent in buffer.shape)
        symbolic = [
            dimension for dimension in dimensions if not isinstance(dimension, tir.IntImm) and is_askable(dimension)
        ]
        self.given = tuple([tir.GE("bool", expr, tir.IntImm(expr.dtype, 1)) for expr in symbolic])
        self.sizes = frozenset(variables(self.given))

    def ask(self, bad: tir.PrimExpr, facts: Facts, free: frozenset[tir.Var] | None = None) -> Answer:
        """Decide whether `bad`, in terms of loop variables and parameters, can hold under `facts`.

        With `free`, only these parameters may have any value: the caller guarantees the others, so `bad` counts only if it holds
        whenever `facts` do.
        """
        if not is_askable(bad):
            return OPEN
        domains, given = self._connected(bad, facts)
        values = _refute(negated(bad), domains, given)
        if not isinstance(values, dict):
            return SAFE if values else OPEN
        if not facts.is_certain:
            return OPEN
        parameters = variables((bad, *given, *_ends(domains))) - domains.keys()
        if free is not None and not parameters <= free and _refute(bad, domains, given) is not True:
            return OPEN
        return self._complete(_smaller(values, negated(bad), domains, given), facts)

    def is_never(self, bad: tir.PrimExpr, facts: Facts) -> bool:
        """Whether `bad` certainly cannot hold under `facts`."""
        return is_askable(bad) and _refute(negated(bad), *self._connected(bad, facts)) is True

    def _connected(self, bad: tir.PrimExpr, facts: Facts) -> tuple[Domains, Sequence[tir.PrimExpr]]:
        return _connected(variables((bad,)), facts.domains, (*facts.conditions, *self.given))

    def related(self, extent: tir.PrimExpr, indices: Sequence[tir.PrimExpr], facts: Facts) -> frozenset[tir.Var]:
        """Return the sizes in `extent` if `indices` run over the same sizes, which are then arbitrary; else none.

        Relations between sizes that the text does not express are guaranteed by the caller.
        """
        sizes = self.sizes & variables((extent,))
        if not sizes:
            return sizes
        domains, given = _connected(variables(indices), facts.domains, facts.conditions)
        related = frozenset(variables((*indices, *given, *_ends(domains))) - domains.keys())
        return sizes if sizes == related else frozenset()

    def _complete(self, values: Values, facts: Facts) -> Answer:
        """Extend values to all other variables such that all facts hold."""
        others = {var: _nearest_zero(domain) for var, domain in facts.domains.items() if var not in values}
        if variables(facts.conditions) <= values.keys() and not (others and self.given):
            free = {var: value for var, value in others.items() if value is not None}
            if len(free) == len(others):
                return Answer(values={**values, **free})
        pinned = [tir.EQ("bool", var, tir.IntImm(var.dtype, value)) for var, value in values.items()]
        never, given = tir.IntImm("bool", 0), (*facts.conditions, *self.given, *pinned)
        found = _refute(never, facts.domains, given)
        return Answer(values=_smaller(found, never, facts.domains, given)) if isinstance(found, dict) else OPEN


def _smaller(values: Values, condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr]) -> Values:
    """Return values that refute `condition` with small, nonnegative parameters, if there are any."""
    parameters = [var for var in values if var not in domains]
    for most in _SMALL if parameters else ():
        if all(0 <= values[var] <= most for var in parameters):
            break
        ends = ((tir.GE, 0), (tir.LE, most))
        near = [kind("bool", var, tir.IntImm(var.dtype, end)) for var in parameters for kind, end in ends]
        found = _refute(condition, domains, (*given, *near))
        if isinstance(found, dict):
            return found
    return values


def variables(expressions: Iterable[tir.PrimExpr]) -> set[tir.Var]:
    """Return the variables in `expressions`."""
    return {node for expression in expressions for node in walk(expression) if isinstance(node, tir.Var)}


def _nearest_zero(domain: tir.Range) -> int | None:
    """Return the value in a range that is closest to zero; None if its ends are symbolic."""
    match domain:
        case tir.Range(min=tir.IntImm(value=least), extent=tir.IntImm(value=extent)):
            return max(least, min(least + extent - 1, 0))
        case _:
            return None


def _ends(domains: Domains) -> list[tir.PrimExpr]:
    """Return the symbolic ends of domains."""
    ends = [end for domain in domains.values() for end in (domain.min, domain.extent)]
    return [end for end in ends if not isinstance(end, tir.IntImm)]


def _connected(
    seen: set[tir.Var], domains: Domains, conditions: Sequence[tir.PrimExpr]
) -> tuple[dict[tir.Var, tir.Range], tuple[tir.PrimExpr, ...]]:
    """Return the domains and conditions that constrain `seen` directly or through other variables."""
    waiting = [(condition, variables((condition,))) for condition in conditions]
    near: dict[tir.Var, tir.Range] = {}
    given: list[tir.PrimExpr] = []
    new = set(seen)
    while new or waiting:
        while new:
            near.update({var: domains[var] for var in new if var in domains})
            mentioned = variables(_ends({var: near[var] for var in new if var in near}))
            new = mentioned - seen
            seen |= new
        linked = [pair for pair in waiting if not pair[1] or pair[1] & seen]
        waiting = [pair for pair in waiting if pair[1] and not pair[1] & seen]
        if not linked:
            break
        given += [expr for expr, _ in linked]
        new = set[tir.Var]().union(*[found for _, found in linked]) - seen
        seen |= new
    return {var: near[var] for var in domains if var in near} if len(near) > 1 else near, tuple(given)


def _refute(condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr]) -> Values | bool:
    """Return values for which `condition` does not hold; True if it always holds, False if unknown."""
    proof = prove(condition, domains, given)
    if proof.verdict is Verdict.REFUTED and proof.counterexample is not None:
        return dict(proof.counterexample)
    return proof.verdict is Verdict.PROVEN
