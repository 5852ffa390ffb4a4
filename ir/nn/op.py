"""Functions of tensors for modules (TVM: `relax.frontend.nn.op`); each binds its result to a variable of its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from .. import relax, tir
from ..base import Attrs, BaseFunc, StructInfo
from ..building.values import apply, const, graph_value
from ..relax import Constant, ShapeExpr, TupleStructInfo
from . import operators
from .effects import io_effect
from .operators import *  # noqa: F403
from .operators import IntExpr as IntExpr
from .operators import OutType as OutType
from .sampling import multinomial_from_uniform, renormalize_top_p_top_k_prob, sample_top_p_top_k_from_sorted_prob
from .tensor import Tensor, builder, call, plain_values, wrap, wrap_nested

__all__ = [
    "arange", "astype", "conv1d", "conv1d_transpose", "conv2d", "conv3d", "debug_func", "empty", "extern", "full", "gelu", "get_timestep_embedding",
    "group_norm", "interpolate", "layer_norm", "multinomial_from_uniform", "ones", "pad", "permute_dims", "print_",
    "renormalize_top_p_top_k_prob", "sample_top_p_top_k_from_sorted_prob", "scaled_dot_product_attention", "squeeze", "tensor_expr_op",
    "tensor_ir_inplace_op", "tensor_ir_op", "where", "wrap_nested", "zeros",
]  # fmt: skip
__all__ += operators.__all__


def permute_dims(x: Tensor, axes: Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """Return `x` with its dimensions in the order `axes`, or reversed."""
    own = getattr(x.expr, "name_hint", "")
    return call(
        "permute_dims", name or (own.replace("linear", "matmul") if "linear" in own else "permute_dims"), x, axes
    )


def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """Return `x` without its dimension `axis`, which must be 1."""
    return call("squeeze", name, x, axis)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """Return `x` converted to `dtype`; `x` itself if it has that dtype."""
    return x if x.dtype == dtype else call("astype", name, x, dtype)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """Return the Gaussian error linear unit of `x`; `approximate` is "tanh" or None."""
    return call("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", name, x)


def where(condition: Tensor, x1: Tensor, x2: Tensor, name: str = "where") -> Tensor:
    """Return the elements of `x1` where `condition` is not zero, else those of `x2`."""
    return call("where", name, astype(condition, "bool"), x1, x2)


def full(shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full") -> Tensor:
    """Return a tensor of `shape` filled with a number or a tensor without dimensions."""
    value = const(fill_value, dtype) if isinstance(fill_value, int | float) else fill_value
    return call("full", name, shape, value, dtype)


def zeros(shape: Sequence[Any], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """Return a tensor of zeros."""
    return call("zeros", name, shape, dtype)


def ones(shape: Sequence[Any], dtype: str = "float32", name: str = "ones") -> Tensor:
    """Return a tensor of ones."""
    return call("ones", name, shape, dtype)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Tensor:
    """Return an uninitialized tensor."""
    return call("builtin.alloc_tensor", name, shape, dtype, 0)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: str = "float32", name: str = "arange") -> Tensor:
    """Return the numbers from `start` up to but not including `end`; with one bound, from 0 up to it."""
    return call("arange", name, start, end, step, dtype)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0, name: str = "pad") -> Tensor:
    """Return `x` with `pad` elements before and after each dimension."""
    return call("nn.pad", name, x, pad_width=pad, pad_mode=mode, pad_value=value)


# --- Convolutions and normalizations ----------------------------------------------------------------------------


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    name: str = "conv1d",
) -> Tensor:
    """Return the convolution of `x` over 1 dimension with `weight`, and `bias` added to each channel."""
    windows = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution("conv1d", x, weight, bias, data_layout, name, windows)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """Return the convolution of `x` over 2 dimensions with `weight`, and `bias` added to each channel."""
    windows = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution("conv2d", x, weight, bias, data_layout, name, windows)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """Return the convolution of `x` over 3 dimensions with `weight`, and `bias` added to each channel."""
    windows = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution("conv3d", x, weight, bias, data_layout, name, windows)


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """Return the transposed convolution of `x` with `weight`, and `bias` added to each channel."""
    windows = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    windows["output_padding"] = output_padding
    return _convolution("conv1d_transpose", x, weight, bias, "NCW", name, windows)


def _convolution(
    operator: str, x: Tensor, weight: Tensor, bias: Tensor | None, data_layout: str, name: str, windows: dict[str, Any]
) -> Tensor:
    result = apply(f"nn.{operator}", x.expr, weight.expr, **windows, data_layout=data_layout)
    if bias is not None:
        channel = [-1 if letter == "C" else 1 for letter in data_layout]
        result = apply("add", result, apply("reshape", bias.expr, channel))
    return wrap(result, name)


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """Return `x` normalized over its last dimensions, which are `normalized_shape`."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    gamma = weight if weight is not None else _filled(shape, 1, x.dtype)
    beta = bias if bias is not None else _filled(shape, 0, x.dtype)
    return call("nn.layer_norm", name, x, gamma, beta, axes=tuple(range(-len(shape), 0)), epsilon=eps)


