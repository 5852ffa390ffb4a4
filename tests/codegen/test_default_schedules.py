"""Default schedules: what unscheduled functions compute with them is what they compute without, and what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.rules import apply_rules
from tvms.codegen.target import get_target
from tvms.ir.equal import structural_equal
from tvms.ir.interp import run


def decide(text: str) -> list[str]:
    """The decisions for the one function of `text`."""
    executable = tvms.compile(tvms.parse(text))
    return [str(decision) for decision in executable.decisions["main"]]


def product(m: int, n: int, k: int, a: str, b: str, dtype: str = "float32", c: str = "vi, vj") -> str:
    sizes = {"vi": m, "vj": n, "vk": k}

    def shape(indices: str) -> str:
        return f"({', '.join(str(sizes[name]) for name in indices.split(', '))})"

    return f"""
T.prim_func main(A: T.Buffer({shape(a)}, "{dtype}"), B: T.Buffer({shape(b)}, "{dtype}"), C: T.Buffer({shape(c)}, "{dtype}")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[{c}] = T.{dtype}(0)
            C[{c}] = C[{c}] + A[{a}] * B[{b}]
"""


SHAPES = [
    (64, 64, 64),
    (37, 50, 41),
    (1, 70, 90),
    (3, 129, 400),
    (100, 9, 33),
    (29, 1, 300),
    (15, 33, 700),
    (600, 70, 9),
]
LAYOUTS = [("vi, vk", "vk, vj"), ("vk, vi", "vk, vj"), ("vi, vk", "vj, vk"), ("vk, vi", "vj, vk")]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_products_of_any_shape_and_layout(number: int) -> None:
    (m, n, k), (a, b) = SHAPES[number], LAYOUTS[number % 4]
    random = np.random.default_rng(number)
    left, right = random.standard_normal((m, k)), random.standard_normal((k, n))
    for c, dtype in (("vi, vj", "float32"), ("vj, vi", "float64")):
        call = tvms.compile(tvms.parse(product(m, n, k, a, b, dtype, c)))["main"]
        x, y = (left if a == "vi, vk" else left.T), (right if b == "vk, vj" else right.T)
        result = np.full((m, n) if c == "vi, vj" else (n, m), np.nan, dtype)
        call(np.ascontiguousarray(x, dtype), np.ascontiguousarray(y, dtype), result)
        expected = left.astype(dtype).astype("f8") @ right.astype(dtype).astype("f8")
        tolerance = 300 * float(np.finfo(dtype).eps) * k**0.5
        np.testing.assert_allclose(result if c == "vi, vj" else result.T, expected, atol=tolerance)


def test_products_with_symbolic_and_joined_axes() -> None:
    text = """
T.prim_func main(a: T.handle, b: T.handle, c: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (3, n, 40), "float32")
    B = T.match_buffer(b, (40, m), "float32")
    C = T.match_buffer(c, (3, n, m), "float32")
    for h, i, j, k in T.grid(3, n, m, 40):
        with T.block("matmul"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                C[vh, vi, vj] = T.float32(0)
            C[vh, vi, vj] = C[vh, vi, vj] + A[vh, vi, vk] * B[vk, vj]
"""
    executable = tvms.compile(tvms.parse(text))
    assert [str(decision) for decision in executable.decisions["main"]] == ["block 'matmul': matmul"]
    random = np.random.default_rng(1)
    for n, m in ((1, 1), (7, 31), (50, 64), (0, 5), (13, 100)):
        a, b = random.standard_normal((3, n, 40)).astype("f4"), random.standard_normal((40, m)).astype("f4")
        c = np.full((3, n, m), np.nan, "f4")
        executable["main"](a, b, c)
        np.testing.assert_allclose(c, a @ b, atol=1e-4)


def test_the_schedule_is_a_program_like_any_other() -> None:
    """What a rule makes can be printed, read back, interpreted, and compiled from its text."""
    text = product(20, 37, 18, "vi, vk", "vk, vj")
    function: Any = tvms.parse(text).functions["main"]
    scheduled, _ = apply_rules(function, get_target("llvm").processor)
    module = tvms.parse(scheduled.script())
    again = module.functions["main"]
    assert structural_equal(scheduled, again)
    random = np.random.default_rng(2)
    a, b = random.standard_normal((20, 18)).astype("f4"), random.standard_normal((18, 37)).astype("f4")
    results: list[np.ndarray[Any, Any]] = []
    for call in (tvms.compile(function)["main"], tvms.compile(again)["main"], lambda *args: run(module, "main", args)):
        results.append(np.zeros((20, 37), "f4"))
        call(a, b, results[-1])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_results_do_not_depend_on_threads() -> None:
    random = np.random.default_rng(3)
    a, b = random.standard_normal((700, 90)).astype("f4"), random.standard_normal((90, 300)).astype("f4")
    results: list[np.ndarray[Any, Any]] = []
    for threads in (1, 2, 3, 5):
        results.append(np.empty((700, 300), "f4"))
        text = product(700, 300, 90, "vi, vk", "vk, vj")
        tvms.compile(tvms.parse(text), threads=threads)["main"](a, b, results[-1])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_rules_say_why_they_decline() -> None:
    assert decide(product(2, 2, 2, "vi, vk", "vk, vj"))[0].startswith(
        "block 'matmul': as it stands (matmul: it is too small: fewer than 4096 steps"
    )
    scheduled = product(64, 64, 64, "vi, vk", "vk, vj").replace(
        "for i, j, k in T.grid(64, 64, 64):", "for i in T.parallel(64):\n      for j, k in T.grid(64, 64):"
    )
    assert decide(scheduled) == ["block '': as it stands (all: loop 'i' is scheduled already)"]
