"""`tvms.relax.op.nn`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.relax
def adaptive_avg_pool1d(data: tvms.ir.relax.Expr, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the means of windows such that the result has `output_size`, in 1D."""
def adaptive_avg_pool2d(data: tvms.ir.relax.Expr, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the means of windows such that the result has `output_size`, in 2D."""
def adaptive_avg_pool3d(data: tvms.ir.relax.Expr, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the means of windows such that the result has `output_size`, in 3D."""
def attention(query: tvms.ir.relax.Expr, key: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr, bias: tvms.ir.relax.Expr | None = None, scale: builtins.float | None = None, causal_mask: builtins.str | None = None, window_size: builtins.int | None = None) -> tvms.ir.relax.Expr:
    """Return softmax(query · key × scale) · value, for each head; with a bias it is `R.nn.attention_bias`."""
def attention_bias(query: tvms.ir.relax.Expr, key: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr, bias: tvms.ir.relax.Expr, scale: builtins.float | None = None, causal_mask: builtins.str | None = None, window_size: builtins.int | None = None) -> tvms.ir.relax.Expr:
    """Return softmax(query · key × scale + bias) · value, for each head."""
def attention_var_len(queries: tvms.ir.relax.Expr, keys: tvms.ir.relax.Expr, values: tvms.ir.relax.Expr, seqstart_q: tvms.ir.relax.Expr, max_seqlen_q: tvms.ir.relax.Expr, seqstart_k: tvms.ir.relax.Expr | None = None, max_seqlen_k: tvms.ir.relax.Expr | None = None, scale: builtins.float | None = None, causal_mask: builtins.str | None = None, window_size: builtins.int | None = None) -> tvms.ir.relax.Expr:
    """Return attention over packed sequences of different lengths: `seqstart_q` and `seqstart_k` hold the start of each sequence and the end of the last one."""
def avg_pool1d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the mean of every window of `data` in 1D."""
def avg_pool2d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the mean of every window of `data` in 2D."""
def avg_pool3d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the mean of every window of `data` in 3D."""
def batch_flatten(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Flatten all dimensions of `data` but the first to one."""
def batch_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, moving_mean: tvms.ir.relax.Expr, moving_var: tvms.ir.relax.Expr, axis: builtins.int, epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True, momentum: builtins.float = 0.1, training: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Normalize `data` over all axes except `axis`; return it with the moving mean and variance."""
def conv1d(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCW', kernel_layout: builtins.str = 'OIW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the 1D convolution of `data` with `weight`."""
def conv1d_transpose(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCW', kernel_layout: builtins.str = 'IOW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the 1D transposed convolution of `data` with `weight`."""
def conv2d(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCHW', kernel_layout: builtins.str = 'OIHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the 2D convolution of `data` with `weight`."""
def conv2d_transpose(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCHW', kernel_layout: builtins.str = 'IOHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the 2D transposed convolution of `data` with `weight`."""
def conv3d(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCDHW', kernel_layout: builtins.str = 'OIDHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the 3D convolution of `data` with `weight`."""
def conv3d_transpose(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCDHW', kernel_layout: builtins.str = 'IODHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the 3D transposed convolution of `data` with `weight`."""
def cross_entropy_with_logits(predictions: tvms.ir.relax.Expr, labels: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the cross entropy: the mean of `-predictions * labels`, where `predictions` are logarithms."""
def dropout(data: tvms.ir.relax.Expr, rate: builtins.float = 0.5) -> tvms.ir.relax.Expr:
    """Drop random elements in training; return `data` and the mask of kept elements. Inference drops nothing."""
def gelu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the Gaussian error linear unit."""
def gelu_tanh(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the Gaussian error linear unit, approximated by tanh."""
def group_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, num_groups: builtins.int, channel_axis: builtins.int, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Normalize `data` over each group of channels and over `axes`."""
def instance_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, channel_axis: builtins.int, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Normalize each channel of `data` over `axes`."""
def layer_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Normalize `data` to mean 0 and variance 1 over `axes`, multiply by `gamma` and add `beta`."""
def leakyrelu(data: tvms.ir.relax.Expr, alpha: builtins.float = 0.01) -> tvms.ir.relax.Expr:
    """Return every element, multiplied by `alpha` if it is negative."""
def log_softmax(data: tvms.ir.relax.Expr, axis: builtins.int = -1) -> tvms.ir.relax.Expr:
    """Return the logarithm of the softmax along `axis`."""
def max_pool1d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the maximum of every window of `data` in 1D."""
def max_pool2d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the maximum of every window of `data` in 2D."""
def max_pool3d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the maximum of every window of `data` in 3D."""
def nll_loss(predictions: tvms.ir.relax.Expr, targets: tvms.ir.relax.Expr, weights: tvms.ir.relax.Expr | None = None, reduction: builtins.str = 'mean', ignore_index: builtins.int = -100) -> tvms.ir.relax.Expr:
    """Return the negative log likelihood of the classes `targets`."""
def pad(data: tvms.ir.relax.Expr, pad_width: builtins.int | collections.abc.Sequence[builtins.int], pad_mode: builtins.str | None = 'constant', pad_value: builtins.float = 0.0) -> tvms.ir.relax.Expr:
    """Pad `data` by `pad_width` elements before and after each dimension, with `pad_value` or with elements of the data that `pad_mode` selects."""
def pixel_shuffle(data: tvms.ir.relax.Expr, upscale_factor: builtins.int) -> tvms.ir.relax.Expr:
    """Rearrange channels of `data` into squares of `upscale_factor` × `upscale_factor` pixels."""
def prelu(data: tvms.ir.relax.Expr, alpha: tvms.ir.relax.Expr, axis: builtins.int = 1) -> tvms.ir.relax.Expr:
    """Return every element, multiplied by the slope of its channel if it is negative."""
def relu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `max(x, 0)` of every element."""
def relu6(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Clamp every element to 0 and 6."""
def rms_norm(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, axes: builtins.int | collections.abc.Sequence[builtins.int] = -1, epsilon: builtins.float = 1e-05) -> tvms.ir.relax.Expr:
    """Divide `data` by its root mean square over `axes` and multiply by `weight`."""
def selu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the scaled exponential linear unit."""
def silu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x * sigmoid(x)` of every element."""
def softmax(data: tvms.ir.relax.Expr, axis: builtins.int = -1) -> tvms.ir.relax.Expr:
    """Return the softmax along `axis`."""
def softplus(data: tvms.ir.relax.Expr, beta: builtins.float = 1.0, threshold: builtins.float = 20.0) -> tvms.ir.relax.Expr:
    """Return `log(1 + exp(beta * x)) / beta`, a smooth approximation of relu."""
from tvms.relax.op.nn import nn as nn