def _filled(shape: tuple[int, ...], value: int, dtype: str) -> Constant:
    import numpy as np

    return const(np.full(shape, value), dtype)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: Sequence[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Return `x` normalized over `axes` and within `num_groups` groups of channels."""
    return call(
        "nn.group_norm", name, x, weight, bias, num_groups,
        channel_axis=channel_axis, axes=tuple(range(2, x.ndim)) if axes is None else axes, epsilon=eps,
    )  # fmt: skip


# --- Attention and images ---------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """Return softmax(query · key × scale) · value for tensors (batch, length, heads, width)."""
    mask = "TopLeft" if is_causal else None
    return call("nn.attention", name, query, key, value, causal_mask=mask, scale=scale)


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """Return images scaled to `size`, or by `scale_factor`; `mode` is "nearest", "bilinear" or "bicubic"."""
    lengths = [length for letter, length in zip(data_layout, x.shape, strict=True) if letter not in "NC"]
    if size is None:
        given = scale_factor if isinstance(scale_factor, Sequence) else [scale_factor or 1.0] * len(lengths)
        size = [int(length * factor) for length, factor in zip(lengths, given, strict=True)]
    method = "nearest_neighbor" if mode.startswith("nearest") else mode.removeprefix("bi")
    corners = "align_corners" if align_corners else "half_pixel"
    coordinates = "asymmetric" if method == "nearest_neighbor" else corners
    target = (size,) * len(lengths) if isinstance(size, int) else tuple(size)
    return call(
        "image.resize2d", name, x, target,
        layout=data_layout, method=method, coordinate_transformation_mode=coordinates,
    )  # fmt: skip


def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """Return sines and cosines of `x`, a vector, at `embedding_dim` frequencies (Ho et al., 2020)."""
    from math import log

    half = embedding_dim // 2
    numbers = apply("arange", 0, half, dtype="float32")
    exponent = apply("multiply", const(-log(max_period), "float32"), numbers)
    exponent = apply("divide", exponent, const(half - downscale_freq_shift, "float32"))
    steps = apply("expand_dims", apply("astype", x.expr, "float32"), 1)
    angle = apply("multiply", steps, apply("expand_dims", apply("exp", exponent), 0))
    if scale != 1:
        angle = apply("multiply", const(scale, "float32"), angle)
    waves = [apply("cos" if flip_sin_to_cos else "sin", angle), apply("sin" if flip_sin_to_cos else "cos", angle)]
    result = apply("concat", waves, axis=-1)
    if embedding_dim % 2:
        result = apply("nn.pad", result, (0, 0, 0, 1))
    from .tensor import get_default_dtype

    return wrap(apply("astype", result, get_default_dtype()), name)


# --- Functions of the loop level and outside --------------------------------------------------------------------


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any], name_hint: str, args: Sequence[Any], *, attrs: Attrs | None = None
) -> Any:
    """Return the result of `tensor_expr_func` on tensors of `te`."""
    given = plain_values(args)
    made = builder().call_te(tensor_expr_func, *given, primfunc_name_hint=name_hint, primfunc_attrs=attrs)
    return wrap(builder().emit(made), name_hint)


def tensor_ir_op(func: BaseFunc, name_hint: str, args: Any, out: Any) -> Any:
    """Return the outputs of the PrimFunc `func`, tensors like `out`. Scalars among `args` become its variables."""
    return _call_tir("call_tir", func, name_hint, args, out)


def tensor_ir_inplace_op(
    func: BaseFunc, name_hint: str, args: Any, inplace_indices: int | Sequence[int], out: Any
) -> Any:
    """Return the outputs of `func` like `tensor_ir_op`; each overwrites the argument of its index, or is new for -1.

    An overwritten argument must not be used afterwards.
    """
    places = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    return _call_tir("call_tir_inplace", func, name_hint, args, out, inplace_indices=places)


def _call_tir(op: str, func: BaseFunc, name_hint: str, args: Any, out: Any, **attrs: Any) -> Any:
    given = list(cast("Sequence[Any]", args)) if isinstance(args, list | tuple) else [args]
    tensors = [arg for arg in given if isinstance(arg, Tensor)]
    scalars = [arg for arg in given if not isinstance(arg, Tensor)]
    reference = builder().add_func(func, name_hint)
    variables = scalars[0] if scalars and isinstance(scalars[0], ShapeExpr) else tuple(scalars) or None
    made = apply(op, reference, plain_values(tensors), out_sinfo=_struct_info(out), tir_vars=variables, **attrs)
    return wrap(builder().emit(made), name_hint)


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """Return the outputs of the function registered as `name`, tensors like `out`."""
    values = tuple(graph_value(plain_values(arg)) for arg in args)
    return wrap(apply("call_dps_packed", name, values, _struct_info(out)), name)


def _struct_info(out: Any) -> StructInfo:
    if isinstance(out, Tensor):
        return out.struct_info
    infos = tuple(cast("Tensor", item).struct_info for item in out)
    return infos[0] if isinstance(out, list) and len(infos) == 1 else TupleStructInfo(infos)


# --- Debugging --------------------------------------------------------------------------------------------------


def debug_func(name: str, *args: Tensor | tir.PrimExpr | float | str, _line_info: str | None = None) -> None:
    """Call the function registered as `name` with the source line, such as "model.py:12", and `args`, when the program runs.

    RuntimeError unless the module is exported with `debug=True`.
    """
    effect = io_effect.get()
    if effect is None:
        raise RuntimeError("the module is exported without effects; pass debug=True to export_tvm")
    caller = sys._getframe(1)  # type: ignore[reportPrivateUsage]
    line = _line_info or f"{caller.f_code.co_filename}:{caller.f_lineno}"
    values = [relax.StringImm(line), *(_debug_value(arg) for arg in args)]
    info = relax.ObjectStructInfo()
    effect.effect = builder().emit(
        apply("call_pure_packed", "vm.builtin.invoke_debug_func", effect.effect, name, *values, sinfo_args=info), "_io"
    )


def _debug_value(arg: Any) -> relax.Expr:
    if isinstance(arg, float):
        return relax.PrimValue(tir.FloatImm("float64", arg))
    return graph_value(plain_values(arg))


def print_(tensor: Tensor) -> None:
    """Print `tensor` when the program runs; RuntimeError unless the module is exported with `debug=True`."""
    caller = sys._getframe(1)  # type: ignore[reportPrivateUsage]
    debug_func("vm.builtin.debug_print", tensor, _line_info=f"{caller.f_code.co_filename}:{caller.f_lineno}")
