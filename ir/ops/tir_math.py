"""Arithmetic intrinsics (TVM: `src/tir/op/op.cc` and the first part of `builtin.cc`)."""

from __future__ import annotations

from .tir_table import Intrinsic


def _unary(script: str, doc: str, kind: str = "float", dtype: str = "arg0") -> Intrinsic:
    return Intrinsic(script, f"x:{kind}", dtype, "pure", doc)


def _binary(script: str, doc: str, kind: str = "float", other: str = "x1") -> Intrinsic:
    return Intrinsic(script, f"x1:{kind} x2:{other}", "arg0", "pure", doc)


ROWS = (
    _unary("exp", "e to the power of x."),
    _unary("exp2", "2 to the power of x."),
    _unary("exp10", "10 to the power of x."),
    _unary("erf", "The Gauss error function."),
    _unary("tanh", "The hyperbolic tangent."),
    _unary("sigmoid", "1 / (1 + exp(-x))."),
    _unary("log", "The natural logarithm."),
    _unary("log2", "The logarithm to the base 2."),
    _unary("log10", "The logarithm to the base 10."),
    _unary("log1p", "log(1 + x), accurate near zero."),
    _unary("tan", "The tangent."),
    _unary("cos", "The cosine."),
    _unary("cosh", "The hyperbolic cosine."),
    _unary("acos", "The arc cosine."),
    _unary("acosh", "The inverse hyperbolic cosine."),
    _unary("sin", "The sine."),
    _unary("sinh", "The hyperbolic sine."),
    _unary("asin", "The arc sine."),
    _unary("asinh", "The inverse hyperbolic sine."),
    _unary("atan", "The arc tangent."),
    _unary("atanh", "The inverse hyperbolic tangent."),
    _unary("sqrt", "The square root."),
    _unary("rsqrt", "1 / sqrt(x)."),
    _unary("fabs", "The absolute value of a float.", "number"),
    _unary("floor", "Round down to an integer.", "number"),
    _unary("ceil", "Round up to an integer.", "number"),
    _unary("trunc", "Round towards zero to an integer.", "number"),
    _unary("round", "Round to the nearest integer, halves to even.", "number"),
    _unary("nearbyint", "Round to the nearest integer, halves to even.", "number"),
    _unary("isnan", "Whether a float is NaN.", "number", "bool@0"),
    _unary("clz", "Number of leading zero bits.", "int", "int32@0"),
    _unary("popcount", "Number of one bits.", "int"),
    _unary("bitwise_not", "Bitwise complement.", "bits"),
    _binary("bitwise_and", "Bitwise and.", "bits"),
    _binary("bitwise_or", "Bitwise or.", "bits"),
    _binary("bitwise_xor", "Bitwise exclusive or.", "bits"),
    _binary("shift_left", "x1 shifted left by x2 bits.", "int"),
    _binary("shift_right", "x1 shifted right by x2 bits; arithmetic if it is signed.", "int"),
    _binary("pow", "x1 to the power of x2.", "number"),
    _binary("atan2", "The angle of the point (x2, x1)."),
    _binary("nextafter", "The next float after x1 towards x2."),
    _binary("hypot", "sqrt(x1 * x1 + x2 * x2)."),
    _binary("copysign", "x1 with the sign of x2."),
    _binary("ldexp", "x1 * 2 ** x2.", other="int"),
    _binary("fmod", "The remainder of x1 / x2, with the sign of x1."),
    Intrinsic("fma", "x:float y:x z:x", "arg0", "pure", "x * y + z, rounded once.", in_script=False),
    Intrinsic("q_multiply_shift", "x:int y:int q:int s:int", "int32@0", "pure", "x * y * 2 ** -s in fixed point with q fractional bits, rounded."),
    Intrinsic(
        "q_multiply_shift_per_axis", "x:int y:int ls:int rs:int q:int is_lshift_required:condition is_rshift_required:condition", "int32@0", "pure",
        "`q_multiply_shift` with a left and a right shift.",
    ),
    Intrinsic("if_then_else", "cond:condition t:value f:t", "arg1", "pure", "t if cond holds, else f; only one is evaluated."),
    Intrinsic("likely", "cond:bits", "arg0", "annotation", "cond, marked as likely true."),
    Intrinsic("reinterpret", "value:value", "first", "pure", "The bits of a value reinterpreted as another dtype."),
    Intrinsic("large_uint_imm", "low:constant high:constant", "first", "pure", "low + (high << 32), unsigned.", in_script=False),
    Intrinsic("dp4a", "vec1:bytes4 vec2:bytes4 acc:index=0", "int32", "pure", "acc plus the dot product of two vectors of four int8."),
    Intrinsic("vectorlow", "vec:vector", "first", "pure", "The lower half of a vector."),
    Intrinsic("vectorhigh", "vec:vector", "first", "pure", "The upper half of a vector."),
    Intrinsic("vectorcombine", "vec1:vector vec2:vec1", "first", "pure", "The concatenation of two vectors."),
    Intrinsic("vscale", "", "int32", "pure", "The run-time factor of the lanes of scalable vectors."),
    Intrinsic(
        "get_active_lane_mask", "base:index limit:base", "first", "pure", "Mask of the lanes of base, base + 1, … that are less than limit."
    ),
)  # fmt: skip
