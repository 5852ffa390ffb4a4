"""Every operator, conversion and intrinsic, in every dtype, scalar and vector: what the interpreter computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvms.ir.dtype import int_range, parse_dtype
from tvms.ir.numpy_dtype import numpy_dtype

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int2", "int4", "uint2", "uint4")
FLOATS = (
    "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float4_e2m1fn", "float6_e3m2fn",
)  # fmt: skip
COMMON = (
    "A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "T.min(A[i], B[i])", "T.max(A[i], B[i])",
    "T.if_then_else(A[i] < B[i], A[i], B[i])", "T.Select(A[i] >= B[i], A[i], B[i])",
)  # fmt: skip
OF_INTS = (
    "A[i] // B[i]", "A[i] % B[i]", "T.truncdiv(A[i], B[i])", "T.truncmod(A[i], B[i])", "A[i] & B[i]", "A[i] | B[i]",
    "A[i] ^ B[i]", "~A[i]", "A[i] >> {dtype}({shift})", "A[i] << {dtype}({shift})",
)  # fmt: skip
OF_FLOATS = (
    "A[i] / B[i]", "T.sqrt(T.abs(A[i]))", "T.floor(A[i])", "T.ceil(A[i])", "T.round(A[i])", "T.trunc(A[i])",
    "T.nearbyint(A[i])",
)  # fmt: skip
UNARY = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "rsqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan",
    "asinh", "erf", "sigmoid",
)  # fmt: skip


def loops(dtype: str, operators: tuple[str, ...], size: int = 21) -> str:
    """One function with a scalar, a vectorized and an unrolled loop for every operator."""
    params = [f'A: T.Buffer(({size},), "{dtype}")', f'B: T.Buffer(({size},), "{dtype}")']
    params.append(f'C: T.Buffer(({3 * len(operators)}, {size}), "{dtype}")')
    lines = [f"T.prim_func main({', '.join(params)}):"]
    for row, operator in enumerate(operators):
        value = operator.format(dtype=f"T.{dtype}", shift=min(3, parse_dtype(dtype).bits // 2))
        for column, loop in enumerate(("range", "T.vectorized", "T.unroll")):
            lines += [f"    for i in {loop}({size}):", f"        C[{3 * row + column}, i] = {value}"]
    return "\n".join(lines) + "\n"


@pytest.mark.deep(8)
@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_operators_are_exact(agree: Callable[..., Any], numbers: Callable[..., Any], dtype: str) -> None:
    operators = COMMON + (OF_INTS if dtype in INTS else OF_FLOATS)
    a, b = numbers(21, dtype), numbers(21, dtype, nonzero=True)
    agree(loops(dtype, operators), a, b, np.zeros((3 * len(operators), 21), a.dtype))


@pytest.mark.parametrize("dtype", [d for d in INTS if d.startswith("int")])
def test_division_of_the_least_integer_wraps_around(agree: Callable[..., Any], dtype: str) -> None:
    kind, (least, _) = numpy_dtype(dtype), int_range(dtype)
    a, b = np.full(21, least, kind), np.full(21, -1, kind)
    operators = ("A[i] // B[i]", "A[i] % B[i]", "T.truncdiv(A[i], B[i])", "T.truncmod(A[i], B[i])")
    _, (_, _, c) = agree(loops(dtype, operators), a, b, np.zeros((12, 21), kind))
    assert (c[0] == kind.type(least)).all()
    assert (c[3] == kind.type(0)).all()


@pytest.mark.parametrize("source", [*INTS, *FLOATS, "bool"])
def test_casts_are_exact(agree: Callable[..., Any], numbers: Callable[..., Any], source: str) -> None:
    values = numbers(32, source)
    if source in ("float16", "float32", "float64", "bfloat16"):
        values[:5] = [np.inf, -np.inf, np.nan, 3e4, -3e4]
    targets = (*INTS, *FLOATS, "bool")
    params = [f'C{n}: T.Buffer((32,), "{target}")' for n, target in enumerate(targets)]
    lines = [f'T.prim_func main(A: T.Buffer((32,), "{source}"), {", ".join(params)}):', "    for i in range(32):"]
    lines += [f'        C{n}[i] = T.Cast("{target}", A[i])' for n, target in enumerate(targets)]
    agree("\n".join(lines) + "\n", values, *[np.zeros(32, numpy_dtype(target)) for target in targets])


def test_float64_to_float16_rounds_once(agree: Callable[..., Any]) -> None:
    hard = [1 + 2**-11 + 2**-40, 1 + 2**-11, 65520, 65519.9999999, 1e300, 2**-25, 2**-25 * (1 + 1e-9), 6e-8, -0.0]
    generator = np.random.default_rng(7)
    values = np.array(hard + list(generator.standard_normal(91) * np.exp(generator.uniform(-20, 12, 91))))
    text = """
