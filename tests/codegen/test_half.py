"""float16 on processors without instructions for it."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.codegen.target import get_target

if not get_target("llvm").words[0].startswith("x86_64"):
    pytest.skip("the processors are of x86", allow_module_level=True)

WIDEN = """
T.prim_func main(A: T.Buffer((65536,), "float16"), B: T.Buffer((65536,), "float32")):
    for i in range(65536):
        B[i] = T.Cast("float32", A[i])
"""
NARROW = """
T.prim_func main(n: T.int32, data: T.handle, result: T.handle):
    A = T.match_buffer(data, (n,), "float32")
    B = T.match_buffer(result, (n,), "float16")
    for i in range(n):
        B[i] = T.Cast("float16", A[i])
"""
SUMS = """
T.prim_func main(A: T.Buffer((256,), "float16"), B: T.Buffer((256,), "float16"), C: T.Buffer((256,), "float16")):
    for i in range(256):
        C[i] = T.max(A[i] * B[i] + A[i] / T.float16(3), T.exp(B[i]))
"""
BASELINE = "llvm -mcpu=x86-64"


def test_all_numbers_are_widened() -> None:
    halves = np.arange(1 << 16, dtype="u2").view("f2")
    found = np.empty(1 << 16, "f4")
    tvms.compile(tvms.parse(WIDEN), target=BASELINE)["main"](halves, found)
    with np.errstate(invalid="ignore"):
        expected = halves.astype("f4")
    assert (np.isnan(found) == np.isnan(expected)).all()
    numbers = ~np.isnan(expected)
    assert (found.view("u4") == expected.view("u4"))[numbers].all()


def test_numbers_are_rounded_to_nearest_even() -> None:
    halves = np.arange(1 << 15, dtype="u2").view("f2")
    ends = halves[halves < np.inf].astype("f8")
    ties = ((ends[1:] + ends[:-1]) / 2).astype("f4")
    around = np.concatenate(
        [ends.astype("f4"), ties, np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(0))]
    )
    special = np.array([65519.996, 65520, 65536, 3.4e38, np.inf, np.nan, 1e-45, 2.0**-25, 2.0**-24, 0], "f4")
    numbers = np.concatenate([around, special])
    numbers = np.concatenate([numbers, -numbers])
    found = np.empty(numbers.size, "f2")
    tvms.compile(tvms.parse(NARROW), target=BASELINE)["main"](numbers.size, numbers, found)
    with np.errstate(over="ignore", under="ignore"):
        expected = numbers.astype("f2")
    assert (np.isnan(found) == np.isnan(expected)).all()
    is_number = ~np.isnan(expected)
    assert (found.view("u2") == expected.view("u2"))[is_number].all()


def test_arithmetic_is_that_of_the_interpreter() -> None:
    module = tvms.parse(SUMS)
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(256).astype("f2") for _ in range(2))
    compiled, expected = np.empty(256, "f2"), np.empty(256, "f2")
    tvms.compile(module, target=BASELINE)["main"](a, b, compiled)
    tvms.interpret(module, "main", [a, b, expected])
    assert (compiled == expected).all()
