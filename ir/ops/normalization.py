"""Normalizations and dropout (TVM: `relax/op/nn`)."""

from __future__ import annotations

from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import TensorStructInfo, TupleStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, dims_of, float_like_first
from .registry import Param, RelaxOp, register

_EPSILON = Param("epsilon", "float", 1e-5)
_CENTER = Param("center", "bool", True)
_SCALE = Param("scale", "bool", True)


def _check_parameters(a: Inference, info: TensorStructInfo, axes: tuple[int, ...], *names: str) -> None:
    """Check that the parameters `names` have the dimensions of the data along `axes` (E0323, E0326)."""
    dims = dims_of(info)
    for name in names:
        parameter = a.rank(name, len(axes))
        own = dims_of(parameter)
        for axis, dim in zip(axes, own or (), strict=False):
            if dims is not None:
                both = f"'{name}' is {d.show(own or ())}, but axis {axis} of 'data' is {d.show_one(dims[axis])}"
                a.check_equal(dims[axis], dim, f"needs parameters of the shape of the axes that they scale: {both}")


def _infer_norm(*names: str) -> Any:
    def infer(a: Inference) -> StructInfo:
        info = a.float_tensor("data")
        if info.ndim != -1:
            _check_parameters(a, info, a.axes(a.attr("axes"), info.ndim), *names)
        return info

    return infer


def _moments_axes(a: Any) -> tuple[list[int], tir.PrimExpr]:
    axes = topi.normal_axes(a.axes, a.data.ndim)
    return axes, topi.count(a.data, axes)


def _kept(index: tuple[tir.PrimExpr, ...], axes: list[int]) -> list[tir.PrimExpr]:
    return [i for number, i in enumerate(index) if number not in axes]


def _layer_norm(a: Any) -> te.Tensor:
    """Return the mean, and the mean square of the deviations from it, both in float32."""
    x: te.Tensor = a.data
    axes, size = _moments_axes(a)
    wide = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    count = te.cast(size, wide)
    inner = topi.reduce_axes(x, axes)
    shape = topi.reduced_shape(x, axes, False)

    def item(ax: tuple[tir.PrimExpr, ...], reduced: list[tir.IterVar]) -> tir.PrimExpr:
        return te.cast(x(*topi.source_index(ax, axes, reduced, x.ndim, False)), wide)

    total = te.compute(shape, lambda *ax: te.sum(item(ax, inner), axis=inner), f"{x.name}_sum")
    mean = te.compute(shape, lambda *ax: total(*ax) / count, f"{x.name}_mean")
    again = topi.reduce_axes(x, axes)
    squares = te.compute(
        shape,
        lambda *ax: te.sum((item(ax, again) - mean(*ax)) * (item(ax, again) - mean(*ax)), axis=again),
        f"{x.name}_var_sum",
    )

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        kept, own = _kept(ax, axes), [ax[axis] for axis in axes]
        variance = squares(*kept) / count
        normal = (te.cast(x(*ax), wide) - mean(*kept)) * te.rsqrt(variance + te.const(a.epsilon, wide))
        return te.cast(normal, x.dtype) * a.gamma(*own) + a.beta(*own)

    return te.compute(x.dims, value, "T_layer_norm")


def _numpy_normal(np: Any, x: Any, axes: Any, epsilon: float) -> Any:
    wide = x.astype("float32") if x.dtype.itemsize == 2 else x
    mean = wide.mean(axes, keepdims=True)
    variance = ((wide - mean) ** 2).mean(axes, keepdims=True)
    return ((wide - mean) / np.sqrt(variance + epsilon)).astype(x.dtype)


def _shaped(np: Any, parameter: Any, axes: Any, ndim: int) -> Any:
    shape = iter(parameter.shape)
    places = {axis % ndim for axis in axes}
    return parameter.reshape([next(shape) if number in places else 1 for number in range(ndim)])


