"""Interpolation along one dimension by a matrix of weights."""

from __future__ import annotations

from typing import Any

from ...ir import relax
from ...ir.api.relax import op
from ...ir.building.values import const
from .values import dtype_of, rank_of


def interpolated(x: relax.Expr, axis: int, weights: Any) -> relax.Expr:
    """Return the sums of elements of `x` along `axis`, weighted by a matrix (new length, old length) that is mostly zero."""
    import numpy as np

    taps = max(int((weights != 0).sum(1).max(initial=0)), 1)
    order = np.argsort(weights == 0, 1, kind="stable")[:, :taps]
    total: relax.Expr | None = None
    for tap in range(taps):
        taken = op.take(x, const(order[:, tap].astype("int64")), axis)
        factor = np.take_along_axis(weights, order[:, tap : tap + 1], 1)[:, 0]
        if not (factor == 1).all():
            shape = [-1, *[1] * (rank_of(x) - axis - 1)]
            taken = op.multiply(taken, const(factor.reshape(shape), dtype_of(x)))
        total = taken if total is None else op.add(total, taken)
    assert total is not None
    return total
