"""Sums and products of integers: `a + b`, `a - b`, `a * b`."""

from __future__ import annotations

from math import gcd

from .. import tir
from ..dtype import is_index
from ..intern import few_factors, is_scalar_int, joined
from ..sums import Sum
from .core import Simplifier, simplifies
from .division import quotient
from .elementwise import elementwise
from .opening import shortened


@simplifies(tir.Add, tir.Sub, tir.Mul)
def arithmetic(s: Simplifier, expr: tir.BinaryOp) -> tir.PrimExpr:
    """Return the normal form of a sum or product: terms in TVM's order, largest factor first."""
    if not is_scalar_int(expr.dtype):
        return elementwise(s, expr)
    total = merge_splits(s, collect(s, expr), expr.dtype)
    result = s.to_expr(total, expr.dtype)
    return s.rebuild(expr) if result is None else result


def collect(s: Simplifier, expr: tir.PrimExpr) -> Sum:
    """Return `expr` as a sum of terms in normal form. Nested sums are handled without recursion."""
    total = Sum()
    stack = [(expr, 1)]
    while stack:
        node, factor = stack.pop()
        match node:
            case tir.IntImm():
                total.constant += factor * node.value
            case tir.Add() | tir.Sub():
                stack.append((node.b, factor if isinstance(node, tir.Add) else -factor))
                stack.append((node.a, factor))
            case tir.Mul(a=tir.IntImm(value=value), b=other) | tir.Mul(a=other, b=tir.IntImm(value=value)):
                if value:
                    stack.append((other, factor * value))
            case tir.Mul():
                total.add(product(s, s.visit(node.a), s.visit(node.b)), factor)
            case _:
                total.add(s.sum(s.visit(node)), factor)
    return total


def product(s: Simplifier, a: tir.PrimExpr, b: tir.PrimExpr) -> Sum:
    """Return the product of two expressions in normal form: a constant factor and one term."""
    if isinstance(a, tir.Min | tir.Max) and b is s.intern(_opposite(a)(a.dtype, a.a, a.b)):
        return product(s, a.a, a.b)
    left, right = s.sum(a), s.sum(b)
    if left.is_constant or right.is_constant:
        return right.scaled(left.constant) if left.is_constant else left.scaled(right.constant)
    scale = 1
    parts: list[tir.PrimExpr] = []
    for side in (left, right):
        common = gcd(side.content, side.constant)
        if len(side.terms) == 1 and side.constant == 0:
            common = next(iter(side.terms.values()))
        reduced = s.to_expr(side.divided(common), a.dtype)
        scale *= common
        parts += [a if side is left else b] if reduced is None else [reduced] if side is left else few_factors(reduced)
        scale //= common if reduced is None else 1
    result = parts[0]
    for part in parts[1:]:
        result = s.intern(tir.Mul(a.dtype, result, part))
    return Sum({result: scale})


def merge_splits(s: Simplifier, total: Sum, dtype: str) -> Sum:
    """Merge the parts of split indices: `x // c * c + x % c` is `x`, and `x - x // c * c` is `x % c`."""
    changed = True
    while changed:
        changed = False
        for term, factor in list(total.factors()):
            found = _merged(s, total, term, factor, dtype)
            if found is not None:
                total, changed = found, True
                break
    opened = shortened(s, total, dtype)
    return total if opened is total else merge_splits(s, opened, dtype)


