"""Losses (TVM: `relax/op/nn`)."""

from __future__ import annotations

from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..te import topi
from . import dims as d
from .indexing import index_tensor_info
from .inference import Inference, common_vdevice, dims_of, tensor_info, written_dims
from .registry import Param, RelaxOp, register


def _infer_cross_entropy(a: Inference) -> StructInfo:
    x, y = a.float_tensor("predictions"), a.tensor("labels")
    dtype = a.same_dtype("predictions", "labels")
    left, right = dims_of(x), dims_of(y)
    if -1 not in (x.ndim, y.ndim) and x.ndim != y.ndim:
        raise a.fail("E0323", f"needs operands of one rank, but they have {x.ndim} and {y.ndim} dimensions")
    for p, q in zip(left or (), right or (), strict=False):
        a.check_equal(p, q, f"needs operands of one shape, but they are {d.show(left or ())} and {d.show(right or ())}")
    return tensor_info((), dtype, 0, common_vdevice(x, y))


def _cross_entropy(a: Any) -> te.Tensor:
    product = topi.multiply(a.predictions, a.labels)
    total = topi.elementwise(topi.reduce(product, None, False, te.sum), lambda x: x * -1)
    if a.predictions.ndim == 1:
        return total
    return topi.divide(total, te.cast(a.predictions.dims[0], a.predictions.dtype))


def _numpy_cross_entropy(np: Any, a: Any) -> Any:
    total = -(a.predictions * a.labels).sum()
    return np.asarray(total if a.predictions.ndim == 1 else total / a.predictions.shape[0]).astype(a.result_dtype)


register(
    RelaxOp(
        "relax.nn.cross_entropy_with_logits",
        (Param("predictions"), Param("labels")),
        _infer_cross_entropy,
        "Return the cross entropy: the mean of `-predictions * labels`, where `predictions` are logarithms.",
        _numpy_cross_entropy,
        _cross_entropy,
    )
)

_REDUCTIONS = ("none", "sum", "mean")


def infer_nll(a: Inference) -> StructInfo:
    x, targets = a.float_tensor("predictions"), index_tensor_info(a, "targets")
    names = ("predictions", "weights") if a.has("weights") else ("predictions",)
    dtype = a.same_dtype(*names)
    if a.attr("reduction") not in _REDUCTIONS:
        raise a.fail("E0321", f'has no reduction "{a.attr("reduction")}"', 'choose one of "none", "sum", "mean"')
    dims, labels = dims_of(x), dims_of(targets)
    if dims is not None and labels is not None:
        if len(dims) != len(labels) + 1:
            raise a.fail("E0323", f"needs 'targets' to have {len(dims) - 1} dimensions, but it has {len(labels)}")
        rest = dims[1:] if len(dims) == 1 else (dims[0], *dims[2:])
        for p, q in zip(rest, labels, strict=False):
            a.check_equal(p, q, f"has predictions {d.show(dims)}, which do not fit targets {d.show(labels)}")
    weights = dims_of(a.rank("weights", 1)) if a.has("weights") else None
    if dims is not None and weights is not None:
        classes = dims[0] if len(dims) == 1 else dims[1]
        a.check_equal(classes, weights[0], f"has {d.show_one(classes)} classes, but weights {d.show(weights)}")
    if a.attr("reduction") == "none":
        return tensor_info(written_dims(targets), dtype, targets.ndim, common_vdevice(x, targets))
    return tensor_info((), dtype, 0, common_vdevice(x, targets))


def _nll(a: Any) -> te.Tensor:
    x, targets = a.predictions, a.targets
    zero = te.const(0, x.dtype)

    def weight(target: tir.PrimExpr) -> tir.PrimExpr:
        return te.const(1, x.dtype) if a.weights is None else a.weights(target)

    def loss(*i: tir.PrimExpr) -> tir.PrimExpr:
        target = targets(*i)
        index = (target, *i[1:]) if x.ndim == 1 else (i[0], target, *i[1:])
        return te.if_then_else(te.not_equal(target, a.ignore_index), x(*index) * weight(target) * -1, zero)

    def weighed(*i: tir.PrimExpr) -> tir.PrimExpr:
        target = targets(*i)
        return te.if_then_else(te.not_equal(target, a.ignore_index), weight(target), zero)

    losses = te.compute(targets.dims, loss, "nll_loss")
    if a.reduction == "none":
        return losses
    total = topi.reduce(losses, None, False, te.sum)
    if a.reduction == "sum":
        return total
    return topi.divide(total, topi.reduce(te.compute(targets.dims, weighed, "nll_loss_weights"), None, False, te.sum))


def _numpy_nll(np: Any, a: Any) -> Any:
    x = a.predictions if a.predictions.ndim > 1 else a.predictions[None]
    targets = a.targets if a.predictions.ndim > 1 else a.targets[None]
    kept = targets != a.ignore_index
    safe = np.where(kept, targets, 0)
    weights = np.ones(x.shape[1], x.dtype) if a.weights is None else a.weights
    weighed = np.where(kept, weights[safe], 0).astype(x.dtype)
    losses = -np.take_along_axis(x, np.expand_dims(safe, 1), 1).squeeze(1) * weighed
    if a.reduction == "none":
        return losses.reshape(a.targets.shape)
    total = losses.sum()
    return np.asarray(total if a.reduction == "sum" else total / weighed.sum()).astype(x.dtype)


LOSS_PARAMS = (
    Param("predictions"),
    Param("targets"),
    Param("weights", "opt_expr", None),
    Param("reduction", "str", "mean"),
    Param("ignore_index", "int", -100),
)
register(
    RelaxOp(
        "relax.nn.nll_loss",
        LOSS_PARAMS,
        infer_nll,
        "Return the negative log likelihood of the classes `targets`.",
        _numpy_nll,
        _nll,
    )
)
