"""Constants, casts and vectors, and dtype promotion of two operands (TVM: `BinaryOpMatchTypes`, `cast`)."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from . import tir
from .base import Op, Span
from .diagnostics import ArgumentError, Diagnostic, error
from .dtype import DEFAULT_WIDTHS, MAX_LANES, DType, int_range, is_dtype, is_float, parse_dtype, same_lanes
from .operators import Equality

Operand: TypeAlias = tir.PrimExpr | float | bool
"""An expression, or a Python number that becomes a constant."""

_INT32 = range(-(1 << 31), 1 << 31)
_LARGEST = {
    "float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38, "float16": 65504.0,
    "bfloat16": 3.4028234663852886e38, "float8_e3m4": 31.0, "float8_e4m3": 448.0, "float8_e4m3b11fnuz": 30.0,
    "float8_e4m3fn": 448.0, "float8_e4m3fnuz": 448.0, "float8_e5m2": 57344.0, "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 3.4028236692093846e38, "float6_e2m3fn": 7.5, "float6_e3m2fn": 28.0, "float4_e2m1fn": 6.0,
}  # fmt: skip
"""Maximum finite value of each floating-point dtype, as in TVM."""
_NEVER_NEGATIVE = ("float8_e8m0fnu",)
_WIDENING = ("float4", "float6", "float8", "bfloat", "float")
"""The floating-point families in ascending order; the later one, or the one that is not an integer, decides."""


def dtype_of(dtype: str, span: Span | None = None) -> DType:
    """Parse `dtype`; E0233 if it is not a dtype."""
    if not is_dtype(dtype):
        raise error("E0233", f"'{dtype}' is not a dtype", span, 'a dtype is written as in "float32" or "int8x4"')
    return parse_dtype(dtype)


def smallest(dtype: str) -> float:
    """Return the minimum finite value of a scalar dtype: an int for integer dtypes."""
    parsed = dtype_of(dtype)
    if parsed.code in ("int", "uint", "bool"):
        return int_range(dtype)[0]
    return 0.0 if parsed.name in _NEVER_NEGATIVE else -largest(dtype)


def largest(dtype: str) -> float:
    """Return the maximum finite value of a scalar dtype: an int for integer dtypes."""
    parsed = dtype_of(dtype)
    if parsed.code in ("int", "uint", "bool"):
        return int_range(dtype)[1]
    if parsed.name not in _LARGEST:
        raise error("E0233", f"{dtype} has no maximum")
    return _LARGEST[parsed.name]


def const(value: float | bool, dtype: str | None = None, span: Span | None = None) -> tir.PrimExpr:
    """Return the constant `value`, broadcast if `dtype` is a vector dtype.

    The default dtypes are TVM's: bool, int32 (int64 for values that int32 cannot hold), float32 (float64), the own dtype of
    NumPy's scalars. A float is truncated to an integer dtype. Raises E0231 for a value that `dtype` cannot hold, E0233 for a dtype without constants.
    """
    dtype = DEFAULT_WIDTHS.get(dtype or "", dtype)
    own = getattr(value, "dtype", None)
    if dtype is None and own is not None and getattr(value, "ndim", None) == 0:
        dtype = str(own)
    if not isinstance(value, bool | int | float):  # type: ignore[reportUnnecessaryIsInstance]  # callers are not all type-checked
        value = _number_of(value)
    if dtype is None:
        dtype = _dtype_of_number(value)
    parsed = dtype_of(dtype, span)
    if parsed.is_vector:
        return _broadcast_like(const(value, parsed.name, span), parsed, span)
    if parsed.code in ("int", "uint", "bool"):
        return tir.IntImm(dtype, _integer(value, dtype, span), span=span)
    if parsed.code not in ("float", "bfloat"):
        raise error("E0233", f"there are no constants of dtype {dtype}", span)
    limit = _LARGEST.get(dtype, math.inf)
    number = float(value)
    if math.isfinite(number) and abs(number) > limit:
        raise error("E0231", f"{value} does not fit {dtype}", span, f"its maximum is {limit:g}")
    return tir.FloatImm(dtype, number, span=span)


def _dtype_of_number(value: float | bool) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float64" if math.isfinite(value) and abs(value) > _LARGEST["float32"] else "float32"
    return "int32" if value in _INT32 else "int64"


def _number_of(value: Any) -> float | bool:
    """Return a scalar of NumPy as a Python number; raise E0702 for a value that is not a number."""
    found = value.item() if getattr(value, "ndim", None) == 0 else value
    if isinstance(found, bool | int | float):
        return found
    message = f"expected an expression or a number, got a value of type {type(value).__name__}"
    raise ArgumentError(Diagnostic("E0702", message, help="write a number, or an expression of tvms.tir"))


def _integer(value: float | bool, dtype: str, span: Span | None) -> int:
    if not math.isfinite(value):
        raise error("E0231", f"{value} does not fit {dtype}", span)
    low, high = int_range(dtype)
    if not low <= int(value) <= high:
        raise error("E0231", f"{value} does not fit {dtype}", span, f"it holds {low} to {high}")
    return int(value)


def operand(value: Operand | tir.IterVar, dtype: str = "int32") -> tir.PrimExpr:
    """Return `value` as an expression: an iterator becomes its variable, a comparison by `==` a node, and a Python number a
    constant of `dtype`.
    """
    if isinstance(value, tir.PrimExpr):
        return value
    if isinstance(value, tir.IterVar):
        return value.var
    return value.asobject() if isinstance(value, Equality) else const(value, dtype)


def operands(a: Operand | tir.IterVar, b: Operand | tir.IterVar) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return two operands as expressions; a Python number gets the dtype of the other."""
    if isinstance(a, int | float):
        right = operand(b)
        return _number(a, right.dtype), right
    left = operand(a)
    return left, _number(b, left.dtype) if isinstance(b, int | float) else operand(b)


