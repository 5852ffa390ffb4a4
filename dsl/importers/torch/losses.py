"""Rows for losses: the negative log likelihood and the cross entropy."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ..values import dims_of, dtype_of, is_floating, rank_of, static
from .converter import Convert, Converter
from .elementwise import number

_REDUCTIONS = ("none", "mean", "sum")
"""The names of torch's numbered reductions."""


def _reduction(a: Any) -> str:
    return _REDUCTIONS[int(a.reduction)]


def _nll(c: Converter, logarithms: relax.Expr, a: Any, reduction: str) -> relax.Expr:
    weight = None if a.weight is None else c.cast(a.weight, dtype_of(logarithms))
    return op.nn.nll_loss(logarithms, a.target, weight, reduction, a.ignore_index)


def _nll_loss(c: Converter, a: Any) -> relax.Expr:
    return _nll(c, a.self, a, _reduction(a))


def _cross_entropy(c: Converter, a: Any) -> relax.Expr:
    """Return the loss for targets that are classes, or probabilities of classes."""
    axis = 1 if rank_of(a.self) > 2 else -1
    logarithms = op.nn.log_softmax(a.self, axis)
    if is_floating(dtype_of(a.target)):
        return _of_probabilities(c, c.emit(logarithms, "_log_softmax"), a, axis)
    reduction = _reduction(a)
    if not a.label_smoothing:
        return _nll(c, logarithms, a, reduction)
    logarithms = c.emit(logarithms, "_log_softmax")
    loss, even = _nll(c, logarithms, a, reduction), _of_every_class(c, logarithms, a, axis, reduction)
    share = a.label_smoothing / _class_count(c, a, axis)
    return op.add(op.multiply(loss, number(1 - a.label_smoothing, loss)), op.multiply(even, number(share, loss)))


def _class_count(c: Converter, a: Any, axis: int) -> int:
    count = static(dims_of(a.self)[axis])
    if count is None:
        raise c.unsupported("smooths the labels of an unknown number of classes", "make the number static")
    return count


def _weighed(c: Converter, terms: relax.Expr, a: Any, axis: int) -> relax.Expr:
    """Multiply the terms of each class by its weight."""
    if a.weight is None:
        return terms
    shape = [1] * rank_of(terms)
    shape[axis] = -1
    return op.multiply(terms, op.reshape(c.cast(a.weight, dtype_of(terms)), shape))


def _of_every_class(c: Converter, logarithms: relax.Expr, a: Any, axis: int, reduction: str) -> relax.Expr:
    """Return the loss of evenly distributed classes; its mean is over the weights of the targets."""
    total = op.negative(op.sum(_weighed(c, logarithms, a, axis), [axis]))
    is_kept = op.not_equal(a.target, number(a.ignore_index, a.target))
    losses = op.where(is_kept, total, number(0, total))
    if reduction == "none":
        return losses
    if reduction == "sum":
        return op.sum(losses)
    minus_one = op.full_like(logarithms, number(-1, logarithms))
    return op.divide(op.sum(losses), _nll(c, minus_one, a, "sum"))


def _of_probabilities(c: Converter, logarithms: relax.Expr, a: Any, axis: int) -> relax.Expr:
    target = c.cast(a.target, dtype_of(logarithms))
    if a.label_smoothing:
        share = number(a.label_smoothing / _class_count(c, a, axis), target)
        target = op.add(op.multiply(target, number(1 - a.label_smoothing, target)), share)
    losses = op.negative(op.sum(_weighed(c, op.multiply(logarithms, target), a, axis), [axis]))
    reduction = _reduction(a)
    if reduction == "none":
        return losses
    return op.mean(losses) if reduction == "mean" else op.sum(losses)


ROWS: dict[str, Convert] = {
    "nll_loss_nd.default": _nll_loss,
    "cross_entropy_loss.default": _cross_entropy,
}