T.prim_func main(A: T.Buffer((100,), "float64"), C: T.Buffer((100,), "float16")):
    for i in range(100):
        C[i] = T.Cast("float16", A[i])
"""
    _, (_, c) = agree(text, values, np.zeros(100, "f2"))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(c, values.astype("f2"))


@pytest.mark.deep(4)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_intrinsics_are_within_four_ulps(agree: Callable[..., Any], numbers: Callable[..., Any], dtype: str) -> None:
    a = numbers(21, dtype, positive=True)
    operators = tuple(f"T.{name}(A[i])" for name in UNARY)
    agree(loops(dtype, operators), a, a, np.zeros((3 * len(operators), 21), a.dtype), ulps=4)
    inside = (a / a.dtype.type(32)).astype(a.dtype)
    operators = ("T.asin(A[i])", "T.acos(A[i])", "T.atanh(A[i])", f"T.acosh(A[i] + T.{dtype}(1))")
    agree(loops(dtype, operators), inside, a, np.zeros((12, 21), a.dtype), ulps=8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_intrinsics_of_two_floats(agree: Callable[..., Any], numbers: Callable[..., Any], dtype: str) -> None:
    names = ("pow", "atan2", "hypot", "fmod", "copysign", "nextafter")
    operators = tuple(f"T.{name}(A[i], B[i])" for name in names)
    a, b = numbers(21, dtype, positive=True), numbers(21, dtype, positive=True)
    agree(loops(dtype, operators), a, b, np.zeros((3 * len(operators), 21), dtype), ulps=4)


def test_arithmetic_of_bools(agree: Callable[..., Any]) -> None:
    a, b = np.array([False, False, True, True] * 5 + [True]), np.array([False, True] * 10 + [True])
    operators = ("A[i] + B[i]", "A[i] * B[i]")
    _, (_, _, c) = agree(loops("bool", operators), a, b, np.zeros((6, 21), bool))
    np.testing.assert_array_equal(c, np.repeat([a + b, a * b], 3, axis=0))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_powers_of_constant_exponents(agree: Callable[..., Any], numbers: Callable[..., Any], dtype: str) -> None:
    a = numbers(21, dtype)
    a[:9] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 6e4, 6e-5]
    exponents = (0.0, 1.0, 2.0, 3.0, 0.5)
    operators = tuple(f"T.pow(A[i], T.{dtype}({exponent}))" for exponent in exponents)
    with np.errstate(all="ignore"):
        _, (_, _, c) = agree(loops(dtype, operators), a, a, np.zeros((15, 21), dtype), ulps=4)
        np.testing.assert_array_equal(c[6:9], np.stack([a * a] * 3))


def test_questions_about_floats_and_bits(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "uint32"), P: T.Buffer((4, 6), "bool"), Q: T.Buffer((2, 6), "int32")):
    for i in range(6):
        P[0, i] = T.isnan(A[i])
        P[1, i] = T.isinf(A[i])
        P[2, i] = T.isfinite(A[i]) and A[i] > T.float32(0)
        P[3, i] = not (A[i] < T.float32(1) or B[i] == T.uint32(0))
        Q[0, i] = T.Cast("int32", T.popcount(B[i]))
        Q[1, i] = T.reinterpret("int32", A[i])
"""
    a = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5, 7.25], "f4")
    b = np.array([0, 1, 0xFFFFFFFF, 0x80000000, 12345, 7], "u4")
    agree(text, a, b, np.zeros((4, 6), bool), np.zeros((2, 6), "i4"))


def test_minimum_and_maximum_propagate_nan(agree: Callable[..., Any]) -> None:
    a, b = np.array([np.nan, 1.0] * 10 + [2.0], "f4"), np.array([1.0, np.nan] * 10 + [3.0], "f4")
    operators = ("T.min(A[i], B[i])", "T.max(A[i], B[i])")
    _, (_, _, c) = agree(loops("float32", operators), a, b, np.zeros((6, 21), "f4"))
    np.testing.assert_array_equal(c[:2, :20], np.full((2, 20), np.nan, "f4"))
