"""Conditions as conjunctions of disjunctions, for passes that ask for this form.

    a or (b and c)       →    (a or b) and (a or c)

Operands that may fault, or whose evaluation has effects, keep their order and number: such conditions stay. (TVM:
`SimplifyAsAndOfOrs`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from .. import make, tir
from ..equal import structural_equal
from ..intern import has_effects, may_fault
from ..visit import substitute, walk

_MOST = 64
"""Maximum number of disjunctions."""
_Clause = list[tir.PrimExpr]
_TRUE, _FALSE = tir.IntImm("bool", 1), tir.IntImm("bool", 0)
_Simplify = Callable[[tir.PrimExpr, Sequence[tir.PrimExpr]], tir.PrimExpr]


def in_clauses(function: tir.PrimFunc, simplify: _Simplify) -> tir.PrimFunc:
    """Return `function` with its conditions as conjunctions of disjunctions, simplified by `simplify`, which takes an expression and
    conditions that hold.
    """
    inner = {
        part
        for node in walk(function)
        if isinstance(node, tir.And | tir.Or)
        for part in (node.a, node.b)
        if isinstance(part, tir.And | tir.Or)
    }
    outer = {node for node in walk(function) if isinstance(node, tir.And | tir.Or) and node not in inner}
    changed = {node: _in_clauses(node, simplify) for node in outer if not any(map(_is_ordered, walk(node)))}
    return substitute(function, changed)


def _is_ordered(node: object) -> bool:
    """Return whether the evaluation of a node may depend on conditions before it."""
    if isinstance(node, tir.BufferLoad):
        return not all(isinstance(index, tir.IntImm) for index in node.indices)
    return isinstance(node, tir.PrimExpr) and (may_fault(node) or has_effects(node))


def _in_clauses(condition: tir.PrimExpr, simplify: _Simplify) -> tir.PrimExpr:
    clauses = _clauses(condition)
    if clauses is None:
        return condition
    for clause in clauses:
        _join(clause, lambda a, b: _pair(tir.Or, a, b, simplify, ()))
    clauses = _without_constants(clauses)
    for i, first in enumerate(clauses):
        for second in clauses[i + 1 :]:
            _compare(first, second, simplify)
    clauses = _without_constants(clauses)
    return reduce(make.logical_and, [reduce(make.logical_or, clause, _FALSE) for clause in clauses], _TRUE)


def _clauses(condition: tir.PrimExpr) -> list[_Clause] | None:
    """Return the disjunctions of a condition, without repeated ones; None for too many."""
    match condition:
        case tir.And():
            parts = _clauses(condition.a), _clauses(condition.b)
            found = None if None in parts else [*(parts[0] or ()), *(parts[1] or ())]
        case tir.Or():
            first, second = _clauses(condition.a), _clauses(condition.b)
            if first is None or second is None or len(first) * len(second) > _MOST:
                return None
            found = [[*a, *b] for a in first for b in second]
        case _:
            return [[condition]]
    if found is None or len(found) > _MOST:
        return None
    distinct: list[_Clause] = []
    for clause in found:
        own: _Clause = []
        own.extend(part for part in clause if not _has(own, part))
        if not any(_are_alike(own, other) for other in distinct):
            distinct.append(own)
    return distinct


def _has(clause: Sequence[tir.PrimExpr], part: tir.PrimExpr) -> bool:
    return any(structural_equal(part, other) for other in clause)


def _are_alike(a: _Clause, b: _Clause) -> bool:
    return len(a) == len(b) and all(_has(b, part) for part in a)


def _join(clause: _Clause, together: Callable[[tir.PrimExpr, tir.PrimExpr], tuple[tir.PrimExpr, tir.PrimExpr]]) -> None:
    for i in range(len(clause)):
        for j in range(i + 1, len(clause)):
            clause[i], clause[j] = together(clause[i], clause[j])


def _pair(
    kind: type[tir.And | tir.Or], a: tir.PrimExpr, b: tir.PrimExpr, simplify: _Simplify, given: Sequence[tir.PrimExpr]
) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return two operands of a conjunction or a disjunction, simplified together."""
    joint = kind("bool", a, b)
    simpler = simplify(joint, given)
    if structural_equal(simpler, joint):
        return a, b
    if isinstance(simpler, kind):
        return simpler.a, simpler.b
    return (_TRUE if kind is tir.And else _FALSE), simpler


def _compare(first: _Clause, second: _Clause, simplify: _Simplify) -> None:
    """Simplify two disjunctions of a conjunction together, if they differ in one operand at most."""
    if len(first) == len(second) == 1:
        first[0], second[0] = _pair(tir.And, first[0], second[0], simplify, ())
        return
    mine = [i for i, part in enumerate(first) if not _has(second, part)]
    others = [i for i, part in enumerate(second) if not _has(first, part)]
    if not mine:
        second[:] = [_TRUE]
    elif not others:
        first[:] = [_TRUE]
    elif len(first) == len(second) and len(mine) == len(others) == 1:
        given = [make.logical_not(part) for i, part in enumerate(first) if i != mine[0]]
        i, j = mine[0], others[0]
        first[i], second[j] = _pair(tir.And, first[i], second[j], simplify, given)


def _without_constants(clauses: Sequence[_Clause]) -> list[_Clause]:
    found: list[_Clause] = []
    for clause in clauses:
        if not any(isinstance(part, tir.IntImm) and part.value for part in clause):
            found.append([part for part in clause if not isinstance(part, tir.IntImm)])
    return found if all(found) else [[]]
