"""Formulas of elementwise functions that more than one importer uses."""

from __future__ import annotations

from ...ir import relax
from ...ir.api.relax import op
from ...ir.building.values import const
from .values import dtype_of


def number(value: float, like: relax.Expr) -> relax.Expr:
    """Return a number as a constant of the dtype of a tensor."""
    return const(value, dtype_of(like))


def expm1(x: relax.Expr) -> relax.Expr:
    """Return exp(x) - 1; for tiny x, where the difference would lose precision, its Taylor polynomial of degree 3."""
    small = op.multiply(
        x, op.add(op.multiply(x, op.add(op.multiply(x, number(1 / 6, x)), number(0.5, x))), number(1, x))
    )
    is_small = op.less(op.abs(x), number(1e-3 if dtype_of(x) == "float32" else 1e-5, x))
    return op.where(is_small, small, op.subtract(op.exp(x), number(1, x)))


def log1p(x: relax.Expr) -> relax.Expr:
    """Return log(1 + x), with a correction for the rounding error of the sum."""
    total = op.add(x, number(1, x))
    kept = op.subtract(total, number(1, x))
    corrected = op.multiply(op.log(total), op.divide(x, kept))
    is_plain = op.logical_or(op.equal(kept, number(0, x)), op.isinf(total))
    return op.where(is_plain, op.where(op.isinf(total), op.log(total), x), corrected)


def softplus(x: relax.Expr) -> relax.Expr:
    """Return log(1 + exp(x)) without overflow."""
    return op.add(op.maximum(x, number(0, x)), log1p(op.exp(op.negative(op.abs(x)))))
