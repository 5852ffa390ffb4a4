"""Gradients of activations, losses, convolutions and pooling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .. import relax
from ..building.values import apply
from ..diagnostics import error
from ..ops import dims as d
from .gradient_rules import Rule, info_of, number, shape_of


def _softmax(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    total = apply("sum", g * y, axis=[call.attrs["axis"]], keepdims=True)
    return [(g - total) * y]


def _log_softmax(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    total = apply("sum", g, axis=[call.attrs["axis"]], keepdims=True)
    return [g - total * apply("exp", y)]


def _relu(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    x = call.args[0]
    return [apply("where", x > number(0, x), g, number(0, g))]


def _leakyrelu(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    x = call.args[0]
    return [apply("where", x > number(0, x), g, g * number(call.attrs["alpha"], g))]


def _silu(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    x = call.args[0]
    gate = apply("sigmoid", x)
    return [g * (gate + y * (number(1, x) - gate))]


def _gelu(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    """Return the gradient of x · Φ(x), with the normal distribution's Φ: its derivative is Φ(x) + x · φ(x)."""
    x = call.args[0]
    below = (number(1, x) + apply("erf", x * number(math.sqrt(0.5), x))) * number(0.5, x)
    density = apply("exp", x * x * number(-0.5, x)) * number(1 / math.sqrt(2 * math.pi), x)
    return [g * (below + x * density)]


def _softplus(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    x, beta, threshold = call.args[0], call.attrs["beta"], call.attrs["threshold"]
    scaled = x * number(beta, x)
    return [apply("where", scaled > number(threshold, x), g, g * apply("sigmoid", scaled))]


def _cross_entropy(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    """Return the mean over the batch, if there is a batch."""
    x, labels = call.args
    if info_of(x).ndim > 1:
        batch = d.value_of(shape_of(x).values[0])
        if batch is None:
            raise error("E0908", "the gradient of a loss over a symbolic batch is not supported")
        g = g / number(batch, g)
    return [-g * labels, -g * x]


def _nll_loss(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    return [apply("grad.nll_loss_backward", g, *call.args, **call.attrs)]


def _pool2d(kind: str) -> Rule:
    def rule(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
        return [apply(f"grad.{kind}_pool2d_backward", g, call.args[0], **call.attrs)]

    return rule


def _conv2d(call: relax.Call, y: relax.Var, g: relax.Expr) -> Sequence[Any]:
    """Return the gradients of a convolution in layout NCHW.

    That of the data is a transposed convolution, that of the weights a convolution of the data with the gradient.
    """
    attrs = call.attrs
    layouts = attrs["data_layout"], attrs["kernel_layout"], attrs["out_layout"]
    if layouts != ("NCHW", "OIHW", "NCHW"):
        raise error("E0908", "the gradient of R.nn.conv2d is only supported for the layouts NCHW and OIHW")
    data, weight = call.args
    sizes = [[d.value_of(dim) for dim in shape_of(value).values[2:]] for value in (data, weight, y)]
    if any(size is None for members in sizes for size in members):
        raise error("E0908", "the gradient of R.nn.conv2d on images of symbolic size is not supported")
    inputs, windows, outputs = [[size or 0 for size in members] for members in sizes]
    strides, padding, dilation = attrs["strides"], attrs["padding"], attrs["dilation"]
    around = [padding[n] + padding[n + 2] for n in (0, 1)]
    spans = [(windows[n] - 1) * dilation[n] + 1 for n in (0, 1)]
    missing = [inputs[n] - ((outputs[n] - 1) * strides[n] - around[n] + spans[n]) for n in (0, 1)]
    of_data = apply(
        "nn.conv2d_transpose", g, weight, strides=strides, padding=padding, output_padding=missing, dilation=dilation,
        groups=attrs["groups"], data_layout="NCHW", kernel_layout="IOHW", out_layout="NCHW",
    )  # fmt: skip
    turned = [_channels_first(data, attrs["groups"]), apply("permute_dims", g, axes=[1, 0, 2, 3])]
    of_weight = apply("nn.conv2d", *turned, strides=dilation, padding=padding, dilation=strides, groups=attrs["groups"])
    of_weight = apply("permute_dims", of_weight, axes=[1, 0, 2, 3])
    begin = [0, 0]
    if [d.value_of(dim) for dim in shape_of(of_weight).values[2:]] != windows:
        of_weight = apply("strided_slice", of_weight, axes=[2, 3], begin=begin, end=windows)
    return [of_data, of_weight]


def _channels_first(data: relax.Expr, groups: int) -> relax.Expr:
    """Return data (N, groups · C, H, W) as (C, groups · N, H, W)."""
    if groups == 1:
        return apply("permute_dims", data, axes=[1, 0, 2, 3])
    batch, channels, *image = shape_of(data).values
    split = apply("reshape", data, (batch, groups, d.floordiv(channels, groups), *image))
    turned = apply("permute_dims", split, axes=[2, 1, 0, 3, 4])
    return apply("reshape", turned, (d.floordiv(channels, groups), d.multiply(batch, groups), *image))


NETWORK_RULES: Mapping[str, Rule] = {
    "nn.relu": _relu,
    "nn.leakyrelu": _leakyrelu,
    "nn.silu": _silu,
    "nn.gelu": _gelu,
    "nn.softplus": _softplus,
    "nn.softmax": _softmax,
    "nn.log_softmax": _log_softmax,
    "nn.cross_entropy_with_logits": _cross_entropy,
    "nn.nll_loss": _nll_loss,
    "nn.conv2d": _conv2d,
    "nn.max_pool2d": _pool2d("max"),
    "nn.avg_pool2d": _pool2d("avg"),
}
