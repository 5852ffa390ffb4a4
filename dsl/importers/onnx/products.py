"""Rows for products of matrices."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import apply, const
from ..values import dtype_of, is_floating
from .converter import Converter
from .rows import Family

ROWS = Family()


def product(c: Converter, left: relax.Expr, right: relax.Expr) -> relax.Expr:
    """Return the matrix product; factors of 16 bits are summed as float32."""
    dtype = dtype_of(left)
    wide = sum_dtype(dtype)
    return op.matmul(left, right) if wide is None else c.cast(op.matmul(left, right, wide), dtype)


def sum_dtype(dtype: str) -> str | None:
    """Return the dtype in which products of `dtype` are summed, None if it is `dtype` itself."""
    return "float32" if dtype in ("float16", "bfloat16") else None


@ROWS.row("MatMul")
def _matmul(c: Converter, a: Any) -> relax.Expr:
    return product(c, a.A, a.B)


@ROWS.row("Gemm")
def _gemm(c: Converter, a: Any) -> relax.Expr:
    """Return `alpha * A @ B + beta * C`, of matrices that may be transposed."""
    left, right = (
        op.permute_dims(x, [1, 0]) if is_transposed else x for x, is_transposed in ((a.A, a.transA), (a.B, a.transB))
    )
    made = _scaled(c, product(c, left, right), a.alpha)
    return made if a.C is None else op.add(made, _scaled(c, a.C, a.beta))


def _scaled(c: Converter, x: relax.Expr, factor: float) -> relax.Expr:
    if factor == 1:
        return x
    if is_floating(dtype_of(x)):
        return op.multiply(x, const(factor, dtype_of(x)))
    return c.cast(op.multiply(c.cast(x, "float64"), const(factor, "float64")), dtype_of(x))


@ROWS.row("Det")
def _determinant(c: Converter, a: Any) -> relax.Expr:
    return apply("linalg.det", a.X)


@ROWS.row("Einsum")
def _einsum(c: Converter, a: Any) -> relax.Expr:
    return op.einsum(a.Inputs, a.equation.replace(" ", ""))
