"""`tvms.topi`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.te.tensor
import tvms.ir.tir
import typing
from tvms.ir.api.topi import InvalidShapeError as InvalidShapeError
def abs(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the absolute value of every element of `x`."""
def acos(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the inverse cosine of every element of `x`."""
def acosh(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the inverse hyperbolic cosine of every element of `x`."""
def add(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the sum of `x1` and `x2`, element by element."""
def adv_index(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices: collections.abc.Sequence[tvms.ir.te.tensor.Tensor]) -> tvms.ir.te.tensor.Tensor:
    """Return the slices of `data` at `indices`, one tensor per leading dimension; these are broadcast."""
from tvms.ir.api.topi import all as all
from tvms.ir.api.topi import any as any
def arange(start: tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.tir.PrimExpr | builtins.float | None = None, step: tvms.ir.tir.PrimExpr | builtins.float = 1, dtype: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the numbers from `start` up to but not including `end`, in steps of `step`."""
def argmax(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> tvms.ir.te.tensor.Tensor:
    """Return the index of the greatest element along `axis`, by default of the flattened tensor; -1 for no elements."""
def argmin(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> tvms.ir.te.tensor.Tensor:
    """Return the index of the least element along `axis`, by default of the flattened tensor; -1 for no elements."""
from tvms.ir.api.topi import argsort as argsort
def asin(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the inverse sine of every element of `x`."""
def asinh(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the inverse hyperbolic sine of every element of `x`."""
def atan(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the inverse tangent of every element of `x`."""
def atanh(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the inverse hyperbolic tangent of every element of `x`."""
def bitwise_and(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the bitwise and of `x1` and `x2`, element by element."""
def bitwise_not(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Invert the bits of every element of `x`."""
def bitwise_or(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the bitwise or of `x1` and `x2`, element by element."""
def bitwise_xor(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the bitwise exclusive or of `x1` and `x2`, element by element."""
def broadcast_to(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, shape: collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.te.tensor.Tensor:
    """Broadcast `x` to `shape`."""
def cast(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str) -> tvms.ir.te.tensor.Tensor:
    """Return `x` converted to `dtype`; floats become integers by rounding towards zero."""
def ceil(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Round up every element of `x`."""
from tvms.ir.api.topi import ceil_log2 as ceil_log2
def clip(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, min: tvms.ir.tir.PrimExpr | builtins.float, max: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Clamp every element of `x` to `min` and `max`; if `min` exceeds `max`, the result is `max`."""
def collapse_sum(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, shape: collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.te.tensor.Tensor:
    """Return `data` summed to `shape`."""
def concatenate(tensors: collections.abc.Sequence[tvms.ir.te.tensor.Tensor], axis: builtins.int | None = 0) -> tvms.ir.te.tensor.Tensor:
    """Concatenate `tensors` along `axis`."""
def cos(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the cosine of every element of `x`."""
def cosh(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the hyperbolic cosine of every element of `x`."""
def cumprod(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | None = None, dtype: builtins.str | None = None, exclusive: builtins.bool | None = False) -> tvms.ir.te.tensor.Tensor:
    """Return the cumulative product along `axis`, by default of the flattened tensor."""
def cumsum(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | None = None, dtype: builtins.str | None = None, exclusive: builtins.bool | None = False) -> tvms.ir.te.tensor.Tensor:
    """Return the cumulative sum along `axis`, by default of the flattened tensor."""
from tvms.ir.api.topi import dft as dft
def divide(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the quotient `x1 / x2`, rounded towards zero for integers, element by element."""
from tvms.ir.api.topi import dyn_tile as dyn_tile
from tvms.ir.api.topi import dynamic_strided_slice as dynamic_strided_slice
def einsum(operands: collections.abc.Sequence[tvms.ir.te.tensor.Tensor], subscripts: builtins.str) -> tvms.ir.te.tensor.Tensor:
    """Return the sum of products that `subscripts` denotes in Einstein notation."""
from tvms.ir.api.topi import elemwise_sum as elemwise_sum
def equal(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether `x1` equals `x2`, element by element."""
def erf(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the error function of every element of `x`."""
def exp(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the exponential of every element of `x`."""
def expand_dims(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | collections.abc.Sequence[builtins.int]) -> tvms.ir.te.tensor.Tensor:
    """Insert dimensions of size 1 at `axis`."""
from tvms.ir.api.topi import expand_like as expand_like
def eye(n: tvms.ir.tir.PrimExpr | builtins.float, m: tvms.ir.tir.PrimExpr | builtins.float | None = None, k: tvms.ir.tir.PrimExpr | builtins.float = 0, dtype: builtins.str = 'float32') -> tvms.ir.te.tensor.Tensor:
    """Return an `n` by `m` matrix with ones on the diagonal `k`, zeros elsewhere."""
from tvms.ir.api.topi import fast_erf as fast_erf
from tvms.ir.api.topi import fast_exp as fast_exp
from tvms.ir.api.topi import fast_tanh as fast_tanh
from tvms.ir.api.topi import fixed_point_multiply as fixed_point_multiply
from tvms.ir.api.topi import fixed_point_multiply_per_axis as fixed_point_multiply_per_axis
def flip(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int) -> tvms.ir.te.tensor.Tensor:
    """Reverse the elements of `data` along `axis`."""
def floor(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Round down every element of `x`."""
def floor_divide(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the quotient `x1 / x2`, rounded down, element by element."""
def floor_mod(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the remainder of `x1 / x2` with the sign of `x2`, element by element."""
def full(shape: collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: builtins.str | None = None, *, fill_value: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return a tensor of `shape` with all elements `fill_value`."""
def full_like(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, fill_value: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return a tensor of the shape of `x` with all elements `fill_value`."""
def gather(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = 0, *, indices: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the elements of `data` at `indices` along `axis`, and at the position in `indices` along the other axes."""
def gather_nd(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, batch_dims: builtins.int = 0) -> tvms.ir.te.tensor.Tensor:
    """Return the slices of `data` at the indices in the last dimension of `indices`."""
def greater(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether `x1` is greater than `x2`, element by element."""
def greater_equal(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether `x1` is at least `x2`, element by element."""
def hamming_window(window_size: tvms.ir.tir.PrimExpr | builtins.float, periodic: tvms.ir.tir.PrimExpr | builtins.float, alpha: tvms.ir.tir.PrimExpr | builtins.float, beta: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str) -> tvms.ir.te.tensor.Tensor:
    """Return a Hamming window of `window_size`."""
from tvms.ir.api.topi import identity as identity
def index_put(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, values: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, accumulate: builtins.bool = False) -> tvms.ir.te.tensor.Tensor:
    """Return `data` with `values` written or added at `indices`, one vector per dimension."""
def index_tensor(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices: collections.abc.Sequence[tvms.ir.te.tensor.Tensor]) -> tvms.ir.te.tensor.Tensor:
    """Return the slices of `data` at `indices`, one tensor per leading dimension; these are broadcast."""
def isfinite(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether each element of `x` is finite."""
def isinf(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether each element of `x` is infinite."""
def isnan(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether each element of `x` is NaN."""
def layout_transform(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, index_map: typing.Any, pad_value: typing.Any = None, axis_separators: builtins.int | collections.abc.Sequence[builtins.int] | None = ..., input_axis_separators: builtins.int | collections.abc.Sequence[builtins.int] | None = ...) -> tvms.ir.te.tensor.Tensor:
    """Transform the layout of `x` by `index_map`; `pad_value` fills dimensions that are not divisible."""
def left_shift(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return `x1` shifted left by `x2` bits, element by element."""
def less(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether `x1` is less than `x2`, element by element."""
def less_equal(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether `x1` is at most `x2`, element by element."""
def log(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the natural logarithm of every element of `x`."""
from tvms.ir.api.topi import log10 as log10
from tvms.ir.api.topi import log2 as log2
def log_add_exp(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return `log(exp(x1) + exp(x2))`, element by element."""
def logical_and(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the logical and of `x1` and `x2`, element by element."""
def logical_not(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the logical negation of every element of `x`."""
def logical_or(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the logical or of `x1` and `x2`, element by element."""
def logical_xor(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the exclusive or of `x1` and `x2`, element by element."""
def matmul(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, out_dtype: builtins.str | None = None) -> tvms.ir.te.tensor.Tensor:
    """Return the matrix product over the last two dimensions and broadcast the others; a vector is a row on the left and a column on the right."""
from tvms.ir.api.topi import matrix_set_diag as matrix_set_diag
def max(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.te.tensor.Tensor:
    """Return the maximum along `axis`, by default of all elements. For no elements it is the minimum of the dtype."""
def maximum(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the maximum of `x1` and `x2`, element by element."""
def meshgrid(tensors: collections.abc.Sequence[tvms.ir.te.tensor.Tensor], indexing: builtins.str | None = 'ij') -> typing.Any:
    """Return the coordinates of the grid that the vectors span, one tensor per vector."""
def min(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.te.tensor.Tensor:
    """Return the minimum along `axis`, by default of all elements. For no elements it is the maximum of the dtype."""
def minimum(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the minimum of `x1` and `x2`, element by element."""
def mod(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the remainder of `x1 / x2` with the sign of `x1`, element by element."""
def multiply(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the product of `x1` and `x2`, element by element."""
from tvms.ir.api.topi import ndarray_size as ndarray_size
def negative(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Negate every element of `x`."""
def not_equal(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return whether `x1` differs from `x2`, element by element."""
def one_hot(indices: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, on_value: tvms.ir.tir.PrimExpr | builtins.float, off_value: tvms.ir.tir.PrimExpr | builtins.float, depth: builtins.int, axis: builtins.int = -1) -> tvms.ir.te.tensor.Tensor:
    """Return a one-hot encoding along a new `axis`: `on_value` at the index, `off_value` elsewhere."""
def power(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return `x1` to the power of `x2`, element by element."""
def prod(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.te.tensor.Tensor:
    """Return the product along `axis`, by default of all elements."""
from tvms.ir.api.topi import reinterpret as reinterpret
def repeat(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, repeats: builtins.int, axis: builtins.int | None = None) -> tvms.ir.te.tensor.Tensor:
    """Repeat every element of `data` along `axis`, or of the flattened `data`."""
def reshape(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, shape: collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.te.tensor.Tensor:
    """Reshape `x`; one dimension may be -1 and is inferred, and 0 keeps a dimension."""
from tvms.ir.api.topi import reverse_sequence as reverse_sequence
def right_shift(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return `x1` shifted right by `x2` bits, element by element."""
def round(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Round (to nearest, halves to even) every element of `x`."""
def rsqrt(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the reciprocal of the square root of every element of `x`."""
from tvms.ir.api.topi import scanop as scanop
def scatter_elements(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, updates: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = 0, reduction: builtins.str = 'update') -> tvms.ir.te.tensor.Tensor:
    """Return `data` with `updates` written at `indices` along `axis`."""
def scatter_nd(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, updates: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, reduction: builtins.str = 'update') -> tvms.ir.te.tensor.Tensor:
    """Return `data` with `updates` written at the indices in the last dimension of `indices`."""
from tvms.ir.api.topi import searchsorted as searchsorted
from tvms.ir.api.topi import sequence_mask as sequence_mask
from tvms.ir.api.topi import shape as shape
def sigmoid(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the logistic function of every element of `x`."""
def sign(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the sign of every element of `x`."""
def sin(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the sine of every element of `x`."""
def sinh(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the hyperbolic sine of every element of `x`."""
def slice_scatter(input_tensor: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, src: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, start: tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.tir.PrimExpr | builtins.float, step: tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = 0) -> tvms.ir.te.tensor.Tensor:
    """Return `input_tensor` with its slice along `axis` replaced by `src`."""
from tvms.ir.api.topi import sliding_window as sliding_window
from tvms.ir.api.topi import sort as sort
from tvms.ir.api.topi import sparse_reshape as sparse_reshape
from tvms.ir.api.topi import sparse_to_dense as sparse_to_dense
def split(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices_or_sections: builtins.int | collections.abc.Sequence[builtins.int], axis: builtins.int = 0) -> typing.Any:
    """Split `x` along `axis` into a number of equal parts, or at the given indices."""
def sqrt(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the square root of every element of `x`."""
from tvms.ir.api.topi import squeeze as squeeze
def stack(tensors: collections.abc.Sequence[tvms.ir.te.tensor.Tensor], axis: builtins.int | None = 0) -> tvms.ir.te.tensor.Tensor:
    """Stack `tensors` of equal shape along a new dimension `axis`."""
from tvms.ir.api.topi import stft as stft
from tvms.ir.api.topi import strided_set as strided_set
from tvms.ir.api.topi import strided_slice as strided_slice
def subtract(x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the difference `x1 - x2`, element by element."""
def sum(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.te.tensor.Tensor:
    """Return the sum along `axis`, by default of all elements."""
def take(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, indices: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int | None = None, mode: builtins.str = 'fast') -> tvms.ir.te.tensor.Tensor:
    """Return the slices of `x` at `indices` along `axis`. `mode` says what an index outside of the axis takes: nothing that is known ("fast"), the nearest slice ("clip"), that of the remainder ("wrap"), or NaN ("nan")."""
def tan(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the tangent of every element of `x`."""
def tanh(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the hyperbolic tangent of every element of `x`."""
from tvms.ir.api.topi import tensordot as tensordot
def tile(data: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, repeats: builtins.int | collections.abc.Sequence[builtins.int]) -> tvms.ir.te.tensor.Tensor:
    """Repeat the whole of `data` `repeats` times along each dimension."""
from tvms.ir.api.topi import topk as topk
def transpose(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, axes: builtins.int | collections.abc.Sequence[builtins.int] | None = None) -> tvms.ir.te.tensor.Tensor:
    """Permute the dimensions of `x` to the order `axes`, or reverse them."""
def tril(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, k: tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.te.tensor.Tensor:
    """Return `x` with zeros above its diagonal `k`."""
from tvms.ir.api.topi import trilu as trilu
def triu(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, k: tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.te.tensor.Tensor:
    """Return `x` with zeros below its diagonal `k`."""
def trunc(x: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Round towards zero every element of `x`."""
from tvms.ir.api.topi import unravel_index as unravel_index
def where(condition: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x1: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.te.tensor.Tensor | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.te.tensor.Tensor:
    """Return the elements of `x1` where `condition` holds, and those of `x2` elsewhere."""
from tvms.topi import arguments as arguments
from tvms.topi import broadcast as broadcast
from tvms.topi import convolutions as convolutions
from tvms.topi import image as image
from tvms.topi import layers as layers
from tvms.topi import math as math
from tvms.topi import mathematics as mathematics
from tvms.topi import nn as nn
from tvms.topi import packed_layouts as packed_layouts
from tvms.topi import padding as padding
from tvms.topi import reduction as reduction
from tvms.topi import scan as scan
from tvms.topi import scatter as scatter
from tvms.topi import signal as signal
from tvms.topi import simulated_quantization as simulated_quantization
from tvms.topi import table as table
from tvms.topi import tag as tag
from tvms.topi import tensor as tensor
from tvms.topi import testing as testing
from tvms.topi import transform as transform
from tvms.topi import transforms as transforms
from tvms.topi import unique as unique
from tvms.topi import utils as utils
from tvms.topi import vision as vision
