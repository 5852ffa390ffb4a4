"""Comparisons, minima and maxima in the form in which a program states them, for `tir.transform.Simplify`.

The normal form of `i <= 5` and of `i < 6` is one: `i < 6`. The pass keeps the form that the author chose, and
`T.max(0, i)` as well. As in TVM, it also narrows
comparisons under the facts at their place: `i <= j` is `i == j` where `j <= i` is known, and `i < j` where `i != j` is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from .. import tir
from ..dtype import is_index
from ..sums import Sum
from ..visit import children, distinct, rewrite
from .core import Simplifier

_Bound: TypeAlias = tuple[type[tir.Min | tir.Max], int]
"""The kind of an extremum, and a constant operand of it."""
_INVERTED = {tir.LT: tir.LE, tir.LE: tir.LT, tir.GT: tir.LE, tir.GE: tir.LT}
_STATED = {tir.LT: tir.LT, tir.LE: tir.LE, tir.GT: tir.LT, tir.GE: tir.LE}
"""The comparison, strict or not, that each one is with its operands in order; and of its negation."""


def restated(s: Simplifier, found: tir.PrimExpr, written: tir.PrimExpr) -> tir.PrimExpr:
    """Return `found`, the normal form of `written`, with comparisons of integers as strict as those that were written, and with the
    constants of minima and maxima at the side at which all of them were.
    """
    parts = [type(node) for node in distinct(found)]
    has_extrema = tir.Min in parts or tir.Max in parts
    if not has_extrema and not any(issubclass(part, tir.CmpOp) for part in parts):
        return found
    kinds = {s.visit(part): kind for part, kind in _comparisons(written)}
    leading = _leading_constants(written) if has_extrema else set[_Bound]()

    def restate(node: object) -> tir.PrimExpr | None:
        if isinstance(node, tir.Min | tir.Max) and isinstance(node.b, tir.IntImm):
            is_leading = not isinstance(node.a, tir.IntImm) and (type(node), node.b.value) in leading
            return type(node)(node.dtype, node.b, node.a) if is_leading else None
        if not (isinstance(node, tir.CmpOp) and is_index(node.a.dtype)):
            return None
        return _narrowed(s, _as_strict_as(s, node, kinds.get(node, type(node))))

    return rewrite(found, restate)


def _leading_constants(expr: tir.PrimExpr) -> set[_Bound]:
    """Return the constants that are always the first operand of a minimum or a maximum in `expr`."""
    extrema = [node for node in distinct(expr) if isinstance(node, tir.Min | tir.Max)]
    first, second = (
        {(type(node), end.value) for node in extrema if isinstance(end := getattr(node, side), tir.IntImm)}
        for side in "ab"
    )
    return first - second


def _comparisons(expr: tir.PrimExpr) -> Iterator[tuple[tir.PrimExpr, type[tir.CmpOp]]]:
    """Yield the comparisons in `expr`, negated where an odd number of `not` is around them, with LT or LE."""
    seen = set[tuple[tir.PrimExpr, bool]]()
    waiting = [(expr, False)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        part, is_negated = place
        if isinstance(part, tir.LT | tir.LE | tir.GT | tir.GE) and is_index(part.a.dtype):
            kind = (_INVERTED if is_negated else _STATED)[type(part)]
            yield (tir.Not(part.dtype, part) if is_negated else part), kind
        is_condition = isinstance(part, tir.Not | tir.And | tir.Or)
        inside = is_condition and is_negated != isinstance(part, tir.Not)
        waiting.extend((child, inside) for child in children(part) if isinstance(child, tir.PrimExpr))


def _as_strict_as(s: Simplifier, node: tir.CmpOp, kind: type[tir.CmpOp]) -> tir.CmpOp:
    """Return the ordering `node` as one of `kind`, LT or LE: `i < 6` as `i <= 5`, `1 <= i` as `0 < i`."""
    if kind is type(node) or not isinstance(node, tir.LT | tir.LE):
        return node
    step = 1 if kind is tir.LT else -1
    a, b = s.sum(node.a), s.sum(node.b)
    is_left = a.is_constant
    left = s.to_expr(a.shifted(-step), node.a.dtype) if is_left else node.a
    right = node.b if is_left else s.to_expr(b.shifted(step), node.b.dtype)
    return node if left is None or right is None else kind(node.dtype, left, right)


def _narrowed(s: Simplifier, node: tir.CmpOp) -> tir.PrimExpr:
    """Return the most specific comparison that is equivalent to `node`, given the known facts."""
    difference = s.exact(node.a).plus(s.exact(node.b), -1)
    match node:
        case tir.LE() if s.at_most(difference.scaled(-1)):
            is_plain = not (isinstance(node.a, tir.IntImm) or isinstance(node.b, tir.IntImm))
            equal = tir.EQ(node.dtype, node.a, node.b)
            return equal if is_plain else s.visit(equal)
        case tir.LE() if _is_nonzero(s, difference):
            return tir.LT(node.dtype, node.a, node.b)
        case tir.EQ() | tir.NE() if _is_nonzero(s, difference):
            return s.constant(int(isinstance(node, tir.NE)), node.dtype)
        case tir.NE() if s.at_most(difference):
            return tir.LT(node.dtype, node.a, node.b)
        case tir.NE() if s.at_most(difference.scaled(-1)):
            return tir.LT(node.dtype, node.b, node.a)
        case _:
            return node


def _is_nonzero(s: Simplifier, difference: Sum) -> bool:
    """Return whether `difference` cannot be 0: for some `a != b` that is known, it equals `a - b` or `b - a`."""
    for condition, holds in s.truths.items():
        if isinstance(condition, tir.EQ if not holds else tir.NE) and is_index(condition.a.dtype):
            other = s.exact(condition.a).plus(s.exact(condition.b), -1)
            gaps = (difference.plus(other, sign) for sign in (1, -1))
            if any(s.at_most(gap) and s.at_most(gap.scaled(-1)) for gap in gaps):
                return True
    return False
