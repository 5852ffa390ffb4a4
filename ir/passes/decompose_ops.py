"""Decompose normalization operators (TVM: `DecomposeOpsForInference`, `DecomposeOpsForTraining`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule, Op
from ..building.values import apply
from ..deep import deep
from ..diagnostics import error
from ..infer import infer_struct_info
from ..visit import substitute, walk
from .rewriter import ValueRewriter, forgotten, refined_variable
from .transform import declare_pass, map_functions

Rule: TypeAlias = Callable[[relax.Call, int], relax.Expr]
"""Function from a call and the rank of its data to the replacement of the call."""


@declare_pass("DecomposeOpsForInference")
@deep
def decompose_ops_for_inference(mod: IRModule, func_name: str | None = None) -> IRModule:
    """Decompose batch normalization using its moving mean and variance, regardless of its attribute `training`.

    `R.tensor_to_shape` becomes a call of "vm.builtin.tensor_to_shape", whose sizes are bound to variables. Applies to function `func_name`, or to all functions.

    Raises TvmsError E0905 if the function does not exist.
    """
    return _decompose(mod, func_name, {"relax.nn.batch_norm": _batch_norm}, names_sizes=True)


@declare_pass("DecomposeOpsForTraining")
@deep
def decompose_ops_for_training(mod: IRModule, func_name: str | None = None) -> IRModule:
    """Decompose batch and layer normalization using the mean and variance of the data, and update the moving ones.

    Applies to function `func_name`, or to all functions.

    Raises TvmsError E0905 if the function does not exist.
    """
    rules: dict[str, Rule] = {"relax.nn.batch_norm": _batch_norm_in_training, "relax.nn.layer_norm": _layer_norm}
    return _decompose(mod, func_name, rules)


def _decompose(mod: IRModule, func_name: str | None, rules: Mapping[str, Rule], names_sizes: bool = False) -> IRModule:
    def decomposed(function: relax.Function) -> relax.Function:
        changed = _Decomposer(function, rules, names_sizes).function(function)
        return function if changed is function else _with_known_sizes(changed)

    if func_name is None:
        return map_functions(mod, relax.Function, decomposed)
    function = mod.functions.get(func_name)
    if not isinstance(function, relax.Function):
        known = ", ".join(name for name, func in mod.functions.items() if isinstance(func, relax.Function))
        raise error("E0905", f"the module has no graph function '{func_name}'", help=f"it has {known}")
    return replace(mod, functions={**mod.functions, func_name: decomposed(function)})


def _with_known_sizes(function: relax.Function) -> relax.Function:
    """Return a function whose variables of shapes, and of tensors of these shapes, have the sizes of their values."""
    bindings = [node for node in walk(function) if isinstance(node, relax.VarBinding)]
    shapes = {binding.var: binding.value for binding in bindings if isinstance(binding.value, relax.ShapeExpr)}
    refined = {var: refined_variable(var, value) for var, value in shapes.items()}
    for var in [binding.var for binding in bindings]:
        info = var.struct_info
        if isinstance(info, relax.TensorStructInfo) and info.shape in shapes:
            refined[var] = replace(var, struct_info=replace(info, shape=shapes[info.shape]))  # type: ignore[reportArgumentType]
    changed = {var: new for var, new in refined.items() if new is not var}
    return forgotten(substitute(function, changed)) if changed else function


class _Decomposer(ValueRewriter):
    def __init__(self, function: relax.Function, rules: Mapping[str, Rule], names_sizes: bool) -> None:
        super().__init__(function)
        self._rules, self._names_sizes = rules, names_sizes

    def value(self, binding: relax.Binding) -> relax.Expr:
        call = binding.value
        if self._names_sizes and isinstance(call, relax.Call) and call.op == Op("relax.tensor_to_shape"):
            return self._shape(call)
        if not (isinstance(call, relax.Call) and isinstance(call.op, Op) and call.op.name in self._rules):
            return call
        info = infer_struct_info(call.args[0])
        if not isinstance(info, relax.TensorStructInfo) or info.ndim == -1 or info.dtype == "void":
            return call
        return self._rules[call.op.name](call, info.ndim)

    def _shape(self, call: relax.Call) -> relax.Expr:
        """Return the shape of variables that a match cast binds to the elements of a tensor; the call itself if their number is unknown."""
        info = infer_struct_info(call)
        if not isinstance(info, relax.ShapeStructInfo) or info.ndim == -1 or info.values is not None:
            return call
        args = relax.ExternFunc("vm.builtin.tensor_to_shape"), call.args[0]
        found = self.emit(relax.Call(Op("relax.call_pure_packed"), args, {}, (info,), struct_info=info, span=call.span))
        sizes = tuple([tir.Var("int64", "x") for _ in range(info.ndim)])
        known = replace(info, values=sizes)
        kind = relax.DataflowVar if self.in_dataflow else relax.Var
        self.append(relax.MatchCast(kind("y", struct_info=known), found, known, span=call.span))
        return relax.ShapeExpr(sizes, struct_info=known)


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
