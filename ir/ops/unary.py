"""Elementwise operators of one tensor (TVM: `relax/op/unary.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..dtype import is_float, parse_dtype
from ..relax import PrimStructInfo
from ..te import topi
from .inference import Inference, like
from .registry import Oracle, Param, RelaxOp, register

_X = (Param("x"),)


def _infer(a: Inference) -> StructInfo:
    info = a.info("x")
    return info if isinstance(info, PrimStructInfo) else a.tensor("x")


def _infer_float(a: Inference) -> StructInfo:
    info = a.info("x")
    return info if isinstance(info, PrimStructInfo) else a.float_tensor("x")


def _infer_check(a: Inference) -> StructInfo:
    info = a.info("x")
    return PrimStructInfo("bool") if isinstance(info, PrimStructInfo) else like(a.tensor("x"), "bool")


def _same_dtype(function: Callable[[Any, Any], Any]) -> Oracle:
    """Return an oracle that keeps the dtype: NumPy computes some functions of 16-bit floats in wider dtypes."""
    return lambda np, a: np.asarray(function(np, a.x)).astype(a.x.dtype)


def _unary(
    name: str,
    value: Callable[[tir.PrimExpr], Any],
    oracle: Callable[[Any, Any], Any],
    doc: str,
    only_floats: bool = True,
) -> None:
    register(
        RelaxOp(
            f"relax.{name}",
            _X,
            _infer_float if only_floats else _infer,
            f"{doc} every element of `x`.",
            _same_dtype(oracle),
            lambda a: topi.elementwise(a.x, value),
            prim_func=name if name == "erf" else f"tir_{name}",
        )
    )


def _check(name: str, value: Callable[[tir.PrimExpr], Any], doc: str) -> None:
    register(
        RelaxOp(
            f"relax.{name}",
            _X,
            _infer_check,
            f"Return whether each element of `x` is {doc}.",
            lambda np, a: getattr(np, name)(a.x),
            lambda a: topi.elementwise(a.x, value),
            prim_func=f"tir_{name}",
        )
    )


def erf_of(np: Any, x: Any) -> Any:
    from math import erf

    return np.vectorize(erf, otypes=["float64"])(x)


def _where_float(f: Callable[[tir.PrimExpr], tir.PrimExpr]) -> Callable[[tir.PrimExpr], tir.PrimExpr]:
    """Return `f` for floats and the identity for integers (TVM: `topi.floor`, `ceil`, `round`, `trunc`)."""
    return lambda x: x if parse_dtype(x.dtype).code in ("int", "uint", "bool") else f(x)


def _sign(x: tir.PrimExpr) -> tir.PrimExpr:
    """Return 1, -1, or the operand if it is zero or NaN; as in NumPy, the sign of -0.0 is 0.0."""
    zero = te.const(0, x.dtype)
    if _is_unsigned(x):
        return te.select(zero < x, te.const(1, x.dtype), x)
    negative = te.select(x < zero, te.const(-1, x.dtype), x + zero if is_float(x.dtype) else x)
    return te.select(zero < x, te.const(1, x.dtype), negative)


def _negative(x: tir.PrimExpr) -> tir.PrimExpr:
    """Return `x * -1`; unsigned integers, which cannot hold -1, wrap around."""
    return te.const(0, x.dtype) - x if _is_unsigned(x) else x * -1


def _is_unsigned(x: tir.PrimExpr) -> bool:
    return parse_dtype(x.dtype).code == "uint"


_unary("abs", te.abs, lambda np, x: np.abs(x), "Return the absolute value of", False)
_unary("acos", te.acos, lambda np, x: np.arccos(x), "Return the inverse cosine of")
_unary("acosh", te.acosh, lambda np, x: np.arccosh(x), "Return the inverse hyperbolic cosine of")
_unary("asin", te.asin, lambda np, x: np.arcsin(x), "Return the inverse sine of")
_unary("asinh", te.asinh, lambda np, x: np.arcsinh(x), "Return the inverse hyperbolic sine of")
_unary("atan", te.atan, lambda np, x: np.arctan(x), "Return the inverse tangent of")
_unary("atanh", te.atanh, lambda np, x: np.arctanh(x), "Return the inverse hyperbolic tangent of")
_unary("ceil", _where_float(te.ceil), lambda np, x: np.ceil(x), "Round up", False)
_unary("cos", te.cos, lambda np, x: np.cos(x), "Return the cosine of")
_unary("cosh", te.cosh, lambda np, x: np.cosh(x), "Return the hyperbolic cosine of")
_unary("erf", te.erf, erf_of, "Return the error function of")
_unary("exp", te.exp, lambda np, x: np.exp(x), "Return the exponential of")
_unary("floor", _where_float(te.floor), lambda np, x: np.floor(x), "Round down", False)
_unary("log", te.log, lambda np, x: np.log(x), "Return the natural logarithm of")
_unary("negative", _negative, lambda np, x: -x, "Negate", False)
_unary(
    "round",
    _where_float(lambda x: te.call("nearbyint", x)),
    lambda np, x: np.rint(x),
    "Round (to nearest, halves to even)",
    False,
)
_unary("rsqrt", te.rsqrt, lambda np, x: 1 / np.sqrt(x), "Return the reciprocal of the square root of")
_unary("sigmoid", te.sigmoid, lambda np, x: 1 / (1 + np.exp(-x)), "Return the logistic function of")
_unary("sign", _sign, lambda np, x: np.sign(x), "Return the sign of", False)
_unary("sin", te.sin, lambda np, x: np.sin(x), "Return the sine of")
_unary("sinh", te.sinh, lambda np, x: np.sinh(x), "Return the hyperbolic sine of")
_unary("sqrt", te.sqrt, lambda np, x: np.sqrt(x), "Return the square root of")
_unary("tan", te.tan, lambda np, x: np.tan(x), "Return the tangent of")
_unary("tanh", te.tanh, lambda np, x: np.tanh(x), "Return the hyperbolic tangent of")
_unary("trunc", _where_float(te.trunc), lambda np, x: np.trunc(x), "Round towards zero", False)
_check("isfinite", te.isfinite, "finite")
_check("isinf", te.isinf, "infinite")
_check("isnan", te.isnan, "NaN")

register(
    RelaxOp(
        "relax.square",
        _X,
        _infer,
        "Return the square of every element of `x`.",
        lambda np, a: a.x * a.x,
        lambda a: topi.multiply(a.x, a.x),
        prim_func="tir_square",
    )
)
register(
    RelaxOp(
        "relax.bitwise_not",
        _X,
        _infer,
        "Invert the bits of every element of `x`.",
        lambda np, a: np.invert(a.x),
        lambda a: topi.elementwise(a.x, lambda x: te.call("bitwise_not", x)),
        prim_func="tir_bitwise_not",
    )
)
register(
    RelaxOp(
        "relax.logical_not",
        _X,
        _infer,
        "Return the logical negation of every element of `x`.",
        lambda np, a: np.logical_not(a.x),
        lambda a: topi.elementwise(a.x, te.logical_not),
        prim_func="tir_logical_not",
    )
)


def _infer_clip(a: Inference) -> StructInfo:
    for name in ("min", "max"):
        if not isinstance(a.info(name), PrimStructInfo):
            raise a.fail("E0322", f"needs a scalar as '{name}'", "write R.prim_value(…)", a.argument(name))
    return _infer(a)


def _clip(a: Any) -> Any:
    def value(x: tir.PrimExpr) -> tir.PrimExpr:
        low, high = (te.cast(bound, x.dtype) for bound in (a.min, a.max))
        return te.minimum(te.maximum(x, low), high)

    return topi.elementwise(a.x, value)


register(
    RelaxOp(
        "relax.clip",
        (Param("x"), Param("min", "prim"), Param("max", "prim")),
        _infer_clip,
        "Clamp every element of `x` to `min` and `max`; if `min` exceeds `max`, the result is `max`.",
        lambda np, a: np.clip(a.x, a.min, a.max).astype(a.x.dtype),
        _clip,
        prim_func="tir_clip",
    )
)
