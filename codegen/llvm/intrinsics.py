"""The intrinsics of the loop level, by target: a row says what LLVM or the C library has for it.

`ANY` holds those that are the same on every machine, `CPU` adds what comes from the C library. A mathematical function
of float16 or bfloat16 is computed in float32 and rounded once (`codegen.lower.small_floats`).
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import is_float, lanes_of, parse_dtype, with_lanes
from . import vectors
from .api import Value, ir
from .casts import emit_cast
from .expressions import ExpressionEmitter, scalar_of
from .mathematics import FUNCTIONS, Arithmetic
from .operators import intrinsic, kind_of, number
from .types import I32, POINTER, register_type

Intrinsic = Callable[[ExpressionEmitter, tir.Call], Value]
Table = dict[str, Intrinsic]


def _llvm(name: str) -> Intrinsic:
    """An intrinsic of LLVM that works on all lanes at once."""
    return lambda emitter, call: intrinsic(emitter.builder, name, *emitter.operands(call))


def _identity_on_integers(name: str) -> Intrinsic:
    """Rounding: of an integer, the integer itself."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        operands = emitter.operands(call)
        return intrinsic(emitter.builder, name, *operands) if is_float(call.dtype) else operands[0]

    return emit


def _libm(name: str) -> Intrinsic:
    """A function of the C library (`expf` for float32), lane by lane."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        dtype = scalar_of(call.dtype)
        if dtype not in ("float32", "float64"):
            raise error("E0604", f"'{name}' of dtype '{call.dtype}' cannot be compiled", call.span)
        symbol = name if dtype == "float64" else name + "f"
        lanes = [vectors.split(emitter.builder, operand) for operand in emitter.operands(call)]
        return vectors.join(
            emitter.builder,
            [call_c(emitter, symbol, register_type(dtype), list(row)) for row in zip(*lanes, strict=True)],
        )

    return emit


def _by_polynomial(name: str, otherwise: Intrinsic) -> Intrinsic:
    """A function of mathematics: of float32 by our polynomials, on all lanes at once; else `otherwise`."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        if scalar_of(call.dtype) != "float32":
            return otherwise(emitter, call)
        (operand,) = emitter.operands(call)
        arithmetic = Arithmetic(emitter.builder, emitter.module.target.processor.has_fma)
        return FUNCTIONS[name](arithmetic, operand)

    return emit


def call_c(emitter: ExpressionEmitter, symbol: str, result: object, args: list[Value]) -> Value:
    """Call the C function `symbol`, which must be one of `codegen.runtime.jit.C_FUNCTIONS`."""
    module = emitter.builder.module
    function = module.globals.get(symbol)
    if function is None:
        function = ir.Function(module, ir.FunctionType(result, [arg.type for arg in args]), symbol)
        function.attributes.add("nounwind")
    return emitter.builder.call(function, args)


def _instruction(method: str) -> Intrinsic:
    return lambda emitter, call: getattr(emitter.builder, method)(*emitter.operands(call))


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
    return _llvm("pow")(emitter, call)


