"""Dtypes as forms: `T.float32(0)` is a constant or a cast, `n = T.int32()` a variable, `a: T.handle` a parameter."""

from __future__ import annotations

from typing import Any

from ...ir import make, tir
from ...ir.dtype import OLDER_DTYPES, is_float
from ...ir.signature import describe
from .convert import DTypeName, Flag, Mismatch, Text, expression
from .forms import Form, FormUse, dtype_name, form, register, signature_of

_SCALARS = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "bool", "void", "int1",
    "int2", "int4", "int128", "uint1", "uint2", "uint4", "uint128",
)  # fmt: skip
_NEWER = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i32": "int32", "i64": "int64"}
"""Short names that TVM added after 0.21."""


def dtype_form(dtype: str) -> Form:
    """Return the form `T.<dtype>`; forms of vector dtypes are created on demand."""

    def build(site: FormUse, expr: Any = None, is_size_var: Flag = False) -> tir.PrimExpr:
        """`T.float32(0)`, `T.int64(x)`, `n = T.int32()`: a constant, a cast, or, without a value, a variable."""
        if expr is None:
            return _variable(site, dtype, None, is_size_var)
        if isinstance(expr, str):
            return _special_float(site, expr, dtype)
        if isinstance(expr, bool | int | float):
            return make.const(expr, dtype, site.span)
        try:
            return make.cast(expression(expr, site.span), dtype, site.span)
        except Mismatch:
            message = f"argument 1, 'expr' to {site.name}: expected an expression, got {describe(expr)}"
            raise site.error("E0202", message, node=site.argument("expr", 0)) from None

    return Form(f"T.{dtype}", build, signature_of(build))


def _special_float(site: FormUse, text: str, dtype: str) -> tir.PrimExpr:
    if text not in ("inf", "-inf", "nan") or not is_float(dtype):
        help = 'a floating-point dtype takes "inf", "-inf" or "nan"'
        raise site.error("E0202", f"{site.name} does not accept '{text}'", help, site.argument("expr", 0))
    return make.const(float(text), dtype, site.span)


def _variable(site: FormUse, dtype: str, annotation: tir.Type | None = None, is_size_var: bool = False) -> tir.Var:
    kind = tir.SizeVar if is_size_var else tir.Var
    return kind(dtype, site.first_name, annotation, span=site.span)


for _name in _SCALARS:
    register(f"T.{_name}", dtype_form(_name))
register("T.boolean", dtype_form("bool"))
for _short, _name in {**_NEWER, **OLDER_DTYPES}.items():
    register(f"T.{_short}", dtype_form(_name))


@form("T.handle")
def handle(site: FormUse, dtype: Any = None, storage_scope: Text = "global", *, is_size_var: Flag = False) -> tir.Var:
    """`a: T.handle` and `T.handle("float32", "shared")`: a pointer, optionally with its element dtype and scope."""
    if dtype is None:
        return _variable(site, "handle", None, is_size_var)
    if dtype == "tensormap":
        return _variable(site, "handle", tir.PointerType(tir.TensorMapType()))
    return ptr(site, _dtype_argument(site, dtype), storage_scope, is_size_var)


def _dtype_argument(site: FormUse, dtype: Any) -> str:
    try:
        return dtype_name(dtype, None)
    except Mismatch as mismatch:
        message = f"argument 1, 'dtype' to {site.name}: expected {mismatch.expected}, got {describe(dtype)}"
        raise site.error("E0202", message, mismatch.help, site.argument("dtype", 0)) from None


@form("T.Ptr", "T.ptr", "T.buffer_var")
def ptr(site: FormUse, dtype: DTypeName, storage_scope: Text = "global", is_size_var: Flag = False) -> tir.Var:
    """`T.Ptr[T.float32]`: a pointer to elements of a dtype."""
    return _variable(site, "handle", tir.PointerType(tir.PrimType(dtype), storage_scope), is_size_var)


@form("T.TensorMap")
def tensor_map(site: FormUse) -> tir.Var:
    """`T.TensorMap()`: a CUDA tensor map."""
    return _variable(site, "handle", tir.PointerType(tir.TensorMapType()))


@form("T.Var")
def var(site: FormUse, name: Text, dtype: DTypeName | None = None, *, ty: DTypeName | None = None) -> tir.Var:
    """`T.Var("n", "int32")`: a variable; the newest TVM calls the dtype `ty`."""
    given = dtype or ty
    if given is None or (dtype and ty):
        raise site.error("E0105", "T.Var needs a name and a dtype", 'write T.Var("n", "int32")')
    return tir.Var(given, name, span=site.span)


@form("T.var")
def older_var(site: FormUse, dtype: DTypeName, name: Text = "") -> tir.Var:
    """`n = T.var("int32")`, the older spelling of `n = T.int32()`."""
    return tir.Var(dtype, site.first_name or name, span=site.span)


@form("T.IntImm", "T.FloatImm")
def immediate(site: FormUse, dtype: DTypeName, value: Any) -> tir.PrimExpr:
    """`T.FloatImm("float16", 0.5)`: a constant."""
    if not isinstance(value, bool | int | float):
        message = f"argument 2, 'value' to {site.name}: expected a number, got {describe(value)}"
        raise site.error("E0202", message, node=site.argument("value", 1))
    return make.const(value, dtype, site.span)


@form("T.StringImm")
def string(site: FormUse, value: Text) -> tir.StringImm:
    """`T.StringImm("text")`: a string as an expression."""
    return tir.StringImm("handle", value, span=site.span)
