"""Products and convolutions of integers whose zero points are not 0, as sums of the codes and a correction.

    sum of (x - p) * w  =  sum of x * w  -  p * sum of w

The sums of constant weights are computed during the import. Sums of uint8 times int8 are what processors multiply fastest, so
that other codes are shifted by 128, and their zero points too.
"""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, is_floating, rank_of, static
from .converter import Converter
from .convolution import convolution
from .evaluation import evaluated

_SHIFT = 128


def is_zero(value: relax.Expr) -> bool:
    return isinstance(value, relax.Constant) and not value.data.astype("float32").any()


def known(expr: relax.Expr, *operands: relax.Expr | None) -> relax.Expr:
    """Return `expr`, computed if all its operands are constant and it is small."""
    if all(operand is None or isinstance(operand, relax.Constant) for operand in operands):
        return evaluated(expr) or expr
    return expr


def of_rows(c: Converter, value: relax.Expr, is_left: bool) -> relax.Expr:
    """Return one number, or one for each row of the left or column of the right factor, in a shape that broadcasts."""
    if static(d.product(dims_of(value))) == 1:
        return op.reshape(value, ())
    return op.reshape(value, c.shape((-1, 1))) if is_left and rank_of(value) == 1 else value


def of_channels(c: Converter, value: relax.Expr, rank: int, axis: int) -> relax.Expr:
    """Return one number, or one for each index of `axis`, in a shape that broadcasts to `rank` dimensions."""
    if static(d.product(dims_of(value))) == 1:
        return op.reshape(value, ())
    return op.reshape(value, c.shape([-1 if place == axis else 1 for place in range(rank)]))


def centered(c: Converter, x: relax.Expr, zero: relax.Expr | None, is_left: bool) -> relax.Expr:
    """Return a factor less its zero point as int32; unchanged if the zero point is known to be 0."""
    if is_floating(dtype_of(x)):
        return c.cast(x, "float32")
    if zero is None or is_zero(zero):
        return x
    return op.subtract(c.cast(x, "int32"), c.cast(of_rows(c, zero, is_left), "int32"))


def summed_product(c: Converter, left: relax.Expr, right: relax.Expr) -> relax.Expr:
    """Return the matrix product, summed in int32; of floats, in float32."""
    return op.matmul(left, right, "float32" if is_floating(dtype_of(left)) else "int32")


def integer_product(
    c: Converter, left: relax.Expr, left_zero: relax.Expr | None, right: relax.Expr, right_zero: relax.Expr | None
) -> relax.Expr:
    """Return the matrix product of two factors less their zero points."""
    weights = _signed(right, right_zero, -1)
    if weights is None or rank_of(left) < 2 or weights.data.ndim < 2 or dtype_of(left) not in ("int8", "uint8"):
        return summed_product(c, centered(c, left, left_zero, True), centered(c, right, right_zero, False))
    zero = None if left_zero is None or is_zero(left_zero) else known(of_rows(c, left_zero, True), left_zero)
    codes, zero = _unsigned(c, left, zero)
    sums = op.matmul(codes, weights, "int32")
    return sums if zero is None else op.subtract(sums, _scaled(zero, weights.data.sum(-2, "int32", keepdims=True)))


def integer_convolution(
    c: Converter, a: Any, x_zero: relax.Expr | None, w_zero: relax.Expr | None, bias: relax.Expr | None = None
) -> relax.Expr:
    """Return a convolution of `a.x` and `a.w` less their zero points, plus a bias, in int32; padding counts as the zero point."""
    rank = rank_of(a.x)
    if x_zero is not None:
        x_zero = None if is_zero(x_zero) else known(op.reshape(x_zero, ()), x_zero)
    weights, offset = _signed(a.w, w_zero, 0), None if bias is None else known(of_channels(c, bias, rank, 1), bias)
    if weights is None or dtype_of(a.x) not in ("int8", "uint8"):
        w = a.w
        if w_zero is not None and not is_zero(w_zero):
            w = op.subtract(c.cast(w, "int32"), c.cast(of_channels(c, w_zero, rank, 0), "int32"))
        sums = convolution(c, a, centered(c, a.x, x_zero, True), w, "int32")
        return sums if offset is None else op.add(sums, offset)
    x, zero = _unsigned(c, a.x, x_zero)
    fill = None if zero is None else known(op.astype(zero, "uint8"), zero)
    sums = convolution(c, a, x, weights, "int32", fill)
    if zero is not None:
        totals = weights.data.reshape(len(weights.data), -1).sum(1, "int32").reshape(1, -1, *[1] * (rank - 2))
        correction = _scaled(zero, totals)
        offset = op.negative(correction) if offset is None else op.subtract(offset, correction)
        offset = known(offset, zero, *(() if bias is None else (bias,)))
    return sums if offset is None else op.add(sums, offset)


def _signed(weights: relax.Expr, zero: relax.Expr | None, axis: int) -> relax.Constant | None:
    """Return constant codes less their zero points, which belong to `axis`, as int8; None if they are not such codes."""
    if not isinstance(weights, relax.Constant) or dtype_of(weights) not in ("int8", "uint8") or not weights.data.size:
        return None
    data: Any = weights.data
    if zero is None or is_zero(zero):
        points: Any = data.dtype.type(0)
    elif isinstance(zero, relax.Constant) and (zero.data.size == 1 or zero.data.ndim == 1):
        shape = [1] * data.ndim
        shape[axis] = -1
        points = zero.data.astype("int16").reshape(shape if zero.data.size > 1 else ())
    else:
        return None
    if dtype_of(weights) == "int8" and not points.any():
        return weights
    shifted: Any = data.astype("int16") - points
    return const(shifted.astype("int8")) if shifted.min() >= -_SHIFT and shifted.max() < _SHIFT else None


def _unsigned(c: Converter, x: relax.Expr, zero: relax.Expr | None) -> tuple[relax.Expr, relax.Expr | None]:
    """Return codes as uint8, and their zero point as int32; None if that is 0."""
    point = None if zero is None else known(op.astype(zero, "int32"), zero)
    if dtype_of(x) == "uint8":
        return x, point
    shift = const(_SHIFT, "int32")
    codes = c.cast(op.add(c.cast(x, "int32"), shift), "uint8")
    return codes, shift if point is None else known(op.add(point, shift), point)


def _scaled(zero: relax.Expr, totals: Any) -> relax.Expr:
    return known(op.multiply(zero, const(totals)), zero)
