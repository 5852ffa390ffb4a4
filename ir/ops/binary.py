"""Elementwise operators of two or three tensors that broadcast (TVM: `relax/op/{binary,ternary}.py`)."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import PrimStructInfo, TensorStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, common_vdevice, describe, dims_of, tensor_info
from .registry import InferRule, Oracle, Param, RelaxOp, register

_X1_X2 = (Param("x1"), Param("x2"))


def broadcast_struct_info(a: Inference, dtype: str, *names: str) -> StructInfo:
    """Return the struct info of broadcasting arguments `names`, scalars or tensors, against each other."""
    infos = [a.operand(name) for name in names]
    for name, info in zip(names, infos, strict=True):
        if not isinstance(info, PrimStructInfo | TensorStructInfo):
            raise a.fail(
                "E0322", f"needs a tensor or a scalar as '{name}', but it is {describe(info)}", None, a.argument(name)
            )
    if all(isinstance(info, PrimStructInfo) for info in infos):
        return PrimStructInfo(dtype)
    vdevice = common_vdevice(*infos)
    shapes = [(d.dim(1),) if isinstance(info, PrimStructInfo) else _dims(info) for info in infos]
    ranks = [1 if isinstance(info, PrimStructInfo) else _rank(info) for info in infos]
    shape: d.Dims | None = ()
    for number, other in enumerate(shapes):
        for name, earlier in zip(names, shapes[:number], strict=False):
            if earlier is not None and other is not None:
                a.broadcast(earlier, other, (a.label(name), a.label(names[number])))
        shape = a.broadcast(shape, other) if shape is not None and other is not None else None
    if shape is None:
        expressions = [info.shape if isinstance(info, TensorStructInfo) else None for info in infos]
        if expressions[0] is not None and all(item is expressions[0] for item in expressions):
            return TensorStructInfo(expressions[0], dtype, ranks[0], vdevice)
    return tensor_info(shape, dtype, -1 if -1 in ranks else max(ranks), vdevice)


def _dims(info: StructInfo) -> d.Dims | None:
    return dims_of(info) if isinstance(info, TensorStructInfo) else None


def _rank(info: StructInfo) -> int:
    return info.ndim if isinstance(info, TensorStructInfo) else -1


def _arithmetic(a: Inference) -> StructInfo:
    return broadcast_struct_info(a, a.same_dtype("x1", "x2"), "x1", "x2")


def _float_arithmetic(a: Inference) -> StructInfo:
    for name in ("x1", "x2"):
        if isinstance(a.operand(name), TensorStructInfo):
            a.float_tensor(name)
    return _arithmetic(a)


def _comparison(a: Inference) -> StructInfo:
    return broadcast_struct_info(a, "bool", "x1", "x2")


def _same_dtype(function: Callable[[Any, Any, Any], Any]) -> Oracle:
    return lambda np, a: np.asarray(function(np, a.x1, a.x2)).astype(np.result_type(a.x1))


def _binary(
    name: str,
    value: Callable[[tir.PrimExpr, tir.PrimExpr], Any],
    oracle: Callable[[Any, Any, Any], Any],
    doc: str,
    infer: InferRule = _arithmetic,
) -> None:
    register(
        RelaxOp(
            f"relax.{name}",
            _X1_X2,
            infer,
            f"Return {doc}, element by element.",
            _same_dtype(oracle),
            lambda a: topi.broadcast(value, a.x1, a.x2, f"T_{name}"),
            scalars=("x2", "x1"),
            broadcasts=True,
        )
    )


def _compare(name: str, value: Callable[[tir.PrimExpr, tir.PrimExpr], Any], doc: str) -> None:
    register(
        RelaxOp(
            f"relax.{name}",
            _X1_X2,
            _comparison,
            f"Return whether {doc}, element by element.",
            lambda np, a: getattr(np, name)(a.x1, a.x2),
            lambda a: topi.broadcast(value, a.x1, a.x2, f"T_{name}"),
            scalars=("x2", "x1"),
            broadcasts=True,
        )
    )


def _intrinsic(name: str) -> Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]:
    return lambda x, y: te.call(name, x, y)


def _divide(np: Any, x: Any, y: Any) -> Any:
    return np.trunc(np.divide(x, y)) if np.issubdtype(x.dtype, np.integer) else np.divide(x, y)


def _log_add_exp(x: tir.PrimExpr, y: tir.PrimExpr) -> tir.PrimExpr:
    apart = te.maximum(x, y) + te.log(te.exp(te.abs(x - y) * -1) + 1)
    # inf - inf is NaN, so equal operands are handled separately
    return te.select(te.equal(x, y), x + te.const(log(2), x.dtype), apart)


_binary("add", lambda x, y: x + y, lambda np, x, y: x + y, "the sum of `x1` and `x2`")
_binary("subtract", lambda x, y: x - y, lambda np, x, y: x - y, "the difference `x1 - x2`")
_binary("multiply", lambda x, y: x * y, lambda np, x, y: x * y, "the product of `x1` and `x2`")
_binary("divide", lambda x, y: x / y, _divide, "the quotient `x1 / x2`, rounded towards zero for integers")
_binary(
    "floor_divide",
    lambda x, y: te.floor_divide(x, y),
    lambda np, x, y: np.floor_divide(x, y),
    "the quotient `x1 / x2`, rounded down",
)
_binary("mod", te.truncmod, lambda np, x, y: np.fmod(x, y), "the remainder of `x1 / x2` with the sign of `x1`")
_binary(
    "floor_mod",
    lambda x, y: te.floor_mod(x, y),
    lambda np, x, y: np.mod(x, y),
    "the remainder of `x1 / x2` with the sign of `x2`",
)
_binary("power", te.power, lambda np, x, y: np.power(x, y), "`x1` to the power of `x2`")
_binary("maximum", te.maximum, lambda np, x, y: np.maximum(x, y), "the maximum of `x1` and `x2`")
_binary("minimum", te.minimum, lambda np, x, y: np.minimum(x, y), "the minimum of `x1` and `x2`")
_binary(
    "atan2",
    _intrinsic("atan2"),
    lambda np, x, y: np.arctan2(x, y),
    "the angle of the point (`x2`, `x1`) in radians",
    _float_arithmetic,
)
_binary("log_add_exp", _log_add_exp, lambda np, x, y: np.logaddexp(x, y), "`log(exp(x1) + exp(x2))`")
_binary(
    "logical_and", lambda x, y: te.all(x, y), lambda np, x, y: np.logical_and(x, y), "the logical and of `x1` and `x2`"
)
_binary(
    "logical_or", lambda x, y: te.any(x, y), lambda np, x, y: np.logical_or(x, y), "the logical or of `x1` and `x2`"
)
_binary(
    "logical_xor", _intrinsic("bitwise_xor"), lambda np, x, y: np.logical_xor(x, y), "the exclusive or of `x1` and `x2`"
)
_binary(
    "bitwise_and", _intrinsic("bitwise_and"), lambda np, x, y: np.bitwise_and(x, y), "the bitwise and of `x1` and `x2`"
)
_binary("bitwise_or", _intrinsic("bitwise_or"), lambda np, x, y: np.bitwise_or(x, y), "the bitwise or of `x1` and `x2`")
_binary(
    "bitwise_xor",
    _intrinsic("bitwise_xor"),
    lambda np, x, y: np.bitwise_xor(x, y),
    "the bitwise exclusive or of `x1` and `x2`",
)
_binary("left_shift", _intrinsic("shift_left"), lambda np, x, y: np.left_shift(x, y), "`x1` shifted left by `x2` bits")
_binary(
    "right_shift", _intrinsic("shift_right"), lambda np, x, y: np.right_shift(x, y), "`x1` shifted right by `x2` bits"
)
_compare("equal", te.equal, "`x1` equals `x2`")
_compare("not_equal", te.not_equal, "`x1` differs from `x2`")
_compare("less", lambda x, y: x < y, "`x1` is less than `x2`")
_compare("less_equal", lambda x, y: x <= y, "`x1` is at most `x2`")
_compare("greater", lambda x, y: y < x, "`x1` is greater than `x2`")
_compare("greater_equal", lambda x, y: y <= x, "`x1` is at least `x2`")


def _infer_fma(a: Inference) -> StructInfo:
    infos = [a.tensor(name) for name in ("x1", "x2", "x3")]
    dtype = a.same_dtype("x1", "x2", "x3")
    ranks = {info.ndim for info in infos} - {-1}
    if len(ranks) > 1:
        raise a.fail("E0323", f"needs operands of one rank, but they have {sorted(ranks)} dimensions")
    shapes = [dims_of(info) for info in infos]
    for shape in shapes[1:]:
        for x, y in zip(shapes[0] or (), shape or (), strict=False):
            a.check_equal(
                x, y, f"needs operands of one shape, but they are {d.show(shapes[0] or ())} and {d.show(shape or ())}"
            )
    if all(info.shape is not None and info.shape is infos[0].shape for info in infos):
        return TensorStructInfo(infos[0].shape, dtype, infos[0].ndim, common_vdevice(*infos))
    known = next((shape for shape in shapes if shape is not None), None) if None not in shapes else None
    return tensor_info(known, dtype, next(iter(ranks), -1), common_vdevice(*infos))


register(
    RelaxOp(
        "relax.ewise_fma",
        (Param("x1"), Param("x2"), Param("x3")),
        _infer_fma,
        "Return `x1 * x2 + x3`, element by element.",
        lambda np, a: a.x1 * a.x2 + a.x3,
        lambda a: topi.add(topi.multiply(a.x1, a.x2), a.x3),
        prim_func="fused_multiply_add",
    )
)
