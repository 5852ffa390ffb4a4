"""Mathematical functions of float32 for GPUs, which have no C library.

The functions of `mathematics` use the hardware's power of two (`ex2.approx`: relative error below 2^-22 by the
PTX ISA), so that exp and exp2 are within 3 units in the last place. The other functions are computed in float64
by series that are much more accurate than float32, and rounded once: every tested value was correctly rounded
(all float32 in steps of 257; for two operands, as many random pairs). Arguments of sin, cos and tan may be up
to 2^50 in magnitude; beyond that the result is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .api import Builder, LLVMType, Value, ir
from .mathematics import FUNCTIONS as _PLAIN
from .mathematics import Arithmetic
from .operators import intrinsic, number

_HALF_PI, _HALF_PI_REST = math.pi / 2, 6.123233995736766e-17
"""π/2 as the sum of two floats, with 106 bits together."""
_MANTISSA = (1 << 52) - 1
_LOG2_E, _LOG2_E_REST = 1.4426950216293335, 1.925963033500011e-08
"""log2 e as the sum of a float32 and its remainder."""
_ROUNDER = 12582912.0 + 127
"""Adding it to a float32 leaves the nearest integer, as a biased exponent, in the last bits."""
_SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(7))
_COSINE = tuple((-1) ** k / math.factorial(2 * k) for k in range(8))
_HYPERBOLIC_SINE = tuple(1 / math.factorial(2 * k + 1) for k in range(7))
_EXPONENTIAL = tuple(1 / math.factorial(k) for k in range(13))
_LOGARITHM = tuple(2 / (2 * k + 1) for k in range(10))
_ARCTANGENT = tuple((-1) ** k / (2 * k + 1) for k in range(11))


class Double:
    """Emits float64 instructions on scalars and vectors."""

    def __init__(self, builder: Builder, like: Value) -> None:
        count = getattr(like.type, "count", None)
        self.builder = builder

        def typed(element: LLVMType) -> LLVMType:
            return element if count is None else ir.VectorType(element, count)

        self.narrow, self.wide, self.words = typed(ir.FloatType()), typed(ir.DoubleType()), typed(ir.IntType(64))

    def number(self, value: float) -> Value:
        return number(self.wide, value)

    def widen(self, value: Value) -> Value:
        return self.builder.fpext(value, self.wide)

    def round(self, value: Value) -> Value:
        return self.builder.fptrunc(value, self.narrow)

    def add(self, a: Value, b: Value | float) -> Value:
        return self.builder.fadd(a, self._value(b))

    def subtract(self, a: Value | float, b: Value) -> Value:
        return self.builder.fsub(self._value(a), b)

    def multiply(self, a: Value, b: Value | float) -> Value:
        return self.builder.fmul(a, self._value(b))

    def divide(self, a: Value | float, b: Value) -> Value:
        return self.builder.fdiv(self._value(a), b)

    def fma(self, a: Value, b: Value | float, c: Value | float) -> Value:
        return intrinsic(self.builder, "fma", a, self._value(b), self._value(c))

    def of(self, name: str, *values: Value) -> Value:
        """Call the intrinsic `name` with `values`."""
        return intrinsic(self.builder, name, *values)

    def is_(self, sign: str, a: Value, b: Value | float) -> Value:
        return self.builder.fcmp_ordered(sign, a, self._value(b))

    def choose(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        return self.builder.select(condition, self._value(yes), self._value(no))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Return the sum of `coefficients[i] * x**i`."""
        total = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, coefficient)
        return total

    def odd(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Return the sum of `coefficients[i] * x**(2 * i + 1)`."""
        return self.multiply(x, self.polynomial(self.multiply(x, x), coefficients))

    def _value(self, value: Value | float) -> Value:
        return self.number(value) if isinstance(value, float | int) else value


# --- In float64 -----------------------------------------------------------------------------------------------


def _ln(d: Double, x: Value) -> Value:
    """Return ln x = 2 artanh((m - 1) / (m + 1)) + e ln 2, for x that is 0, infinite or in the range of float32."""
    builder, words = d.builder, d.words
    bits = builder.bitcast(x, words)
    exponent = builder.sub(builder.lshr(bits, number(words, 52)), number(words, 1023))
    mantissa = builder.or_(builder.and_(bits, number(words, _MANTISSA)), number(words, 1023 << 52))
    m = builder.bitcast(mantissa, d.wide)
    is_large = d.is_(">", m, math.sqrt(2))
    m = d.choose(is_large, d.multiply(m, 0.5), m)
    whole = d.add(builder.sitofp(exponent, d.wide), d.choose(is_large, 1.0, 0.0))
    s = d.divide(d.add(m, -1.0), d.add(m, 1.0))
    result = d.fma(whole, math.log(2), d.odd(s, _LOGARITHM))
    result = d.choose(d.is_("<", x, math.inf), result, x)
    result = d.choose(d.is_("==", x, 0.0), -math.inf, result)
    return d.choose(d.is_(">=", x, 0.0), result, math.nan)


def _ln_1p(d: Double, x: Value) -> Value:
    """Return ln(1 + x), for small x by its series."""
    near = d.multiply(x, d.polynomial(x, (1.0, -1 / 2, 1 / 3, -1 / 4, 1 / 5)))
    return d.choose(d.is_("<", d.of("fabs", x), 1e-3), near, _ln(d, d.add(x, 1.0)))


def _exp(d: Double, x: Value) -> Value:
    """Return e to the power `x`; 0 or infinity outside the range of float32."""
    builder = d.builder
    limited = d.choose(d.is_(">", x, 200.0), 200.0, d.choose(d.is_("<", x, -200.0), -200.0, x))
    whole = d.of("nearbyint", d.multiply(limited, 1 / math.log(2)))
    rest = d.fma(whole, -math.log(2), limited)
    exponent = builder.add(builder.fptosi(d.choose(d.is_("==", x, x), whole, 0.0), d.words), number(d.words, 1023))
    power = builder.bitcast(builder.shl(exponent, number(d.words, 52)), d.wide)
    return d.multiply(d.polynomial(rest, _EXPONENTIAL), power)


def _sine_and_cosine(d: Double, x: Value) -> tuple[Value, Value]:
    """Reduce the angle by multiples of π/2, and evaluate short series for the remainder."""
    builder = d.builder
    turns = d.of("nearbyint", d.multiply(x, 2 / math.pi))
    rest = d.fma(turns, -_HALF_PI_REST, d.fma(turns, -_HALF_PI, x))
    is_known = d.is_("<", d.of("fabs", x), 2.0**50)
    quarter = builder.fptosi(d.choose(is_known, turns, 0.0), d.words)
    sine, cosine = d.odd(rest, _SINE), d.polynomial(d.multiply(rest, rest), _COSINE)

    def bit(value: Value, mask: int) -> Value:
        return builder.icmp_unsigned("!=", builder.and_(value, number(d.words, mask)), number(d.words, 0))

    def signed(condition: Value, value: Value) -> Value:
        return d.choose(is_known, d.choose(condition, builder.fneg(value), value), math.nan)

    is_odd = bit(quarter, 1)
    next_quarter = builder.add(quarter, number(d.words, 1))
    return (
        signed(bit(quarter, 2), d.choose(is_odd, cosine, sine)),
        signed(bit(next_quarter, 2), d.choose(is_odd, sine, cosine)),
    )


def _arctangent(d: Double, x: Value) -> Value:
    """Reduce an argument above 1 to its inverse, and one near 1 by an angle of π/6; evaluate a series for the rest."""
    size = d.of("fabs", x)
    is_large = d.is_(">", size, 1.0)
    t = d.choose(is_large, d.divide(1.0, size), size)
    is_near_one = d.is_(">", t, 2 - math.sqrt(3))
    turned = d.divide(d.fma(t, math.sqrt(3), -1.0), d.add(t, math.sqrt(3)))
    result = d.odd(d.choose(is_near_one, turned, t), _ARCTANGENT)
    result = d.add(result, d.choose(is_near_one, math.pi / 6, 0.0))
    result = d.choose(is_large, d.subtract(_HALF_PI, result), result)
    return d.of("copysign", result, x)


def _arcsine(d: Double, x: Value) -> Value:
    return _arctangent(d, d.divide(x, d.of("sqrt", d.multiply(d.subtract(1.0, x), d.add(x, 1.0)))))


def _sinh(d: Double, x: Value) -> Value:
    power = _exp(d, x)
    far = d.multiply(d.builder.fsub(power, d.divide(1.0, power)), 0.5)
    return d.choose(d.is_("<", d.of("fabs", x), 0.5), d.odd(x, _HYPERBOLIC_SINE), far)


def _cosh(d: Double, x: Value) -> Value:
    power = _exp(d, x)
    return d.multiply(d.add(power, d.divide(1.0, power)), 0.5)


def _asinh(d: Double, x: Value) -> Value:
    size = d.of("fabs", x)
    square = d.multiply(size, size)
    root = d.add(d.of("sqrt", d.add(square, 1.0)), 1.0)
    return d.of("copysign", _ln_1p(d, d.add(size, d.divide(square, root))), x)


def _acosh(d: Double, x: Value) -> Value:
    less = d.add(x, -1.0)
    result = _ln_1p(d, d.add(less, d.of("sqrt", d.multiply(less, d.add(x, 1.0)))))
    return d.choose(d.is_(">=", less, 0.0), result, math.nan)


def _atanh(d: Double, x: Value) -> Value:
    size = d.of("fabs", x)
    return d.of("copysign", d.multiply(_ln_1p(d, d.divide(d.add(size, size), d.subtract(1.0, size))), 0.5), x)


def _arctangent_of_two(d: Double, y: Value, x: Value) -> Value:
    """Return the angle of (x, y) by quadrant; infinity / infinity counts as one, and 0 / 0 as zero."""
    a, b = d.of("fabs", y), d.of("fabs", x)
    are_equal = d.builder.fcmp_ordered("==", a, b)
    quotient = d.choose(are_equal, d.choose(d.is_("==", a, 0.0), 0.0, 1.0), d.divide(a, b))
    angle = _arctangent(d, quotient)
    is_left = d.is_("<", d.of("copysign", d.number(1.0), x), 0.0)
    return d.of("copysign", d.choose(is_left, d.subtract(math.pi, angle), angle), y)


def _power(d: Double, x: Value, y: Value) -> Value:
    """Compute the magnitude by logarithm and exponential; set the sign and NaN case by case."""
    builder = d.builder
    size = _exp(d, builder.fmul(y, _ln(d, d.of("fabs", x))))
    is_whole = builder.fcmp_ordered("==", d.of("trunc", y), y)
    half = d.multiply(y, 0.5)
    is_odd = builder.and_(is_whole, builder.fcmp_ordered("!=", d.of("trunc", half), half))
    is_negative = d.is_("<", d.of("copysign", d.number(1.0), x), 0.0)
    result = d.choose(builder.and_(is_negative, is_odd), builder.fneg(size), size)
    is_below = builder.and_(d.is_("<", x, 0.0), d.is_(">", x, -math.inf))
    result = d.choose(builder.and_(is_below, builder.not_(is_whole)), math.nan, result)
    is_one = builder.or_(d.is_("==", x, 1.0), d.is_("==", y, 0.0))
    are_both_infinite = builder.and_(d.is_("==", x, -1.0), d.is_("==", d.of("fabs", y), math.inf))
    return d.choose(builder.or_(is_one, are_both_infinite), 1.0, result)


def _hypotenuse(d: Double, x: Value, y: Value) -> Value:
    is_infinite = d.builder.or_(*(d.is_("==", d.of("fabs", value), math.inf) for value in (x, y)))
    return d.choose(is_infinite, math.inf, d.of("sqrt", d.fma(x, x, d.multiply(y, y))))


def _tangent(d: Double, x: Value) -> Value:
    return d.builder.fdiv(*_sine_and_cosine(d, x))


_OF_ONE: dict[str, Callable[[Double, Value], Value]] = {
    "sin": lambda d, x: _sine_and_cosine(d, x)[0], "cos": lambda d, x: _sine_and_cosine(d, x)[1], "tan": _tangent,
    "log2": lambda d, x: d.multiply(_ln(d, x), 1 / math.log(2)), "log1p": _ln_1p,
    "log10": lambda d, x: d.multiply(_ln(d, x), 1 / math.log(10)),
    "exp10": lambda d, x: _exp(d, d.multiply(x, math.log(10))), "sinh": _sinh, "cosh": _cosh,
    "asin": _arcsine, "acos": lambda d, x: d.subtract(_HALF_PI, _arcsine(d, x)), "atan": _arctangent,
    "asinh": _asinh, "acosh": _acosh, "atanh": _atanh,
}  # fmt: skip
_OF_TWO: dict[str, Callable[[Double, Value, Value], Value]] = {
    "pow": _power, "hypot": _hypotenuse, "atan2": _arctangent_of_two,
}  # fmt: skip


def _rounded(function: Callable[..., Value]) -> Callable[..., Value]:
    def compute(builder: Builder, *operands: Value) -> Value:
        d = Double(builder, operands[0])
        return d.round(function(d, *map(d.widen, operands)))

    return compute


class _DeviceArithmetic(Arithmetic):
    """Emits float32 instructions of a GPU."""

    def exp(self, x: Value) -> Value:
        """Multiply 2^n, built from bits, by 2^r for the remainder r. n is clamped, and r is large for arguments out of
        range, so that the hardware's 2^r produces zero, infinity and subnormal results.
        """
        near = self.fma(x, self.constant(x, _LOG2_E), _ROUNDER)
        whole = self.builder.fsub(near, self.constant(x, _ROUNDER))
        for name, bound in (("minnum", 126.0), ("maxnum", -126.0)):
            whole = intrinsic(self.builder, name, whole, self.constant(x, bound))
        rest = self.fma(x, self.constant(x, _LOG2_E), self.builder.fneg(whole))
        rest = self.fma(x, self.constant(x, _LOG2_E_REST), rest)
        words = self.words(self.builder.fadd(whole, self.constant(x, _ROUNDER)))
        power = self.builder.bitcast(self.builder.shl(words, number(words.type, 23)), x.type)
        return self.builder.fmul(intrinsic(self.builder, "exp2", rest), power)


def _plain(name: str) -> Callable[..., Value]:
    def compute(builder: Builder, operand: Value) -> Value:
        return _PLAIN[name](_DeviceArithmetic(builder, is_fused=True), operand)

    return compute


def _power_of_two(builder: Builder, operand: Value) -> Value:
    return intrinsic(builder, "exp2", operand)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _plain(name) for name in _PLAIN},
    "exp2": _power_of_two,
    **{name: _rounded(function) for name, function in (*_OF_ONE.items(), *_OF_TWO.items())},
}
"""Emitters by function name; they take a builder and float32 operands."""
