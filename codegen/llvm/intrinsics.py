"""The intrinsics of the loop level: a row per intrinsic emits LLVM instructions or calls of the C library.

`ANY` holds the intrinsics that are the same on every machine; `CPU` adds those of the C library. A mathematical
function of float16 or bfloat16 is computed in float32 and rounded once (`codegen.lower.small_floats`).
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import is_float, is_vector, lanes_of, parse_dtype, with_lanes, with_lanes_of
from ...ir.interp.intrinsics import FIXED_POINT_SHIFT, MOST_EXPONENT, NEGATIVE_SHIFT, WORD_BITS
from . import vectors
from .api import Value, ir
from .casts import emit_cast
from .expressions import ExpressionEmitter, scalar_of
from .intrinsic_kinds import Intrinsic, Table, instruction, llvm_function, named
from .mathematics import FUNCTIONS, Arithmetic
from .moves import MOVES
from .operators import intrinsic, kind_of, number
from .types import register_type

_C_MATHS = {
    f"{name}{suffix}": (len(params), dtype)
    for suffix, dtype in (("", "float64"), ("f", "float32"))
    for name, params in {
        **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh"), "x"),
        **dict.fromkeys(("erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "lgamma", "log", "log10"), "x"),
        **dict.fromkeys(("log1p", "log2", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc"), "x"),
        **dict.fromkeys(("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow"), "xy"),
    }.items()
}
"""The C functions that a program may call by name, with the number and dtype of their operands."""


def _libm(name: str) -> Intrinsic:
    """Return an emitter that calls a function of the C library (`expf` for float32) for each lane."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        dtype = scalar_of(call.dtype)
        if dtype not in ("float32", "float64"):
            raise error("E0604", f"'{name}' of dtype '{call.dtype}' cannot be compiled", call.span)
        symbol = name if dtype == "float64" else name + "f"
        lanes = [vectors.split(emitter.builder, operand) for operand in emitter.operands(call)]
        return vectors.join(
            emitter.builder,
            [_call_c(emitter, symbol, register_type(dtype), list(row)) for row in zip(*lanes, strict=True)],
        )

    return emit


def _call_c(emitter: ExpressionEmitter, symbol: str, result: object, args: list[Value]) -> Value:
    """Call the C function `symbol`, which must be one of `codegen.runtime.jit.C_FUNCTIONS`."""
    module = emitter.builder.module
    function = module.globals.get(symbol)
    if function is None:
        function = ir.Function(module, ir.FunctionType(result, [arg.type for arg in args]), symbol)
        function.attributes.add("nounwind")
    return emitter.builder.call(function, args)


