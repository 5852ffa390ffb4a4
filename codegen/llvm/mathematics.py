"""Mathematical functions of float32 as polynomials, for scalars and for vectors.

The coefficients are minimax fits of the relative error, made for this file. Errors, in units in the last place
of the correctly rounded result, measured on all of float32 in steps of 257: exp 1, exp2 1, log 1, tanh 2,
sigmoid 2, erf 2. Infinities, NaN, zeros and subnormal results are those of the C library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .api import Builder, LLVMType, Value, ir
from .operators import intrinsic, number

Function = Callable[["Arithmetic", Value], Value]

_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""ln 2 as a sum of two floats. The first has so few bits that its products with integers are exact."""
_EXP = (0.5, 0.166665181517601, 0.04166620597243309, 0.008368954062461853, 0.0013950599823147058)
_LOG = (
    0.33333316445350647, -0.2500082552433014, 0.20002374053001404, -0.16623997688293457, 0.1417882889509201,
    -0.13132230937480927, 0.1290014237165451, -0.07872853428125381,
)  # fmt: skip
_TANH = (-0.33333271741867065, 0.13331152498722076, -0.05371410399675369, 0.020551711320877075, -0.00560390530154109)
_ERF = (
    0.12837916612625122, -0.37612631916999817, 0.11283686012029648, -0.026858851313591003, 0.005199600011110306,
    -0.0008125806343741715, 8.29661003081128e-05,
)  # fmt: skip
_ERFC = (
    -0.00016039815091062337, 1.1294341087341309, 0.6335435509681702, 0.10801183432340622, -0.024895109236240387,
    0.004053396172821522, -0.00039667432429268956, 1.4305534932645969e-05, 5.223236030360567e-07,
)  # fmt: skip
_ROUNDER = 12582912.0
"""1.5 × 2²³: adding it leaves the nearest integer in the last bits."""


