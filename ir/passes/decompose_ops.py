"""Decompose normalization operators (TVM: `DecomposeOpsForInference`, `DecomposeOpsForTraining`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Op
from ..building.values import apply
from ..deep import deep
from ..diagnostics import error
from ..infer import infer_struct_info
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

Rule: TypeAlias = Callable[[relax.Call, int], relax.Expr]
"""Function from a call and the rank of its data to the replacement of the call."""


@declare_pass("DecomposeOpsForInference")
@deep
def decompose_ops_for_inference(mod: IRModule, func_name: str | None = None) -> IRModule:
    """Decompose batch normalization using its moving mean and variance, regardless of its attribute `training`.

    Applies to function `func_name`, or to all functions.

    Raises TvmsError E0905 if the function does not exist.
    """
    return _decompose(mod, func_name, {"relax.nn.batch_norm": _batch_norm})


@declare_pass("DecomposeOpsForTraining")
@deep
def decompose_ops_for_training(mod: IRModule, func_name: str | None = None) -> IRModule:
    """Decompose batch and layer normalization using the mean and variance of the data, and update the moving ones.

    Applies to function `func_name`, or to all functions.

    Raises TvmsError E0905 if the function does not exist.
    """
    rules: dict[str, Rule] = {"relax.nn.batch_norm": _batch_norm_in_training, "relax.nn.layer_norm": _layer_norm}
    return _decompose(mod, func_name, rules)


def _decompose(mod: IRModule, func_name: str | None, rules: Mapping[str, Rule]) -> IRModule:
    if func_name is None:
        return map_functions(mod, relax.Function, lambda function: _Decomposer(function, rules).function(function))
    function = mod.functions.get(func_name)
    if not isinstance(function, relax.Function):
        known = ", ".join(name for name, func in mod.functions.items() if isinstance(func, relax.Function))
        raise error("E0905", f"the module has no graph function '{func_name}'", help=f"it has {known}")
    return replace(mod, functions={**mod.functions, func_name: _Decomposer(function, rules).function(function)})


class _Decomposer(ValueRewriter):
    def __init__(self, function: relax.Function, rules: Mapping[str, Rule]) -> None:
        super().__init__(function)
        self._rules = rules

    def value(self, binding: relax.Binding) -> relax.Expr:
        call = binding.value
        if not (isinstance(call, relax.Call) and isinstance(call.op, Op) and call.op.name in self._rules):
            return call
        info = infer_struct_info(call.args[0])
        if not isinstance(info, relax.TensorStructInfo) or info.ndim == -1 or info.dtype == "void":
            return call
        return self._rules[call.op.name](call, info.ndim)


def _batch_norm(call: relax.Call, ndim: int) -> relax.Expr:
    data, gamma, beta, mean, variance = call.args
    axes = [call.attrs["axis"] % ndim]
    scale = _spread(gamma, axes, ndim) if call.attrs["scale"] else None
    shift = _spread(beta, axes, ndim) if call.attrs["center"] else None
    moments = _spread(mean, axes, ndim), _spread(variance, axes, ndim)
    return relax.Tuple((_normal(data, *moments, call.attrs["epsilon"], scale, shift), mean, variance), span=call.span)


def _batch_norm_in_training(call: relax.Call, ndim: int) -> relax.Expr:
    data, gamma, beta, old_mean, old_variance = call.args
    momentum = call.attrs["momentum"]
    axes = [number for number in range(ndim) if number != call.attrs["axis"] % ndim]
    mean, variance = apply("mean", data, axis=axes), apply("variance", data, axis=axes)
    normal = _batch_norm(replace(call, args=(data, gamma, beta, mean, variance), struct_info=None), ndim)
    assert isinstance(normal, relax.Tuple)

    def moved(old: relax.Expr, new: relax.Expr) -> relax.Expr:
        return apply("add", apply("multiply", old, 1 - momentum), apply("multiply", new, momentum))

    fields = (normal.fields[0], moved(old_mean, mean), moved(old_variance, variance))
    return relax.Tuple(fields, span=call.span)


def _layer_norm(call: relax.Call, ndim: int) -> relax.Expr:
    """Return the normalized data. As in the operator, gamma and beta apply regardless of `scale` and `center`."""
    data, gamma, beta = call.args
    given = list(call.attrs["axes"])
    axes = [axis % ndim for axis in given]
    mean, variance = (apply(name, data, axis=given, keepdims=True) for name in ("mean", "variance"))
    scale, shift = _spread(gamma, axes, ndim), _spread(beta, axes, ndim)
    return _normal(data, mean, variance, call.attrs["epsilon"], scale, shift)


def _spread(value: relax.Expr, axes: Sequence[int], ndim: int) -> relax.Expr:
    """Expand a value over `axes` to the rank of the data. Values over the last axes broadcast without that."""
    others = [number for number in range(ndim) if number not in axes]
    is_last = all(axis >= len(others) for axis in axes)
    return value if is_last else apply("expand_dims", value, axis=others)


def _normal(
    data: relax.Expr,
    mean: relax.Expr,
    variance: relax.Expr,
    epsilon: float,
    scale: relax.Expr | None,
    shift: relax.Expr | None,
) -> relax.Expr:
    """Return (data - mean) / √(variance + epsilon) · scale + shift."""
    centred = apply("subtract", data, mean)
    result = apply("divide", centred, apply("sqrt", apply("add", variance, epsilon)))
    result = result if scale is None else apply("multiply", result, scale)
    return result if shift is None else apply("add", result, shift)
