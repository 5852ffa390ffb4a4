"""`tvms.relax.op`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.base
import tvms.ir.relax
import tvms.ir.tir
import typing
from tvms.ir.api.relax.op import Namespace as Namespace
def abs(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the absolute value of every element of `x`."""
def acos(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse cosine of every element of `x`."""
def acosh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse hyperbolic cosine of every element of `x`."""
def add(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the sum of `x1` and `x2`, element by element."""
def arange(start: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None, step: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 1, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the numbers from `start` up to but not including `end`, in steps of `step`."""
def argmax(x: tvms.ir.relax.Expr, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the index of the greatest element along `axis`, by default of the flattened tensor; -1 for no elements."""
def argmin(x: tvms.ir.relax.Expr, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the index of the least element along `axis`, by default of the flattened tensor; -1 for no elements."""
def argsort(data: tvms.ir.relax.Expr, axis: builtins.int = -1, descending: builtins.bool = False, dtype: builtins.str = 'int32') -> tvms.ir.relax.Expr:
    """Return the indices that sort `data` along `axis`."""
def asin(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse sine of every element of `x`."""
def asinh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse hyperbolic sine of every element of `x`."""
def assert_op(condition: tvms.ir.relax.Expr, *format_args: tvms.ir.relax.Expr, format: tvms.ir.relax.Expr | builtins.str = '') -> tvms.ir.relax.Expr:
    """Stop with the message `format` unless `condition` holds."""
def astype(x: tvms.ir.relax.Expr, dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return `x` converted to `dtype`; floats become integers by rounding towards zero."""
def atan(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse tangent of every element of `x`."""
def atan2(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the angle of the point (`x2`, `x1`) in radians, element by element."""
def atanh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse hyperbolic tangent of every element of `x`."""
def bitwise_and(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the bitwise and of `x1` and `x2`, element by element."""
def bitwise_not(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Invert the bits of every element of `x`."""
def bitwise_or(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the bitwise or of `x1` and `x2`, element by element."""
def bitwise_xor(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the bitwise exclusive or of `x1` and `x2`, element by element."""
def broadcast_to(x: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Broadcast `x` to `shape`."""
def bucketize(input_tensor: tvms.ir.relax.Expr, boundaries: tvms.ir.relax.Expr, out_int32: builtins.bool = False, right: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return, for every element, the number of sorted `boundaries` below it."""
def call_builtin_with_ctx(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call a function of the virtual machine with the machine as its first argument."""
def call_dps_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo) -> tvms.ir.relax.Expr:
    """Call an external function with `args` and new tensors for its results."""
def call_inplace_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, *args: tvms.ir.relax.Expr, inplace_indices: builtins.int | collections.abc.Sequence[builtins.int], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call an external function that writes some of its arguments in place."""
def call_pure_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, *args: tvms.ir.relax.Expr, sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call an external function that has no side effects."""
def call_py_func(func_name: tvms.ir.relax.Expr | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo) -> tvms.ir.relax.Expr:
    """Call a Python function of the module's class by its name. It is kept and printed, but not executed."""
def call_tir(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function with `args` and new tensors for its results."""
def call_tir_inplace(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], inplace_indices: builtins.int | collections.abc.Sequence[builtins.int], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function that writes its results over some of its arguments."""
def call_tir_with_grad(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, te_grad_name: builtins.str, te_grad_kwargs: typing.Any = None, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function, whose gradient is the tensor expression registered as `te_grad_name`."""
def ceil(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round up every element of `x`."""
def clip(x: tvms.ir.relax.Expr, min: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, max: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.relax.Expr:
    """Clamp every element of `x` to `min` and `max`; if `min` exceeds `max`, the result is `max`."""
def collapse_sum_like(data: tvms.ir.relax.Expr, collapse_target: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `data` summed to the shape of `collapse_target`."""
def collapse_sum_to(data: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Return `data` summed to `shape`."""
def concat(tensors: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], axis: builtins.int | None = 0) -> tvms.ir.relax.Expr:
    """Concatenate `tensors` along `axis`."""
def cos(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the cosine of every element of `x`."""
def cosh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the hyperbolic cosine of every element of `x`."""
def cumprod(data: tvms.ir.relax.Expr, axis: builtins.int | None = None, dtype: builtins.str | None = None, exclusive: builtins.bool | None = False) -> tvms.ir.relax.Expr:
    """Return the cumulative product along `axis`, by default of the flattened tensor."""
def cumsum(data: tvms.ir.relax.Expr, axis: builtins.int | None = None, dtype: builtins.str | None = None, exclusive: builtins.bool | None = False) -> tvms.ir.relax.Expr:
    """Return the cumulative sum along `axis`, by default of the flattened tensor."""
def dequantize(data: tvms.ir.relax.Expr, scale: tvms.ir.relax.Expr, zero_point: tvms.ir.relax.Expr, axis: builtins.int = -1, out_dtype: builtins.str = 'float32') -> tvms.ir.relax.Expr:
    """Return `(data - zero_point) * scale` as `out_dtype`."""
def divide(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the quotient `x1 / x2`, rounded towards zero for integers, element by element."""
def dynamic_strided_slice(x: tvms.ir.relax.Expr, begin: tvms.ir.relax.Expr, end: tvms.ir.relax.Expr, strides: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the slice of `x` between bounds that are known only at run time."""
def einsum(operands: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], subscripts: builtins.str) -> tvms.ir.relax.Expr:
    """Return the sum of products that `subscripts` denotes in Einstein notation."""
def equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` equals `x2`, element by element."""
def erf(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the error function of every element of `x`."""
def ewise_fma(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr, x3: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x1 * x2 + x3`, element by element."""
def exp(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the exponential of every element of `x`."""
def expand_dims(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int]) -> tvms.ir.relax.Expr:
    """Insert dimensions of size 1 at `axis`."""
def eye(n: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, m: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0, dtype: builtins.str = 'float32') -> tvms.ir.relax.Expr:
    """Return an `n` by `m` matrix with ones on the diagonal `k`, zeros elsewhere."""
def eye_like(x: tvms.ir.relax.Expr, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a matrix of the shape of `x` with ones on the diagonal `k`, zeros elsewhere."""
def flatten(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Flatten `x` to one dimension."""
def flip(data: tvms.ir.relax.Expr, axis: builtins.int) -> tvms.ir.relax.Expr:
    """Reverse the elements of `data` along `axis`."""
def floor(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round down every element of `x`."""
def floor_divide(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the quotient `x1 / x2`, rounded down, element by element."""
def floor_mod(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the remainder of `x1 / x2` with the sign of `x2`, element by element."""
def full(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], fill_value: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of `shape` with all elements `fill_value`."""
def full_like(x: tvms.ir.relax.Expr, fill_value: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of the shape of `x` with all elements `fill_value`."""
def gather_elements(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Return the elements of `data` at `indices` along `axis`, and at the position in `indices` along the other axes."""
def gather_nd(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, batch_dims: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Return the slices of `data` at the indices in the last dimension of `indices`."""
def greater(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is greater than `x2`, element by element."""
def greater_equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is at least `x2`, element by element."""
def hamming_window(window_size: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, periodic: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, alpha: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, beta: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return a Hamming window of `window_size`."""
def hint_on_device(data: tvms.ir.relax.Expr, dst_vdevice: typing.Any, memory_scope: builtins.str = 'global') -> tvms.ir.relax.Expr:
    """Return `data`, with a hint to place it on another device."""
def index_put(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, values: tvms.ir.relax.Expr, accumulate: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return `data` with `values` written or added at `indices`, one vector per dimension."""
def index_tensor(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
    """Return the slices of `data` at `indices`, one tensor per leading dimension; these are broadcast."""
def invoke_closure(closure: tvms.ir.relax.Expr, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call a closure."""
def invoke_pure_closure(closure: tvms.ir.relax.Expr, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call a closure that has no side effects."""
def isfinite(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether each element of `x` is finite."""
def isinf(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether each element of `x` is infinite."""
def isnan(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether each element of `x` is NaN."""
def layout_transform(x: tvms.ir.relax.Expr, index_map: typing.Any, pad_value: typing.Any = None, axis_separators: builtins.int | collections.abc.Sequence[builtins.int] | None = ..., input_axis_separators: builtins.int | collections.abc.Sequence[builtins.int] | None = ...) -> tvms.ir.relax.Expr:
    """Transform the layout of `x` by `index_map`; `pad_value` fills dimensions that are not divisible."""
def left_shift(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x1` shifted left by `x2` bits, element by element."""
def less(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is less than `x2`, element by element."""
def less_equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is at most `x2`, element by element."""
def linear(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, bias: tvms.ir.relax.Expr | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return `data @ weight.T + bias`, composed of three operators."""
def log(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the natural logarithm of every element of `x`."""
def log_add_exp(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `log(exp(x1) + exp(x2))`, element by element."""
def logical_and(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logical and of `x1` and `x2`, element by element."""
def logical_not(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logical negation of every element of `x`."""
def logical_or(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logical or of `x1` and `x2`, element by element."""
def logical_xor(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the exclusive or of `x1` and `x2`, element by element."""
def make_closure(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
    """Return a function with its last arguments bound to `args`."""
def masked_fill(x: tvms.ir.relax.Expr, mask: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x` with `value` where `mask` holds."""
def matmul(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the matrix product over the last two dimensions and broadcast the others; a vector is a row on the left and a column on the right."""
def max(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the maximum along `axis`, by default of all elements. For no elements it is the minimum of the dtype."""
def maximum(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the maximum of `x1` and `x2`, element by element."""
def mean(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the mean along `axis`, by default of all elements."""
def median(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the median along `axis`, by default of all elements: of two middle elements the lower one, and NaN if there is one. Along one axis, return the median and its index."""
from tvms.ir.api.relax.op import member as member
from tvms.ir.api.relax.op import members as members
def meshgrid(tensors: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], indexing: builtins.str | None = 'ij') -> tvms.ir.relax.Expr:
    """Return the coordinates of the grid that the vectors span, one tensor per vector."""
def min(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the minimum along `axis`, by default of all elements. For no elements it is the maximum of the dtype."""
def minimum(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the minimum of `x1` and `x2`, element by element."""
def mod(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the remainder of `x1 / x2` with the sign of `x1`, element by element."""
def multinomial_from_uniform(prob: tvms.ir.relax.Expr, uniform_sample: tvms.ir.relax.Expr, sample_indices: tvms.ir.relax.Expr, dtype: builtins.str = 'int64') -> tvms.ir.relax.Expr:
    """Return, for each uniform sample, the class that it selects from its row of `prob`."""
def multiply(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the product of `x1` and `x2`, element by element."""
def negative(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Negate every element of `x`."""
def ngram_counts(x: tvms.ir.relax.Expr, pool: tvms.ir.relax.Expr, lengths: tvms.ir.relax.Expr, columns: tvms.ir.relax.Expr, width: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, skips: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.relax.Expr:
    """Count the n-grams of `pool` in each row of `x`. `pool` holds them consecutively, and `lengths` their numbers of elements. The elements of an occurrence are at most `skips` elements apart. `columns` gives the column of each n-gram, of `width` columns."""
def nonzero(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the indices of the nonzero elements, one row per dimension."""
def not_equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` differs from `x2`, element by element."""
def null_value() -> tvms.ir.relax.Expr:
    """Return the null object."""
def one_hot(indices: tvms.ir.relax.Expr, on_value: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, off_value: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, depth: builtins.int, axis: builtins.int = -1) -> tvms.ir.relax.Expr:
    """Return a one-hot encoding along a new `axis`: `on_value` at the index, `off_value` elsewhere."""
def ones(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return a tensor of `shape` with all elements 1."""
def ones_like(x: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of the shape of `x` with all elements 1."""
def optional_get_element(value: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return an optional value, which must be present."""
def optional_has_element(value: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether an optional value is present."""
def outer(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the outer product of the vectors `x1` and `x2`."""
def permute_dims(x: tvms.ir.relax.Expr, axes: builtins.int | collections.abc.Sequence[builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Permute the dimensions of `x` to the order `axes`, or reverse them."""
def power(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return `x1` to the power of `x2`, element by element."""
def print(*values: tvms.ir.relax.Expr, format: tvms.ir.relax.Expr | builtins.str = '') -> tvms.ir.relax.Expr:
    """Print values."""
def prod(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the product along `axis`, by default of all elements."""
def quantize(data: tvms.ir.relax.Expr, scale: tvms.ir.relax.Expr, zero_point: tvms.ir.relax.Expr, axis: builtins.int = -1, out_dtype: builtins.str = 'int8') -> tvms.ir.relax.Expr:
    """Return `data / scale + zero_point`, rounded to `out_dtype`."""
def repeat(data: tvms.ir.relax.Expr, repeats: builtins.int, axis: builtins.int | None = None) -> tvms.ir.relax.Expr:
    """Repeat every element of `data` along `axis`, or of the flattened `data`."""
def reshape(x: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Reshape `x`; one dimension may be -1 and is inferred, and 0 keeps a dimension."""
def reverse_sequence(data: tvms.ir.relax.Expr, seq_lengths: tvms.ir.relax.Expr, seq_axis: builtins.int = 1, batch_axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Reverse the first `seq_lengths[i]` elements of the i-th slice of `data` along `batch_axis`, in the order of `seq_axis`."""
def right_shift(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x1` shifted right by `x2` bits, element by element."""
def round(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round (to nearest, halves to even) every element of `x`."""
def rsqrt(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the reciprocal of the square root of every element of `x`."""
def scatter_elements(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, updates: tvms.ir.relax.Expr, axis: builtins.int = 0, reduction: builtins.str = 'update') -> tvms.ir.relax.Expr:
    """Return `data` with `updates` written at `indices` along `axis`."""
def scatter_nd(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, updates: tvms.ir.relax.Expr, reduction: builtins.str = 'update') -> tvms.ir.relax.Expr:
    """Return `data` with `updates` written at the indices in the last dimension of `indices`."""
def sequence_at(sequence: tvms.ir.relax.Expr, position: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the tensor at `position` of `sequence`."""
def sequence_concat(sequence: tvms.ir.relax.Expr, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, new_axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False) -> tvms.ir.relax.Expr:
    """Return the tensors of `sequence` joined along `axis`, a new one if `new_axis` is set."""
def sequence_erase(sequence: tvms.ir.relax.Expr, position: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `sequence` without the tensor at `position`."""
def sequence_insert(sequence: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr, position: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `sequence` with the tensor `value` inserted at `position`."""
def sequence_length(sequence: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the number of tensors in `sequence`."""
def sequence_split(x: tvms.ir.relax.Expr, sizes: tvms.ir.relax.Expr, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.relax.Expr:
    """Return the parts of `x` along `axis`, of the given sizes, or of one size, as a sequence."""
def shape_of(expr: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the shape of a tensor."""
def shape_to_tensor(expr: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Return a shape as a vector of int64."""
def sigmoid(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logistic function of every element of `x`."""
def sign(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the sign of every element of `x`."""
def sin(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the sine of every element of `x`."""
def sinh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the hyperbolic sine of every element of `x`."""
def size(expr: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the number of elements of a tensor."""
def slice_scatter(input_tensor: tvms.ir.relax.Expr, src: tvms.ir.relax.Expr, start: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, step: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Return `input_tensor` with its slice along `axis` replaced by `src`."""
def sort(x: tvms.ir.relax.Expr, axis: builtins.int = -1, descending: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return `x` sorted along `axis`."""
def split(x: tvms.ir.relax.Expr, indices_or_sections: builtins.int | collections.abc.Sequence[builtins.int], axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Split `x` along `axis` into a number of equal parts, or at the given indices."""
def sqrt(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the square root of every element of `x`."""
def square(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the square of every element of `x`."""
def squeeze(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Remove those of the dimensions `axis`, by default of all dimensions, that are 1."""
def stack(tensors: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], axis: builtins.int | None = 0) -> tvms.ir.relax.Expr:
    """Stack `tensors` of equal shape along a new dimension `axis`."""
def std(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the standard deviation along `axis`, by default of all elements."""
def strided_slice(x: tvms.ir.relax.Expr, axes: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], begin: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], end: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], strides: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr] | None = None, assume_inbound: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the slice of `x` from `begin` up to but not including `end` along `axes`, in steps of `strides`."""
def subtract(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the difference `x1 - x2`, element by element."""
def sum(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the sum along `axis`, by default of all elements."""
def take(x: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, axis: builtins.int | None = None, mode: builtins.str = 'fast') -> tvms.ir.relax.Expr:
    """Return the slices of `x` at `indices` along `axis`. `mode` says what an index outside of the axis takes: nothing that is known ("fast"), the nearest slice ("clip"), that of the remainder ("wrap"), or NaN ("nan")."""
def tan(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the tangent of every element of `x`."""
def tanh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the hyperbolic tangent of every element of `x`."""
def tensor_to_shape(expr: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the elements of a vector of int64 as a shape."""
def text_concat(x: tvms.ir.relax.Expr, y: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the texts of `x` followed by those of `y`, which broadcast."""
def text_equal(x: tvms.ir.relax.Expr, y: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether texts are equal; `x` and `y` broadcast."""
def text_find(x: tvms.ir.relax.Expr, keys: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
    """Return the position of each text in `keys`; their number if it is absent."""
def text_full_match(x: tvms.ir.relax.Expr, pattern: tvms.ir.relax.Expr | builtins.str) -> tvms.ir.relax.Expr:
    """Return whether whole texts match a regular expression of Python's `re`."""
def text_normalize(x: tvms.ir.relax.Expr, stopwords: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], case: tvms.ir.relax.Expr | builtins.str, is_case_sensitive: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False) -> tvms.ir.relax.Expr:
    """Return the texts without stop words; `case` "LOWER" or "UPPER" changes their letters."""
def text_split(x: tvms.ir.relax.Expr, delimiter: tvms.ir.relax.Expr | builtins.str, maxsplit: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = -1) -> tvms.ir.relax.Expr:
    """Return the parts of texts between delimiters, or between white space if `delimiter` is empty, and their numbers."""
def text_take(texts: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], indices: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the texts at `indices`."""
def text_tensor(texts: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Return the tensor of `shape` with the given texts."""
def tile(data: tvms.ir.relax.Expr, repeats: builtins.int | collections.abc.Sequence[builtins.int]) -> tvms.ir.relax.Expr:
    """Repeat the whole of `data` `repeats` times along each dimension."""
def to_vdevice(data: tvms.ir.relax.Expr, dst_vdevice: typing.Any) -> tvms.ir.relax.Expr:
    """Return `data` on another device."""
def topk(data: tvms.ir.relax.Expr, k: builtins.int = 1, axis: builtins.int = -1, ret_type: builtins.str = 'both', largest: builtins.bool = True, dtype: builtins.str = 'int32') -> tvms.ir.relax.Expr:
    """Return the `k` greatest elements along `axis` and their indices."""
def tril(x: tvms.ir.relax.Expr, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.relax.Expr:
    """Return `x` with zeros above its diagonal `k`."""
def triu(x: tvms.ir.relax.Expr, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.relax.Expr:
    """Return `x` with zeros below its diagonal `k`."""
def trunc(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round towards zero every element of `x`."""
def unique(x: tvms.ir.relax.Expr, sorted: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = True, return_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False, return_inverse: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False, return_counts: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
    """Return the distinct elements of `x` and, on request, their first indices, the inverse indices, and their counts."""
def variance(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the variance along `axis`, by default of all elements."""
def where(condition: tvms.ir.relax.Expr, x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the elements of `x1` where `condition` holds, and those of `x2` elsewhere."""
def wrap_param(data: tvms.ir.relax.Expr, dtype: builtins.str = 'float32') -> tvms.ir.relax.Expr:
    """Return the parameter `data` converted to `dtype`."""
def zeros(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return a tensor of `shape` with all elements 0."""
def zeros_like(x: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of the shape of `x` with all elements 0."""
from tvms.relax.op import base as base
from tvms.relax.op import binary as binary
from tvms.relax.op import builtin as builtin
from tvms.relax.op import ccl as ccl
from tvms.relax.op import create as create
from tvms.relax.op import datatype as datatype
from tvms.relax.op import distributed as distributed
from tvms.relax.op import grad as grad
from tvms.relax.op import image as image
from tvms.relax.op import index as index
from tvms.relax.op import linalg as linalg
from tvms.relax.op import linear_algebra as linear_algebra
from tvms.relax.op import manipulate as manipulate
from tvms.relax.op import mask as mask
from tvms.relax.op import memory as memory
from tvms.relax.op import nn as nn
from tvms.relax.op import qdq as qdq
from tvms.relax.op import sampling as sampling
from tvms.relax.op import search as search
from tvms.relax.op import set as set
from tvms.relax.op import sorting as sorting
from tvms.relax.op import statistical as statistical
from tvms.relax.op import ternary as ternary
from tvms.relax.op import unary as unary
from tvms.relax.op import vision as vision
from tvms.relax.op import vm as vm
