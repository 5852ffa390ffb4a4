"""Modules of graph-level values, without the tensors of `relax.frontend.nn` (TVM: `relax.testing.nn`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from .... import relax
from ....base import IRModule
from ....building.block_builder import BlockBuilder
from ....building.values import apply, dimension
from ....nn.subroutine import SubroutineMixin
from ....nn.tensor import builder
from ....ops.inference import tensor_info
from ... import topi


def emit(expr: relax.Expr, name_hint: str = "") -> relax.Var:
    """Bind a value in the function that is being built."""
    return builder().emit(expr, name_hint)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> relax.Var:
    """Bind the result of a function of tensors in the function that is being built."""
    return builder().emit_te(func, *args, **kwargs)


def checkpoint(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `func(*args, **kwargs)`, whose inner values the gradient computes again; `func` emits nothing."""
    given = [_marked("start", arg) for arg in args]
    return _of_each(
        func(*given, **{key: _marked("start", arg) for key, arg in kwargs.items()}), lambda v: _marked("end", v)
    )


def emit_checkpoint(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `func(*args, **kwargs)`, whose inner values the gradient computes again; `func` emits its values."""
    given = [_emitted("start", arg, "scp") for arg in args]
    result = func(*given, **{key: _emitted("start", arg, "scp") for key, arg in kwargs.items()})
    return _of_each(result, lambda value: _emitted("end", _bound(value), "ecp"))


def emit_checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int | Sequence[int],
    input: relax.Var,
    checkpoint_last: bool = False,
) -> relax.Var:
    """Apply functions in order, in segments with a checkpoint each, except the last unless `checkpoint_last`.

    `segments` is their number, or where they start.
    """
    count = len(functions)
    starts = list(range(0, count, count // segments)) if isinstance(segments, int) else list(segments)
    bounds = starts if starts[-1] == count else [*starts, count]
    value: Any = input
    for place, (start, end) in enumerate(pairwise(bounds)):
        run = _composed(functions[start:end])
        is_last = place == len(bounds) - 2
        value = run(value) if is_last and not checkpoint_last else emit_checkpoint(run, value)
    return _bound(value)


def _composed(functions: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run


def _marked(side: str, value: Any) -> Any:
    return apply(f"grad.{side}_checkpoint", value) if isinstance(value, relax.Expr) else value


def _emitted(side: str, value: Any, suffix: str) -> Any:
    return emit(_marked(side, value), f"{value.name_hint}_{suffix}") if isinstance(value, relax.Var) else value


def _bound(value: Any) -> Any:
    return emit(value) if isinstance(value, relax.Expr) and not isinstance(value, relax.Var) else value


def _of_each(result: Any, function: Callable[[Any], Any]) -> Any:
    return (
        [function(value) for value in cast("Sequence[Any]", result)]
        if isinstance(result, list | tuple)
        else function(result)
    )


def Placeholder(shape: Sequence[Any], dtype: str = "float32", name: str = "data") -> relax.Var:
    """Return an input of a function; TypeError unless the shape is a list or a tuple."""
    return _variable(shape, dtype, name)


def Parameter(shape: Sequence[Any], dtype: str = "float32", name: str = "param") -> relax.Var:
    """Return a weight of a module; TypeError unless the shape is a list or a tuple."""
    return _variable(shape, dtype, name)


def _variable(shape: Sequence[Any], dtype: str, name: str) -> relax.Var:
    if not isinstance(cast("object", shape), list | tuple):
        raise TypeError(f"the shape is a list or a tuple, not {shape!r}")
    current = BlockBuilder.current()
    unique = name if current is None else current.get_unique_name(name)
    return relax.Var(unique, struct_info=tensor_info([dimension(size) for size in shape], dtype))


class Module(SubroutineMixin):
    """A part of a network. Its weights are the variables in its attributes; subclasses define `forward`."""

    def parameters(self) -> list[relax.Var]:
        """Return the weights of the module and of the modules in its attributes."""
        return _weights(vars(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = getattr(self, "forward", None)
        if forward is None:
            raise TypeError(f"'{type(self).__name__}' has no method 'forward'")
        return forward(*args, **kwargs)


def _weights(value: Any) -> list[relax.Var]:
    match value:
        case relax.Var():
            return [value]
        case Module():
            return value.parameters()
        case dict():
            return [weight for part in cast("Mapping[Any, Any]", value).values() for weight in _weights(part)]
        case list() | tuple():
            return [weight for part in cast("Sequence[Any]", value) for weight in _weights(part)]
        case _:
            return []


def init_params(mod: IRModule) -> list[Any]:
    """Return zeros for all parameters of `main` but those named `data…`; TypeError for a shape that is not constant."""
    import numpy as np

    params = [param for param in cast("relax.Function", mod["main"]).params if not param.name_hint.startswith("data")]
    infos = [param.struct_info for param in params]
    shapes = [info.shape if isinstance(info, relax.TensorStructInfo) else None for info in infos]
    sizes = [
        [getattr(size, "value", None) for size in shape.values]
        for shape in shapes
        if isinstance(shape, relax.ShapeExpr)
    ]
    if len(sizes) < len(params) or any(size is None for shape in sizes for size in shape):
        raise TypeError("a parameter has a shape that is not constant; give its values")
    return [np.zeros(cast("Any", shape), "float32") for shape in sizes]


class Sequential(Module):
    """Modules that are applied in order."""

    def __init__(self, *modules: Module) -> None:
        self.modules = modules

    def forward(self, input: Any) -> Any:
        for module in self.modules:
            input = module(input)
        return input


class ReLU(Module):
    """`max(x, 0)`."""

    def forward(self, input: Any) -> relax.Var:
        return emit_te(topi.nn.relu, input)


class LogSoftmax(Module):
    """The logarithm of the softmax."""

    def forward(self, input: Any) -> relax.Var:
        return emit_te(topi.nn.log_softmax, input)


class Linear(Module):
    """`x @ weight + bias`."""

    def __init__(self, in_features: Any, out_features: Any, bias: bool = True) -> None:
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter((in_features, out_features), name="linear_weight")
        self.bias = Parameter((out_features,), name="linear_bias") if bias else None

    def forward(self, input: Any) -> relax.Var:
        product = emit_te(topi.matmul, input, self.weight)
        return product if self.bias is None else emit_te(topi.add, product, self.bias)