class Arithmetic:
    """Emits float32 instructions on scalars and vectors; fused multiply-adds if the machine has them."""

    def __init__(self, builder: Builder, is_fused: bool) -> None:
        self.builder, self._is_fused = builder, is_fused

    def fma(self, a: Value, b: Value, c: Value | float) -> Value:
        """Return `a * b + c`."""
        addend = number(a.type, float(np.float32(c))) if isinstance(c, float) else c
        if self._is_fused:
            return intrinsic(self.builder, "fma", a, b, addend)
        return self.builder.fadd(self.builder.fmul(a, b), addend)

    def constant(self, like: Value, value: float) -> Value:
        """Return `value`, rounded to float32, in every lane."""
        return number(like.type, float(np.float32(value)))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Return the sum of `coefficients[i] * x**i`."""
        total = self.constant(x, coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, coefficient)
        return total

    def choose(self, sign: str, a: Value, b: float, yes: Value, no: Value) -> Value:
        """Return `yes` in the lanes where `a sign b` holds, else `no`; `no` if `a` is NaN."""
        return self.builder.select(self.builder.fcmp_ordered(sign, a, self.constant(a, b)), yes, no)

    def words(self, value: Value) -> Value:
        """Return the bits of `value` as integers."""
        return self.builder.bitcast(value, _words_like(value))

    def exp(self, x: Value) -> Value:
        """Return e to the power `x`."""
        return exp(self, x)

    def power_of_two(self, exponent: Value, like: Value) -> Value:
        """Return two to the power of `exponent`, integers from -126 to 127."""
        bias = number(exponent.type, 127)
        bits = self.builder.shl(self.builder.add(exponent, bias), number(exponent.type, 23))
        return self.builder.bitcast(bits, like.type)


def _words_like(value: Value) -> LLVMType:
    word, count = ir.IntType(32), getattr(value.type, "count", None)
    return word if count is None else ir.VectorType(word, count)


def _scaled_exp(m: Arithmetic, rest: Value, rounded: Value) -> Value:
    """Return e to the power `rest`, times two to the power of the integer in the last bits of `rounded`."""
    builder = m.builder
    square = builder.fmul(rest, rest)
    value = m.fma(square, m.polynomial(rest, _EXP), rest)
    value = builder.fadd(value, m.constant(value, 1.0))
    words = m.words(rounded)
    exponent = builder.sub(words, m.words(m.constant(rounded, _ROUNDER)))
    half = builder.ashr(exponent, number(exponent.type, 1))
    first, second = m.power_of_two(half, rest), m.power_of_two(builder.sub(exponent, half), rest)
    return builder.fmul(builder.fmul(value, first), second)


def exp(m: Arithmetic, x: Value) -> Value:
    """Factor out a power of two, and evaluate a polynomial for the rest."""
    builder = m.builder
    x = m.choose(">", x, 89.0, m.constant(x, 89.0), m.choose("<", x, -104.0, m.constant(x, -104.0), x))
    rounded = m.fma(x, m.constant(x, 1 / math.log(2)), _ROUNDER)
    whole = builder.fsub(rounded, m.constant(x, _ROUNDER))
    rest = m.fma(whole, m.constant(x, -_LN2_HIGH), x)
    rest = m.fma(whole, m.constant(x, -_LN2_LOW), rest)
    return _scaled_exp(m, rest, rounded)


def exp2(m: Arithmetic, x: Value) -> Value:
    """Compute as `exp` does; the remainder is exact here."""
    builder = m.builder
    x = m.choose(">", x, 129.0, m.constant(x, 129.0), m.choose("<", x, -151.0, m.constant(x, -151.0), x))
    rounded = builder.fadd(x, m.constant(x, _ROUNDER))
    rest = builder.fsub(x, builder.fsub(rounded, m.constant(x, _ROUNDER)))
    return _scaled_exp(m, builder.fmul(rest, m.constant(x, math.log(2))), rounded)


def log(m: Arithmetic, x: Value) -> Value:
    """Factor out a power of two that leaves a number near one, and evaluate a polynomial for that."""
    builder = m.builder
    is_tiny = builder.fcmp_ordered("<", x, m.constant(x, 2.0**-126))
    normal = builder.select(is_tiny, builder.fmul(x, m.constant(x, 2.0**24)), x)
    words = m.words(normal)
    offset = number(words.type, 0x3F3504F3)  # the bits of sqrt(1/2)
    exponent = builder.ashr(builder.sub(words, offset), number(words.type, 23))
    near = builder.bitcast(builder.sub(words, builder.shl(exponent, number(words.type, 23))), x.type)
    whole = builder.sitofp(exponent, x.type)
    whole = builder.select(is_tiny, builder.fsub(whole, m.constant(x, 24.0)), whole)
    f = builder.fsub(near, m.constant(x, 1.0))
    square = builder.fmul(f, f)
    tail = builder.fmul(builder.fmul(square, f), m.polynomial(f, _LOG))
    tail = m.fma(whole, m.constant(x, _LN2_LOW), tail)
    tail = m.fma(square, m.constant(x, -0.5), tail)
    result = m.fma(whole, m.constant(x, _LN2_HIGH), builder.fadd(f, tail))
    infinity, nan = m.constant(x, math.inf), m.constant(x, math.nan)
    result = m.choose("<", x, math.inf, result, builder.fadd(x, infinity))
    result = m.choose("<", x, 0.0, nan, result)
    return m.choose("==", x, 0.0, m.constant(x, -math.inf), result)


def sigmoid(m: Arithmetic, x: Value) -> Value:
    """Return `1 / (1 + exp(-x))`."""
    one = m.constant(x, 1.0)
    return m.builder.fdiv(one, m.builder.fadd(one, m.exp(m.builder.fneg(x))))


def tanh(m: Arithmetic, x: Value) -> Value:
    """Evaluate a polynomial near zero; elsewhere use `exp`."""
    builder = m.builder
    size = intrinsic(builder, "fabs", x)
    square = builder.fmul(x, x)
    near = m.fma(builder.fmul(square, x), m.polynomial(square, _TANH), x)
    one = m.constant(x, 1.0)
    double = m.exp(builder.fadd(size, size))
    far = builder.fsub(one, builder.fdiv(m.constant(x, 2.0), builder.fadd(double, one)))
    return m.choose("<", size, 0.625, near, intrinsic(builder, "copysign", far, x))


def erf(m: Arithmetic, x: Value) -> Value:
    """Evaluate a polynomial near zero; elsewhere one minus `exp` of a polynomial; above 4, one."""
    builder = m.builder
    size = intrinsic(builder, "fabs", x)
    square = builder.fmul(x, x)
    near = m.fma(x, m.polynomial(square, _ERF), x)
    limited = m.choose(">", size, 4.0, m.constant(x, 4.0), size)
    rest = m.exp(builder.fneg(m.polynomial(limited, _ERFC)))
    far = intrinsic(builder, "copysign", builder.fsub(m.constant(x, 1.0), rest), x)
    return m.choose("<", size, 0.93, near, far)


FUNCTIONS: dict[str, Function] = {
    "exp": lambda m, x: m.exp(x), "exp2": exp2, "log": log, "sigmoid": sigmoid, "tanh": tanh, "erf": erf,
}  # fmt: skip
"""The functions that have polynomials, by name."""
