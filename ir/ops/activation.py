"""Activations (TVM: `relax/op/nn`)."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from .. import te, tir
from ..base import Op, StructInfo
from ..relax import Call, Expr, PrimValue
from ..te import topi
from . import dims as d
from .inference import Inference, dims_of, float_like_first, same_as_first
from .registry import Oracle, Param, RelaxOp, register
from .unary import erf_of

_DATA = Param("data")


def _same_dtype(function: Callable[[Any, Any], Any]) -> Oracle:
    return lambda np, a: np.asarray(function(np, a)).astype(a.data.dtype)


def _activation(
    name: str, meaning: Callable[[Any], te.Tensor], oracle: Callable[[Any, Any], Any], doc: str, *more: Param
) -> None:
    infer = same_as_first if name == "relu" else float_like_first
    prim_func = {"leakyrelu": "leaky_relu"}.get(name, "")
    params = (_DATA, *more)
    register(
        RelaxOp(f"relax.nn.{name}", params, infer, f"Return {doc}.", _same_dtype(oracle), meaning, prim_func=prim_func)
    )


def _number(x: te.Tensor, value: float) -> tir.PrimExpr:
    return te.const(value, x.dtype)


def _gelu(a: Any) -> te.Tensor:
    x: te.Tensor = a.data
    scaled = topi.multiply(x, _number(x, sqrt(0.5)))
    error = topi.multiply(topi.elementwise(scaled, te.erf), _number(x, 0.5))
    return topi.multiply(x, topi.broadcast(lambda p, q: q + p, error, _number(x, 0.5), "T_add"))


def _gelu_tanh(a: Any) -> te.Tensor:
    x: te.Tensor = a.data

    def times(data: te.Tensor, factor: float) -> te.Tensor:
        return topi.broadcast(lambda p, q: q * p, data, _number(x, factor), "T_multiply")

    def plus_one(data: te.Tensor) -> te.Tensor:
        return topi.broadcast(lambda p, q: q + p, data, _number(x, 1), "T_add")

    half, scaled = times(x, 0.5), times(x, sqrt(2 / 3.141592653589793))
    inner = topi.multiply(scaled, plus_one(topi.multiply(times(x, 0.044715), x)))
    return topi.multiply(half, plus_one(topi.elementwise(inner, te.tanh)))


def _selu(x: tir.PrimExpr) -> tir.PrimExpr:
    alpha, scale = te.const(1.6732632423543772, x.dtype), te.const(1.0507009873554805, x.dtype)
    return scale * te.select(te.const(0, x.dtype) < x, x, alpha * (te.exp(x) - 1))


def _softplus(a: Any) -> te.Tensor:
    def value(x: tir.PrimExpr) -> tir.PrimExpr:
        beta, threshold = te.const(a.beta, x.dtype), te.const(a.threshold, x.dtype)
        return te.if_then_else(x * beta <= threshold, te.log(te.exp(x * beta) + 1) / beta, x)

    return topi.elementwise(a.data, value)


_activation(
    "relu",
    lambda a: topi.elementwise(a.data, lambda x: te.maximum(x, te.const(0, x.dtype))),
    lambda np, a: np.maximum(a.data, 0),
    "`max(x, 0)` of every element",
)
_activation(
    "gelu", _gelu, lambda np, a: 0.5 * a.data * (1 + erf_of(np, a.data * sqrt(0.5))), "the Gaussian error linear unit"
)
_activation(
    "gelu_tanh",
    _gelu_tanh,
    lambda np, a: 0.5 * a.data * (1 + np.tanh(sqrt(2 / np.pi) * (a.data + 0.044715 * a.data**3))),
    "the Gaussian error linear unit, approximated by tanh",
)
_activation(
    "silu",
    lambda a: topi.multiply(a.data, topi.elementwise(a.data, te.sigmoid)),
    lambda np, a: a.data / (1 + np.exp(-a.data)),
    "`x * sigmoid(x)` of every element",
)
_activation(
    "selu",
    lambda a: topi.elementwise(a.data, _selu),
    lambda np, a: 1.0507009873554805 * np.where(a.data > 0, a.data, 1.6732632423543772 * (np.exp(a.data) - 1)),
    "the scaled exponential linear unit",
)
_activation(
    "leakyrelu",
    lambda a: topi.elementwise(
        a.data, lambda x: te.select(te.const(0, x.dtype) < x, x, x * te.const(a.alpha, x.dtype))
    ),
    lambda np, a: np.where(a.data > 0, a.data, a.data * a.alpha),
    "every element, multiplied by `alpha` if it is negative",
    Param("alpha", "float", 0.01),
)
_activation(
    "softplus",
    _softplus,
    lambda np, a: np.where(a.data * a.beta <= a.threshold, np.log1p(np.exp(a.data * a.beta)) / a.beta, a.data),
    "`log(1 + exp(beta * x)) / beta`, a smooth approximation of relu",
    Param("beta", "float", 1.0),
    Param("threshold", "float", 20.0),
)


def _infer_prelu(a: Inference) -> StructInfo:
    info, alpha = a.float_tensor("data"), a.rank("alpha", 1)
    dims, slopes = dims_of(info), dims_of(alpha)
    if dims is not None and slopes is not None:
        axis = a.axis(a.attr("axis"), info.ndim)
        if not d.is_one(slopes[0]):
            a.check_equal(
                dims[axis],
                slopes[0],
                f"needs one slope for each of the {d.show_one(dims[axis])} channels, not {d.show_one(slopes[0])}",
            )
    return info


def _prelu(a: Any) -> te.Tensor:
    axis: int = a.axis % a.data.ndim

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        x, slope = a.data(*i), a.alpha(*topi.broadcast_index([i[axis]], [a.data.dims[axis]], a.alpha.dims))
        return te.select(te.const(0, a.data.dtype) < x, x, x * slope)

    return te.compute(a.data.dims, value)


register(
    RelaxOp(
        "relax.nn.prelu",
        (_DATA, Param("alpha"), Param("axis", "int", 1)),
        _infer_prelu,
        "Return every element, multiplied by the slope of its channel if it is negative.",
        lambda np, a: np.where(
            a.data > 0,
            a.data,
            a.data * a.alpha.reshape([-1 if n == a.axis % a.data.ndim else 1 for n in range(a.data.ndim)]),
        ).astype(a.data.dtype),
        _prelu,
    )
)


def _relu6(a: Any) -> Expr:
    bounds = (PrimValue(tir.IntImm("int64", 0)), PrimValue(tir.IntImm("int64", 6)))
    return Call(Op("relax.clip"), (a.data, *bounds))


register(RelaxOp("relax.nn.relu6", (_DATA,), None, "Clamp every element to 0 and 6.", expand=_relu6))


def _infer_softmax(a: Inference) -> StructInfo:
    info = a.float_tensor("data")
    if info.ndim != -1:
        a.axis(a.attr("axis"), info.ndim)
    return info


def softmax(x: te.Tensor, axis: int) -> te.Tensor:
    """Return the softmax along `axis`, in TVM's four steps, which schedules look for."""
    axis %= x.ndim
    shape = [dim for number, dim in enumerate(x.dims) if number != axis]
    maxelem = _greatest(x, axis)

    def others(i: tuple[tir.PrimExpr, ...]) -> list[tir.PrimExpr]:
        return [item for number, item in enumerate(i) if number != axis]

    exponential = te.compute(x.dims, lambda *i: te.exp(x(*i) - maxelem(*others(i))), "T_softmax_exp")
    k = te.reduce_axis((te.const(0, "int64"), x.dims[axis]), "k")
    expsum = te.compute(shape, lambda *i: te.sum(exponential(*i[:axis], k, *i[axis:]), axis=k), "T_softmax_expsum")
    return te.compute(x.dims, lambda *i: exponential(*i) / expsum(*others(i)), "T_softmax_norm", attrs={"axis": axis})


