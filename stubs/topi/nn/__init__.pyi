"""`tvms.topi.nn`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.te.tensor
import tvms.ir.tir
import typing
from tvms.ir.api.topi.nn import POOL_TYPE_CODE as POOL_TYPE_CODE
from tvms.ir.api.topi.nn import SQNN_CODE_TO_DTYPE as SQNN_CODE_TO_DTYPE
from tvms.ir.api.topi.nn import SQNN_DISABLE as SQNN_DISABLE
from tvms.ir.api.topi.nn import SQNN_DTYPE_TO_CODE as SQNN_DTYPE_TO_CODE
from tvms.ir.api.topi.nn import SQNN_INT32 as SQNN_INT32
from tvms.ir.api.topi.nn import SQNN_INT8 as SQNN_INT8
from tvms.ir.api.topi.nn import SQNN_UINT8 as SQNN_UINT8
def adaptive_avg_pool1d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the means of windows such that the result has `output_size`, in 1D."""
def adaptive_avg_pool2d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the means of windows such that the result has `output_size`, in 2D."""
def adaptive_avg_pool3d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the means of windows such that the result has `output_size`, in 3D."""
from tvms.ir.api.topi.nn import adaptive_pool as adaptive_pool
from tvms.ir.api.topi.nn import adaptive_pool1d as adaptive_pool1d
from tvms.ir.api.topi.nn import adaptive_pool3d as adaptive_pool3d
def avg_pool1d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the mean of every window of `data` in 1D."""
def avg_pool2d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the mean of every window of `data` in 2D."""
def avg_pool2d_grad(output_grad: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = ..., strides: builtins.int | collections.abc.Sequence[builtins.int] = ..., padding: builtins.int | collections.abc.Sequence[builtins.int] = ..., dilation: builtins.int | collections.abc.Sequence[builtins.int] = ..., ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the gradient of `avg_pool2d` with respect to `data`."""
def avg_pool3d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the mean of every window of `data` in 3D."""
from tvms.ir.api.topi.nn import batch_flatten as batch_flatten
from tvms.ir.api.topi.nn import batch_matmul as batch_matmul
def batch_norm(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, gamma: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, beta: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, moving_mean: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, moving_var: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int, epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True, momentum: builtins.float = 0.1, training: builtins.bool = True) -> typing.Any:
    """Normalize `data` over all axes except `axis`; return it with the moving mean and variance."""
from tvms.ir.api.topi.nn import batch_to_space_nd as batch_to_space_nd
from tvms.ir.api.topi.nn import circular_pad as circular_pad
from tvms.ir.api.topi.nn import conv as conv
def conv1d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weight: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, data_layout: builtins.str = 'NCW', kernel_layout: builtins.str = 'OIW', out_dtype: builtins.str | None = None, groups: builtins.int = 1, out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the 1D convolution of `data` with `weight`."""
from tvms.ir.api.topi.nn import conv1d_ncw as conv1d_ncw
from tvms.ir.api.topi.nn import conv1d_nwc as conv1d_nwc
def conv1d_transpose(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weight: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCW', kernel_layout: builtins.str = 'IOW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the 1D transposed convolution of `data` with `weight`."""
from tvms.ir.api.topi.nn import conv1d_transpose_ncw as conv1d_transpose_ncw
def conv2d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weight: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, data_layout: builtins.str = 'NCHW', kernel_layout: builtins.str = 'OIHW', out_dtype: builtins.str | None = None, groups: builtins.int = 1, out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the 2D convolution of `data` with `weight`."""
from tvms.ir.api.topi.nn import conv2d_NCHWc as conv2d_NCHWc
from tvms.ir.api.topi.nn import conv2d_NCHWc_int8 as conv2d_NCHWc_int8
from tvms.ir.api.topi.nn import conv2d_hwcn as conv2d_hwcn
from tvms.ir.api.topi.nn import conv2d_nchw as conv2d_nchw
from tvms.ir.api.topi.nn import conv2d_nhwc as conv2d_nhwc
def conv2d_transpose(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weight: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCHW', kernel_layout: builtins.str = 'IOHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the 2D transposed convolution of `data` with `weight`."""
from tvms.ir.api.topi.nn import conv2d_transpose_nchw as conv2d_transpose_nchw
from tvms.ir.api.topi.nn import conv2d_transpose_nchw_preprocess as conv2d_transpose_nchw_preprocess
def conv3d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weight: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCDHW', kernel_layout: builtins.str = 'OIDHW', out_dtype: builtins.str | None = None, out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the 3D convolution of `data` with `weight`."""
from tvms.ir.api.topi.nn import conv3d_ncdhw as conv3d_ncdhw
from tvms.ir.api.topi.nn import conv3d_ndhwc as conv3d_ndhwc
def conv3d_transpose(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weight: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCDHW', kernel_layout: builtins.str = 'IODHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the 3D transposed convolution of `data` with `weight`."""
from tvms.ir.api.topi.nn import conv3d_transpose_ncdhw as conv3d_transpose_ncdhw
from tvms.ir.api.topi.nn import conv3d_transpose_ncdhw_preprocess as conv3d_transpose_ncdhw_preprocess
from tvms.ir.api.topi.nn import correlation_nchw as correlation_nchw
from tvms.ir.api.topi.nn import declaration_conv2d_transpose_impl as declaration_conv2d_transpose_impl
from tvms.ir.api.topi.nn import declaration_conv3d_transpose_impl as declaration_conv3d_transpose_impl
from tvms.ir.api.topi.nn import deformable_conv2d_nchw as deformable_conv2d_nchw
from tvms.ir.api.topi.nn import deformable_conv2d_nhwc as deformable_conv2d_nhwc
from tvms.ir.api.topi.nn import dense as dense
from tvms.ir.api.topi.nn import dense_pack as dense_pack
from tvms.ir.api.topi.nn import depth_to_space as depth_to_space
from tvms.ir.api.topi.nn import depthwise_conv2d_NCHWc as depthwise_conv2d_NCHWc
from tvms.ir.api.topi.nn import depthwise_conv2d_backward_input_nhwc as depthwise_conv2d_backward_input_nhwc
from tvms.ir.api.topi.nn import depthwise_conv2d_backward_weight_nhwc as depthwise_conv2d_backward_weight_nhwc
from tvms.ir.api.topi.nn import depthwise_conv2d_nchw as depthwise_conv2d_nchw
from tvms.ir.api.topi.nn import depthwise_conv2d_nhwc as depthwise_conv2d_nhwc
from tvms.ir.api.topi.nn import dilate as dilate
from tvms.ir.api.topi.nn import fast_softmax as fast_softmax
from tvms.ir.api.topi.nn import fifo_buffer as fifo_buffer
from tvms.ir.api.topi.nn import flatten as flatten
def gelu(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the Gaussian error linear unit."""
from tvms.ir.api.topi.nn import get_padded_shape as get_padded_shape
from tvms.ir.api.topi.nn import global_pool as global_pool
from tvms.ir.api.topi.nn import group_conv1d_ncw as group_conv1d_ncw
from tvms.ir.api.topi.nn import group_conv1d_nwc as group_conv1d_nwc
from tvms.ir.api.topi.nn import group_conv1d_transpose_ncw as group_conv1d_transpose_ncw
from tvms.ir.api.topi.nn import group_conv2d_nchw as group_conv2d_nchw
from tvms.ir.api.topi.nn import group_conv2d_nhwc as group_conv2d_nhwc
from tvms.ir.api.topi.nn import group_conv2d_transpose_nchw as group_conv2d_transpose_nchw
from tvms.ir.api.topi.nn import group_conv3d_transpose_ncdhw as group_conv3d_transpose_ncdhw
def group_norm(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, gamma: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, beta: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, num_groups: builtins.int, channel_axis: builtins.int, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.te.tensor.Tensor:
    """Normalize `data` over each group of channels and over `axes`."""
def instance_norm(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, gamma: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, beta: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, channel_axis: builtins.int, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.te.tensor.Tensor:
    """Normalize each channel of `data` over `axes`."""
def layer_norm(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, gamma: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, beta: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.te.tensor.Tensor:
    """Normalize `data` to mean 0 and variance 1 over `axes`, multiply by `gamma` and add `beta`."""
def leaky_relu(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, alpha: builtins.float = 0.01) -> tvms.ir.te.tensor.Tensor:
    """Return every element, multiplied by `alpha` if it is negative."""
def log_softmax(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = -1) -> tvms.ir.te.tensor.Tensor:
    """Return the logarithm of the softmax along `axis`."""
from tvms.ir.api.topi.nn import lrn as lrn
from tvms.ir.api.topi.nn import matmul as matmul
def max_pool1d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the maximum of every window of `data` in 1D."""
def max_pool2d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the maximum of every window of `data` in 2D."""
def max_pool2d_grad(output_grad: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = ..., strides: builtins.int | collections.abc.Sequence[builtins.int] = ..., padding: builtins.int | collections.abc.Sequence[builtins.int] = ..., dilation: builtins.int | collections.abc.Sequence[builtins.int] = ..., ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the gradient of `max_pool2d` with respect to `data`."""
def max_pool3d(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the maximum of every window of `data` in 3D."""
from tvms.ir.api.topi.nn import mirror_pad as mirror_pad
def nll_loss(predictions: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, targets: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weights: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float | None = None, reduction: builtins.str = 'mean', ignore_index: builtins.int = -100) -> tvms.ir.te.tensor.Tensor:
    """Return the negative log likelihood of the classes `targets`."""
from tvms.ir.api.topi.nn import pad as pad
def pixel_shuffle(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, upscale_factor: builtins.int) -> tvms.ir.te.tensor.Tensor:
    """Rearrange channels of `data` into squares of `upscale_factor` × `upscale_factor` pixels."""
from tvms.ir.api.topi.nn import pool1d as pool1d
from tvms.ir.api.topi.nn import pool2d as pool2d
from tvms.ir.api.topi.nn import pool3d as pool3d
from tvms.ir.api.topi.nn import pool_grad as pool_grad
def prelu(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, alpha: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = 1) -> tvms.ir.te.tensor.Tensor:
    """Return every element, multiplied by the slope of its channel if it is negative."""
from tvms.ir.api.topi.nn import reflect_pad as reflect_pad
def relu(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return `max(x, 0)` of every element."""
from tvms.ir.api.topi.nn import replicate_pad as replicate_pad
def rms_norm(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, weight: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axes: builtins.int | collections.abc.Sequence[builtins.int] = -1, epsilon: builtins.float = 1e-05) -> tvms.ir.te.tensor.Tensor:
    """Divide `data` by its root mean square over `axes` and multiply by `weight`."""
from tvms.ir.api.topi.nn import scale_shift_nchw as scale_shift_nchw
from tvms.ir.api.topi.nn import scale_shift_nchwc as scale_shift_nchwc
from tvms.ir.api.topi.nn import scale_shift_nhwc as scale_shift_nhwc
from tvms.ir.api.topi.nn import simulated_dequantize as simulated_dequantize
from tvms.ir.api.topi.nn import simulated_quantize as simulated_quantize
def softmax(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = -1) -> tvms.ir.te.tensor.Tensor:
    """Return the softmax along `axis`."""
from tvms.ir.api.topi.nn import softmax_common as softmax_common
def softplus(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, beta: builtins.float = 1.0, threshold: builtins.float = 20.0) -> tvms.ir.te.tensor.Tensor:
    """Return `log(1 + exp(beta * x)) / beta`, a smooth approximation of relu."""
from tvms.ir.api.topi.nn import space_to_batch_nd as space_to_batch_nd
from tvms.ir.api.topi.nn import space_to_depth as space_to_depth
from tvms.ir.api.topi.nn import unpack_NCHWc_to_nchw as unpack_NCHWc_to_nchw
from tvms.ir.api.topi.nn import upsampling as upsampling
from tvms.ir.api.topi.nn import upsampling3d as upsampling3d
from tvms.topi.nn import correlation as correlation
from tvms.topi.nn import deformable_conv2d as deformable_conv2d
from tvms.topi.nn import depthwise_conv2d as depthwise_conv2d
from tvms.topi.nn import elemwise as elemwise
from tvms.topi.nn import local_response_norm as local_response_norm
from tvms.topi.nn import loss as loss
from tvms.topi.nn import mapping as mapping
from tvms.topi.nn import pooling as pooling
from tvms.topi.nn import qnn as qnn