def _merged(s: Simplifier, total: Sum, term: tir.PrimExpr, factor: int, dtype: str) -> Sum | None:
    match term:
        case tir.FloorMod() | tir.FloorDiv(a=tir.FloorMod()):
            return _merge_remainder(s, total, term, factor, dtype)
        case tir.FloorDiv(a=dividend, b=tir.IntImm(value=divisor)) if divisor > 0 and factor % divisor == 0:
            residue = s.residue_of_sum(s.exact(dividend))
            if residue.coeff % divisor == 0:
                whole = s.sum(dividend).shifted(-(residue.base % divisor))
                return total.plus(Sum({term: factor}), -1).plus(whole, factor // divisor)
            return _remainder_of_rest(s, total, term, dividend, -factor // divisor, dtype)
        case tir.FloorDiv(b=tir.IntImm()) if is_index(dtype):
            return _merge_quotients(s, total, term, factor, dtype)
        case tir.Mod(a=dividend, b=tir.IntImm(value=divisor)):
            whole = s.intern(tir.Div(dtype, dividend, term.b))
            if total.terms.get(whole, 0) != factor * divisor:
                return None
            return total.plus(Sum({term: factor, whole: factor * divisor}), -1).plus(s.sum(dividend), factor)
        case tir.Div(a=dividend, b=tir.IntImm(value=divisor)) if divisor and factor % divisor == 0:
            return _remainder_of_rest(s, total, term, dividend, -factor // divisor, dtype)
        case tir.Mul():
            return _merge_symbolic(s, total, term, factor, dtype)
        case tir.Min() | tir.Max() if is_index(dtype):
            return _merge_extremum(s, total, term, factor, dtype)
        case tir.Select() if is_index(dtype):
            return _merge_choices(s, total, term, factor, dtype)
        case _:
            return None


def _opposite(extremum: tir.Min | tir.Max) -> type[tir.Min | tir.Max]:
    return tir.Max if isinstance(extremum, tir.Min) else tir.Min


def _merge_quotients(s: Simplifier, total: Sum, term: tir.FloorDiv, factor: int, dtype: str) -> Sum | None:
    """Rewrite `(x + k) // c - x // c` to `(x % c + k) // c`."""
    for other, scale in total.factors():
        if scale != -factor or not isinstance(other, tir.FloorDiv) or other.b is not term.b:
            continue
        shift = s.to_expr(s.sum(term.a).plus(s.sum(other.a), -1), dtype)
        if isinstance(shift, tir.IntImm):
            dividend = tir.Add(dtype, tir.FloorMod(dtype, other.a, term.b), shift)
            step = s.sum(s.visit(tir.FloorDiv(dtype, dividend, term.b)))
            return total.plus(Sum({term: factor, other: scale}), -1).plus(step, factor)
    return None


def _merge_extremum(s: Simplifier, total: Sum, term: tir.Min | tir.Max, factor: int, dtype: str) -> Sum | None:
    """Rewrite `max(x, y - z) + z` to `max(x + z, y)` if that cancels terms, and `min(x, y) + max(x, y)` to `x + y`."""
    kind, other = type(term), _opposite(term)
    pair = s.intern(other(dtype, term.a, term.b))
    if total.terms.get(pair, 0) == factor:
        both = s.sum(term.a).plus(s.sum(term.b))
        return total.plus(Sum({term: factor, pair: factor}), -1).plus(both, factor)
    if abs(factor) != 1:
        return None
    operands = [s.sum(expr).scaled(factor) for expr in joined(kind, term)]
    inside = {expr for operand in operands for expr in operand.terms}
    moving = Sum({expr: value for expr, value in total.factors() if expr in inside})
    if any(operand.constant == -total.constant != 0 for operand in operands):
        moving.constant = total.constant
    moved = [operand.plus(moving) for operand in operands]
    if sum(map(_size, moved)) >= sum(map(_size, operands)) + _size(moving):
        return None
    new = [s.to_expr(item, dtype) for item in moved]
    result = new[0]
    for expr in new[1:]:
        if result is None or expr is None:
            return None
        result = (kind if factor == 1 else other)(dtype, result, expr)
    if result is None:
        return None
    return total.plus(moving, -1).plus(Sum({term: factor}), -1).plus(s.sum(s.visit(result)))


def _merge_choices(s: Simplifier, total: Sum, term: tir.Select, factor: int, dtype: str) -> Sum | None:
    """Merge two selects with the same condition."""
    for other, scale in total.factors():
        if other is term or not isinstance(other, tir.Select) or other.condition is not term.condition:
            continue
        pairs = ((term.true_value, other.true_value), (term.false_value, other.false_value))
        yes, no = (s.to_expr(s.sum(a).scaled(factor).plus(s.sum(b), scale), dtype) for a, b in pairs)
        if yes is not None and no is not None:
            both = s.visit(tir.Select(dtype, term.condition, yes, no))
            return total.plus(Sum({term: factor, other: scale}), -1).plus(s.sum(both))
    return None


def _size(value: Sum) -> int:
    return len(value.terms) + (value.constant != 0)


def difference(s: Simplifier, a: tir.PrimExpr, b: tir.PrimExpr) -> Sum:
    """Return `a - b` as an exact sum; both expressions are in normal form."""
    value = s.exact(a).plus(s.exact(b), -1)
    return merge_splits(s, value, a.dtype) if is_index(a.dtype) else value


def split_of(term: tir.PrimExpr) -> tuple[tir.PrimExpr, int, int] | None:
    """Return `index`, `lower` and `upper` of `index % upper // lower`; `upper` is 0 for `index // lower`."""
    lower = 1
    if isinstance(term, tir.FloorDiv) and isinstance(term.b, tir.IntImm) and term.b.value > 0:
        term, lower = term.a, term.b.value
    if isinstance(term, tir.FloorMod) and isinstance(term.b, tir.IntImm) and term.b.value > 0:
        return term.a, lower, term.b.value
    return (term, lower, 0) if lower > 1 else None


def _merge_remainder(s: Simplifier, total: Sum, low: tir.PrimExpr, factor: int, dtype: str) -> Sum | None:
    """Merge `low = index % middle // lower` with the term for the digits above it, such as `index // middle`."""
    split = split_of(low)
    if split is None or not split[2]:
        return _merge_symbolic_remainder(s, total, low, factor, dtype)
    if split[1:] == (1, 2) and is_index(dtype) and (halves := _merge_halves(s, total, low, factor, dtype)) is not None:
        return halves
    index, lower, middle = split
    if middle % lower:
        return None
    for high, other in total.factors():
        above = split_of(high)
        if high is low or above is None or above[1] != middle or other * lower != factor * middle:
            continue
        if above[0] is not index and not (is_index(dtype) and _congruent(s, above[0], index, middle)):
            continue
        if above[2] % middle:
            continue
        whole = above[0] if not above[2] else s.visit(tir.FloorMod(dtype, above[0], tir.IntImm(dtype, above[2])))
        merged = total.plus(Sum({low: factor, high: other}), -1)
        return merged.plus(quotient(s, s.sum(whole), lower, dtype), factor)
    return None


def _merge_halves(s: Simplifier, total: Sum, low: tir.PrimExpr, factor: int, dtype: str) -> Sum | None:
    """Rewrite `x // 2 + x % 2` to `(x + 1) // 2`, `(x + 1) // 2 - x % 2` to `x // 2` and `x % 2 + (x + 1) % 2` to 1."""
    assert isinstance(low, tir.FloorMod)
    for other, scale in total.factors():
        if not isinstance(other, tir.FloorDiv | tir.FloorMod) or other.b is not low.b:
            continue
        apart = s.sum(other.a).plus(s.sum(low.a), -1)
        if not apart.is_constant or abs(scale) != abs(factor):
            continue
        rest, is_odd = total.plus(Sum({low: factor, other: scale}), -1), apart.constant % 2 == 1
        if isinstance(other, tir.FloorMod):
            if is_odd and scale == factor:
                return rest.shifted(factor)
        elif is_odd != (scale == factor):
            return rest.plus(quotient(s, s.sum(other.a).shifted(-1 if is_odd else 1), 2, dtype), scale)
    return None


def _congruent(s: Simplifier, a: tir.PrimExpr, b: tir.PrimExpr, modulus: int) -> bool:
    difference = s.sum(a).plus(s.sum(b), -1)
    return difference.constant % modulus == 0 and difference.content % modulus == 0


def _remainder_of_rest(
    s: Simplifier, total: Sum, term: tir.FloorDiv | tir.Div, dividend: tir.PrimExpr, scale: int, dtype: str
) -> Sum | None:
    """Rewrite `scale * (x - x // c * c)` to `scale * (x % c)`, if the sum contains half of the terms of `scale * x`."""
    parts = s.sum(dividend)
    matching = sum(total.terms.get(part, 0) == scale * factor for part, factor in parts.factors())
    if matching == 0 or 2 * matching < len(parts.terms) or (matching < len(parts.terms) and not is_index(dtype)):
        return None
    assert isinstance(term.b, tir.IntImm)
    kind = tir.FloorMod if isinstance(term, tir.FloorDiv) else tir.Mod
    remainder = s.sum(s.visit(kind(dtype, dividend, term.b)))
    return total.plus(parts, -scale).plus(Sum({term: scale * term.b.value})).plus(remainder, scale)


def _merge_symbolic(s: Simplifier, total: Sum, term: tir.Mul, factor: int, dtype: str) -> Sum | None:
    """Rewrite `scale * (x - x // n * n)` to `scale * (x % n)`."""
    parts = few_factors(term)
    for part in parts:
        if isinstance(part, tir.FloorDiv) and len(parts) == 2 and (parts[0] is part.b or parts[1] is part.b):
            dividend = s.sum(part.a)
            if dividend.terms and all(total.terms.get(e, 0) == -factor * v for e, v in dividend.factors()):
                remainder = s.sum(s.visit(tir.FloorMod(dtype, part.a, part.b)))
                return total.plus(dividend, factor).plus(Sum({term: -factor})).plus(remainder, -factor)
    return None


def _merge_symbolic_remainder(s: Simplifier, total: Sum, low: tir.PrimExpr, factor: int, dtype: str) -> Sum | None:
    """Rewrite `x // n * n + x % n` to `x`."""
    if not isinstance(low, tir.FloorMod):
        return None
    high = s.intern(tir.FloorDiv(dtype, low.a, low.b))
    whole = s.intern(tir.Mul(dtype, high, low.b))
    if total.terms.get(whole, 0) != factor:
        return None
    return total.plus(Sum({low: factor, whole: factor}), -1).plus(s.sum(low.a), factor)
