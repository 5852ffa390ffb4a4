"""`R` of TVMScript. Generated from the declarations of the forms; do not edit."""

import builtins
import collections.abc
import contextlib
import tvms.ir.base
import tvms.ir.relax
import tvms.ir.tir
import typing
def rewriter(definition: builtins.type, /) -> typing.Any: ...
def device(dev_type: builtins.int | tvms.ir.tir.PrimExpr, dev_id: builtins.int | tvms.ir.tir.PrimExpr = 0) -> typing.Any:
    """`R.device(2, 0)`: a device by the number of its type, for `R.hint_on_device`."""
def device_mesh(shape: typing.Any, device_ids: typing.Any) -> typing.Any:
    """`R.device_mesh((2, 2), I.Range(0, 4))`: a grid of devices."""
class dist:
    """Forms `R.dist.*`."""
    @builtins.staticmethod
    def device_mesh(shape: typing.Any, device_ids: typing.Any) -> typing.Any:
        """`R.device_mesh((2, 2), I.Range(0, 4))`: a grid of devices."""
    @builtins.staticmethod
    def DTensor(shape: typing.Any = ..., dtype: typing.Any = ..., device_mesh: typing.Any = ..., placement: typing.Any = ..., ndim: typing.Any = ...) -> typing.Any:
        """`R.DTensor((n, 4), "float32", "mesh[0]", "S[0]")`: a tensor distributed over devices."""
    @builtins.staticmethod
    def const(value: typing.Any, struct_info: typing.Any) -> typing.Any:
        """`R.dist.const(value, struct_info)`: a constant distributed over devices."""
    @builtins.staticmethod
    def call_tir_local_view(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
        """Call a loop function on the part of each tensor that is on this device."""
    @builtins.staticmethod
    def call_tir(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
        """Call a loop function on distributed tensors; otherwise the same as `R.call_tir`."""
    @builtins.staticmethod
    def redistribute_replica_to_shard(input: tvms.ir.relax.Expr, num_workers: builtins.int, axis: builtins.int) -> tvms.ir.relax.Expr:
        """Return this worker's part of a replicated tensor."""
    @builtins.staticmethod
    def annotate_sharding(input: tvms.ir.relax.Expr, device_mesh: typing.Any, placement: typing.Any) -> tvms.ir.relax.Expr:
        """Return `input`, marked to be distributed over `device_mesh` by `placement`."""
    @builtins.staticmethod
    def redistribute(input: tvms.ir.relax.Expr, device_mesh: typing.Any, placement: typing.Any) -> tvms.ir.relax.Expr:
        """Return `input` distributed over `device_mesh` by `placement`."""
def ExternFunc(global_symbol: builtins.str, struct_info: typing.Any = ...) -> typing.Any:
    """`R.ExternFunc("f", struct_info)`: a function that is registered by name at run time."""
def dataflow() -> contextlib.AbstractContextManager[None]:
    """`with R.dataflow():`, bindings without side effects; `R.output` lists those that are visible after it."""
def output(*variables: typing.Any) -> None:
    """`R.output(a, b)` at the end of a dataflow block: the variables that are visible after it."""
def func_attr(attrs: typing.Any) -> None:
    """`R.func_attr({"key": value})`: attributes of the function."""
@typing.overload
def macro(definition: collections.abc.Callable[..., typing.Any], /) -> collections.abc.Callable[..., typing.Any]:
    """`R.macro f(x):` opens a macro of graph functions: bindings and a return, whose value replaces each call `f(…)`."""
@typing.overload
def macro(*, hygienic: builtins.bool = True) -> collections.abc.Callable[[collections.abc.Callable[..., typing.Any]], collections.abc.Callable[..., typing.Any]]:
    """`R.macro f(x):` opens a macro of graph functions: bindings and a return, whose value replaces each call `f(…)`."""
@typing.overload
def function(definition: collections.abc.Callable[..., typing.Any], /) -> tvms.ir.relax.Function:
    """`R.function(private=True) f(…):` opens a graph function."""
@typing.overload
def function(*, private: builtins.bool = False, check_well_formed: builtins.bool = True, pure: builtins.bool = True, s_tir: builtins.bool = False) -> collections.abc.Callable[[collections.abc.Callable[..., typing.Any]], tvms.ir.relax.Function]:
    """`R.function(private=True) f(…):` opens a graph function."""
class Tensor(tvms.ir.relax.Expr, tvms.ir.relax.TensorStructInfo):
    """`R.Tensor((n, 4), "float32")`: a tensor; omitted arguments are unknown."""
    def __init__(self, shape: typing.Any = ..., dtype: typing.Any = ..., vdevice: typing.Any = ..., ndim: typing.Any = ...) -> None: ...
class Shape(tvms.ir.relax.Expr, tvms.ir.relax.ShapeStructInfo):
    """`R.Shape([n, 4])` or `R.Shape(ndim=2)`: a shape."""
    def __init__(self, values: typing.Any = ..., ndim: typing.Any = ...) -> None: ...
class Tuple(tvms.ir.relax.Expr, tvms.ir.relax.TupleStructInfo):
    """`R.Tuple(R.Tensor, R.Shape)`: a tuple with these elements."""
    def __init__(self, *fields: typing.Any) -> None: ...
class Callable(tvms.ir.relax.Expr, tvms.ir.relax.FuncStructInfo):
    """`R.Callable((R.Tensor,), R.Tensor, purity=True)`: a function."""
    def __init__(self, params: typing.Any = ..., ret: typing.Any = ..., purity: typing.Any = ..., derive_func: typing.Any = ...) -> None: ...
class Object(tvms.ir.relax.Expr, tvms.ir.relax.ObjectStructInfo):
    """`R.Object`: any value."""
    def __init__(self) -> None: ...
class Any(tvms.ir.relax.Expr, tvms.ir.relax.ObjectStructInfo):
    """`R.Object`: any value."""
    def __init__(self) -> None: ...
class Prim(tvms.ir.relax.Expr, tvms.ir.relax.PrimStructInfo):
    """`R.Prim("int64")` or `R.Prim(value="n")`: a scalar of the loop level."""
    def __init__(self, dtype: typing.Any = ..., value: typing.Any = ...) -> None: ...
def DTensor(shape: typing.Any = ..., dtype: typing.Any = ..., device_mesh: typing.Any = ..., placement: typing.Any = ..., ndim: typing.Any = ...) -> typing.Any:
    """`R.DTensor((n, 4), "float32", "mesh[0]", "S[0]")`: a tensor distributed over devices."""
def emit_te(func: typing.Any, *args: typing.Any, **keywords: typing.Any) -> tvms.ir.relax.Expr:
    """`R.emit_te(topi.add, x, y)`: a call of the loop function that a Python function builds from tensors."""
def emit_with_sinfo(op: typing.Any, args: typing.Any, sinfo_args: typing.Any = ...) -> typing.Any:
    """`R.emit_with_sinfo("relax.add", (x, y), (R.Tensor((4,), "float32"),))`: a call of an operator that has types as arguments."""
def emit_with_type(op: typing.Any, args: typing.Any, sinfo_args: typing.Any = ...) -> typing.Any:
    """`R.emit_with_sinfo("relax.add", (x, y), (R.Tensor((4,), "float32"),))`: a call of an operator that has types as arguments."""
def emit_with_ty(op: typing.Any, args: typing.Any, sinfo_args: typing.Any = ...) -> typing.Any:
    """`R.emit_with_sinfo("relax.add", (x, y), (R.Tensor((4,), "float32"),))`: a call of an operator that has types as arguments."""
def call_packed(func: typing.Any, *args: typing.Any, sinfo_args: typing.Any = ..., **attrs: typing.Any) -> tvms.ir.relax.Expr:
    """`R.call_packed("f", *args, sinfo_args=…)`: a call whose result has the struct info `sinfo_args`."""
def match_cast(value: typing.Any, struct_info: typing.Any) -> tvms.ir.relax.Expr:
    """`y = R.match_cast(x, R.Tensor((n, 4), "float32"))`: checked at run time; binds new dimensions."""
def const(value: typing.Any, dtype: typing.Any = ...) -> tvms.ir.relax.Constant:
    """`R.const(value, dtype)`, where `value` is a number or nested lists of numbers."""
def shape(values: typing.Any) -> tvms.ir.relax.ShapeExpr:
    """`R.shape([n, 4])`: dimensions as a value."""
def ShapeExpr(values: typing.Any) -> tvms.ir.relax.ShapeExpr:
    """`R.shape([n, 4])`: dimensions as a value."""
def prim_value(value: typing.Any) -> tvms.ir.relax.PrimValue:
    """`R.prim_value(n)`: a scalar of the loop level as a value."""
def str(value: typing.Any) -> tvms.ir.relax.StringImm:
    """`R.str("text")`: a string as a value."""
def dtype(value: typing.Any) -> tvms.ir.relax.DataTypeImm:
    """`R.dtype("float32")`: a dtype as a value."""
def tuple(*fields: typing.Any) -> tvms.ir.relax.Tuple:
    """`R.tuple(a, b)`: the same as `(a, b)`."""
def TupleGetItem(tuple_value: typing.Any, index: typing.Any) -> tvms.ir.relax.TupleGetItem:
    """`R.TupleGetItem(t, 0)`: the same as `t[0]`."""
def abs(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the absolute value of every element of `x`."""
def acos(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse cosine of every element of `x`."""
def acosh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse hyperbolic cosine of every element of `x`."""
def asin(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse sine of every element of `x`."""
def asinh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse hyperbolic sine of every element of `x`."""
def atan(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse tangent of every element of `x`."""
def atanh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverse hyperbolic tangent of every element of `x`."""
def ceil(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round up every element of `x`."""
def cos(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the cosine of every element of `x`."""
def cosh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the hyperbolic cosine of every element of `x`."""
def erf(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the error function of every element of `x`."""
def exp(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the exponential of every element of `x`."""
def floor(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round down every element of `x`."""
def log(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the natural logarithm of every element of `x`."""
def negative(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Negate every element of `x`."""
def round(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round (to nearest, halves to even) every element of `x`."""
def rsqrt(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the reciprocal of the square root of every element of `x`."""
def sigmoid(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logistic function of every element of `x`."""
def sign(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the sign of every element of `x`."""
def sin(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the sine of every element of `x`."""
def sinh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the hyperbolic sine of every element of `x`."""
def sqrt(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the square root of every element of `x`."""
def tan(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the tangent of every element of `x`."""
def tanh(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the hyperbolic tangent of every element of `x`."""
def trunc(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Round towards zero every element of `x`."""
def isfinite(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether each element of `x` is finite."""
def isinf(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether each element of `x` is infinite."""
def isnan(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether each element of `x` is NaN."""
def square(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the square of every element of `x`."""
def bitwise_not(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Invert the bits of every element of `x`."""
def logical_not(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logical negation of every element of `x`."""
def clip(x: tvms.ir.relax.Expr, min: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, max: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.relax.Expr:
    """Clamp every element of `x` to `min` and `max`; if `min` exceeds `max`, the result is `max`."""
def add(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the sum of `x1` and `x2`, element by element."""
def subtract(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the difference `x1 - x2`, element by element."""
def multiply(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the product of `x1` and `x2`, element by element."""
def divide(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the quotient `x1 / x2`, rounded towards zero for integers, element by element."""
def floor_divide(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the quotient `x1 / x2`, rounded down, element by element."""
def mod(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the remainder of `x1 / x2` with the sign of `x1`, element by element."""
def floor_mod(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the remainder of `x1 / x2` with the sign of `x2`, element by element."""
def power(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return `x1` to the power of `x2`, element by element."""
def maximum(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the maximum of `x1` and `x2`, element by element."""
def minimum(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return the minimum of `x1` and `x2`, element by element."""
def atan2(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the angle of the point (`x2`, `x1`) in radians, element by element."""
def log_add_exp(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `log(exp(x1) + exp(x2))`, element by element."""
def logical_and(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logical and of `x1` and `x2`, element by element."""
def logical_or(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the logical or of `x1` and `x2`, element by element."""
def logical_xor(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the exclusive or of `x1` and `x2`, element by element."""
def bitwise_and(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the bitwise and of `x1` and `x2`, element by element."""
def bitwise_or(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the bitwise or of `x1` and `x2`, element by element."""
def bitwise_xor(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the bitwise exclusive or of `x1` and `x2`, element by element."""
def left_shift(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x1` shifted left by `x2` bits, element by element."""
def right_shift(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x1` shifted right by `x2` bits, element by element."""
def equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` equals `x2`, element by element."""
def not_equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` differs from `x2`, element by element."""
def less(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is less than `x2`, element by element."""
def less_equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is at most `x2`, element by element."""
def greater(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is greater than `x2`, element by element."""
def greater_equal(x1: tvms.ir.relax.Expr | builtins.float, x2: tvms.ir.relax.Expr | builtins.float) -> tvms.ir.relax.Expr:
    """Return whether `x1` is at least `x2`, element by element."""
def ewise_fma(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr, x3: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x1 * x2 + x3`, element by element."""
def full(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], fill_value: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of `shape` with all elements `fill_value`."""
def full_like(x: tvms.ir.relax.Expr, fill_value: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of the shape of `x` with all elements `fill_value`."""
def ones(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return a tensor of `shape` with all elements 1."""
def ones_like(x: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of the shape of `x` with all elements 1."""
def zeros(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return a tensor of `shape` with all elements 0."""
def zeros_like(x: tvms.ir.relax.Expr, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a tensor of the shape of `x` with all elements 0."""
def eye(n: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, m: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0, dtype: builtins.str = 'float32') -> tvms.ir.relax.Expr:
    """Return an `n` by `m` matrix with ones on the diagonal `k`, zeros elsewhere."""
def eye_like(x: tvms.ir.relax.Expr, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return a matrix of the shape of `x` with ones on the diagonal `k`, zeros elsewhere."""
def arange(start: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None, step: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 1, dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the numbers from `start` up to but not including `end`, in steps of `step`."""
def hamming_window(window_size: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, periodic: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, alpha: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, beta: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return a Hamming window of `window_size`."""
def tril(x: tvms.ir.relax.Expr, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.relax.Expr:
    """Return `x` with zeros above its diagonal `k`."""
def triu(x: tvms.ir.relax.Expr, k: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.relax.Expr:
    """Return `x` with zeros below its diagonal `k`."""
def astype(x: tvms.ir.relax.Expr, dtype: builtins.str) -> tvms.ir.relax.Expr:
    """Return `x` converted to `dtype`; floats become integers by rounding towards zero."""
def wrap_param(data: tvms.ir.relax.Expr, dtype: builtins.str = 'float32') -> tvms.ir.relax.Expr:
    """Return the parameter `data` converted to `dtype`."""
def permute_dims(x: tvms.ir.relax.Expr, axes: builtins.int | collections.abc.Sequence[builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Permute the dimensions of `x` to the order `axes`, or reverse them."""
def reshape(x: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Reshape `x`; one dimension may be -1 and is inferred, and 0 keeps a dimension."""
def flatten(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Flatten `x` to one dimension."""
class nn:
    """Forms `R.nn.*`."""
    @builtins.staticmethod
    def batch_flatten(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Flatten all dimensions of `data` but the first to one."""
    @builtins.staticmethod
    def relu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return `max(x, 0)` of every element."""
    @builtins.staticmethod
    def gelu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the Gaussian error linear unit."""
    @builtins.staticmethod
    def gelu_tanh(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the Gaussian error linear unit, approximated by tanh."""
    @builtins.staticmethod
    def silu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return `x * sigmoid(x)` of every element."""
    @builtins.staticmethod
    def selu(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the scaled exponential linear unit."""
    @builtins.staticmethod
    def leakyrelu(data: tvms.ir.relax.Expr, alpha: builtins.float = 0.01) -> tvms.ir.relax.Expr:
        """Return every element, multiplied by `alpha` if it is negative."""
    @builtins.staticmethod
    def softplus(data: tvms.ir.relax.Expr, beta: builtins.float = 1.0, threshold: builtins.float = 20.0) -> tvms.ir.relax.Expr:
        """Return `log(1 + exp(beta * x)) / beta`, a smooth approximation of relu."""
    @builtins.staticmethod
    def prelu(data: tvms.ir.relax.Expr, alpha: tvms.ir.relax.Expr, axis: builtins.int = 1) -> tvms.ir.relax.Expr:
        """Return every element, multiplied by the slope of its channel if it is negative."""
    @builtins.staticmethod
    def relu6(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Clamp every element to 0 and 6."""
    @builtins.staticmethod
    def softmax(data: tvms.ir.relax.Expr, axis: builtins.int = -1) -> tvms.ir.relax.Expr:
        """Return the softmax along `axis`."""
    @builtins.staticmethod
    def log_softmax(data: tvms.ir.relax.Expr, axis: builtins.int = -1) -> tvms.ir.relax.Expr:
        """Return the logarithm of the softmax along `axis`."""
    @builtins.staticmethod
    def layer_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Normalize `data` to mean 0 and variance 1 over `axes`, multiply by `gamma` and add `beta`."""
    @builtins.staticmethod
    def rms_norm(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, axes: builtins.int | collections.abc.Sequence[builtins.int] = -1, epsilon: builtins.float = 1e-05) -> tvms.ir.relax.Expr:
        """Divide `data` by its root mean square over `axes` and multiply by `weight`."""
    @builtins.staticmethod
    def batch_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, moving_mean: tvms.ir.relax.Expr, moving_var: tvms.ir.relax.Expr, axis: builtins.int, epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True, momentum: builtins.float = 0.1, training: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Normalize `data` over all axes except `axis`; return it with the moving mean and variance."""
    @builtins.staticmethod
    def group_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, num_groups: builtins.int, channel_axis: builtins.int, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Normalize `data` over each group of channels and over `axes`."""
    @builtins.staticmethod
    def instance_norm(data: tvms.ir.relax.Expr, gamma: tvms.ir.relax.Expr, beta: tvms.ir.relax.Expr, channel_axis: builtins.int, axes: builtins.int | collections.abc.Sequence[builtins.int], epsilon: builtins.float = 1e-05, center: builtins.bool = True, scale: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Normalize each channel of `data` over `axes`."""
    @builtins.staticmethod
    def dropout(data: tvms.ir.relax.Expr, rate: builtins.float = 0.5) -> tvms.ir.relax.Expr:
        """Drop random elements in training; return `data` and the mask of kept elements. Inference drops nothing."""
    @builtins.staticmethod
    def conv1d(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCW', kernel_layout: builtins.str = 'OIW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the 1D convolution of `data` with `weight`."""
    @builtins.staticmethod
    def conv2d(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCHW', kernel_layout: builtins.str = 'OIHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the 2D convolution of `data` with `weight`."""
    @builtins.staticmethod
    def conv3d(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCDHW', kernel_layout: builtins.str = 'OIDHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the 3D convolution of `data` with `weight`."""
    @builtins.staticmethod
    def conv1d_transpose(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCW', kernel_layout: builtins.str = 'IOW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the 1D transposed convolution of `data` with `weight`."""
    @builtins.staticmethod
    def conv2d_transpose(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCHW', kernel_layout: builtins.str = 'IOHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the 2D transposed convolution of `data` with `weight`."""
    @builtins.staticmethod
    def conv3d_transpose(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, output_padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, groups: builtins.int = 1, data_layout: builtins.str = 'NCDHW', kernel_layout: builtins.str = 'IODHW', out_layout: builtins.str | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the 3D transposed convolution of `data` with `weight`."""
    @builtins.staticmethod
    def max_pool1d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the maximum of every window of `data` in 1D."""
    @builtins.staticmethod
    def avg_pool1d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the mean of every window of `data` in 1D."""
    @builtins.staticmethod
    def adaptive_avg_pool1d(data: tvms.ir.relax.Expr, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the means of windows such that the result has `output_size`, in 1D."""
    @builtins.staticmethod
    def max_pool2d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the maximum of every window of `data` in 2D."""
    @builtins.staticmethod
    def avg_pool2d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the mean of every window of `data` in 2D."""
    @builtins.staticmethod
    def adaptive_avg_pool2d(data: tvms.ir.relax.Expr, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the means of windows such that the result has `output_size`, in 2D."""
    @builtins.staticmethod
    def max_pool3d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the maximum of every window of `data` in 3D."""
    @builtins.staticmethod
    def avg_pool3d(data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = 1, strides: builtins.int | collections.abc.Sequence[builtins.int] = 1, padding: builtins.int | collections.abc.Sequence[builtins.int] = 0, dilation: builtins.int | collections.abc.Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the mean of every window of `data` in 3D."""
    @builtins.staticmethod
    def adaptive_avg_pool3d(data: tvms.ir.relax.Expr, output_size: builtins.int | collections.abc.Sequence[builtins.int] | None = None, layout: builtins.str = 'NCDHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the means of windows such that the result has `output_size`, in 3D."""
    @builtins.staticmethod
    def pixel_shuffle(data: tvms.ir.relax.Expr, upscale_factor: builtins.int) -> tvms.ir.relax.Expr:
        """Rearrange channels of `data` into squares of `upscale_factor` × `upscale_factor` pixels."""
    @builtins.staticmethod
    def pad(data: tvms.ir.relax.Expr, pad_width: builtins.int | collections.abc.Sequence[builtins.int], pad_mode: builtins.str | None = 'constant', pad_value: builtins.float = 0.0) -> tvms.ir.relax.Expr:
        """Pad `data` by `pad_width` elements before and after each dimension, with `pad_value` or with elements of the data that `pad_mode` selects."""
    @builtins.staticmethod
    def attention_bias(query: tvms.ir.relax.Expr, key: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr, bias: tvms.ir.relax.Expr, scale: builtins.float | None = None, causal_mask: builtins.str | None = None, window_size: builtins.int | None = None) -> tvms.ir.relax.Expr:
        """Return softmax(query · key × scale + bias) · value, for each head."""
    @builtins.staticmethod
    def attention(query: tvms.ir.relax.Expr, key: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr, bias: tvms.ir.relax.Expr | None = None, scale: builtins.float | None = None, causal_mask: builtins.str | None = None, window_size: builtins.int | None = None) -> tvms.ir.relax.Expr:
        """Return softmax(query · key × scale) · value, for each head; with a bias it is `R.nn.attention_bias`."""
    @builtins.staticmethod
    def attention_var_len(queries: tvms.ir.relax.Expr, keys: tvms.ir.relax.Expr, values: tvms.ir.relax.Expr, seqstart_q: tvms.ir.relax.Expr, max_seqlen_q: tvms.ir.relax.Expr, seqstart_k: tvms.ir.relax.Expr | None = None, max_seqlen_k: tvms.ir.relax.Expr | None = None, scale: builtins.float | None = None, causal_mask: builtins.str | None = None, window_size: builtins.int | None = None) -> tvms.ir.relax.Expr:
        """Return attention over packed sequences of different lengths: `seqstart_q` and `seqstart_k` hold the start of each sequence and the end of the last one."""
    @builtins.staticmethod
    def cross_entropy_with_logits(predictions: tvms.ir.relax.Expr, labels: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the cross entropy: the mean of `-predictions * labels`, where `predictions` are logarithms."""
    @builtins.staticmethod
    def nll_loss(predictions: tvms.ir.relax.Expr, targets: tvms.ir.relax.Expr, weights: tvms.ir.relax.Expr | None = None, reduction: builtins.str = 'mean', ignore_index: builtins.int = -100) -> tvms.ir.relax.Expr:
        """Return the negative log likelihood of the classes `targets`."""
def broadcast_to(x: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Broadcast `x` to `shape`."""
def expand_dims(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int]) -> tvms.ir.relax.Expr:
    """Insert dimensions of size 1 at `axis`."""
def squeeze(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Remove those of the dimensions `axis`, by default of all dimensions, that are 1."""
def concat(tensors: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], axis: builtins.int | None = 0) -> tvms.ir.relax.Expr:
    """Concatenate `tensors` along `axis`."""
def stack(tensors: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], axis: builtins.int | None = 0) -> tvms.ir.relax.Expr:
    """Stack `tensors` of equal shape along a new dimension `axis`."""
def split(x: tvms.ir.relax.Expr, indices_or_sections: builtins.int | collections.abc.Sequence[builtins.int], axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Split `x` along `axis` into a number of equal parts, or at the given indices."""
def repeat(data: tvms.ir.relax.Expr, repeats: builtins.int, axis: builtins.int | None = None) -> tvms.ir.relax.Expr:
    """Repeat every element of `data` along `axis`, or of the flattened `data`."""
def tile(data: tvms.ir.relax.Expr, repeats: builtins.int | collections.abc.Sequence[builtins.int]) -> tvms.ir.relax.Expr:
    """Repeat the whole of `data` `repeats` times along each dimension."""
def flip(data: tvms.ir.relax.Expr, axis: builtins.int) -> tvms.ir.relax.Expr:
    """Reverse the elements of `data` along `axis`."""
def strided_slice(x: tvms.ir.relax.Expr, axes: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], begin: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], end: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], strides: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr] | None = None, assume_inbound: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the slice of `x` from `begin` up to but not including `end` along `axes`, in steps of `strides`."""
def dynamic_strided_slice(x: tvms.ir.relax.Expr, begin: tvms.ir.relax.Expr, end: tvms.ir.relax.Expr, strides: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the slice of `x` between bounds that are known only at run time."""
def gather_elements(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Return the elements of `data` at `indices` along `axis`, and at the position in `indices` along the other axes."""
def gather_nd(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, batch_dims: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Return the slices of `data` at the indices in the last dimension of `indices`."""
def index_tensor(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
    """Return the slices of `data` at `indices`, one tensor per leading dimension; these are broadcast."""
def meshgrid(tensors: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], indexing: builtins.str | None = 'ij') -> tvms.ir.relax.Expr:
    """Return the coordinates of the grid that the vectors span, one tensor per vector."""
def take(x: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, axis: builtins.int | None = None, mode: builtins.str = 'fast') -> tvms.ir.relax.Expr:
    """Return the slices of `x` at `indices` along `axis`. `mode` says what an index outside of the axis takes: nothing that is known ("fast"), the nearest slice ("clip"), that of the remainder ("wrap"), or NaN ("nan")."""
def reverse_sequence(data: tvms.ir.relax.Expr, seq_lengths: tvms.ir.relax.Expr, seq_axis: builtins.int = 1, batch_axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Reverse the first `seq_lengths[i]` elements of the i-th slice of `data` along `batch_axis`, in the order of `seq_axis`."""
def scatter_elements(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, updates: tvms.ir.relax.Expr, axis: builtins.int = 0, reduction: builtins.str = 'update') -> tvms.ir.relax.Expr:
    """Return `data` with `updates` written at `indices` along `axis`."""
def scatter_nd(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, updates: tvms.ir.relax.Expr, reduction: builtins.str = 'update') -> tvms.ir.relax.Expr:
    """Return `data` with `updates` written at the indices in the last dimension of `indices`."""
def index_put(data: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, values: tvms.ir.relax.Expr, accumulate: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return `data` with `values` written or added at `indices`, one vector per dimension."""
def slice_scatter(input_tensor: tvms.ir.relax.Expr, src: tvms.ir.relax.Expr, start: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, step: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, axis: builtins.int = 0) -> tvms.ir.relax.Expr:
    """Return `input_tensor` with its slice along `axis` replaced by `src`."""
def one_hot(indices: tvms.ir.relax.Expr, on_value: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, off_value: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, depth: builtins.int, axis: builtins.int = -1) -> tvms.ir.relax.Expr:
    """Return a one-hot encoding along a new `axis`: `on_value` at the index, `off_value` elsewhere."""
def collapse_sum_like(data: tvms.ir.relax.Expr, collapse_target: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `data` summed to the shape of `collapse_target`."""
def collapse_sum_to(data: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Return `data` summed to `shape`."""
def layout_transform(x: tvms.ir.relax.Expr, index_map: typing.Any, pad_value: typing.Any = None, axis_separators: builtins.int | collections.abc.Sequence[builtins.int] | None = ..., input_axis_separators: builtins.int | collections.abc.Sequence[builtins.int] | None = ...) -> tvms.ir.relax.Expr:
    """Transform the layout of `x` by `index_map`; `pad_value` fills dimensions that are not divisible."""
def matmul(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the matrix product over the last two dimensions and broadcast the others; a vector is a row on the left and a column on the right."""
def linear(data: tvms.ir.relax.Expr, weight: tvms.ir.relax.Expr, bias: tvms.ir.relax.Expr | None = None, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return `data @ weight.T + bias`, composed of three operators."""
def outer(x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the outer product of the vectors `x1` and `x2`."""
def einsum(operands: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], subscripts: builtins.str) -> tvms.ir.relax.Expr:
    """Return the sum of products that `subscripts` denotes in Einstein notation."""
class linalg:
    """Forms `R.linalg.*`."""
    @builtins.staticmethod
    def det(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the determinants of the square matrices in the last two dimensions."""
    @builtins.staticmethod
    def inv(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the inverses of the square matrices in the last two dimensions; a singular matrix is an error."""
def sum(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the sum along `axis`, by default of all elements."""
def prod(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the product along `axis`, by default of all elements."""
def max(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the maximum along `axis`, by default of all elements. For no elements it is the minimum of the dtype."""
def min(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the minimum along `axis`, by default of all elements. For no elements it is the maximum of the dtype."""
def mean(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the mean along `axis`, by default of all elements."""
def variance(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the variance along `axis`, by default of all elements."""
def std(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the standard deviation along `axis`, by default of all elements."""
def cumsum(data: tvms.ir.relax.Expr, axis: builtins.int | None = None, dtype: builtins.str | None = None, exclusive: builtins.bool | None = False) -> tvms.ir.relax.Expr:
    """Return the cumulative sum along `axis`, by default of the flattened tensor."""
def cumprod(data: tvms.ir.relax.Expr, axis: builtins.int | None = None, dtype: builtins.str | None = None, exclusive: builtins.bool | None = False) -> tvms.ir.relax.Expr:
    """Return the cumulative product along `axis`, by default of the flattened tensor."""
def where(condition: tvms.ir.relax.Expr, x1: tvms.ir.relax.Expr, x2: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the elements of `x1` where `condition` holds, and those of `x2` elsewhere."""
def masked_fill(x: tvms.ir.relax.Expr, mask: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `x` with `value` where `mask` holds."""
def argmax(x: tvms.ir.relax.Expr, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the index of the greatest element along `axis`, by default of the flattened tensor; -1 for no elements."""
def argmin(x: tvms.ir.relax.Expr, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the index of the least element along `axis`, by default of the flattened tensor; -1 for no elements."""
def bucketize(input_tensor: tvms.ir.relax.Expr, boundaries: tvms.ir.relax.Expr, out_int32: builtins.bool = False, right: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return, for every element, the number of sorted `boundaries` below it."""
def unique(x: tvms.ir.relax.Expr, sorted: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = True, return_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False, return_inverse: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False, return_counts: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
    """Return the distinct elements of `x` and, on request, their first indices, the inverse indices, and their counts."""
def nonzero(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the indices of the nonzero elements, one row per dimension."""
def sort(x: tvms.ir.relax.Expr, axis: builtins.int = -1, descending: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return `x` sorted along `axis`."""
def argsort(data: tvms.ir.relax.Expr, axis: builtins.int = -1, descending: builtins.bool = False, dtype: builtins.str = 'int32') -> tvms.ir.relax.Expr:
    """Return the indices that sort `data` along `axis`."""
def topk(data: tvms.ir.relax.Expr, k: builtins.int = 1, axis: builtins.int = -1, ret_type: builtins.str = 'both', largest: builtins.bool = True, dtype: builtins.str = 'int32') -> tvms.ir.relax.Expr:
    """Return the `k` greatest elements along `axis` and their indices."""
def median(x: tvms.ir.relax.Expr, axis: builtins.int | collections.abc.Sequence[builtins.int] | None = None, keepdims: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the median along `axis`, by default of all elements: of two middle elements the lower one, and NaN if there is one. Along one axis, return the median and its index."""
def multinomial_from_uniform(prob: tvms.ir.relax.Expr, uniform_sample: tvms.ir.relax.Expr, sample_indices: tvms.ir.relax.Expr, dtype: builtins.str = 'int64') -> tvms.ir.relax.Expr:
    """Return, for each uniform sample, the class that it selects from its row of `prob`."""
def quantize(data: tvms.ir.relax.Expr, scale: tvms.ir.relax.Expr, zero_point: tvms.ir.relax.Expr, axis: builtins.int = -1, out_dtype: builtins.str = 'int8') -> tvms.ir.relax.Expr:
    """Return `data / scale + zero_point`, rounded to `out_dtype`."""
def dequantize(data: tvms.ir.relax.Expr, scale: tvms.ir.relax.Expr, zero_point: tvms.ir.relax.Expr, axis: builtins.int = -1, out_dtype: builtins.str = 'float32') -> tvms.ir.relax.Expr:
    """Return `(data - zero_point) * scale` as `out_dtype`."""
class image:
    """Forms `R.image.*`."""
    @builtins.staticmethod
    def resize2d(data: tvms.ir.relax.Expr, size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | builtins.int, roi: typing.Any = ..., layout: builtins.str = 'NCHW', method: builtins.str = 'linear', coordinate_transformation_mode: builtins.str = 'half_pixel', rounding_method: builtins.str = 'round', cubic_alpha: builtins.float = -0.75, cubic_exclude: builtins.int = 0, extrapolation_value: builtins.float = 0.0, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Resize images to `size`, height and width."""
    @builtins.staticmethod
    def resize3d(data: tvms.ir.relax.Expr, size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | builtins.int, roi: typing.Any = ..., layout: builtins.str = 'NCDHW', method: builtins.str = 'linear', coordinate_transformation_mode: builtins.str = 'half_pixel', rounding_method: builtins.str = '', cubic_alpha: builtins.float = -0.75, cubic_exclude: builtins.int = 0, extrapolation_value: builtins.float = 0.0, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Resize images to `size`, depth, height and width."""
    @builtins.staticmethod
    def decode(data: tvms.ir.relax.Expr, pixel_format: tvms.ir.relax.Expr | builtins.str) -> tvms.ir.relax.Expr:
        """Return the pixels (height, width, channels) of an encoded image, in the order "RGB", "BGR" or "Grayscale"."""
    @builtins.staticmethod
    def affine_grid(data: tvms.ir.relax.Expr, size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | builtins.int, align_corners: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Return the sampling grid of `size` that the affine transformations `data`, of shape (n, 2, 3) or (n, 3, 4), give; its second dimension holds x, y and perhaps z, where -1 and 1 are the centers of the outer pixels, or else their edges."""
    @builtins.staticmethod
    def grid_sample(data: tvms.ir.relax.Expr, grid: tvms.ir.relax.Expr, method: builtins.str = 'bilinear', layout: builtins.str = 'NCHW', padding_mode: builtins.str = 'zeros', align_corners: builtins.bool = False) -> tvms.ir.relax.Expr:
        """Return the images `data` interpolated at the positions of `grid`, whose second dimension holds x, y and perhaps z from -1 to 1; positions outside of an image read zeros, its border, or its reflection."""
class vision:
    """Forms `R.vision.*`."""
    @builtins.staticmethod
    def roi_pool(data: tvms.ir.relax.Expr, rois: tvms.ir.relax.Expr, pooled_size: builtins.int | collections.abc.Sequence[builtins.int], spatial_scale: builtins.float, layout: builtins.str = 'NCHW') -> tvms.ir.relax.Expr:
        """Return the maxima of `pooled_size` parts of the regions `rois`, of shape (n, 5) with the number of the image, x1, y1, x2 and y2; 0 for parts without pixels."""
    @builtins.staticmethod
    def roi_align(data: tvms.ir.relax.Expr, rois: tvms.ir.relax.Expr, pooled_size: builtins.int | collections.abc.Sequence[builtins.int], spatial_scale: builtins.float, sample_ratio: builtins.int = -1, aligned: builtins.bool = False, layout: builtins.str = 'NCHW', mode: builtins.str = 'avg') -> tvms.ir.relax.Expr:
        """Return the regions `rois`, of shape (n, 5) with the number of the image, x1, y1, x2 and y2, resized to `pooled_size`: means or maxima of `sample_ratio` interpolated samples in either direction. The mode "weighted_max", that of ONNX, takes the maximum of the four summands of each interpolation."""
    @builtins.staticmethod
    def all_class_non_max_suppression(boxes: tvms.ir.relax.Expr, scores: tvms.ir.relax.Expr, max_output_boxes_per_class: tvms.ir.relax.Expr, iou_threshold: tvms.ir.relax.Expr, score_threshold: tvms.ir.relax.Expr, output_format: builtins.str = 'onnx') -> tvms.ir.relax.Expr:
        """Return the boxes of each class of each image that score above `score_threshold` and overlap no better one by `iou_threshold` or more, best first. For ONNX, return rows of image, class and box, and their number; for TensorFlow, return rows of class and box for each image, their scores and their number, padded with zeros."""
    @builtins.staticmethod
    def get_valid_counts(data: tvms.ir.relax.Expr, score_threshold: typing.Any = 0, id_index: builtins.int = 0, score_index: builtins.int = 1) -> tvms.ir.relax.Expr:
        """Move the boxes of each image that score above `score_threshold` to the front. It is kept and printed, but not compiled."""
    @builtins.staticmethod
    def non_max_suppression(data: tvms.ir.relax.Expr, valid_count: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, max_output_size: builtins.int = -1, iou_threshold: typing.Any = 0.5, force_suppress: builtins.bool = False, top_k: builtins.int = -1, coord_start: builtins.int = 2, score_index: builtins.int = 1, id_index: builtins.int = 0, return_indices: builtins.bool = True, invalid_to_bottom: builtins.bool = False, soft_nms_sigma: typing.Any = 0.0, score_threshold: typing.Any = 0.0) -> tvms.ir.relax.Expr:
        """Suppress boxes that overlap better ones. It is kept and printed, but not compiled."""
    @builtins.staticmethod
    def multibox_transform_loc(cls_pred: tvms.ir.relax.Expr, loc_pred: tvms.ir.relax.Expr, anchor: tvms.ir.relax.Expr, clip: builtins.bool = False, threshold: typing.Any = 0.0, variances: typing.Any = ..., keep_background: builtins.bool = True, apply_softmax: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Decode the boxes of a detector from its anchors. It is kept and printed, but not compiled."""
def sequence_insert(sequence: tvms.ir.relax.Expr, value: tvms.ir.relax.Expr, position: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `sequence` with the tensor `value` inserted at `position`."""
def sequence_erase(sequence: tvms.ir.relax.Expr, position: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `sequence` without the tensor at `position`."""
def sequence_at(sequence: tvms.ir.relax.Expr, position: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the tensor at `position` of `sequence`."""
def sequence_length(sequence: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the number of tensors in `sequence`."""
def sequence_concat(sequence: tvms.ir.relax.Expr, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, new_axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False) -> tvms.ir.relax.Expr:
    """Return the tensors of `sequence` joined along `axis`, a new one if `new_axis` is set."""
def sequence_split(x: tvms.ir.relax.Expr, sizes: tvms.ir.relax.Expr, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = 0) -> tvms.ir.relax.Expr:
    """Return the parts of `x` along `axis`, of the given sizes, or of one size, as a sequence."""
def optional_has_element(value: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether an optional value is present."""
def optional_get_element(value: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return an optional value, which must be present."""
def text_tensor(texts: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Return the tensor of `shape` with the given texts."""
def text_concat(x: tvms.ir.relax.Expr, y: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the texts of `x` followed by those of `y`, which broadcast."""
def text_equal(x: tvms.ir.relax.Expr, y: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return whether texts are equal; `x` and `y` broadcast."""
def text_split(x: tvms.ir.relax.Expr, delimiter: tvms.ir.relax.Expr | builtins.str, maxsplit: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = -1) -> tvms.ir.relax.Expr:
    """Return the parts of texts between delimiters, or between white space if `delimiter` is empty, and their numbers."""
def text_normalize(x: tvms.ir.relax.Expr, stopwords: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], case: tvms.ir.relax.Expr | builtins.str, is_case_sensitive: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float = False) -> tvms.ir.relax.Expr:
    """Return the texts without stop words; `case` "LOWER" or "UPPER" changes their letters."""
def text_full_match(x: tvms.ir.relax.Expr, pattern: tvms.ir.relax.Expr | builtins.str) -> tvms.ir.relax.Expr:
    """Return whether whole texts match a regular expression of Python's `re`."""
def text_find(x: tvms.ir.relax.Expr, keys: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
    """Return the position of each text in `keys`; their number if it is absent."""
def text_take(texts: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], indices: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the texts at `indices`."""
def ngram_counts(x: tvms.ir.relax.Expr, pool: tvms.ir.relax.Expr, lengths: tvms.ir.relax.Expr, columns: tvms.ir.relax.Expr, width: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, skips: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.relax.Expr:
    """Count the n-grams of `pool` in each row of `x`. `pool` holds them consecutively, and `lengths` their numbers of elements. The elements of an occurrence are at most `skips` elements apart. `columns` gives the column of each n-gram, of `width` columns."""
def call_tir(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function with `args` and new tensors for its results."""
def call_tir_with_grad(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, te_grad_name: builtins.str, te_grad_kwargs: typing.Any = None, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function, whose gradient is the tensor expression registered as `te_grad_name`."""
def call_tir_inplace(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], inplace_indices: builtins.int | collections.abc.Sequence[builtins.int], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function that writes its results over some of its arguments."""
def call_dps_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo) -> tvms.ir.relax.Expr:
    """Call an external function with `args` and new tensors for its results."""
def call_py_func(func_name: tvms.ir.relax.Expr | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo) -> tvms.ir.relax.Expr:
    """Call a Python function of the module's class by its name. It is kept and printed, but not executed."""
class vm:
    """Forms `R.vm.*`."""
    @builtins.staticmethod
    def call_tir_dyn(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
        """Call a loop function whose variables are given as a shape at the end of `args`."""
    @builtins.staticmethod
    def alloc_storage(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], runtime_device_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, dtype: tvms.ir.relax.Expr | builtins.str, storage_scope: tvms.ir.relax.Expr | builtins.str = 'global') -> tvms.ir.relax.Expr:
        """Return new memory."""
    @builtins.staticmethod
    def alloc_tensor(storage: tvms.ir.relax.Expr, offset: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: tvms.ir.relax.Expr | builtins.str, runtime_device_ind: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
        """Return a tensor inside `storage`."""
    @builtins.staticmethod
    def kill_object(obj: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Free an object."""
def call_pure_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, *args: tvms.ir.relax.Expr, sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call an external function that has no side effects."""
def call_inplace_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, *args: tvms.ir.relax.Expr, inplace_indices: builtins.int | collections.abc.Sequence[builtins.int], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call an external function that writes some of its arguments in place."""
def call_builtin_with_ctx(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call a function of the virtual machine with the machine as its first argument."""
def invoke_closure(closure: tvms.ir.relax.Expr, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call a closure."""
def invoke_pure_closure(closure: tvms.ir.relax.Expr, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call a closure that has no side effects."""
def make_closure(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr]) -> tvms.ir.relax.Expr:
    """Return a function with its last arguments bound to `args`."""
def null_value() -> tvms.ir.relax.Expr:
    """Return the null object."""
def assert_op(condition: tvms.ir.relax.Expr, *format_args: tvms.ir.relax.Expr, format: tvms.ir.relax.Expr | builtins.str = '') -> tvms.ir.relax.Expr:
    """Stop with the message `format` unless `condition` holds."""
def print(*values: tvms.ir.relax.Expr, format: tvms.ir.relax.Expr | builtins.str = '') -> tvms.ir.relax.Expr:
    """Print values."""
def shape_of(expr: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the shape of a tensor."""
def size(expr: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the number of elements of a tensor."""
def tensor_to_shape(expr: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the elements of a vector of int64 as a shape."""
def shape_to_tensor(expr: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int]) -> tvms.ir.relax.Expr:
    """Return a shape as a vector of int64."""
class builtin:
    """Forms `R.builtin.*`."""
    @builtins.staticmethod
    def alloc_tensor(shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: tvms.ir.relax.Expr | builtins.str, runtime_device_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, storage_scope: tvms.ir.relax.Expr | builtins.str = 'global') -> tvms.ir.relax.Expr:
        """Return a new tensor."""
    @builtins.staticmethod
    def stop_lift_params(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return `x` and stop the lifting of parameter transformations."""
class memory:
    """Forms `R.memory.*`."""
    @builtins.staticmethod
    def alloc_storage(size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], virtual_device_index: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, storage_scope: tvms.ir.relax.Expr | builtins.str, dtype: tvms.ir.relax.Expr | builtins.str) -> tvms.ir.relax.Expr:
        """Return new memory."""
    @builtins.staticmethod
    def alloc_tensor(storage: tvms.ir.relax.Expr, offset: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], dtype: tvms.ir.relax.Expr | builtins.str, runtime_device_ind: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
        """Return a tensor inside `storage`."""
    @builtins.staticmethod
    def kill_storage(storage: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Free memory."""
    @builtins.staticmethod
    def kill_tensor(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Free a tensor."""
    @builtins.staticmethod
    def view(data: tvms.ir.relax.Expr, shape: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None, dtype: tvms.ir.relax.Expr | builtins.str | None = None, relative_byte_offset: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float | None = None) -> tvms.ir.relax.Expr:
        """Return a view of the memory of `data` with another shape or dtype."""
    @builtins.staticmethod
    def ensure_zero_offset(data: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return `data`, copied if it does not start at the beginning of its memory."""
def to_vdevice(data: tvms.ir.relax.Expr, dst_vdevice: typing.Any) -> tvms.ir.relax.Expr:
    """Return `data` on another device."""
def hint_on_device(data: tvms.ir.relax.Expr, dst_vdevice: typing.Any, memory_scope: builtins.str = 'global') -> tvms.ir.relax.Expr:
    """Return `data`, with a hint to place it on another device."""
class inspect:
    """Forms `R.inspect.*`."""
    @builtins.staticmethod
    def tensor_dtype_code(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the type code of the dtype of a tensor."""
    @builtins.staticmethod
    def tensor_dtype_bits(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the number of bits of the dtype of a tensor."""
    @builtins.staticmethod
    def tensor_dtype_lanes(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the lanes of the dtype of a tensor."""
    @builtins.staticmethod
    def tensor_ndim(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the number of dimensions of a tensor."""
    @builtins.staticmethod
    def tensor_byte_offset(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the offset of the first element in its memory, in bytes of a tensor."""
    @builtins.staticmethod
    def tensor_elem_offset(tensor: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the offset of the first element in its memory, in elements of a tensor."""
    @builtins.staticmethod
    def tensor_shape_i(tensor: tvms.ir.relax.Expr, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.relax.Expr:
        """Return a dimension of a tensor."""
    @builtins.staticmethod
    def tensor_stride_i(tensor: tvms.ir.relax.Expr, axis: tvms.ir.relax.Expr | tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.relax.Expr:
        """Return a stride of a tensor."""
class grad:
    """Forms `R.grad.*`."""
    @builtins.staticmethod
    def no_grad(input: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return `input` and block its gradient."""
    @builtins.staticmethod
    def start_checkpoint(input: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return `input`; what follows is recomputed for the gradient."""
    @builtins.staticmethod
    def end_checkpoint(input: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return `input`; what precedes is recomputed for the gradient."""
    @builtins.staticmethod
    def nll_loss_backward(output_grad: tvms.ir.relax.Expr, predictions: tvms.ir.relax.Expr, targets: tvms.ir.relax.Expr, weights: tvms.ir.relax.Expr | None = None, reduction: builtins.str = 'mean', ignore_index: builtins.int = -100) -> tvms.ir.relax.Expr:
        """Return the gradient of `nll_loss` with respect to `predictions`."""
    @builtins.staticmethod
    def max_pool2d_backward(output_grad: tvms.ir.relax.Expr, data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = ..., strides: builtins.int | collections.abc.Sequence[builtins.int] = ..., padding: builtins.int | collections.abc.Sequence[builtins.int] = ..., dilation: builtins.int | collections.abc.Sequence[builtins.int] = ..., ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the gradient of `max_pool2d` with respect to `data`."""
    @builtins.staticmethod
    def avg_pool2d_backward(output_grad: tvms.ir.relax.Expr, data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = ..., strides: builtins.int | collections.abc.Sequence[builtins.int] = ..., padding: builtins.int | collections.abc.Sequence[builtins.int] = ..., dilation: builtins.int | collections.abc.Sequence[builtins.int] = ..., ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
        """Return the gradient of `avg_pool2d` with respect to `data`."""
    @builtins.staticmethod
    def take_backward(output_grad: tvms.ir.relax.Expr, x: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, axis: builtins.int | None = None) -> tvms.ir.relax.Expr:
        """Return the gradient of `take` with respect to `x`."""
class ccl:
    """Forms `R.ccl.*`."""
    @builtins.staticmethod
    def allreduce(x: tvms.ir.relax.Expr, op_type: builtins.str = 'sum', in_group: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Return `x` reduced over all workers."""
    @builtins.staticmethod
    def allgather(x: tvms.ir.relax.Expr, num_workers: builtins.int, in_group: builtins.bool = True) -> tvms.ir.relax.Expr:
        """Return the `x` of all workers, concatenated along the first axis."""
    @builtins.staticmethod
    def broadcast_from_worker0(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
        """Return the `x` of the first worker."""
    @builtins.staticmethod
    def scatter_from_worker0(x: tvms.ir.relax.Expr, num_workers: builtins.int, axis: builtins.int = 0) -> tvms.ir.relax.Expr:
        """Return this worker's part of the `x` of the first worker."""
