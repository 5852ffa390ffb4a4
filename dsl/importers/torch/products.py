"""Rows for products of matrices and vectors, and distances."""

from __future__ import annotations

from math import inf
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..values import dims_of, dtype_of, rank_of
from .converter import Convert, Converter
from .elementwise import number


def _linear(c: Converter, a: Any) -> relax.Expr:
    weight = op.permute_dims(a.weight) if rank_of(a.weight) == 2 else a.weight
    product = op.matmul(a.input, weight, out_dtype=c.dtype)
    return product if a.bias is None else op.add(product, a.bias)


def _matmul(first: str, second: str) -> Convert:
    return lambda c, a: op.matmul(getattr(a, first), getattr(a, second), out_dtype=c.dtype)


def _scaled(value: relax.Expr, factor: Any) -> relax.Expr:
    return value if factor == 1 else op.multiply(value, number(factor, value))


def _with_added(first: str, second: str) -> Convert:
    """Return the row of beta * self + alpha * (first @ second); with beta = 0, `self` is ignored even if it is NaN."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        product = _scaled(op.matmul(getattr(a, first), getattr(a, second), out_dtype=c.dtype), a.alpha)
        if a.beta == 0:
            return product
        return op.add(_scaled(a.self, a.beta), product if a.beta == 1 else c.emit(product, "_product"))

    return convert


def _baddbmm(c: Converter, a: Any) -> relax.Expr:
    product = _scaled(op.matmul(a.batch1, a.batch2), a.alpha)
    return product if a.beta == 0 else op.add(product, _scaled(a.self, a.beta))


def _addbmm(c: Converter, a: Any) -> relax.Expr:
    product = _scaled(op.sum(op.matmul(a.batch1, a.batch2), [0]), a.alpha)
    return product if a.beta == 0 else op.add(_scaled(a.self, a.beta), product)


def _addr(c: Converter, a: Any) -> relax.Expr:
    product = _scaled(op.outer(a.vec1, a.vec2), a.alpha)
    return product if a.beta == 0 else op.add(_scaled(a.self, a.beta), product)


def _einsum(c: Converter, a: Any) -> relax.Expr:
    return op.einsum(tuple(a.tensors), a.equation.replace(" ", ""))


def _bilinear(c: Converter, a: Any) -> relax.Expr:
    """Return x1 @ W[k] @ x2 for each k."""
    left = op.expand_dims(a.input1, [-2])
    product = op.matmul(op.expand_dims(left, [-3]), a.weight)
    total = op.sum(op.multiply(op.squeeze(product, [-2]), op.expand_dims(a.input2, [-2])), [-1])
    return total if a.bias is None else op.add(total, a.bias)


def _outer(c: Converter, a: Any) -> relax.Expr:
    return op.outer(a.self, getattr(a, "vec2", None))


def _distances(c: Converter, difference: relax.Expr, order: float) -> relax.Expr:
    """Return the norms of order `order` of the rows of `difference`."""
    size = op.abs(difference)
    if order == inf:
        return op.max(size, [-1])
    if order == 0:
        return op.sum(c.cast(op.not_equal(size, number(0, size)), dtype_of(size)), [-1])
    if order == 1:
        return op.sum(size, [-1])
    if order == 2:
        return op.sqrt(op.sum(op.multiply(difference, difference), [-1]))
    return op.power(op.sum(op.power(size, number(order, size)), [-1]), number(1 / order, size))


def _cdist(c: Converter, a: Any) -> relax.Expr:
    difference = op.subtract(op.expand_dims(a.x1, [-2]), op.expand_dims(a.x2, [-3]))
    return _distances(c, difference, a.p)


def _pdist(c: Converter, a: Any) -> relax.Expr:
    import numpy as np

    from ....ir.ops import dims as d

    count = d.value_of(dims_of(a.self)[0])
    if count is None:
        raise c.unsupported("compares an unknown number of rows", "make the number static")
    first, second = np.triu_indices(count, 1)
    rows = (op.take(a.self, const(index.astype("int64")), 0) for index in (first, second))
    return _distances(c, op.subtract(*rows), a.p)


ROWS: dict[str, Convert] = {
    "linear.default": _linear,
    "matmul.default": _matmul("self", "other"),
    "mm.default": _matmul("self", "mat2"),
    "bmm.default": _matmul("self", "mat2"),
    "mv.default": _matmul("self", "vec"),
    "dot.default": _matmul("self", "tensor"),
    "vdot.default": _matmul("self", "other"),
    "addmm.default": _with_added("mat1", "mat2"),
    "baddbmm.default": _baddbmm,
    "addmv.default": _with_added("mat", "vec"),
    "addbmm.default": _addbmm,
    "addr.default": _addr,
    "outer.default": _outer,
    "einsum.default": _einsum,
    "bilinear.default": _bilinear,
    "_cdist_forward.default": _cdist,
    "cdist.default": _cdist,
    "_pdist_forward.default": _pdist,
}