def _numpy_layer_norm(np: Any, a: Any) -> Any:
    axes = tuple(a.axes)
    gamma, beta = (_shaped(np, parameter, axes, a.data.ndim) for parameter in (a.gamma, a.beta))
    return _numpy_normal(np, a.data, axes, a.epsilon) * gamma + beta


register(
    RelaxOp(
        "relax.nn.layer_norm",
        (Param("data"), Param("gamma"), Param("beta"), Param("axes", "ints"), _EPSILON, _CENTER, _SCALE),
        _infer_norm("gamma", "beta"),
        "Normalize `data` to mean 0 and variance 1 over `axes`, multiply by `gamma` and add `beta`.",
        _numpy_layer_norm,
        _layer_norm,
    )
)


def _rms_norm(a: Any) -> te.Tensor:
    x: te.Tensor = a.data
    axes, size = _moments_axes(a)
    wide = "float32" if x.dtype == "float16" else x.dtype

    def cast(t: te.Tensor, dtype: str) -> te.Tensor:
        return te.compute(t.dims, lambda *ax: te.cast(t(*ax), dtype), "T_cast")

    data = cast(x, wide)
    squares = topi.reduce(topi.multiply(data, data), axes, False, te.sum)
    root = te.compute(
        squares.dims,
        lambda *ax: te.rsqrt(squares(*ax) / te.cast(size, wide) + te.const(a.epsilon, wide)),
        "rsqrt",
    )
    weight = cast(a.weight, wide)

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        return root(*_kept(ax, axes)) * data(*ax) * weight(*(ax[axis] for axis in axes))

    return cast(te.compute(x.dims, value, "T_rms_norm"), x.dtype)


def _numpy_rms_norm(np: Any, a: Any) -> Any:
    axes = tuple(a.axes)
    wide = a.data.astype("float32") if a.data.dtype == "float16" else a.data
    scale = 1 / np.sqrt((wide * wide).mean(axes, keepdims=True) + a.epsilon)
    weight = _shaped(np, a.weight, axes, a.data.ndim)
    return (wide * scale * weight.astype(wide.dtype)).astype(a.data.dtype)


register(
    RelaxOp(
        "relax.nn.rms_norm",
        (Param("data"), Param("weight"), Param("axes", "ints", -1), _EPSILON),
        _infer_norm("weight"),
        "Divide `data` by its root mean square over `axes` and multiply by `weight`.",
        _numpy_rms_norm,
        _rms_norm,
    )
)


def _infer_batch_norm(a: Inference) -> StructInfo:
    info = a.float_tensor("data")
    names = ("gamma", "beta", "moving_mean", "moving_var")
    if info.ndim != -1:
        _check_parameters(a, info, (a.axis(a.attr("axis"), info.ndim),), *names)
    return TupleStructInfo((info, a.tensor("moving_mean"), a.tensor("moving_var")))


def _batch_norm(a: Any) -> tuple[te.Tensor, ...]:
    x: te.Tensor = a.data
    axis = a.axis % x.ndim
    others = [number for number in range(x.ndim) if number != axis]
    one = d.dim(1)
    shape = [dim if number == axis else one for number, dim in enumerate(x.dims)]

    def spread(t: te.Tensor) -> te.Tensor:
        return topi.reshape(t, shape)

    count = te.cast(topi.count(x, others), x.dtype)
    mean, variance = a.moving_mean, a.moving_var
    if a.training:
        mean = topi.divide(topi.reduce(x, others, False, te.sum), count)
        deviation = topi.subtract(x, spread(mean))
        squares = topi.reduce(topi.multiply(deviation, deviation), others, False, te.sum)
        variance = topi.divide(squares, count)
    centred = topi.subtract(x, spread(mean))
    root = topi.elementwise(topi.add(spread(variance), te.const(a.epsilon, x.dtype)), te.sqrt)
    result = topi.divide(centred, root)
    if a.scale:
        result = topi.multiply(result, spread(a.gamma))
    if a.center:
        result = topi.add(result, spread(a.beta))
    if not a.training:
        unit = te.const(1, x.dtype)
        return result, topi.multiply(a.moving_mean, unit), topi.multiply(a.moving_var, unit)

    def moved(old: te.Tensor, new: te.Tensor) -> te.Tensor:
        kept = topi.multiply(old, te.const(1 - a.momentum, x.dtype))
        return topi.add(kept, topi.multiply(new, te.const(a.momentum, x.dtype)))

    return result, moved(a.moving_mean, mean), moved(a.moving_var, variance)