def _number(value: float, dtype: str) -> tir.PrimExpr:
    """Return a Python number as an operand beside one of `dtype`; a fraction beside an integer is float32, as in TVM."""
    fraction = isinstance(value, float) and not is_float(dtype)
    return const(value, "float32" if fraction else dtype)


def to_expr(value: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `value` as an expression: a Python number becomes a constant."""
    if isinstance(value, Equality):
        return value.asobject()
    return value if isinstance(value, tir.PrimExpr) else const(value, span=span)


def vscale() -> tir.Call:
    """Return `T.vscale()`: the run-time factor of the lanes of scalable vectors."""
    return tir.Call("int32", Op("tir.vscale"), ())


def broadcast(value: Operand, lanes: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the vector of `lanes` copies of the scalar `value` (`T.Broadcast`)."""
    value = to_expr(value, span)
    lanes, suffix = _lanes(lanes, span)
    check_scalar(value, "T.Broadcast", span)
    return tir.Broadcast(value.dtype + suffix, value, lanes, span=span)


def ramp(base: Operand, stride: Operand, lanes: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the vector `base, base + stride, …` of `lanes` elements (`T.Ramp`)."""
    base, stride = to_expr(base, span), to_expr(stride, span)
    lanes, suffix = _lanes(lanes, span)
    check_scalar(base, "T.Ramp", span)
    check_scalar(stride, "T.Ramp", span)
    return tir.Ramp(base.dtype + suffix, base, cast(stride, base.dtype, span), lanes, span=span)


def _lanes(lanes: Operand, span: Span | None) -> tuple[tir.PrimExpr, str]:
    """Return `lanes` in normal form, and the suffix that it adds to a dtype."""
    lanes = to_expr(lanes, span)
    if isinstance(lanes, tir.IntImm):
        if not 2 <= lanes.value <= MAX_LANES:
            help = f"a vector has 2 to {MAX_LANES}"
            raise error("E0231", f"a vector of {lanes.value} lanes", lanes.span or span, help)
        return tir.IntImm("int32", lanes.value, span=lanes.span), f"x{lanes.value}"
    match lanes:
        case (
            tir.Mul(a=tir.IntImm(value=factor), b=tir.Call(op=Op(name="tir.vscale")))
            | tir.Mul(a=tir.Call(op=Op(name="tir.vscale")), b=tir.IntImm(value=factor))
        ):
            return tir.Mul("int32", vscale(), tir.IntImm("int32", factor)), f"xvscalex{factor}"
        case _:
            help = "give a constant, or T.vscale() times a constant"
            raise error("E0233", "the lanes of a vector are not constant", lanes.span or span, help)


def _broadcast_like(value: tir.PrimExpr, vector: DType, span: Span | None) -> tir.PrimExpr:
    lanes = tir.IntImm("int32", vector.lanes)
    return broadcast(value, tir.Mul("int32", vscale(), lanes) if vector.scalable else lanes, span)


def check_scalar(value: tir.PrimExpr, what: str, span: Span | None) -> None:
    """Raise E0233 if `value` is a vector."""
    parsed = parse_dtype(value.dtype)
    if parsed.is_vector:
        raise error("E0233", f"{what} takes a scalar, not {value.dtype}", value.span or span)


def cast(value: Operand, dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """Cast `value` to `dtype`: constants become constants, scalars are broadcast to vectors (TVM: `tvm::cast`).

    Handles, and vectors with another number of lanes, cannot be cast: E0233.
    """
    value, dtype = to_expr(value, span), DEFAULT_WIDTHS.get(dtype, dtype)
    if value.dtype == dtype:
        return value
    source, target = parse_dtype(value.dtype), dtype_of(dtype, span)
    scalar = not source.is_vector
    if "handle" in (source.code, target.code) or "void" in (source.code, target.code):
        raise error("E0233", f"{value.dtype} cannot be cast to {dtype}", value.span or span)
    if scalar and target.is_vector:
        return _broadcast_like(cast(value, target.name, span), target, span)
    if scalar:
        if isinstance(value, tir.IntImm | tir.FloatImm):
            return const(value.value, dtype, value.span or span)
        return tir.Cast(dtype, value, span=span)
    if not same_lanes(value.dtype, dtype):
        raise error("E0233", f"{value.dtype} cannot be cast to {dtype}: their lanes differ", value.span or span)
    if isinstance(value, tir.Broadcast):
        return tir.Broadcast(dtype, cast(value.value, target.name, span), value.lanes, span=span)
    if isinstance(value, tir.Ramp) and target.code in ("int", "uint"):
        base, stride = cast(value.base, target.name, span), cast(value.stride, target.name, span)
        return tir.Ramp(dtype, base, stride, value.lanes, span=span)
    return tir.Cast(dtype, value, span=span)


def match_types(a: Operand, b: Operand, span: Span | None = None) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return both operands converted to one dtype; E0230 if there is none.

    Scalars are broadcast to vectors. Precedence is: floats, bfloats, 8-, 6- and 4-bit floats, integers; then more bits
    over fewer; then unsigned over signed.
    """
    a, b = to_expr(a, span), to_expr(b, span)
    if a.dtype == b.dtype:
        return a, b
    left, right = parse_dtype(a.dtype), parse_dtype(b.dtype)
    if right.is_vector and not left.is_vector:
        a, left = _broadcast_like(a, right, span), right
    elif left.is_vector and not right.is_vector:
        b, right = _broadcast_like(b, left, span), left
    if a.dtype == b.dtype:
        return a, b
    left, right = parse_dtype(a.dtype), parse_dtype(b.dtype)
    rank_left, rank_right = _rank(left), _rank(right)
    if (
        not same_lanes(a.dtype, b.dtype)
        or min(rank_left, rank_right) < 0
        or (rank_left == rank_right and 1 <= rank_left <= 3)
    ):
        message = f"operands of dtype {a.dtype} and {b.dtype} are incompatible"
        raise error("E0230", message, span or a.span or b.span, "cast one of them, as in T.Cast(dtype, value)")
    if (rank_left, left.bits, left.code != "int") >= (rank_right, right.bits, right.code != "int"):
        return a, cast(b, a.dtype, span)
    return cast(a, b.dtype, span), b


def _rank(dtype: DType) -> int:
    """Return the rank of a dtype: 0 for integers and bool, then the families of floats; -1 for non-numeric dtypes."""
    if dtype.code in ("int", "uint", "bool"):
        return 0
    for rank in range(3):
        if dtype.name.startswith(_WIDENING[rank]) and "_" in dtype.name:
            return rank + 1
    return {"bfloat": 4, "float": 5}.get(dtype.code, -1)