def _multiply_fixed_point(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """`x * y` of numbers with `q` fractional bits, shifted and rounded, halves upwards; computed in 64 bits.

    `(x, y, q, shift)`, where a positive shift is to the left, or `(x, y, left, right, q, …)`.
    """
    wide = with_lanes("int64", lanes_of(call.dtype))
    args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
    operands = zip(args, emitter.operands(call), strict=True)
    x, y, *rest = [
        emit_cast(emitter.builder, value, with_lanes(arg.dtype, lanes_of(call.dtype)), wide) for arg, value in operands
    ]
    builder, zero = emitter.builder, number(x.type, 0)
    if len(rest) == 2:
        q, shift = rest
        left = intrinsic(builder, "smax", shift, zero)
        right = intrinsic(builder, "smax", builder.neg(shift), zero)
    else:
        left, right, q = rest[:3]
    total, one = builder.add(q, right), number(x.type, 1)
    half = builder.shl(one, builder.sub(total, one))
    product = builder.mul(builder.shl(x, left), y)
    return emit_cast(builder, builder.ashr(builder.add(product, half), total), wide, call.dtype)


def _scale_by_power_of_two(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    value, exponent = call.args
    if not (isinstance(value, tir.PrimExpr) and isinstance(exponent, tir.PrimExpr)):
        raise error("E0606", "ldexp takes a float and an integer", call.span)
    words = emit_cast(
        emitter.builder, emitter.emit(exponent), exponent.dtype, with_lanes("int32", lanes_of(exponent.dtype))
    )
    return intrinsic_of_two(emitter, "ldexp", emitter.emit(value), words)


def intrinsic_of_two(emitter: ExpressionEmitter, name: str, first: Value, second: Value) -> Value:
    """Call an intrinsic that is overloaded on both its operands, with the result of the first one's type."""
    from .operators import type_suffix

    symbol = f"llvm.{name}.{type_suffix(first.type)}.{type_suffix(second.type)}"
    module = emitter.builder.module
    function = module.globals.get(symbol) or ir.Function(
        module, ir.FunctionType(first.type, [first.type, second.type]), symbol
    )
    return emitter.builder.call(function, [first, second])


def _shift_right(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    value, count = emitter.operands(call)
    return (emitter.builder.ashr if kind_of(call.dtype) == "signed" else emitter.builder.lshr)(value, count)


def _count_bits(name: str) -> Intrinsic:
    """Bit counts are int32 whatever they count in."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        (value,) = emitter.operands(call)
        extra = [number(ir.IntType(1), 0)] if name == "ctlz" else []
        count = intrinsic(emitter.builder, name, value, *extra)
        source = f"uint{count.type.width}" if not hasattr(count.type, "count") else f"uint{count.type.element.width}"
        return emit_cast(emitter.builder, count, with_lanes(source, lanes_of(call.dtype)), call.dtype)

    return emit


def _float_test(test: Callable[[ExpressionEmitter, Value], Value], of_integers: bool) -> Intrinsic:
    """A question about a float, whose answer for every integer is `of_integers`."""

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


def _if_then_else(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    condition, yes, no = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
    return emitter.branch(emitter.condition(condition), lambda: emitter.emit(yes), lambda: emitter.emit(no))


def _first(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return emitter.operands(call)[0]


def _nothing(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return number(I32, 0)


def _reinterpret(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    (operand,) = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
    value, target = emitter.emit(operand), register_type(call.dtype, call.span)
    if "handle" in (operand.dtype, call.dtype):
        return emit_cast(emitter.builder, value, operand.dtype, call.dtype, call.span)
    source, wanted = parse_dtype(operand.dtype), parse_dtype(call.dtype)
    if source.bits * source.lanes != wanted.bits * wanted.lanes:
        raise error("E0606", f"'{operand.dtype}' has not as many bits as '{call.dtype}'", call.span)
    return emitter.builder.bitcast(value, target)


def _undefined(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return ir.Constant(register_type(call.dtype, call.span), None)


def _large_unsigned(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    low, high = (arg for arg in call.args if isinstance(arg, tir.IntImm))
    return emitter.emit(tir.IntImm(call.dtype, high.value << 32 | low.value, span=call.span))


def _half_of_vector(is_low: bool) -> Intrinsic:
    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        value = emitter.operands(call)[-1]
        middle, count = value.type.count // 2, value.type.count
        return vectors.shuffle(emitter.builder, value, value, list(range(middle) if is_low else range(middle, count)))

    return emit


def _combine(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    low, high = emitter.operands(call)
    return vectors.shuffle(emitter.builder, low, high, list(range(low.type.count + high.type.count)))


# --- Addresses and control ------------------------------------------------------------------------------------


def _address_of(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    load = call.args[0]
    if not isinstance(load, tir.BufferLoad):
        raise error("E0606", "only an element of a buffer has an address", call.span)
    return emitter.element_address(load, emitter.wide_index(load))


def _access_pointer(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """`(type annotation, data, offset, extent, rw_mask)`, the offset in elements."""
    annotation, data, offset, *_ = call.args
    if not (isinstance(annotation, tir.PrimExpr) and isinstance(data, tir.Var) and isinstance(offset, tir.PrimExpr)):
        raise error("E0606", "an access pointer needs a dtype, a buffer variable and an offset", call.span)
    index = emit_cast(emitter.builder, emitter.emit(offset), offset.dtype, "int64")
    return emitter.address(data, annotation.dtype, index, call.span)


def _add_bytes(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    pointer, offset = emitter.operands(call)
    return emitter.builder.gep(pointer, [offset], source_etype=ir.IntType(8))


def _is_null(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    (pointer,) = emitter.operands(call)
    return emitter.builder.icmp_unsigned("==", pointer, ir.Constant(pointer.type, None))


def _prefetch(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """`(address, rw, locality, cache)`, the last three constants as LLVM has them."""
    address, *hints = call.args
    numbers = [hint.value for hint in hints if isinstance(hint, tir.IntImm)]
    if not isinstance(address, tir.PrimExpr) or len(numbers) != 3:
        raise error("E0606", "a prefetch takes an address and three constants", call.span)
    module, name = emitter.builder.module, "llvm.prefetch.p0"
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
    function = module.globals.get(name) or ir.Function(module, kind, name)
    emitter.builder.call(function, [emitter.emit(address), *(number(I32, hint) for hint in numbers)])
    return number(I32, 0)


def _checked_index(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    from .checks import emit_checked_index

    return emit_checked_index(emitter, call)


def _return(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return emitter.return_value(call)


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
"""The C functions that a program may call by name: how many operands they take, and of which dtype."""


def _call_extern(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Only functions of the C library that compute, and only as they are declared there, are called."""
    name, *operands = call.args
    symbol = name.value if isinstance(name, tir.StringImm) else ""
    if symbol not in _C_MATHS:
        help = "use an intrinsic, or call a Python function from the graph level with R.call_dps_packed"
        raise error("E0603", f"the external function '{symbol}' is not known", call.span, help)
    arity, dtype = _C_MATHS[symbol]
    given = [operand.dtype for operand in operands if isinstance(operand, tir.PrimExpr)]
    if given != [dtype] * arity or call.dtype != dtype:
        wanted = ", ".join([dtype] * arity)
        raise error(
            "E0603",
            f"'{symbol}' takes ({wanted}) and gives {dtype}, but is called with ({', '.join(given)})",
            call.span,
        )
    values = [emitter.emit(operand) for operand in operands if isinstance(operand, tir.PrimExpr)]
    return call_c(emitter, symbol, register_type(dtype), values)


def _named(names: str, make: Callable[[str], Intrinsic]) -> Table:
    return {f"tir.{name}": make(name) for name in names.split()}


ANY: Table = {
    **_named("sqrt copysign", _llvm),
    **_named("floor ceil trunc round nearbyint", _identity_on_integers),
    **_named("likely ignore_loop_partition assume", lambda name: _first),
    **_named("start_profile_intrinsic end_profile_intrinsic", lambda name: _nothing),
    "tir.prefetch": _prefetch,
    "tir.checked_index": _checked_index,
    "tir.fabs": _absolute,
    "tir.rsqrt": _reciprocal_root,
    "tir.sigmoid": _sigmoid,
    **_named("q_multiply_shift q_multiply_shift_per_axis", lambda name: _multiply_fixed_point),
    "tir.fma": _fused_multiply_add,
    "tir.ldexp": _scale_by_power_of_two,
    "tir.bitwise_and": _instruction("and_"),
    "tir.bitwise_or": _instruction("or_"),
    "tir.bitwise_xor": _instruction("xor"),
    "tir.bitwise_not": _instruction("not_"),
    "tir.shift_left": _instruction("shl"),
    "tir.shift_right": _shift_right,
    "tir.popcount": _count_bits("ctpop"),
    "tir.clz": _count_bits("ctlz"),
    "tir.isnan": _float_test(_is_nan, of_integers=False),
    "tir.isinf": _float_test(_against_infinity("=="), of_integers=False),
    "tir.isfinite": _float_test(_against_infinity("<"), of_integers=True),
    "tir.if_then_else": _if_then_else,
    "tir.reinterpret": _reinterpret,
    "tir.undef": _undefined,
    "tir.large_uint_imm": _large_unsigned,
    "tir.vectorlow": _half_of_vector(is_low=True),
    "tir.vectorhigh": _half_of_vector(is_low=False),
    "tir.vectorcombine": _combine,
    "tir.address_of": _address_of,
    "tir.tvm_access_ptr": _access_pointer,
    "tir.handle_add_byte_offset": _add_bytes,
    "tir.isnullptr": _is_null,
    "tir.ret": _return,
}
"""What every target has."""

CPU: Table = {
    **ANY,
    **_named("log2 log10 sin cos", _llvm),
    **_named("exp exp2 log", lambda name: _by_polynomial(name, _llvm(name))),
    **_named("tanh erf", lambda name: _by_polynomial(name, _libm(name))),
    "tir.sigmoid": _by_polynomial("sigmoid", _sigmoid),
    **_named("tan sinh cosh acos asin atan acosh asinh atanh log1p exp10", _libm),
    **_named("atan2 hypot nextafter fmod", _libm),
    "tir.pow": _power,
    "tir.call_extern": _call_extern,
    "tir.call_pure_extern": _call_extern,
}
"""What a processor has, with the C library."""

C_FUNCTIONS = frozenset(_C_MATHS) | {"exp10", "exp10f", "malloc", "free"}
"""Every C function that emitted code may refer to."""
