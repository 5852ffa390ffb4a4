"""Differences of indices: the constant in `i * 4 + 4 - i * 4` (TVM: `Analyzer().simplify(stop - start)`)."""

from __future__ import annotations

from ...ir import make, tir
from ...ir.dtype import is_int
from ...ir.equal import structural_equal

_Terms = list[tuple[tir.PrimExpr, int]]


def difference(stop: tir.PrimExpr, start: tir.PrimExpr) -> tir.PrimExpr:
    """Return `stop - start` without their common terms; for `start + extent`, exactly `extent`."""
    stop, start = make.match_types(stop, start)
    whole = make.sub(stop, start)
    if isinstance(start, tir.IntImm) and (start.value == 0 or isinstance(stop, tir.IntImm)):
        return whole
    if not is_int(whole.dtype):
        return whole
    if isinstance(stop, tir.Add) and structural_equal(stop.a, start):
        return stop.b
    terms: _Terms = []
    constant = _collect(stop, 1, terms) + _collect(start, -1, terms)
    left = [(term, factor) for term, factor in terms if factor]
    if not left:
        return make.const(constant, whole.dtype)
    result: tir.PrimExpr | None = None
    for term, factor in sorted(left, key=lambda pair: pair[1] < 0):
        scaled = term if abs(factor) == 1 else make.mul(term, make.const(abs(factor), term.dtype))
        if result is None:
            result = scaled if factor > 0 else make.mul(scaled, make.const(-1, scaled.dtype))
        else:
            result = (make.add if factor > 0 else make.sub)(result, scaled)
    assert result is not None
    if constant == 0:
        return result
    return (make.add if constant > 0 else make.sub)(result, make.const(abs(constant), result.dtype))


def _collect(expr: tir.PrimExpr, factor: int, terms: _Terms) -> int:
    """Add the terms of `expr * factor` to `terms`; return the constant part."""
    if isinstance(expr, tir.IntImm):
        return expr.value * factor
    if isinstance(expr, tir.Add | tir.Sub):
        sign = 1 if isinstance(expr, tir.Add) else -1
        return _collect(expr.a, factor, terms) + _collect(expr.b, factor * sign, terms)
    if isinstance(expr, tir.Mul):
        for part, other in ((expr.a, expr.b), (expr.b, expr.a)):
            if isinstance(other, tir.IntImm):
                return _collect(part, factor * other.value, terms)
    for index, (term, count) in enumerate(terms):
        if term is expr or structural_equal(term, expr):
            terms[index] = (term, count + factor)
            return 0
    terms.append((expr, factor))
    return 0
