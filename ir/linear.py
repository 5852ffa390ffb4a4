"""Integer expressions as linear combinations: what cancels, cancels; what is not linear is a term of its own."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from . import make, tir
from .equal import structural_hash
from .visit import children

Key: TypeAlias = "tuple[str, int]"


class Term(Struct, frozen=True):
    expr: tir.PrimExpr
    factor: int


class Linear(Struct, frozen=True):
    """`constant` plus the sum of `factor * expr` over the terms, none of which has factor 0."""

    terms: dict[Key, Term]
    constant: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """Return the sum of this and `factor` times `other`."""
        terms = dict(self.terms)
        for key, term in other.terms.items():
            total = term.factor * factor + (terms[key].factor if key in terms else 0)
            if total:
                terms[key] = Term(term.expr, total)
            else:
                terms.pop(key, None)
        return Linear(terms, self.constant + other.constant * factor)

    @property
    def is_constant(self) -> bool:
        return not self.terms


def linear(expr: tir.PrimExpr) -> Linear:
    """Return `expr` as a linear combination."""
    match expr:
        case tir.IntImm():
            return Linear({}, expr.value)
        case tir.Add():
            return linear(expr.a).plus(linear(expr.b))
        case tir.Sub():
            return linear(expr.a).plus(linear(expr.b), -1)
        case tir.Mul():
            a, b = linear(expr.a), linear(expr.b)
            if a.is_constant or b.is_constant:
                return Linear({}).plus(a, b.constant) if b.is_constant else Linear({}).plus(b, a.constant)
        case tir.FloorDiv(b=tir.IntImm(value=divisor)) | tir.FloorMod(b=tir.IntImm(value=divisor)) if divisor > 0:
            return _divide(expr, linear(expr.a), divisor)
        case _:
            pass
    return Linear({key_of(expr): Term(expr, 1)})


def _divide(expr: tir.FloorDiv | tir.FloorMod, dividend: Linear, divisor: int) -> Linear:
    """A quotient is linear where all but the constant is divisible; the remainder is then that of the constant."""
    if any(term.factor % divisor for term in dividend.terms.values()):
        return Linear({key_of(expr): Term(expr, 1)})
    if isinstance(expr, tir.FloorMod):
        return Linear({}, dividend.constant % divisor)
    terms = {key: Term(term.expr, term.factor // divisor) for key, term in dividend.terms.items()}
    return Linear(terms, dividend.constant // divisor)


def key_of(expr: tir.PrimExpr) -> Key:
    """Return what is the same for structurally equal expressions."""
    return ("var", id(expr)) if isinstance(expr, tir.Var) else ("", structural_hash(expr))


def to_expr(value: Linear, dtype: str) -> tir.PrimExpr:
    """Return the expression: terms in order, then the constant, subtracted where negative."""
    result: tir.PrimExpr | None = None
    ordered = sorted(value.terms.values(), key=lambda term: term.factor < 0)
    for term in ordered:
        if result is None:
            result = make.mul(term.expr, make.const(term.factor, dtype))
            continue
        scaled = make.mul(term.expr, make.const(abs(term.factor), dtype))
        result = make.sub(result, scaled) if term.factor < 0 else make.add(result, scaled)
    constant = make.const(abs(value.constant), dtype)
    if result is None:
        return make.const(value.constant, dtype)
    return make.sub(result, constant) if value.constant < 0 else make.add(result, constant)


def difference(a: tir.PrimExpr, b: tir.PrimExpr) -> int | None:
    """Return `a - b` where it is known to be a constant."""
    result = linear(a).plus(linear(b), -1)
    return result.constant if result.is_constant else None


def simplify(expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return `expr` as a linear combination where that is shorter, else as it is."""
    if isinstance(expr, tir.Var | tir.IntImm):
        return expr
    shorter = to_expr(linear(expr), expr.dtype)
    return shorter if _size(shorter) < _size(expr) else expr


def _size(expr: tir.PrimExpr) -> int:
    return 1 + sum(_size(child) for child in children(expr) if isinstance(child, tir.PrimExpr))