def _call_extern(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit a call of a C function by name. Only functions of `_C_MATHS` are allowed, with their declared signature."""
    name, *operands = call.args
    symbol = name.value if isinstance(name, tir.StringImm) else ""
    if symbol not in _C_MATHS:
        help = "use an intrinsic, or call a Python function from the graph level with R.call_dps_packed"
        raise error("E0603", f"unknown external function '{symbol}'", call.span, help)
    arity, dtype = _C_MATHS[symbol]
    given = [operand.dtype for operand in operands if isinstance(operand, tir.PrimExpr)]
    if given != [dtype] * arity or call.dtype != dtype:
        wanted = ", ".join([dtype] * arity)
        raise error(
            "E0603",
            f"'{symbol}' takes ({wanted}) and returns {dtype}, but is called with ({', '.join(given)})",
            call.span,
        )
    values = [emitter.emit(operand) for operand in operands if isinstance(operand, tir.PrimExpr)]
    return _call_c(emitter, symbol, register_type(dtype), values)


def _identity_on_integers(name: str) -> Intrinsic:
    """Return an emitter of a rounding function; integers are returned unchanged."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        operands = emitter.operands(call)
        return intrinsic(emitter.builder, name, *operands) if is_float(call.dtype) else operands[0]

    return emit


def _by_polynomial(name: str, otherwise: Intrinsic) -> Intrinsic:
    """Return an emitter of a mathematical function: for float32 our polynomials on all lanes at once, else
    `otherwise`.
    """

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        if scalar_of(call.dtype) != "float32":
            return otherwise(emitter, call)
        (operand,) = emitter.operands(call)
        arithmetic = Arithmetic(emitter.builder, emitter.module.target.processor.has_fma)
        return FUNCTIONS[name](arithmetic, operand)

    return emit


# --- Arithmetic -----------------------------------------------------------------------------------------------


def _absolute(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    (value,) = emitter.operands(call)
    if kind_of(call.dtype) == "float":
        return intrinsic(emitter.builder, "fabs", value)
    if kind_of(call.dtype) == "unsigned":
        return value
    is_negative = emitter.builder.icmp_signed("<", value, number(value.type, 0))
    return emitter.builder.select(is_negative, emitter.builder.neg(value), value)


def _sigmoid(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    (value,) = emitter.operands(call)
    builder, one = emitter.builder, number(value.type, 1.0)
    return builder.fdiv(one, builder.fadd(one, intrinsic(builder, "exp", builder.fneg(value))))


def _reciprocal_root(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    (value,) = emitter.operands(call)
    return emitter.builder.fdiv(number(value.type, 1.0), intrinsic(emitter.builder, "sqrt", value))


def _fused_multiply_add(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    a, b, c = emitter.operands(call)
    if is_float(call.dtype):
        return intrinsic(emitter.builder, "fma", a, b, c)
    return emitter.builder.add(emitter.builder.mul(a, b), c)


def _power(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    if not is_float(call.dtype):
        raise error("E0604", f"a power of dtype '{call.dtype}' cannot be compiled", call.span, "cast to a float first")
    exponent = call.args[1]
    exponent = exponent.value if isinstance(exponent, tir.Broadcast) else exponent
    if not isinstance(exponent, tir.FloatImm) or exponent.value not in _SIMPLE_POWERS:
        return llvm_function("pow")(emitter, call)
    value, _ = emitter.operands(call)
    if exponent.value == 1:
        return value
    builder = emitter.builder
    return builder.fmul(value, value) if exponent.value == 2 else intrinsic(builder, "sqrt", value)


_SIMPLE_POWERS = (1.0, 2.0, 0.5)
"""Constant exponents that need no logarithm, as in NumPy: a power of 0.5 is the square root, also of -0 and -infinity."""


def _multiply_fixed_point(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `x * y` for numbers with `q` fractional bits, shifted, and rounded with ties upwards; computed in 64 bits.

    The arguments are `(x, y, q, shift)`, where a positive shift is to the left, or `(x, y, left, right, q, …)`.
    """
    wide = with_lanes_of("int64", call.dtype)
    args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
    operands = zip(args, emitter.operands(call), strict=True)
    x, y, *rest = [
        emit_cast(emitter.builder, value, with_lanes_of(arg.dtype, call.dtype), wide) for arg, value in operands
    ]
    builder, zero = emitter.builder, number(x.type, 0)
    if len(rest) == 2:
        q, shift = rest
        left = intrinsic(builder, "smax", shift, zero)
        right = intrinsic(builder, "smax", builder.neg(shift), zero)
    else:
        left, right, q = rest[:3]
    total, one = builder.add(q, right), number(x.type, 1)
    is_wrong = builder.icmp_unsigned(">=", left, number(x.type, WORD_BITS))
    is_wrong = builder.or_(is_wrong, builder.icmp_signed("<", right, number(x.type, 0)))
    is_wrong = builder.or_(is_wrong, builder.icmp_unsigned(">", builder.sub(total, one), number(x.type, 61)))
    emitter.fail_if(emitter.any_lane(is_wrong), "E0712", FIXED_POINT_SHIFT, call.span)
    half = builder.shl(one, builder.sub(total, one))
    product = builder.mul(builder.shl(x, left), y)
    return emit_cast(builder, builder.ashr(builder.add(product, half), total), wide, call.dtype)


def _scale_by_power_of_two(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    value, exponent = call.args
    if not (isinstance(value, tir.PrimExpr) and isinstance(exponent, tir.PrimExpr)):
        raise error("E0606", "ldexp takes a float and an integer", call.span)
    count, kind = emitter.emit(exponent), parse_dtype(exponent.dtype)
    if kind.bits >= 32:
        sign = "s" if kind.code == "int" else "u"
        count = intrinsic(emitter.builder, f"{sign}min", count, number(count.type, MOST_EXPONENT))
        count = intrinsic(emitter.builder, "smax", count, number(count.type, -MOST_EXPONENT)) if sign == "s" else count
    words = emit_cast(emitter.builder, count, exponent.dtype, with_lanes("int32", kind.lanes))
    return intrinsic_of_two(emitter, "ldexp", emitter.emit(value), words)


def intrinsic_of_two(emitter: ExpressionEmitter, name: str, first: Value, second: Value) -> Value:
    """Call an intrinsic that is overloaded on both operands; the result has the type of the first."""
    from .operators import type_suffix

    symbol = f"llvm.{name}.{type_suffix(first.type)}.{type_suffix(second.type)}"
    module = emitter.builder.module
    function = module.globals.get(symbol) or ir.Function(
        module, ir.FunctionType(first.type, [first.type, second.type]), symbol
    )
    return emitter.builder.call(function, [first, second])


def _shift(name: str) -> Intrinsic:
    """Return an emitter of an integer shift. A negative count is a fault; a count of all bits or more gives zeros or
    copies of the sign.
    """

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        value, count = emitter.operands(call)
        builder, bits = emitter.builder, parse_dtype(call.dtype).bits
        is_arithmetic = name == "shift_right" and kind_of(call.dtype) == "signed"
        shift = builder.shl if name == "shift_left" else builder.ashr if is_arithmetic else builder.lshr
        amount = call.args[1]
        if isinstance(amount, tir.IntImm) and 0 <= amount.value < bits:
            return shift(value, count)
        if isinstance(amount, tir.PrimExpr) and kind_of(amount.dtype) == "signed":
            is_negative = builder.icmp_signed("<", count, number(count.type, 0))
            emitter.fail_if(emitter.any_lane(is_negative), "E0712", NEGATIVE_SHIFT, call.span)
        is_all = builder.icmp_unsigned(">=", count, number(count.type, bits))
        shifted = shift(value, builder.select(is_all, number(count.type, bits - 1), count))
        return shifted if is_arithmetic else builder.select(is_all, number(value.type, 0), shifted)

    return emit


def _count_bits(name: str) -> Intrinsic:
    """Return an emitter of a bit count, whose result is int32 for every operand dtype."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        (value,) = emitter.operands(call)
        extra = [number(ir.IntType(1), 0)] if name == "ctlz" else []
        count = intrinsic(emitter.builder, name, value, *extra)
        source = f"uint{count.type.width}" if not hasattr(count.type, "count") else f"uint{count.type.element.width}"
        return emit_cast(emitter.builder, count, with_lanes_of(source, call.dtype), call.dtype)

    return emit


def _float_test(test: Callable[[ExpressionEmitter, Value], Value], of_integers: bool) -> Intrinsic:
    """Return an emitter of a predicate on floats, which is `of_integers` for every integer."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        (value,) = emitter.operands(call)
        operand = call.args[0]
        if isinstance(operand, tir.PrimExpr) and is_float(operand.dtype):
            return test(emitter, value)
        return number(register_type(call.dtype), of_integers)

    return emit


def _is_nan(emitter: ExpressionEmitter, value: Value) -> Value:
    return emitter.builder.fcmp_unordered("uno", value, value)


def _against_infinity(sign: str) -> Callable[[ExpressionEmitter, Value], Value]:
    def test(emitter: ExpressionEmitter, value: Value) -> Value:
        magnitude = intrinsic(emitter.builder, "fabs", value)
        return emitter.builder.fcmp_ordered(sign, magnitude, number(value.type, float("inf")))

    return test


# --- Choice, bits, vectors ------------------------------------------------------------------------------------


# --- Dot products of bytes ------------------------------------------------------------------------------------

_DOT_WIDTHS = (128, 256, 512)
"""Widths of vectors for which AVX512-VNNI and AVX-VNNI have `vpdpbusd`, in bits."""


def _dot4(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `dp4a(vec1, vec2, acc)`: one instruction for unsigned times signed bytes, if the processor has it."""
    args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
    a, b, *rest = [emitter.emit(arg) for arg in args]
    is_signed = [parse_dtype(arg.dtype).code == "int" for arg in args[:2]]
    result = register_type(call.dtype, call.span)
    total = rest[0] if rest else ir.Constant(result, None if is_vector(call.dtype) else 0)
    width = 32 * lanes_of(call.dtype)
    has_instruction = emitter.module.target.processor.has_byte_dots and width in _DOT_WIDTHS
    if has_instruction and is_signed[0] != is_signed[1]:
        return _dot_instruction(emitter, width, total, *((b, a) if is_signed[0] else (a, b)))
    wide = ir.VectorType(ir.IntType(32), 4 * lanes_of(call.dtype))
    builder = emitter.builder
    x, y = [
        builder.sext(value, wide) if signed else builder.zext(value, wide)
        for value, signed in zip((a, b), is_signed, strict=True)
    ]
    products = builder.mul(x, y)
    for byte in range(4):
        lanes = range(byte, wide.count, 4)
        part = (
            vectors.shuffle(builder, products, products, list(lanes))
            if is_vector(call.dtype)
            else builder.extract_element(products, ir.Constant(ir.IntType(32), byte))
        )
        total = builder.add(total, part)
    return total


def _dot_instruction(emitter: ExpressionEmitter, width: int, total: Value, unsigned: Value, signed: Value) -> Value:
    module, symbol = emitter.builder.module, f"llvm.x86.avx512.vpdpbusd.{width}"
    function = module.globals.get(symbol)
    if function is None:
        types = [total.type, unsigned.type, signed.type]
        function = ir.Function(module, ir.FunctionType(total.type, types), symbol)
    return emitter.builder.call(function, [total, unsigned, signed])


# --- Addresses and control ------------------------------------------------------------------------------------


ANY: Table = {
    **MOVES,
    **named("sqrt copysign", llvm_function),
    **named("floor ceil trunc nearbyint", _identity_on_integers),
    "tir.round": _identity_on_integers("nearbyint"),
    "tir.fabs": _absolute,
    "tir.rsqrt": _reciprocal_root,
    "tir.sigmoid": _sigmoid,
    **named("q_multiply_shift q_multiply_shift_per_axis", lambda name: _multiply_fixed_point),
    "tir.fma": _fused_multiply_add,
    "tir.ldexp": _scale_by_power_of_two,
    "tir.bitwise_and": instruction("and_"),
    "tir.bitwise_or": instruction("or_"),
    "tir.bitwise_xor": instruction("xor"),
    "tir.bitwise_not": instruction("not_"),
    **named("shift_left shift_right", _shift),
    "tir.popcount": _count_bits("ctpop"),
    "tir.clz": _count_bits("ctlz"),
    "tir.isnan": _float_test(_is_nan, of_integers=False),
    "tir.isinf": _float_test(_against_infinity("=="), of_integers=False),
    "tir.isfinite": _float_test(_against_infinity("<"), of_integers=True),
}
"""The intrinsics of every target."""

CPU: Table = {
    **ANY,
    **named("log2 log10 sin cos", llvm_function),
    **named("exp exp2 log", lambda name: _by_polynomial(name, llvm_function(name))),
    **named("tanh erf", lambda name: _by_polynomial(name, _libm(name))),
    "tir.sigmoid": _by_polynomial("sigmoid", _sigmoid),
    **named("tan sinh cosh acos asin atan acosh asinh atanh log1p exp10", _libm),
    **named("atan2 hypot nextafter fmod", _libm),
    "tir.pow": _power,
    "tir.dp4a": _dot4,
    "tir.call_extern": _call_extern,
    "tir.call_pure_extern": _call_extern,
}
"""The intrinsics of a processor with a C library."""