def _numpy_batch_norm(np: Any, a: Any) -> Any:
    axis = a.axis % a.data.ndim
    others = tuple(number for number in range(a.data.ndim) if number != axis)

    def spread(value: Any) -> Any:
        return _shaped(np, value, (axis,), a.data.ndim)

    mean = a.data.mean(others) if a.training else a.moving_mean
    variance = a.data.var(others) if a.training else a.moving_var
    result = (a.data - spread(mean)) / np.sqrt(spread(variance) + a.epsilon)
    result = result * spread(a.gamma) if a.scale else result
    result = result + spread(a.beta) if a.center else result
    if not a.training:
        return result.astype(a.data.dtype), a.moving_mean, a.moving_var
    moved = [
        ((1 - a.momentum) * old + a.momentum * new).astype(a.data.dtype)
        for old, new in ((a.moving_mean, mean), (a.moving_var, variance))
    ]
    return (result.astype(a.data.dtype), *moved)


register(
    RelaxOp(
        "relax.nn.batch_norm",
        (
            Param("data"),
            Param("gamma"),
            Param("beta"),
            Param("moving_mean"),
            Param("moving_var"),
            Param("axis", "int"),
            _EPSILON,
            _CENTER,
            _SCALE,
            Param("momentum", "float", 0.1),
            Param("training", "bool", True),
        ),
        _infer_batch_norm,
        "Normalize `data` over all axes except `axis`; return it with the moving mean and variance.",
        _numpy_batch_norm,
        _batch_norm,
    )
)


def _infer_group_norm(a: Inference) -> StructInfo:
    info = a.float_tensor("data")
    if info.ndim == -1:
        return info
    axis = a.axis(a.attr("channel_axis"), info.ndim)
    if axis in a.axes(a.attr("axes"), info.ndim):
        raise a.fail("E0325", f"names the channel axis {axis} among 'axes'", "list the other axes to normalize over")
    if a.attr("num_groups") < 1:
        raise a.fail("E0321", f"cannot have {a.attr('num_groups')} groups", "give a positive number")
    dims, groups = dims_of(info), a.attr("num_groups")
    if dims is not None:
        a.check_multiple(dims[axis], groups, f"cannot split {d.show_one(dims[axis])} channels into {groups} groups")
    _check_parameters(a, info, (axis,), "gamma", "beta")
    return info


