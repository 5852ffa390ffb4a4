"""Arithmetic intrinsics (TVM: `src/tir/op/op.cc` and the first part of `builtin.cc`)."""

from __future__ import annotations

from .tir_table import Intrinsic


def _unary(script: str, doc: str, kind: str = "float", dtype: str = "arg0") -> Intrinsic:
    return Intrinsic(script, f"x:{kind}", dtype, "pure", doc)


def _binary(script: str, doc: str, kind: str = "float", other: str = "x1") -> Intrinsic:
    return Intrinsic(script, f"x1:{kind} x2:{other}", "arg0", "pure", doc)


ROWS = (
    _unary("exp", "e to the x."),
    _unary("exp2", "2 to the x."),
    _unary("exp10", "10 to the x."),
    _unary("erf", "The Gauss error function."),
    _unary("tanh", "The hyperbolic tangent."),
    _unary("sigmoid", "1 / (1 + exp(-x))."),
    _unary("log", "The natural logarithm."),
    _unary("log2", "The logarithm to the base 2."),
    _unary("log10", "The logarithm to the base 10."),
    _unary("log1p", "log(1 + x), exact near zero."),
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
    _unary("floor", "The greatest integer that is not greater.", "number"),
    _unary("ceil", "The least integer that is not less.", "number"),
    _unary("trunc", "The integer part.", "number"),
    _unary("round", "The nearest integer, of two the even one.", "number"),
    _unary("nearbyint", "The nearest integer, of two the even one.", "number"),
    _unary("isnan", "Whether a float is not a number.", "number", "bool@0"),
    _unary("clz", "The zero bits above the highest one bit.", "int", "int32@0"),
    _unary("popcount", "The one bits.", "int"),
    _unary("bitwise_not", "The complement of every bit.", "bits"),
    _binary("bitwise_and", "The bits set in both.", "bits"),
    _binary("bitwise_or", "The bits set in either.", "bits"),
    _binary("bitwise_xor", "The bits set in one of both.", "bits"),
    _binary("shift_left", "x1 shifted left by x2 bits.", "int"),
    _binary("shift_right", "x1 shifted right by x2 bits; arithmetic where it is signed.", "int"),
    _binary("pow", "x1 to the x2.", "number"),
    _binary("atan2", "The angle of the point (x2, x1)."),
    _binary("nextafter", "The float next to x1 towards x2."),
    _binary("hypot", "sqrt(x1 * x1 + x2 * x2)."),
    _binary("copysign", "x1 with the sign of x2."),
    _binary("ldexp", "x1 * 2 ** x2.", other="int"),
    _binary("fmod", "The remainder of x1 / x2 rounded towards zero."),
    Intrinsic("fma", "x:float y:x z:x", "arg0", "pure", "x * y + z, rounded once.", in_script=False),
    Intrinsic("q_multiply_shift", "x:int y:int q:int s:int", "int32@0", "pure", "x * y * 2 ** -s in fixed point of q bits, rounded."),
    Intrinsic(
        "q_multiply_shift_per_axis", "x:int y:int ls:int rs:int q:int is_lshift_required:condition is_rshift_required:condition", "int32@0", "pure",
        "`q_multiply_shift` with a left and a right shift.",
    ),
    Intrinsic("if_then_else", "cond:condition t:value f:t", "arg1", "pure", "t where cond holds, else f; only one is evaluated."),
    Intrinsic("likely", "cond:bits", "arg0", "annotation", "cond, which mostly holds."),
    Intrinsic("reinterpret", "value:value", "first", "pure", "The bits of a value read as another dtype."),
    Intrinsic("large_uint_imm", "low:constant high:constant", "first", "pure", "low + (high << 32), unsigned.", in_script=False),
    Intrinsic("dp4a", "vec1:bytes4 vec2:bytes4 acc:index=0", "int32", "pure", "acc plus the dot product of two vectors of four int8."),
    Intrinsic("vectorlow", "vec:vector", "first", "pure", "The lower half of a vector."),
    Intrinsic("vectorhigh", "vec:vector", "first", "pure", "The higher half of a vector."),
    Intrinsic("vectorcombine", "vec1:vector vec2:vec1", "first", "pure", "Two vectors, one after the other."),
    Intrinsic("vscale", "", "int32", "pure", "What the lanes of scalable vectors are multiples of, at run time."),
    Intrinsic(
        "get_active_lane_mask", "base:index limit:base", "first", "pure", "Which lanes of base, base + 1, … are below limit."
    ),
)  # fmt: skip
