"""Layers of neural networks (TVM: `relax.frontend.nn.modules`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import op
from .core import Module, ModuleList
from .effects import IOEffect as IOEffect
from .effects import KVCache as KVCache
from .tensor import Parameter, Tensor


class Identity(Module):
    """Returns its argument."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class ReLU(Module):
    """`max(x, 0)`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.relu(x)


class SiLU(Module):
    """`x * sigmoid(x)`."""

    def forward(self, x: Tensor) -> Tensor:
        return op.silu(x)


class GELU(Module):
    """The Gaussian error linear unit."""

    def forward(self, x: Tensor) -> Tensor:
        return op.gelu(x)


class Linear(Module):
    """`x @ weight.T + bias`, for `x` of shape (…, in_features)."""

    def __init__(
        self,
        in_features: Any,
        out_features: Any,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:
        self.in_features = in_features
        self.out_features = out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the weight, and of the bias unless `out_dtype` determines it."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class _Convolution(Module):
    """A convolution over `_spatial` dimensions; the kernel is (out, in / groups, …)."""

    _spatial = 1
    _layout = "NCW"

    def __init__(
        self,
        in_channels: Any,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "",
    ) -> None:
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.data_layout = data_layout or self._layout
        window = [kernel_size] * self._spatial if isinstance(kernel_size, int) else list(kernel_size)
        self.weight = Parameter([out_channels, in_channels // groups, *window], dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        convolution = {1: op.conv1d, 2: op.conv2d, 3: op.conv3d}[self._spatial]
        windows = (self.stride, self.padding, self.dilation, self.groups, self.data_layout)
        return convolution(x, self.weight, self.bias, *windows)


class Conv1D(_Convolution):
    """A convolution of (batch, channels, width)."""


class Conv2D(_Convolution):
    """A convolution of (batch, channels, height, width), or of `data_layout`."""

    _spatial = 2
    _layout = "NCHW"


class Conv3D(_Convolution):
    """A convolution of (batch, channels, depth, height, width), or of `data_layout`."""

    _spatial = 3
    _layout = "NCDHW"


class ConvTranspose1D(Module):
    """A transposed convolution of (batch, channels, width); the kernel is (in, out / groups, window)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self._windows = (stride, padding, output_padding, dilation, groups)
        self.weight = Parameter((in_channels, out_channels // groups, kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return op.conv1d_transpose(x, self.weight, self.bias, *self._windows)


class LayerNorm(Module):
    """Normalizes over the last dimension, of size `normalized_shape`."""

    def __init__(
        self, normalized_shape: int, eps: float = 1e-5, elementwise_affine: bool = True, dtype: str | None = None
    ) -> None:
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Divides by the root mean square over `axes`."""

    def __init__(
        self,
        hidden_size: int,
        axes: int | Sequence[int],
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.axes = axes
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        result = op.rms_norm(x, self.weight, axes=self.axes, epsilon=self.epsilon)
        return result if self.bias is None else op.add(result, self.bias)


class GroupNorm(Module):
    """Normalizes within groups of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: str | None = None
    ) -> None:
        self.num_groups = num_groups
        self.eps = eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: Sequence[int] | None = None) -> Tensor:
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class Embedding(Module):
    """Looks up the rows of a table for a tensor of indices."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None) -> None:
        self.num = num
        self.dim = dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, shape=[-1]), axis=0)
        return op.reshape(rows, shape=[*x.shape, self.dim])


class Attention(Module):
    """Self-attention or cross-attention with `heads` heads over (batch, length, query_dim)."""

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
    ) -> None:
        inner, other = dim_head * heads, cross_attention_dim or query_dim
        self.heads = heads
        self.dim_head = dim_head
        self.to_q = Linear(query_dim, inner, bias)
        self.to_k = Linear(other, inner, bias)
        self.to_v = Linear(other, inner, bias)
        self.group_norm = None if norm_num_groups is None else GroupNorm(norm_num_groups, query_dim)
        self.to_out = ModuleList([Linear(inner, query_dim, out_bias)])

    def forward(self, hidden_states: Tensor, encoder_hidden_states: Tensor | None = None) -> Tensor:
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        source = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        projected = self.to_q(hidden_states), self.to_k(source), self.to_v(source)
        query, key, value = (op.reshape(x, [0, -1, self.heads, self.dim_head]) for x in projected)
        attended = op.scaled_dot_product_attention(query, key, value)
        return self.to_out[0](op.reshape(attended, [0, -1, self.heads * self.dim_head]))


class TimestepEmbedding(Module):
    """Two linear layers with SiLU in between, applied to the embedding of a time step.

    With `cond_proj_dim`, the projection of a condition of that size is added first; with `post_act_fn`, SiLU follows. ValueError
    for other activations.
    """

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:
        if act_fn != "silu" or post_act_fn not in (None, "silu"):
            raise ValueError(f'the activation is "silu", not {act_fn!r} or {post_act_fn!r}')
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = None if cond_proj_dim is None else Linear(cond_proj_dim, in_channels, bias=False)
        self.act = SiLU()
        self.linear_2 = Linear(time_embed_dim, out_dim or time_embed_dim)
        self.post_act = None if post_act_fn is None else SiLU()

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        if condition is not None and self.cond_proj is not None:
            sample = sample + self.cond_proj(condition)
        result = self.linear_2(self.act(self.linear_1(sample)))
        return result if self.post_act is None else self.post_act(result)


class Timesteps(Module):
    """Sines and cosines of time steps."""

    def __init__(self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1) -> None:
        self._arguments = (num_channels, flip_sin_to_cos, downscale_freq_shift)

    def forward(self, x: Tensor) -> Tensor:
        return op.get_timestep_embedding(x, *self._arguments)