def _grouped(np: Any, a: Any) -> Any:
    axis = a.channel_axis % a.data.ndim
    shape = a.data.shape
    groups = a.data.reshape((*shape[:axis], a.num_groups, shape[axis] // a.num_groups, *shape[axis + 1 :]))
    axes = [number % a.data.ndim for number in a.axes]
    inner = (axis + 1, *(number + 1 if number > axis else number for number in axes))
    normal = _numpy_normal(np, groups, inner, a.epsilon).reshape(shape)
    gamma, beta = (_shaped(np, parameter, (axis,), a.data.ndim) for parameter in (a.gamma, a.beta))
    return normal * gamma + beta


def _two_zeros(first: str, second: str) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    return te.const(0, first), te.const(0, second)


def _group_norm(a: Any) -> te.Tensor:
    x: te.Tensor = a.data
    axis: int = a.channel_axis % x.ndim
    width = d.floordiv(x.dims[axis], a.num_groups)
    groups = d.dim(a.num_groups)
    data = topi.reshape(x, [*x.dims[:axis], groups, width, *x.dims[axis + 1 :]])
    axes = sorted([axis + 1, *(n + 1 if n > axis else n for n in (number % x.ndim for number in a.axes))])
    count = te.cast(topi.count(data, axes), x.dtype)
    inner = topi.reduce_axes(data, axes)
    add_both = te.comm_reducer(lambda p, q: (p[0] + q[0], p[1] + q[1]), _two_zeros)

    def sums(*ax: tir.PrimExpr) -> Any:
        item = data(*topi.source_index(ax, axes, inner, data.ndim, False))
        return add_both((item, item * item), axis=inner)

    total, squares = te.compute(topi.reduced_shape(data, axes, False), sums, f"{x.name}_red_temp")
    gamma, beta = (topi.reshape(parameter, [groups, width]) for parameter in (a.gamma, a.beta))

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        kept, own = _kept(ax, axes), (ax[axis], ax[axis + 1])
        mean = total(*kept) / count
        variance = squares(*kept) / count - mean * mean
        normal = (data(*ax) - mean) * te.rsqrt(variance + te.const(a.epsilon, x.dtype))
        return normal * gamma(*own) + beta(*own)

    return topi.reshape(te.compute(data.dims, value, "T_group_norm"), x.dims)


register(
    RelaxOp(
        "relax.nn.group_norm",
        (
            Param("data"),
            Param("gamma"),
            Param("beta"),
            Param("num_groups", "int"),
            Param("channel_axis", "int"),
            Param("axes", "ints"),
            _EPSILON,
            _CENTER,
            _SCALE,
        ),
        _infer_group_norm,
        "Normalize `data` over each group of channels and over `axes`.",
        _grouped,
        _group_norm,
    )
)


def _infer_instance_norm(a: Inference) -> StructInfo:
    info = a.float_tensor("data")
    if info.ndim != -1:
        a.axes(a.attr("axes"), info.ndim)
        _check_parameters(a, info, (a.axis(a.attr("channel_axis"), info.ndim),), "gamma", "beta")
    return info


def _numpy_instance_norm(np: Any, a: Any) -> Any:
    gamma, beta = (_shaped(np, parameter, (a.channel_axis,), a.data.ndim) for parameter in (a.gamma, a.beta))
    return _numpy_normal(np, a.data, tuple(a.axes), a.epsilon) * gamma + beta


def _instance_norm(a: Any) -> te.Tensor:
    x: te.Tensor = a.data
    axes, size = _moments_axes(a)
    channel_axis: int = a.channel_axis % x.ndim
    count = te.cast(size, x.dtype)
    mean = topi.divide(topi.reduce(x, axes, True, te.sum), count)
    deviation = topi.subtract(x, mean)
    variance = topi.divide(topi.reduce(topi.multiply(deviation, deviation), axes, True, te.sum), count)

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        channel = ax[channel_axis]
        scale = te.rsqrt(topi.element(variance, ax, x.dims) + te.const(a.epsilon, x.dtype))
        return deviation(*ax) * scale * a.gamma(channel) + a.beta(channel)

    return te.compute(x.dims, value, "T_instance_norm")


register(
    RelaxOp(
        "relax.nn.instance_norm",
        (
            Param("data"),
            Param("gamma"),
            Param("beta"),
            Param("channel_axis", "int"),
            Param("axes", "ints"),
            _EPSILON,
            _CENTER,
            _SCALE,
        ),
        _infer_instance_norm,
        "Normalize each channel of `data` over `axes`.",
        _numpy_instance_norm,
        _instance_norm,
    )
)


def _infer_dropout(a: Inference) -> StructInfo:
    info = float_like_first(a)
    return TupleStructInfo((info, info))


def _dropout(a: Any) -> tuple[te.Tensor, ...]:
    kept = te.compute(a.data.dims, lambda *i: a.data(*i), "T_dropout")
    return kept, te.compute(a.data.dims, lambda *i: te.const(1, a.data.dtype), "T_dropout_mask")


register(
    RelaxOp(
        "relax.nn.dropout",
        (Param("data"), Param("rate", "float", 0.5)),
        _infer_dropout,
        "Drop random elements in training; return `data` and the mask of kept elements. Inference drops nothing.",
        lambda np, a: (a.data, np.ones_like(a.data)),
        _dropout,
    )
)
