"""`T` of TVMScript. Generated from the declarations of the forms; do not edit."""

import builtins
import collections.abc
import contextlib
import tvms.ir.tir
import typing
class Buffer(tvms.ir.tir.Buffer):
    """`A: T.Buffer((128, 128), "float32")`: a buffer, as the annotation of a parameter."""
    def __init__(self, shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', data: tvms.ir.tir.Var | None = None, strides: typing.Any = None, elem_offset: tvms.ir.tir.PrimExpr | builtins.float | None = None, scope: builtins.str = 'global', align: builtins.int | tvms.ir.tir.PrimExpr = 0, offset_factor: builtins.int | tvms.ir.tir.PrimExpr = 0, buffer_type: builtins.str = '', axis_separators: typing.Any = None, *, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> None: ...
    def __getitem__(self, indices: typing.Any) -> typing.Any: ...
    def __setitem__(self, indices: typing.Any, value: typing.Any) -> None: ...
def buffer(shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', data: tvms.ir.tir.Var | None = None, strides: typing.Any = None, elem_offset: tvms.ir.tir.PrimExpr | builtins.float | None = None, scope: builtins.str = 'global', align: builtins.int | tvms.ir.tir.PrimExpr = 0, offset_factor: builtins.int | tvms.ir.tir.PrimExpr = 0, buffer_type: builtins.str = '', axis_separators: typing.Any = None, *, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> Buffer:
    """`A: T.Buffer((128, 128), "float32")`: a buffer, as the annotation of a parameter."""
def buffer_decl(shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', data: tvms.ir.tir.Var | None = None, strides: typing.Any = None, elem_offset: tvms.ir.tir.PrimExpr | builtins.float | None = None, scope: builtins.str = 'global', align: builtins.int | tvms.ir.tir.PrimExpr = 0, offset_factor: builtins.int | tvms.ir.tir.PrimExpr = 0, buffer_type: builtins.str = '', axis_separators: typing.Any = None, *, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> Buffer:
    """`A: T.Buffer((128, 128), "float32")`: a buffer, as the annotation of a parameter."""
def match_buffer(param: typing.Any, shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr | None = None, dtype: builtins.str = 'float32', data: tvms.ir.tir.Var | None = None, strides: typing.Any = None, elem_offset: tvms.ir.tir.PrimExpr | builtins.float | None = None, scope: builtins.str = 'global', align: builtins.int | tvms.ir.tir.PrimExpr = -1, offset_factor: builtins.int | tvms.ir.tir.PrimExpr = 0, buffer_type: builtins.str = 'default', axis_separators: typing.Any = None, *, layout: typing.Any = 'default') -> Buffer:
    """`A = T.match_buffer(a, (n, m))`: the buffer of a handle parameter or, inside a block, a view of a region."""
def alloc_buffer(shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', data: tvms.ir.tir.Var | None = None, strides: typing.Any = None, elem_offset: tvms.ir.tir.PrimExpr | builtins.float | None = None, scope: builtins.str = 'global', align: builtins.int | tvms.ir.tir.PrimExpr = -1, offset_factor: builtins.int | tvms.ir.tir.PrimExpr = 0, buffer_type: builtins.str = 'default', axis_separators: typing.Any = None, annotations: typing.Any = None, *, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> Buffer:
    """`B = T.alloc_buffer((128,), scope="shared")`: memory of the innermost block, or of the whole function."""
def sblock_alloc_buffer(shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', data: tvms.ir.tir.Var | None = None, strides: typing.Any = None, elem_offset: tvms.ir.tir.PrimExpr | builtins.float | None = None, scope: builtins.str = 'global', align: builtins.int | tvms.ir.tir.PrimExpr = -1, offset_factor: builtins.int | tvms.ir.tir.PrimExpr = 0, buffer_type: builtins.str = 'default', axis_separators: typing.Any = None, annotations: typing.Any = None, *, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> Buffer:
    """`B = T.alloc_buffer((128,), scope="shared")`: memory of the innermost block, or of the whole function."""
def alloc_shared(shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', *, align: builtins.int | tvms.ir.tir.PrimExpr = -1, annotations: typing.Any = None, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> typing.Any:
    """`B = T.alloc_shared((128,))`: memory for the statements after it, in the scope `shared` or `local`."""
def alloc_local(shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', *, align: builtins.int | tvms.ir.tir.PrimExpr = -1, annotations: typing.Any = None, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> typing.Any:
    """`B = T.alloc_shared((128,))`: memory for the statements after it, in the scope `shared` or `local`."""
def decl_buffer(shape: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str = 'float32', data: tvms.ir.tir.PrimExpr | builtins.float | None = None, strides: typing.Any = None, elem_offset: tvms.ir.tir.PrimExpr | builtins.float | None = None, scope: builtins.str = 'global', align: builtins.int | tvms.ir.tir.PrimExpr = 0, offset_factor: builtins.int | tvms.ir.tir.PrimExpr = 0, buffer_type: builtins.str = '', axis_separators: typing.Any = None, *, layout: typing.Any = 'default', allocated_addr: typing.Any = None) -> typing.Any:
    """`B = T.decl_buffer((128,), data=A.data)`: a view of the memory of `A`; without `data`, new memory."""
def buffer_store(buffer: typing.Any, value: tvms.ir.tir.PrimExpr | builtins.float, indices: typing.Any, predicate: tvms.ir.tir.PrimExpr | builtins.float | None = None) -> typing.Any:
    """`T.buffer_store(A, value, [i])`: the same as `A[i] = value`, with an optional predicate for each lane."""
def masked_load(dtype: builtins.str, buffer: typing.Any, *indices_and_mask: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.BufferLoad:
    """`T.masked_load("float32x4", A, T.Ramp(0, 1, 4), mask)`: loads the lanes that a mask selects."""
def masked_store(buffer: typing.Any, value: tvms.ir.tir.PrimExpr | builtins.float, *indices_and_mask: tvms.ir.tir.PrimExpr | builtins.float) -> typing.Any:
    """`T.masked_store(A, value, T.Ramp(0, 1, 4), mask)`: stores the lanes that a mask selects."""
def device_entry() -> typing.Any:
    """`T.device_entry()`: the statements after it are a kernel (an attribute)."""
def local_scalar(dtype: typing.Any = 'float32') -> typing.Any:
    """`x = T.local_scalar("uint32")`: a mutable scalar, a buffer of one element."""
def shared_scalar(dtype: typing.Any = 'float32') -> typing.Any:
    """`x = T.local_scalar("uint32")`: a mutable scalar, a buffer of one element."""
class int8(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class int16(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class int32(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class int64(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint8(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint16(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint32(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint64(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float16(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float32(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float64(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class bfloat16(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e3m4(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e4m3(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e4m3b11fnuz(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e4m3fn(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e4m3fnuz(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e5m2(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e5m2fnuz(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float8_e8m0fnu(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float6_e2m3fn(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float6_e3m2fn(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class float4_e2m1fn(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class bool(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class void(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class int1(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class int2(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class int4(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class int128(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint1(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint2(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint4(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
class uint128(tvms.ir.tir.PrimExpr):
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
    def __init__(self, expr: typing.Any = None, is_size_var: builtins.bool = False) -> None: ...
def boolean(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def f16(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def f32(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def f64(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def i8(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def i32(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def i64(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def e4m3_float8(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
def e5m2_float8(expr: typing.Any = None, is_size_var: builtins.bool = False) -> tvms.ir.tir.PrimExpr:
    """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
class handle(tvms.ir.tir.Var):
    """`a: T.handle` and `T.handle("float32", "shared")`: a pointer, optionally with its element dtype and scope."""
    def __init__(self, dtype: typing.Any = None, storage_scope: builtins.str = 'global', *, is_size_var: builtins.bool = False) -> None: ...
def Ptr(dtype: builtins.str, storage_scope: builtins.str = 'global', is_size_var: builtins.bool = False) -> tvms.ir.tir.Var:
    """`T.Ptr[T.float32]`: a pointer to elements of a dtype."""
def ptr(dtype: builtins.str, storage_scope: builtins.str = 'global', is_size_var: builtins.bool = False) -> tvms.ir.tir.Var:
    """`T.Ptr[T.float32]`: a pointer to elements of a dtype."""
def buffer_var(dtype: builtins.str, storage_scope: builtins.str = 'global', is_size_var: builtins.bool = False) -> tvms.ir.tir.Var:
    """`T.Ptr[T.float32]`: a pointer to elements of a dtype."""
def TensorMap() -> tvms.ir.tir.Var:
    """`T.TensorMap()`: a CUDA tensor map."""
def Var(name: builtins.str, dtype: builtins.str | None = None, *, ty: builtins.str | None = None) -> tvms.ir.tir.Var:
    """`T.Var("n", "int32")`: a variable; the newest TVM calls the dtype `ty`."""
def var(dtype: builtins.str, name: builtins.str = '') -> tvms.ir.tir.Var:
    """`n = T.var("int32")`, the older spelling of `n = T.int32()`."""
def IntImm(dtype: builtins.str, value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.FloatImm("float16", 0.5)`: a constant."""
def FloatImm(dtype: builtins.str, value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.FloatImm("float16", 0.5)`: a constant."""
def StringImm(value: builtins.str) -> typing.Any:
    """`T.StringImm("text")`: a string as an expression."""
def serial(start: tvms.ir.tir.PrimExpr | builtins.float, stop: tvms.ir.tir.PrimExpr | builtins.float | None = None, step: builtins.int | tvms.ir.tir.PrimExpr = 1, *, annotations: typing.Any = None, unroll: typing.Any = None, dtype: builtins.str | None = None) -> collections.abc.Iterator[tvms.ir.tir.Var]:
    """A loop whose iterations run in order. `unroll` is the annotation "pragma_unroll", `dtype` that of the variable."""
def parallel(start: tvms.ir.tir.PrimExpr | builtins.float, stop: tvms.ir.tir.PrimExpr | builtins.float | None = None, step: builtins.int | tvms.ir.tir.PrimExpr = 1, *, annotations: typing.Any = None) -> collections.abc.Iterator[tvms.ir.tir.Var]:
    """A loop whose iterations run in threads."""
def vectorized(start: tvms.ir.tir.PrimExpr | builtins.float, stop: tvms.ir.tir.PrimExpr | builtins.float | None = None, step: builtins.int | tvms.ir.tir.PrimExpr = 1, *, annotations: typing.Any = None) -> collections.abc.Iterator[tvms.ir.tir.Var]:
    """A loop whose iterations are the lanes of vectors."""
def unroll(start: tvms.ir.tir.PrimExpr | builtins.float, stop: tvms.ir.tir.PrimExpr | builtins.float | None = None, step: builtins.int | tvms.ir.tir.PrimExpr = 1, *, annotations: typing.Any = None) -> collections.abc.Iterator[tvms.ir.tir.Var]:
    """A loop that is unrolled."""
def thread_binding(start: tvms.ir.tir.PrimExpr | builtins.float, stop: typing.Any = None, thread: builtins.str | None = None, *, annotations: typing.Any = None) -> collections.abc.Iterator[tvms.ir.tir.Var]:
    """A loop whose iterations are threads: `T.thread_binding(128, thread="threadIdx.x")`."""
def grid(*extents: typing.Any, dtype: builtins.str | None = None) -> typing.Any:
    """A nest of serial loops from zero, or from the begin of a pair to its end: `for i, j in T.grid(128, (2, 128)):`"""
def block(name: builtins.str = '', no_realize: builtins.bool = False) -> contextlib.AbstractContextManager[None]:
    """`with T.block("name"):`, a part of the computation that is scheduled as a whole."""
def sblock(name: builtins.str = '', no_realize: builtins.bool = False) -> contextlib.AbstractContextManager[None]:
    """`with T.block("name"):`, a part of the computation that is scheduled as a whole."""
def init() -> contextlib.AbstractContextManager[None]:
    """`with T.init():`, what the block does before its first reduction step."""
def where(predicate: typing.Any) -> None:
    """`T.where(predicate)`: the block runs only if the predicate holds."""
def reads(*buffer_slices: typing.Any) -> None:
    """`T.reads(A[i], B[0:16])`: all that the block reads."""
def writes(*buffer_slices: typing.Any) -> None:
    """`T.writes(C[i])`: all that the block writes."""
def block_attr(attrs: typing.Any) -> None:
    """`T.block_attr({"key": value})`: attributes of the block; several calls are merged."""
def sblock_attr(attrs: typing.Any) -> None:
    """`T.block_attr({"key": value})`: attributes of the block; several calls are merged."""
class axis:
    """Forms `T.axis.*`."""
    @builtins.staticmethod
    def spatial(dom: typing.Any, binding: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str = 'int32') -> tvms.ir.tir.Var:
        """An axis whose iterations are independent."""
    @builtins.staticmethod
    def S(dom: typing.Any, binding: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str = 'int32') -> tvms.ir.tir.Var:
        """An axis whose iterations are independent."""
    @builtins.staticmethod
    def reduce(dom: typing.Any, binding: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str = 'int32') -> tvms.ir.tir.Var:
        """An axis over which a result is accumulated."""
    @builtins.staticmethod
    def R(dom: typing.Any, binding: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str = 'int32') -> tvms.ir.tir.Var:
        """An axis over which a result is accumulated."""
    @builtins.staticmethod
    def scan(dom: typing.Any, binding: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str = 'int32') -> tvms.ir.tir.Var:
        """An axis whose iterations run in order."""
    @builtins.staticmethod
    def opaque(dom: typing.Any, binding: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str = 'int32') -> tvms.ir.tir.Var:
        """An axis without known properties."""
    @builtins.staticmethod
    def remap(kinds: builtins.str, bindings: typing.Any, dtype: builtins.str = 'int32') -> typing.Any:
        """`vi, vk = T.axis.remap("SR", [i, k])`: an axis for each loop variable, spatial or reduction."""
@typing.overload
def macro(definition: collections.abc.Callable[..., typing.Any], /) -> collections.abc.Callable[..., typing.Any]:
    """`T.macro f(A, i):` opens a macro, whose statements replace each statement `f(…)`."""
@typing.overload
def macro(*, hygienic: builtins.bool = True) -> collections.abc.Callable[[collections.abc.Callable[..., typing.Any]], collections.abc.Callable[..., typing.Any]]:
    """`T.macro f(A, i):` opens a macro, whose statements replace each statement `f(…)`."""
@typing.overload
def inline(definition: collections.abc.Callable[..., typing.Any], /) -> collections.abc.Callable[..., typing.Any]:
    """`T.macro f(A, i):` opens a macro, whose statements replace each statement `f(…)`."""
@typing.overload
def inline(*, hygienic: builtins.bool = True) -> collections.abc.Callable[[collections.abc.Callable[..., typing.Any]], collections.abc.Callable[..., typing.Any]]:
    """`T.macro f(A, i):` opens a macro, whose statements replace each statement `f(…)`."""
def exp(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """e to the power of x."""
def exp2(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """2 to the power of x."""
def exp10(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """10 to the power of x."""
def erf(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The Gauss error function."""
def tanh(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The hyperbolic tangent."""
def sigmoid(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """1 / (1 + exp(-x))."""
def log(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The natural logarithm."""
def log2(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The logarithm to the base 2."""
def log10(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The logarithm to the base 10."""
def log1p(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """log(1 + x), accurate near zero."""
def tan(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The tangent."""
def cos(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The cosine."""
def cosh(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The hyperbolic cosine."""
def acos(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The arc cosine."""
def acosh(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The inverse hyperbolic cosine."""
def sin(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The sine."""
def sinh(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The hyperbolic sine."""
def asin(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The arc sine."""
def asinh(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The inverse hyperbolic sine."""
def atan(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The arc tangent."""
def atanh(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The inverse hyperbolic tangent."""
def sqrt(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """The square root."""
def rsqrt(x: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """1 / sqrt(x)."""
def fabs(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return the absolute value of `a` (`T.abs`)."""
def floor(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.floor` of a float, which keeps the sign of a zero; an integer is returned unchanged."""
def ceil(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.ceil` of a float, which keeps the sign of a zero; an integer is returned unchanged."""
def trunc(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.trunc` of a float, which keeps the sign of a zero; an integer is returned unchanged."""
def round(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.round` of a float, which keeps the sign of a zero; an integer is returned unchanged."""
def nearbyint(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.nearbyint` of a float, which keeps the sign of a zero; an integer is returned unchanged."""
def isnan(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return whether `a` is NaN; false for integers."""
def clz(x: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Number of leading zero bits."""
def popcount(x: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Number of one bits."""
def bitwise_not(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return `~a`, without folding."""
def bitwise_and(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a & b`."""
def bitwise_or(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a | b`."""
def bitwise_xor(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a ^ b`."""
def shift_left(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a << b`."""
def shift_right(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a >> b`; the shift of signed integers is arithmetic."""
def pow(a: typing.Any, b: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return the float `a` to the power of `b` (`T.pow`)."""
def atan2(x1: tvms.ir.tir.PrimExpr | builtins.float, x2: typing.Any) -> tvms.ir.tir.PrimExpr:
    """The angle of the point (x2, x1)."""
def nextafter(x1: tvms.ir.tir.PrimExpr | builtins.float, x2: typing.Any) -> tvms.ir.tir.PrimExpr:
    """The next float after x1 towards x2."""
def hypot(x1: tvms.ir.tir.PrimExpr | builtins.float, x2: typing.Any) -> tvms.ir.tir.PrimExpr:
    """sqrt(x1 * x1 + x2 * x2)."""
def copysign(x1: tvms.ir.tir.PrimExpr | builtins.float, x2: typing.Any) -> tvms.ir.tir.PrimExpr:
    """x1 with the sign of x2."""
def ldexp(x1: tvms.ir.tir.PrimExpr | builtins.float, x2: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """x1 * 2 ** x2."""
def fmod(x1: tvms.ir.tir.PrimExpr | builtins.float, x2: typing.Any) -> tvms.ir.tir.PrimExpr:
    """The remainder of x1 / x2, with the sign of x1."""
def fma(x: tvms.ir.tir.PrimExpr | builtins.float, y: typing.Any, z: typing.Any) -> tvms.ir.tir.PrimExpr:
    """x * y + z, rounded once."""
def q_multiply_shift(x: tvms.ir.tir.PrimExpr | builtins.int, y: tvms.ir.tir.PrimExpr | builtins.int, q: tvms.ir.tir.PrimExpr | builtins.int, s: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """x * y * 2 ** -s in fixed point with q fractional bits, rounded."""
def q_multiply_shift_per_axis(x: tvms.ir.tir.PrimExpr | builtins.int, y: tvms.ir.tir.PrimExpr | builtins.int, ls: tvms.ir.tir.PrimExpr | builtins.int, rs: tvms.ir.tir.PrimExpr | builtins.int, q: tvms.ir.tir.PrimExpr | builtins.int, is_lshift_required: typing.Any, is_rshift_required: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`q_multiply_shift` with a left and a right shift."""
def if_then_else(cond: typing.Any, t: tvms.ir.tir.PrimExpr | builtins.float, f: tvms.ir.tir.PrimExpr | builtins.float, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """`T.if_then_else(condition, a, b)`: evaluates only one side."""
def likely(cond: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Mark a condition as likely true."""
def reinterpret(*args: typing.Any, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """`T.reinterpret("int32", x)`, or `T.reinterpret(x, dtype="int32")`: the bits of `x` as another dtype."""
def large_uint_imm(dtype: typing.Any, low: typing.Any, high: typing.Any) -> tvms.ir.tir.PrimExpr:
    """low + (high << 32), unsigned."""
def dp4a(vec1: typing.Any, vec2: typing.Any, acc: tvms.ir.tir.PrimExpr | builtins.int = 0) -> tvms.ir.tir.PrimExpr:
    """acc plus the dot product of two vectors of four int8."""
def vectorlow(dtype: typing.Any, vec: typing.Any) -> tvms.ir.tir.PrimExpr:
    """The lower half of a vector."""
def vectorhigh(dtype: typing.Any, vec: typing.Any) -> tvms.ir.tir.PrimExpr:
    """The upper half of a vector."""
def vectorcombine(dtype: typing.Any, vec1: typing.Any, vec2: typing.Any) -> tvms.ir.tir.PrimExpr:
    """The concatenation of two vectors."""
def vscale() -> tvms.ir.tir.PrimExpr:
    """The run-time factor of the lanes of scalable vectors."""
def get_active_lane_mask(dtype: typing.Any, base: tvms.ir.tir.PrimExpr | builtins.int, limit: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Mask of the lanes of base, base + 1, … that are less than limit."""
def ret(value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return the expression that returns `value` from the function (`T.ret`)."""
def break_loop() -> tvms.ir.tir.PrimExpr:
    """End the innermost loop."""
def continue_loop() -> tvms.ir.tir.PrimExpr:
    """Continue with the next iteration."""
def thread_return() -> tvms.ir.tir.PrimExpr:
    """End this thread's part of the kernel."""
def assume(cond: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Assume that cond holds."""
def checked_index(index: tvms.ir.tir.PrimExpr | builtins.int, buffer: builtins.str, dimension: typing.Any, *indices_and_extents: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """index, after a check that it is inside a dimension of a buffer (inserted by the compiler)."""
def checked_position(index: tvms.ir.tir.PrimExpr | builtins.int, buffer: builtins.str, size: tvms.ir.tir.PrimExpr | builtins.int, extent: tvms.ir.tir.PrimExpr | builtins.int, offset: tvms.ir.tir.PrimExpr | builtins.int, elem_offset: tvms.ir.tir.PrimExpr | builtins.int, *indices_and_strides: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """index, after a check that its element is inside the memory of extent bytes (inserted by the compiler)."""
def checked_pointer(pointer: typing.Any, message: builtins.str, size: tvms.ir.tir.PrimExpr | builtins.int, extent: tvms.ir.tir.PrimExpr | builtins.int, offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """pointer, after a check that it points to size bytes inside the memory of extent bytes (inserted by the compiler)."""
def check(condition: typing.Any, code: builtins.str, message: builtins.str) -> tvms.ir.tir.PrimExpr:
    """Stop with the error code unless condition holds (inserted by the compiler)."""
def undef() -> tvms.ir.tir.PrimExpr:
    """An undefined value."""
def ignore_loop_partition(predicate: typing.Any) -> tvms.ir.tir.PrimExpr:
    """predicate, excluded from loop partitioning."""
def address_of(obj: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """`T.address_of(A[0])`: a pointer to an element; of a buffer, to its first element."""
def isnullptr(x: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Whether a handle is null."""
def handle_add_byte_offset(handle: typing.Any, offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """handle plus offset bytes."""
def type_annotation(dtype: typing.Any) -> tvms.ir.tir.PrimExpr:
    """A dtype, as an argument."""
def tvm_access_ptr(ptype: typing.Any, data: typing.Any, offset: tvms.ir.tir.PrimExpr | builtins.int, extent: tvms.ir.tir.PrimExpr | builtins.int, rw_mask: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """The address of element offset of data; extent elements are read (1), written (2) or both (3)."""
def tvm_tuple(*value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Several values, as an argument."""
def tvm_static_handle() -> tvms.ir.tir.PrimExpr:
    """A handle that outlives the call."""
def tvm_context_id() -> tvms.ir.tir.PrimExpr:
    """The thread's context."""
def tvm_thread_context(value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """value, evaluated once per thread."""
def prefetch(dtype: typing.Any, address: typing.Any, rw: typing.Any, locality: typing.Any, cache: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Prefetch into the cache."""
def call_extern(dtype: typing.Any, func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call an external function."""
def call_pure_extern(dtype: typing.Any, func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call an external function without side effects."""
def call_llvm_intrin(dtype: typing.Any, name: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call an intrinsic of LLVM."""
def call_llvm_pure_intrin(dtype: typing.Any, name: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call an intrinsic of LLVM without side effects."""
def call_spirv_pure_glsl450(dtype: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call a GLSL instruction."""
def call_packed(*args: typing.Any, dtype: typing.Any = None) -> tvms.ir.tir.Call:
    """Call a registered function."""
def call_cpacked(*args: typing.Any, dtype: typing.Any = None) -> tvms.ir.tir.Call:
    """Call a C function."""
def call_packed_lowered(*args: typing.Any, dtype: typing.Any = None) -> tvms.ir.tir.Call:
    """Call a registered function whose arguments are on a stack."""
def call_cpacked_lowered(*args: typing.Any, dtype: typing.Any = None) -> tvms.ir.tir.Call:
    """Call a C function whose arguments are on a stack."""
def tvm_call_trace_packed(dtype: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call a function for tracing."""
def tvm_call_trace_packed_lowered(dtype: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call a function for tracing, lowered."""
def tvm_throw_last_error() -> tvms.ir.tir.PrimExpr:
    """Raise the last error that was set."""
def lookup_param(param_name: builtins.str) -> tvms.ir.tir.PrimExpr:
    """Look a parameter up by name."""
def tvm_stack_alloca(dtype_str: builtins.str, num: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Allocate memory on the stack."""
def tvm_stack_make_shape(*args: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Build a shape on the stack."""
def tvm_stack_make_array(data: typing.Any, shape: typing.Any, strides: typing.Any, ndim: tvms.ir.tir.PrimExpr | builtins.int, arr_dtype: typing.Any, elem_offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Build a tensor descriptor on the stack."""
def tvm_struct_get(arr: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, field: tvms.ir.tir.PrimExpr | builtins.int, dtype: typing.Any) -> tvms.ir.tir.PrimExpr:
    """A field of element index of a run-time structure."""
def tvm_struct_set(arr: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, field: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Set a field of element index of a run-time structure."""
def anylist_getitem(list_handle: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """An element of a list of any values."""
def anylist_resetitem(list_handle: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Empty an element of a list."""
def anylist_setitem_call_packed(list_handle: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Set an element to the result of a registered function."""
def anylist_setitem_call_cpacked(list_handle: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Set an element to the result of a C function."""
def TVMBackendAllocWorkspace(device_type: tvms.ir.tir.PrimExpr | builtins.int, device_id: tvms.ir.tir.PrimExpr | builtins.int, nbytes: tvms.ir.tir.PrimExpr | builtins.int, dtype_code_hint: tvms.ir.tir.PrimExpr | builtins.int, dtype_bits_hint: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Allocate memory from the device's pool."""
def TVMBackendFreeWorkspace(device_type: tvms.ir.tir.PrimExpr | builtins.int, device_id: tvms.ir.tir.PrimExpr | builtins.int, ptr: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Free memory of the pool."""
def TVMBackendAnyListSetPackedArg(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Pass an element of a list."""
def TVMBackendAnyListMoveFromPackedReturn(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Store a result in a list."""
def start_profile_intrinsic(id: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Begin the measurement of part id."""
def end_profile_intrinsic(id: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """End the measurement of part id."""
def nd_mem_alloc_with_scope(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Allocate memory in a scope."""
def tvm_storage_sync(storage_scope: builtins.str, is_load: typing.Any = False, num_blocks: typing.Any = -1) -> tvms.ir.tir.PrimExpr:
    """`T.tvm_storage_sync("shared")`: synchronize all threads that share the scope. TVM prints two defaults after it."""
def tvm_global_barrier_kinit(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Initialize a global barrier."""
def tvm_thread_invariant(cond: typing.Any) -> tvms.ir.tir.PrimExpr:
    """cond, which must be the same in all threads of a block."""
def tvm_thread_allreduce(*freduce_args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """size, values…, condition, results…, threads…: reduce the threads' values by the surrounding reducer."""
def tvm_warp_shuffle(mask: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any, warp_id: tvms.ir.tir.PrimExpr | builtins.int, width: tvms.ir.tir.PrimExpr | builtins.int, warp_size: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """The value of lane warp_id."""
def tvm_warp_shuffle_up(mask: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any, offset: tvms.ir.tir.PrimExpr | builtins.int, width: tvms.ir.tir.PrimExpr | builtins.int, warp_size: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """The value of the lane that is lower by offset."""
def tvm_warp_shuffle_down(mask: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any, offset: tvms.ir.tir.PrimExpr | builtins.int, width: tvms.ir.tir.PrimExpr | builtins.int, warp_size: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """The value of the lane that is higher by offset."""
def tvm_warp_shuffle_xor(mask: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any, lane_mask: tvms.ir.tir.PrimExpr | builtins.int, width: tvms.ir.tir.PrimExpr | builtins.int, warp_size: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """The value of the lane whose number is this one xor lane_mask."""
def tvm_warp_activemask() -> tvms.ir.tir.PrimExpr:
    """Mask of the active threads of the warp."""
def atomic_add(address: typing.Any, value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Add to memory and return the old value."""
def tvm_fill_fragment(fragment: typing.Any, m: typing.Any, n: typing.Any, k: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Fill a fragment."""
def tvm_load_matrix_sync(fragment: typing.Any, m: typing.Any, n: typing.Any, k: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, buffer_ptr: typing.Any, stride: tvms.ir.tir.PrimExpr | builtins.int, layout: builtins.str) -> tvms.ir.tir.PrimExpr:
    """Load a fragment, collectively by all threads of a warp."""
def tvm_store_matrix_sync(fragment: typing.Any, m: typing.Any, n: typing.Any, k: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, buffer_ptr: typing.Any, stride: tvms.ir.tir.PrimExpr | builtins.int, layout: builtins.str) -> tvms.ir.tir.PrimExpr:
    """Store a fragment, collectively by all threads of a warp."""
def tvm_mma_sync(fragment_d: typing.Any, index_d: tvms.ir.tir.PrimExpr | builtins.int, fragment_a: typing.Any, index_a: tvms.ir.tir.PrimExpr | builtins.int, fragment_b: typing.Any, index_b: tvms.ir.tir.PrimExpr | builtins.int, fragment_c: typing.Any, index_c: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """d = a @ b + c, on fragments."""
def tvm_bmma_sync(fragment_d: typing.Any, index_d: tvms.ir.tir.PrimExpr | builtins.int, fragment_a: typing.Any, index_a: tvms.ir.tir.PrimExpr | builtins.int, fragment_b: typing.Any, index_b: tvms.ir.tir.PrimExpr | builtins.int, fragment_c: typing.Any, index_c: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """d = popcount(a ^ b) + c, on fragments of bits."""
def ptx_mma(dtype: typing.Any, shape: builtins.str, A_layout: builtins.str, B_layout: builtins.str, A_dtype: builtins.str, B_dtype: builtins.str, C_dtype: builtins.str, multiplicand_a: typing.Any, a_index: tvms.ir.tir.PrimExpr | builtins.int, multiplicand_b: typing.Any, b_index: tvms.ir.tir.PrimExpr | builtins.int, accumulator: typing.Any, c_index: tvms.ir.tir.PrimExpr | builtins.int, saturate: typing.Any, operator: builtins.str | None = None) -> tvms.ir.tir.PrimExpr:
    """PTX's `mma.sync`."""
def ptx_mma_sp(dtype: typing.Any, shape: builtins.str, A_layout: builtins.str, B_layout: builtins.str, A_dtype: builtins.str, B_dtype: builtins.str, C_dtype: builtins.str, multiplicand_a: typing.Any, a_index: tvms.ir.tir.PrimExpr | builtins.int, multiplicand_b: typing.Any, b_index: tvms.ir.tir.PrimExpr | builtins.int, accumulator: typing.Any, c_index: tvms.ir.tir.PrimExpr | builtins.int, metadata: typing.Any, meta_index: tvms.ir.tir.PrimExpr | builtins.int, sparse_selector: tvms.ir.tir.PrimExpr | builtins.int, saturate: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `mma.sp.sync` with a sparse matrix."""
def ptx_ldmatrix(dtype: typing.Any, trans: typing.Any, num: typing.Any, type: builtins.str, local_ptr: typing.Any, local_offset: tvms.ir.tir.PrimExpr | builtins.int, smem_ptr: typing.Any, smem_offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """PTX's `ldmatrix`."""
def ptx_stmatrix(dtype: typing.Any, trans: typing.Any, num: typing.Any, type: builtins.str, local_ptr: typing.Any, local_offset: tvms.ir.tir.PrimExpr | builtins.int, smem_ptr: typing.Any, smem_offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """PTX's `stmatrix`: store what `ldmatrix` with the same arguments loads."""
def ptx_wgmma_mma_async(dtype: typing.Any, shape: builtins.str, A_layout: builtins.str, B_layout: builtins.str, A_dtype: builtins.str, B_dtype: builtins.str, C_dtype: builtins.str, multiplicand_a: typing.Any, a_index: tvms.ir.tir.PrimExpr | builtins.int, multiplicand_b: typing.Any, b_index: tvms.ir.tir.PrimExpr | builtins.int, accumulator: typing.Any, c_index: tvms.ir.tir.PrimExpr | builtins.int, a_leading: typing.Any, a_stride: typing.Any, b_leading: typing.Any, b_stride: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `wgmma.mma_async`: start a product of a warpgroup; offsets of its factors in shared memory are in bytes."""
def ptx_wgmma_fence() -> tvms.ir.tir.PrimExpr:
    """PTX's `wgmma.fence`: let products use the registers that were changed before."""
def ptx_wgmma_commit_group() -> tvms.ir.tir.PrimExpr:
    """PTX's `wgmma.commit_group`."""
def ptx_wgmma_wait_group(num: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `wgmma.wait_group`: wait until at most num groups are pending."""
def ptx_fence_proxy_async() -> tvms.ir.tir.PrimExpr:
    """PTX's `fence.proxy.async`: let asynchronous products read shared memory that was written before."""
def ptx_tcgen05_alloc(accumulator: typing.Any, columns: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.alloc`: a warp allocates the columns of a buffer in tensor memory."""
def ptx_tcgen05_dealloc(accumulator: typing.Any, columns: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.dealloc`: a warp frees the columns of a buffer in tensor memory."""
def ptx_tcgen05_relinquish_alloc_permit() -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.relinquish_alloc_permit`: a warp declares that its block allocates no more tensor memory."""
def ptx_tcgen05_mma(dtype: typing.Any, shape: builtins.str, A_layout: builtins.str, B_layout: builtins.str, A_dtype: builtins.str, B_dtype: builtins.str, C_dtype: builtins.str, multiplicand_a: typing.Any, a_index: tvms.ir.tir.PrimExpr | builtins.int, multiplicand_b: typing.Any, b_index: tvms.ir.tir.PrimExpr | builtins.int, accumulator: typing.Any, c_index: tvms.ir.tir.PrimExpr | builtins.int, a_leading: typing.Any, a_stride: typing.Any, b_leading: typing.Any, b_stride: typing.Any, enable_input_d: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.mma`: a thread starts a product that is added to tensor memory, or overwrites it if enable_input_d is false."""
def ptx_tcgen05_commit(barrier_id: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.commit`: arrive at a barrier in shared memory when all products that this thread has started are complete."""
def ptx_tcgen05_ld(dtype: typing.Any, local_ptr: typing.Any, local_offset: tvms.ir.tir.PrimExpr | builtins.int, accumulator: typing.Any, row: tvms.ir.tir.PrimExpr | builtins.int, column: tvms.ir.tir.PrimExpr | builtins.int, shape: builtins.str, num: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.ld`: a warp starts to load num columns of its lanes of tensor memory, the first of which is row."""
def ptx_tcgen05_wait_ld() -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.wait::ld`: wait until all loads of this thread are complete."""
def ptx_tcgen05_fence_before_thread_sync() -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.fence::before_thread_sync`: let what threads do behind a barrier follow the loads and products before."""
def ptx_tcgen05_fence_after_thread_sync() -> tvms.ir.tir.PrimExpr:
    """PTX's `tcgen05.fence::after_thread_sync`: let loads and products follow what threads did before a barrier."""
def ptx_ldg32(dtype: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `ld.global.nc` under a condition."""
def mma_store(dtype: typing.Any, m: typing.Any, n: typing.Any, dst_ptr: typing.Any, src_ptr: typing.Any, src_offset: tvms.ir.tir.PrimExpr | builtins.int, dst_stride: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Store the result of `ptx_mma`."""
def mma_fill(dtype: typing.Any, local_size: tvms.ir.tir.PrimExpr | builtins.int, local_ptr: typing.Any, offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Fill the result of `ptx_mma` with zeros."""
def make_filled_simdgroup_matrix(d: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any, col: tvms.ir.tir.PrimExpr | builtins.int = 8, row: tvms.ir.tir.PrimExpr | builtins.int = 8) -> tvms.ir.tir.PrimExpr:
    """Fill a matrix of a SIMD group."""
def simdgroup_load(d: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, ptr: typing.Any, stride: tvms.ir.tir.PrimExpr | builtins.int, col: tvms.ir.tir.PrimExpr | builtins.int = 8, row: tvms.ir.tir.PrimExpr | builtins.int = 8, transpose_matrix: typing.Any = False) -> tvms.ir.tir.PrimExpr:
    """Load a matrix of a SIMD group."""
def simdgroup_store(d: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, ptr: typing.Any, stride: tvms.ir.tir.PrimExpr | builtins.int, col: tvms.ir.tir.PrimExpr | builtins.int = 8, row: tvms.ir.tir.PrimExpr | builtins.int = 8, transpose_matrix: typing.Any = False) -> tvms.ir.tir.PrimExpr:
    """Store a matrix of a SIMD group."""
def simdgroup_multiply_accumulate(d: typing.Any, index_d: tvms.ir.tir.PrimExpr | builtins.int, a: typing.Any, index_a: tvms.ir.tir.PrimExpr | builtins.int, b: typing.Any, index_b: tvms.ir.tir.PrimExpr | builtins.int, c: typing.Any, index_c: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """d = a @ b + c, on matrices of a SIMD group."""
def ptx_cp_async(dtype: typing.Any, shared_ptr: typing.Any, shared_offset: tvms.ir.tir.PrimExpr | builtins.int, global_ptr: typing.Any, global_offset: tvms.ir.tir.PrimExpr | builtins.int, bytes: typing.Any, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """PTX's `cp.async`: start a copy to shared memory; writes zeros if predicate is false."""
def ptx_cp_async_bulk(dtype: typing.Any, shared_ptr: typing.Any, shared_offset: tvms.ir.tir.PrimExpr | builtins.int, global_ptr: typing.Any, global_offset: tvms.ir.tir.PrimExpr | builtins.int, bytes: tvms.ir.tir.PrimExpr | builtins.int, barrier_id: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """PTX's `cp.async.bulk`."""
def ptx_commit_group() -> tvms.ir.tir.PrimExpr:
    """PTX's `cp.async.commit_group`."""
def ptx_wait_group(num: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """PTX's `cp.async.wait_group`."""
def ptx_cp_async_barrier(barrier_id: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """PTX's `cp.async.mbarrier.arrive`."""
def create_barriers(barrier_count: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """Declare barriers in shared memory."""
def ptx_init_barrier_thread_count(barrier_id: tvms.ir.tir.PrimExpr | builtins.int, thread_count: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
    """PTX's `mbarrier.init`."""
def ptx_arrive_barrier(barrier_id: tvms.ir.tir.PrimExpr | builtins.int, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """PTX's `mbarrier.arrive`; does nothing if predicate is false."""
def ptx_arrive_barrier_remote(barrier_id: tvms.ir.tir.PrimExpr | builtins.int, cta_rank: tvms.ir.tir.PrimExpr | builtins.int, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """PTX's `mapa` and `mbarrier.arrive.shared::cluster`: arrive at the barrier of block cta_rank of the cluster."""
def ptx_arrive_barrier_expect_tx(barrier_id: tvms.ir.tir.PrimExpr | builtins.int, byte_count: tvms.ir.tir.PrimExpr | builtins.int, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """PTX's `mbarrier.arrive.expect_tx`; does nothing if predicate is false."""
def ptx_wait_barrier(barrier_id: tvms.ir.tir.PrimExpr | builtins.int, parity: tvms.ir.tir.PrimExpr | builtins.int = 0) -> tvms.ir.tir.PrimExpr:
    """PTX's `mbarrier.try_wait.parity`: the thread waits until the phase of that parity, its lowest bit, is complete."""
def ptx_cp_async_bulk_tensor(dtype: typing.Any, shared_ptr: typing.Any, shared_offset: tvms.ir.tir.PrimExpr | builtins.int, global_ptr: typing.Any, rows: tvms.ir.tir.PrimExpr | builtins.int, columns: tvms.ir.tir.PrimExpr | builtins.int, stride: tvms.ir.tir.PrimExpr | builtins.int, row: tvms.ir.tir.PrimExpr | builtins.int, column: tvms.ir.tir.PrimExpr | builtins.int, box_rows: typing.Any, barrier_id: tvms.ir.tir.PrimExpr | builtins.int, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """PTX's `cp.async.bulk.tensor.2d`: start a copy of rows of 128 bytes of a matrix to shared memory, in the layout of the 128-byte swizzle, if predicate is true."""
def ptx_cp_async_bulk_tensor_multicast(dtype: typing.Any, shared_ptr: typing.Any, shared_offset: tvms.ir.tir.PrimExpr | builtins.int, global_ptr: typing.Any, rows: tvms.ir.tir.PrimExpr | builtins.int, columns: tvms.ir.tir.PrimExpr | builtins.int, stride: tvms.ir.tir.PrimExpr | builtins.int, row: tvms.ir.tir.PrimExpr | builtins.int, column: tvms.ir.tir.PrimExpr | builtins.int, box_rows: typing.Any, barrier_id: tvms.ir.tir.PrimExpr | builtins.int, cta_mask: tvms.ir.tir.PrimExpr | builtins.int, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """PTX's `cp.async.bulk.tensor.2d` with `.multicast::cluster`: start a copy to the same place in each block of the cluster whose bit in cta_mask is set; each of them counts the bytes."""
def ptx_barrier_cluster_arrive() -> tvms.ir.tir.PrimExpr:
    """PTX's `barrier.cluster.arrive`: arrive at the barrier of a cluster of blocks."""
def ptx_barrier_cluster_wait() -> tvms.ir.tir.PrimExpr:
    """PTX's `barrier.cluster.wait`: wait until all threads of the cluster have arrived."""
def ptx_barrier_sync(barrier: typing.Any, thread_count: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `barrier.sync`: wait until thread_count threads of the block wait at this one of its barriers 1 to 15."""
def ptx_setmaxnreg(is_increase: typing.Any, count: typing.Any) -> tvms.ir.tir.PrimExpr:
    """PTX's `setmaxnreg`: change the number of registers of each thread of a warpgroup."""
def dma_copy(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Start a DMA copy."""
def dma_wait(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Wait for DMA copies."""
def dma_start_group(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Begin a group of DMA copies."""
def dma_end_group(*args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """End a group of DMA copies."""
def texture2d_load(dtype: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Read a texture."""
def texture2d_store(dtype: typing.Any, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Write a texture."""
def tvm_call_packed(func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call a registered function."""
def tvm_call_cpacked(func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call a C function."""
def tvm_call_packed_lowered(func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call a registered function whose arguments are on a stack."""
def tvm_call_cpacked_lowered(func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Call a C function whose arguments are on a stack."""
def abs(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return the absolute value of `a` (`T.abs`)."""
def isinf(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return whether `a` is an infinity; false for integers."""
def isfinite(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return whether `a` is neither an infinity nor NaN."""
def logaddexp(a: typing.Any, b: typing.Any) -> tvms.ir.tir.PrimExpr:
    """Return `log(exp(a) + exp(b))`."""
def min(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return the minimum of both (`T.min`)."""
def max(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return the maximum of both (`T.max`)."""
def floordiv(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a // b`."""
def floormod(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a % b`, with the sign of `b`."""
def ceildiv(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return the integer quotient, rounded up: `(a + b - 1) // b`."""
def truncdiv(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return the integer quotient, rounded towards zero."""
def truncmod(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return the remainder of `truncdiv`, with the sign of `a`."""
def div(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a / b`; integers are rounded towards zero."""
def infinity(dtype: builtins.str) -> tvms.ir.tir.PrimExpr:
    """`T.infinity("float32")`: positive infinity."""
def min_value(dtype: builtins.str) -> tvms.ir.tir.PrimExpr:
    """`T.min_value("float32")`: the least finite value."""
def max_value(dtype: builtins.str) -> tvms.ir.tir.PrimExpr:
    """`T.max_value("float32")`: the greatest finite value."""
def llvm_lookup_intrinsic_id(name: builtins.str) -> builtins.str:
    """`T.llvm_lookup_intrinsic_id("llvm.fma.f32")`: an intrinsic of LLVM, by name."""
def call_intrin(dtype: typing.Any, func_name: builtins.str, *args: typing.Any) -> tvms.ir.tir.Call:
    """`T.call_intrin("int32", "tir.clz", x)`: a call of an intrinsic by its registered name."""
def Call(dtype: typing.Any, op: typing.Any, args: typing.Any = None, *, ret_ty: typing.Any = None) -> tvms.ir.tir.Call:
    """`T.Call("handle", "tir.tvm_tuple", [x])`: the plain node. The newest TVM writes `T.Call(op, args, ret_ty=…)`."""
def target(target_config: typing.Any, host: typing.Any = None) -> typing.Any:
    """`T.target({"kind": "cuda"}, host="llvm")`: a target of the compiler."""
class ptx_legacy:
    """Forms `T.ptx_legacy.*`."""
    @builtins.staticmethod
    def mma(dtype: typing.Any, shape: builtins.str, A_layout: builtins.str, B_layout: builtins.str, A_dtype: builtins.str, B_dtype: builtins.str, C_dtype: builtins.str, multiplicand_a: typing.Any, a_index: tvms.ir.tir.PrimExpr | builtins.int, multiplicand_b: typing.Any, b_index: tvms.ir.tir.PrimExpr | builtins.int, accumulator: typing.Any, c_index: tvms.ir.tir.PrimExpr | builtins.int, saturate: typing.Any, operator: builtins.str | None = None) -> tvms.ir.tir.PrimExpr:
        """PTX's `mma.sync`."""
    @builtins.staticmethod
    def ldmatrix(dtype: typing.Any, trans: typing.Any, num: typing.Any, type: builtins.str, local_ptr: typing.Any, local_offset: tvms.ir.tir.PrimExpr | builtins.int, smem_ptr: typing.Any, smem_offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
        """PTX's `ldmatrix`."""
class s_tir:
    """Forms `T.s_tir.*`."""
    @builtins.staticmethod
    def cp_async_raw(dtype: typing.Any, shared_ptr: typing.Any, shared_offset: tvms.ir.tir.PrimExpr | builtins.int, global_ptr: typing.Any, global_offset: tvms.ir.tir.PrimExpr | builtins.int, bytes: typing.Any, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
        """PTX's `cp.async`: start a copy to shared memory; writes zeros if predicate is false."""
class ptx:
    """Forms `T.ptx.*`."""
    class cp:
        """Forms `T.ptx.cp.*`."""
        class async_:
            """Forms `T.ptx.cp.async_.*`."""
            @builtins.staticmethod
            def commit_group() -> tvms.ir.tir.PrimExpr:
                """PTX's `cp.async.commit_group`."""
            @builtins.staticmethod
            def wait_group(num: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
                """PTX's `cp.async.wait_group`."""
    class mma:
        """Forms `T.ptx.mma.*`."""
        @builtins.staticmethod
        def legacy(dtype: typing.Any, shape: builtins.str, A_layout: builtins.str, B_layout: builtins.str, A_dtype: builtins.str, B_dtype: builtins.str, C_dtype: builtins.str, multiplicand_a: typing.Any, a_index: tvms.ir.tir.PrimExpr | builtins.int, multiplicand_b: typing.Any, b_index: tvms.ir.tir.PrimExpr | builtins.int, accumulator: typing.Any, c_index: tvms.ir.tir.PrimExpr | builtins.int, saturate: typing.Any, operator: builtins.str | None = None) -> tvms.ir.tir.PrimExpr:
            """PTX's `mma.sync`."""
    @builtins.staticmethod
    def ldmatrix_legacy(dtype: typing.Any, trans: typing.Any, num: typing.Any, type: builtins.str, local_ptr: typing.Any, local_offset: tvms.ir.tir.PrimExpr | builtins.int, smem_ptr: typing.Any, smem_offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
        """PTX's `ldmatrix`."""
    class cp_async:
        """Forms `T.ptx.cp_async.*`."""
        @builtins.staticmethod
        def legacy(dtype: typing.Any, shared_ptr: typing.Any, shared_offset: tvms.ir.tir.PrimExpr | builtins.int, global_ptr: typing.Any, global_offset: tvms.ir.tir.PrimExpr | builtins.int, bytes: typing.Any, predicate: typing.Any = None) -> tvms.ir.tir.PrimExpr:
            """PTX's `cp.async`: start a copy to shared memory; writes zeros if predicate is false."""
        @builtins.staticmethod
        def commit_group() -> tvms.ir.tir.PrimExpr:
            """PTX's `cp.async.commit_group`."""
        @builtins.staticmethod
        def wait_group(num: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
            """PTX's `cp.async.wait_group`."""
class cuda:
    """Forms `T.cuda.*`."""
    @builtins.staticmethod
    def mma_store_legacy(dtype: typing.Any, m: typing.Any, n: typing.Any, dst_ptr: typing.Any, src_ptr: typing.Any, src_offset: tvms.ir.tir.PrimExpr | builtins.int, dst_stride: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
        """Store the result of `ptx_mma`."""
    @builtins.staticmethod
    def mma_fill_legacy(dtype: typing.Any, local_size: tvms.ir.tir.PrimExpr | builtins.int, local_ptr: typing.Any, offset: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
        """Fill the result of `ptx_mma` with zeros."""
class metal:
    """Forms `T.metal.*`."""
    @builtins.staticmethod
    def make_filled_simdgroup_matrix(d: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, value: typing.Any, col: tvms.ir.tir.PrimExpr | builtins.int = 8, row: tvms.ir.tir.PrimExpr | builtins.int = 8) -> tvms.ir.tir.PrimExpr:
        """Fill a matrix of a SIMD group."""
    @builtins.staticmethod
    def simdgroup_load(d: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, ptr: typing.Any, stride: tvms.ir.tir.PrimExpr | builtins.int, col: tvms.ir.tir.PrimExpr | builtins.int = 8, row: tvms.ir.tir.PrimExpr | builtins.int = 8, transpose_matrix: typing.Any = False) -> tvms.ir.tir.PrimExpr:
        """Load a matrix of a SIMD group."""
    @builtins.staticmethod
    def simdgroup_store(d: typing.Any, index: tvms.ir.tir.PrimExpr | builtins.int, ptr: typing.Any, stride: tvms.ir.tir.PrimExpr | builtins.int, col: tvms.ir.tir.PrimExpr | builtins.int = 8, row: tvms.ir.tir.PrimExpr | builtins.int = 8, transpose_matrix: typing.Any = False) -> tvms.ir.tir.PrimExpr:
        """Store a matrix of a SIMD group."""
    @builtins.staticmethod
    def simdgroup_multiply_accumulate(d: typing.Any, index_d: tvms.ir.tir.PrimExpr | builtins.int, a: typing.Any, index_a: tvms.ir.tir.PrimExpr | builtins.int, b: typing.Any, index_b: tvms.ir.tir.PrimExpr | builtins.int, c: typing.Any, index_c: tvms.ir.tir.PrimExpr | builtins.int) -> tvms.ir.tir.PrimExpr:
        """d = a @ b + c, on matrices of a SIMD group."""
def Add(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Add`: operands are promoted, nothing is folded."""
def Sub(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Sub`: operands are promoted, nothing is folded."""
def Mul(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Mul`: operands are promoted, nothing is folded."""
def Div(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Div`: operands are promoted, nothing is folded."""
def Mod(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Mod`: operands are promoted, nothing is folded."""
def FloorDiv(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `FloorDiv`: operands are promoted, nothing is folded."""
def FloorMod(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `FloorMod`: operands are promoted, nothing is folded."""
def Min(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Min`: operands are promoted, nothing is folded."""
def Max(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Max`: operands are promoted, nothing is folded."""
def And(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `And`: operands are promoted, nothing is folded."""
def Or(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `Or`: operands are promoted, nothing is folded."""
def EQ(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `EQ`: operands are promoted, nothing is folded."""
def NE(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `NE`: operands are promoted, nothing is folded."""
def LT(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `LT`: operands are promoted, nothing is folded."""
def LE(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `LE`: operands are promoted, nothing is folded."""
def GT(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `GT`: operands are promoted, nothing is folded."""
def GE(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """The plain node `GE`: operands are promoted, nothing is folded."""
def add(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a + b`."""
def subtract(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a - b`."""
def multiply(a: typing.Any, b: typing.Any, *, dtype: typing.Any = None) -> tvms.ir.tir.PrimExpr:
    """Return `a * b`."""
def Not(a: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.Not(a)`: the same as `not a`."""
def Cast(dtype: builtins.str, value: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """`T.Cast("float16", x)`: the plain node; a constant is not folded."""
def cast(value: tvms.ir.tir.PrimExpr | builtins.float, dtype: builtins.str) -> tvms.ir.tir.PrimExpr:
    """`T.cast(x, "float16")`: the value as another dtype; a constant is folded."""
def Select(condition: typing.Any, true_value: tvms.ir.tir.PrimExpr | builtins.float, false_value: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """`T.Select(condition, a, b)`: evaluates both sides."""
def Ramp(base: tvms.ir.tir.PrimExpr | builtins.float, stride: tvms.ir.tir.PrimExpr | builtins.float, lanes: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """`T.Ramp(base, stride, lanes)`: base, base + stride, …"""
def ramp(base: tvms.ir.tir.PrimExpr | builtins.float, stride: tvms.ir.tir.PrimExpr | builtins.float, lanes: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """`T.Ramp(base, stride, lanes)`: base, base + stride, …"""
def Broadcast(value: tvms.ir.tir.PrimExpr | builtins.float, lanes: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """`T.Broadcast(value, lanes)`: a vector whose lanes are copies of a scalar."""
def broadcast(value: tvms.ir.tir.PrimExpr | builtins.float, lanes: tvms.ir.tir.PrimExpr | builtins.float) -> tvms.ir.tir.PrimExpr:
    """`T.Broadcast(value, lanes)`: a vector whose lanes are copies of a scalar."""
def Shuffle(vectors: typing.Any, indices: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.Shuffle([a, b], [0, 5])`: elements of the concatenated vectors."""
def Range(begin: tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.tir.PrimExpr | builtins.float) -> typing.Any:
    """`T.Range(begin, end)`: the integers from `begin` up to, but not including, `end`."""
def comm_reducer(combiner: typing.Any, identity: typing.Any) -> typing.Any:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`: how threads combine values, and the identity element."""
def index_map(mapping: typing.Any, *, inverse_index_map: typing.Any = None, index_dtype: builtins.str = 'int64') -> typing.Any:
    """`T.index_map(lambda i, j: (i // 16, j, i % 16))`: the position of each element in a new layout."""
def func_attr(attrs: typing.Any) -> None:
    """`T.func_attr({"tir.noalias": True})`: attributes of the function."""
def evaluate(value: typing.Any) -> typing.Any:
    """`T.evaluate(value)`: evaluates an expression for its effect."""
def Return(value: tvms.ir.tir.PrimExpr | builtins.float) -> typing.Any:
    """`T.Return(value)`: the same as `return value`."""
def allocate(extents: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | builtins.int | tvms.ir.tir.PrimExpr, dtype: builtins.str, scope: builtins.str = 'global', condition: typing.Any = None, annotations: typing.Any = None) -> typing.Any:
    """`A = T.allocate([128], "float32", "shared")`: memory, accessed by a pointer."""
def allocate_const(data: typing.Any, dtype: builtins.str, extents: typing.Any, annotations: typing.Any = None) -> typing.Any:
    """`A = T.allocate_const([1, 2, 3], "int32", [3])`: memory with constant contents."""
def attr(node: typing.Any, attr_key: builtins.str | None = None, value: typing.Any = None) -> typing.Any:
    """`with T.attr(A.data, "key", value):`, or `T.attr({"key": value})` without a node: an attribute of the body."""
def realize(buffer_slice: typing.Any, storage_scope: builtins.str, condition: typing.Any = ...) -> typing.Any:
    """`T.realize(A[0:16], "local")`: the region of a buffer that is allocated."""
def Assert(condition: typing.Any, message: typing.Any) -> typing.Any:
    """`with T.Assert(n > 0, "n is positive"):`: an `assert` with an explicit body."""
def LetStmt(value: tvms.ir.tir.PrimExpr | builtins.float, type_annotation: typing.Any = None, *, var: tvms.ir.tir.Var | None = None) -> typing.Any:
    """`with T.LetStmt(value) as x:`, or with a given variable: `T.LetStmt(value, var=x)`."""
def meta_var(value: typing.Any) -> typing.Any:
    """`x = T.meta_var(value)`: another name for a value, not a variable."""
def bind(value: tvms.ir.tir.PrimExpr | builtins.float, type_annotation: typing.Any = None, *, var: tvms.ir.tir.Var | None = None) -> typing.Any:
    """`x = T.bind(value)`, the newer name of `T.LetStmt`."""
def Bind(value: tvms.ir.tir.PrimExpr | builtins.float, type_annotation: typing.Any = None, *, var: tvms.ir.tir.Var | None = None) -> typing.Any:
    """`x = T.bind(value)`, the newer name of `T.LetStmt`."""
def Let(expr: tvms.ir.tir.PrimExpr | builtins.float, where: typing.Any) -> tvms.ir.tir.PrimExpr:
    """`T.Let(x + x, where={x: value})`: an expression in which a variable is bound to a value."""
def let(v: tvms.ir.tir.Var, value: tvms.ir.tir.PrimExpr | builtins.float, body: tvms.ir.tir.PrimExpr | builtins.float | None = None) -> typing.Any:
    """`with T.let(x, value):`, or with a body the expression (the older spelling of T.LetStmt and T.Let)."""
def iter_var(v: typing.Any, dom: typing.Any, iter_type: builtins.str, thread_tag: builtins.str) -> typing.Any:
    """`T.iter_var(tx, T.Range(0, 128), "ThreadIndex", "threadIdx.x")`: an iterator, for `T.attr`."""
def env_thread(thread_tag: builtins.str, dtype: builtins.str = 'int32') -> tvms.ir.tir.Var:
    """`tx = T.env_thread("threadIdx.x")`: a thread index, launched later."""
def launch_thread(thread: typing.Any, extent: tvms.ir.tir.PrimExpr | builtins.float) -> typing.Any:
    """`with T.launch_thread("blockIdx.x", 128) as bx:`, or `T.launch_thread(tx, 128)` of an env_thread."""
@typing.overload
def prim_func(definition: collections.abc.Callable[..., typing.Any], /) -> tvms.ir.tir.PrimFunc:
    """`T.prim_func(private=True) f(…):` opens a loop function."""
@typing.overload
def prim_func(*, private: builtins.bool = False, check_well_formed: builtins.bool = True, pure: builtins.bool = True, s_tir: builtins.bool = False) -> collections.abc.Callable[[collections.abc.Callable[..., typing.Any]], tvms.ir.tir.PrimFunc]:
    """`T.prim_func(private=True) f(…):` opens a loop function."""