def _greatest(x: te.Tensor, axis: int) -> te.Tensor:
    k = te.reduce_axis((te.const(0, "int64"), x.dims[axis]), "k")
    shape = [dim for number, dim in enumerate(x.dims) if number != axis]
    return te.compute(shape, lambda *i: te.max(x(*i[:axis], k, *i[axis:]), axis=k), "T_softmax_maxelem")


def log_softmax(x: te.Tensor, axis: int) -> te.Tensor:
    """Return the logarithm of the softmax along `axis`."""
    axis %= x.ndim
    maxelem = _greatest(x, axis)
    k = te.reduce_axis((te.const(0, "int64"), x.dims[axis]), "k")
    expsum = te.compute(
        maxelem.dims, lambda *i: te.sum(te.exp(x(*i[:axis], k, *i[axis:]) - maxelem(*i)), axis=k), "compute"
    )

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        others = [item for number, item in enumerate(i) if number != axis]
        return x(*i) - maxelem(*others) - te.log(expsum(*others))

    return te.compute(x.dims, value, "compute", attrs={"axis": axis})


def numpy_softmax(np: Any, x: Any, axis: int) -> Any:
    """Return the softmax of an array, in its dtype."""
    exponential = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return exponential / exponential.sum(axis, keepdims=True)


def numpy_log_softmax(np: Any, x: Any, axis: int) -> Any:
    """Return the logarithm of the softmax of an array, in its dtype."""
    shifted = x - x.max(axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


_AXIS = Param("axis", "int", -1)
register(
    RelaxOp(
        "relax.nn.softmax",
        (_DATA, _AXIS),
        _infer_softmax,
        "Return the softmax along `axis`.",
        lambda np, a: numpy_softmax(np, a.data, a.axis),
        lambda a: softmax(a.data, a.axis),
    )
)
register(
    RelaxOp(
        "relax.nn.log_softmax",
        (_DATA, _AXIS),
        _infer_softmax,
        "Return the logarithm of the softmax along `axis`.",
        lambda np, a: numpy_log_softmax(np, a.data, a.axis),
        lambda a: log_softmax(a.data, a.axis),
    )
)
