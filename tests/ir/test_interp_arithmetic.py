"""The interpreter's arithmetic against NumPy: every dtype, every operation, lane by lane."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvms.ir import tir
from tvms.ir.base import Op
from tvms.ir.dtype import int_range, is_float
from tvms.ir.interp import call_prim_func
from tvms.ir.numpy_dtype import numpy_dtype
from tvms.ir.tir import Buffer, BufferLoad, BufferStore, For, ForKind, IntImm, PrimExpr, PrimFunc, Var

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SMALL_INTEGERS = ["int4", "uint4"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SMALL_FLOATS = ["float8_e4m3fn", "float8_e5m2"]

Make = Callable[..., PrimExpr]


def buffer(name: str, size: int, dtype: str) -> Buffer:
    data = Var("handle", name, tir.PointerType(tir.PrimType(dtype)))
    return Buffer(data, dtype, (IntImm("int32", size),), name)


def elementwise(make: Make, out: str, *arrays: np.ndarray, dtypes: list[str]) -> np.ndarray:
    """Return `make(a[i], b[i], …)` for every i, computed by a loop."""
    size = len(arrays[0])
    inputs = [buffer(f"in{number}", size, dtype) for number, dtype in enumerate(dtypes)]
    target = buffer("out", size, out)
    index = Var("int32", "i")
    value = make(*(BufferLoad(b.dtype, b, (index,)) for b in inputs))
    body = For(index, IntImm("int32", 0), IntImm("int32", size), ForKind.SERIAL, BufferStore(target, value, (index,)))
    params = {Var("handle", f"{b.name}_handle"): b for b in (*inputs, target)}
    result = np.zeros(size, numpy_dtype(out))
    call_prim_func(PrimFunc(tuple(params), body, buffer_map=params), [*arrays, result])
    return result


def samples(dtype: str, random: np.random.Generator, size: int = 64) -> np.ndarray:
    """Random values, with the extremes among them."""
    if is_float(dtype):
        values = (random.standard_normal(size) * 4).astype(numpy_dtype(dtype))
        values[:2] = [0, 1]
        return values
    low, high = int_range(dtype)
    values = [random.integers(low, high, endpoint=True, dtype=np.uint64 if low == 0 else np.int64) for _ in range(size)]
    return np.array([low, high, 0, 1, *map(int, values[4:])], dtype=numpy_dtype(dtype))


def intrinsic(name: str, *args: PrimExpr, dtype: str = "") -> tir.Call:
    return tir.Call(dtype or args[0].dtype, Op(f"tir.{name}"), args)


def wrapped(value: int, dtype: str) -> int:
    low, high = int_range(dtype)
    return (value - low) % (high - low + 1) + low


@pytest.mark.parametrize("dtype", INTEGERS + SMALL_INTEGERS)
@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        (tir.Add, lambda a, b: a + b),
        (tir.Sub, lambda a, b: a - b),
        (tir.Mul, lambda a, b: a * b),
        (tir.FloorDiv, lambda a, b: math.floor(a / b) if abs(a) < 2**50 else a // b),
        (tir.FloorMod, lambda a, b: a - b * (a // b)),
        (tir.Div, lambda a, b: int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b))),
        (tir.Mod, lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b))),
        (tir.Min, min),
        (tir.Max, max),
    ],
)
def test_integers_wrap_around(
    dtype: str, kind: Any, meaning: Callable[[int, int], int], random: np.random.Generator
) -> None:
    a, b = samples(dtype, random), samples(dtype, random)
    if kind in (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod):
        b[b.astype(np.int64) == 0] = 1
    result = elementwise(lambda x, y: kind(dtype, x, y), dtype, a, b, dtypes=[dtype, dtype])
    assert [int(r) for r in result] == [wrapped(meaning(int(x), int(y)), dtype) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("dtype", FLOATS + SMALL_FLOATS)
@pytest.mark.parametrize("kind", [tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Min, tir.Max])
def test_floats_round_in_their_own_dtype(dtype: str, kind: Any, random: np.random.Generator) -> None:
    meaning = {tir.Add: np.add, tir.Sub: np.subtract, tir.Mul: np.multiply, tir.Div: np.divide}
    meaning |= {tir.Min: np.minimum, tir.Max: np.maximum}
    a, b = samples(dtype, random), samples(dtype, random)
    result = elementwise(lambda x, y: kind(dtype, x, y), dtype, a, b, dtypes=[dtype, dtype])
    with np.errstate(all="ignore"):
        expected = meaning[kind](a, b)
    np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("kind", [tir.Min, tir.Max])
def test_min_and_max_propagate_nan(kind: Any) -> None:
    a, b = np.array([np.nan, 1.0], "float32"), np.array([2.0, np.nan], "float32")
    result = elementwise(lambda x, y: kind("float32", x, y), "float32", a, b, dtypes=["float32", "float32"])
    np.testing.assert_array_equal(result, [np.nan, np.nan])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *SMALL_FLOATS])
@pytest.mark.parametrize("name", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_comparisons(dtype: str, name: str, random: np.random.Generator) -> None:
    meaning = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal}
    meaning |= {"GT": np.greater, "GE": np.greater_equal}
    a, b = samples(dtype, random), samples(dtype, random)
    b[::2] = a[::2]
    if is_float(dtype):
        a[-1] = np.nan
    result = elementwise(lambda x, y: getattr(tir, name)("bool", x, y), "bool", a, b, dtypes=[dtype, dtype])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(result, meaning[name](a, b))


@pytest.mark.parametrize("source", INTEGERS + FLOATS + ["bool"])
@pytest.mark.parametrize("target", INTEGERS + FLOATS + SMALL_FLOATS + ["bool"])
def test_casts(source: str, target: str, random: np.random.Generator) -> None:
    values = random.integers(0, 2, 64).astype(bool) if source == "bool" else samples(source, random)
    if is_float(source) and target.startswith("uint"):
        values = abs(values)
    result = elementwise(lambda x: tir.Cast(target, x), target, values, dtypes=[source])
    with np.errstate(all="ignore"):
        expected = values.astype(numpy_dtype(target))
    np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))
    assert target == "bool" or is_float(target) or result.tolist() == expected.tolist()


def test_a_float_outside_an_integer_dtype_becomes_the_nearest_bound() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 300.0, -300.0, 1.9, -1.9], "float32")
    result = elementwise(lambda x: tir.Cast("int8", x), "int8", values, dtypes=["float32"])
    assert result.tolist() == [0, 127, -128, 127, -128, 1, -1]


def test_an_integer_becomes_a_float_with_one_rounding() -> None:
    values = np.array([2**60 + 2**36 + 1, -(2**60 + 2**36 + 1)], "int64")
    result = elementwise(lambda x: tir.Cast("float32", x), "float32", values, dtypes=["int64"])
    np.testing.assert_array_equal(result, values.astype("float32"))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        *((name, getattr(np, name)) for name in ("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "tanh")),
        *((name, getattr(np, name)) for name in ("sin", "cos", "tan", "sinh", "cosh", "floor", "ceil", "trunc")),
        *(("a" + name, getattr(np, "arc" + name)) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")),
        ("fabs", np.abs),
        ("nearbyint", np.rint),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("erf", np.vectorize(math.erf)),
        ("exp10", lambda x: np.power(10.0, x.astype(np.float64))),
    ],
)
def test_functions_of_floats(dtype: str, name: str, meaning: Callable[[Any], Any], random: np.random.Generator) -> None:
    values = samples(dtype, random)
    result = elementwise(lambda x: intrinsic(name, x), dtype, values, dtypes=[dtype]).astype(np.float64)
    with np.errstate(all="ignore"):
        expected = np.asarray(meaning(values.astype(np.float64))).astype(numpy_dtype(dtype)).astype(np.float64)
    tolerance = {"float64": 1e-13, "float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}[dtype]
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def test_round_takes_halves_to_even() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, 2.4, -7.6], "float32")
    result = elementwise(lambda x: intrinsic("round", x), "float32", values, dtypes=["float32"])
    np.testing.assert_array_equal(result, [0, 2, 2, 0, -2, 0, 2, -8])


def test_fma_rounds_once() -> None:
    a, b, c = (np.array([x], "float64") for x in (1 + 2.0**-30, 1 - 2.0**-30, -1.0))
    result = elementwise(lambda *x: intrinsic("fma", *x), "float64", a, b, c, dtypes=["float64"] * 3)
    assert result[0] == -(2.0**-60)


def test_fma_overflows_to_infinity() -> None:
    a, b, c = (np.array(x, "float64") for x in ([1.7e308, -1.7e308], [3.0, 3.0], [1.0, 1.0]))
    result = elementwise(lambda *x: intrinsic("fma", *x), "float64", a, b, c, dtypes=["float64"] * 3)
    np.testing.assert_array_equal(result, [np.inf, -np.inf])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(dtype: str, random: np.random.Generator) -> None:
    a, b = samples(dtype, random), samples(dtype, random)
    bits = numpy_dtype(dtype).itemsize * 8
    for name, meaning in {"bitwise_and": a & b, "bitwise_or": a | b, "bitwise_xor": a ^ b}.items():
        result = elementwise(lambda x, y, name=name: intrinsic(name, x, y), dtype, a, b, dtypes=[dtype, dtype])
        np.testing.assert_array_equal(result, meaning)
    counts = (np.abs(b % bits)).astype(a.dtype)
    for name, meaning in {"shift_left": a << counts, "shift_right": a >> counts}.items():
        result = elementwise(lambda x, y, name=name: intrinsic(name, x, y), dtype, a, counts, dtypes=[dtype, dtype])
        np.testing.assert_array_equal(result, meaning)
    ones = elementwise(lambda x: intrinsic("popcount", x), dtype, a, dtypes=[dtype])
    assert [int(n) for n in ones] == [(int(x) % 2**bits).bit_count() for x in a]
    zeros = elementwise(lambda x: intrinsic("clz", x, dtype="int32"), "int32", a, dtypes=[dtype])
    assert zeros.tolist() == [bits - (int(x) % 2**bits).bit_length() for x in a]


def test_reinterpret_keeps_the_bits(random: np.random.Generator) -> None:
    values = samples("float32", random)
    result = elementwise(lambda x: intrinsic("reinterpret", x, dtype="int32"), "int32", values, dtypes=["float32"])
    np.testing.assert_array_equal(result, values.view("int32"))


def test_fixed_point_products_round_halves_upwards() -> None:
    x = np.array([1, 2, 3, -1, -3, 1000], "int32")
    half, q, none = (tir.IntImm("int32", n) for n in (1 << 30, 31, 0))
    make: Make = lambda value: intrinsic("q_multiply_shift", value, half, q, none)  # noqa: E731
    assert elementwise(make, "int32", x, dtypes=["int32"]).tolist() == [1, 1, 2, 0, -1, 500]


def test_what_is_not_chosen_is_not_evaluated() -> None:
    """`if_then_else`, `and`, `or` evaluate what they need: a division by zero that is not needed does not happen."""
    divisors = np.array([0, 2], "int32")

    def guarded(x: PrimExpr) -> PrimExpr:
        zero = IntImm("int32", 0)
        quotient = tir.Div("int32", IntImm("int32", 6), x)
        return intrinsic("if_then_else", tir.NE("bool", x, zero), quotient, zero, dtype="int32")

    assert elementwise(guarded, "int32", divisors, dtypes=["int32"]).tolist() == [0, 3]

    def conjunction(x: PrimExpr) -> PrimExpr:
        big = tir.GT("bool", tir.Div("int32", IntImm("int32", 6), x), IntImm("int32", 2))
        return tir.And("bool", tir.NE("bool", x, IntImm("int32", 0)), big)

    assert elementwise(conjunction, "bool", divisors, dtypes=["int32"]).tolist() == [False, True]
