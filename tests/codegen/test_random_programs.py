"""Random loop-level programs: compiled, they do what the interpreter does, bit by bit.

Expressions are made of what both compute exactly: integers of all widths, float32 and float64 with + - * / and rounding.
A failing program is printed by Hypothesis with the seed that makes it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvms
from hypothesis import given, settings
from hypothesis import strategies as st
from tvms.ir.interp import run
from tvms.ir.numpy_dtype import numpy_dtype

UNSIGNED = ("uint8", "uint16")
INTS = ("int8", "int32", "int64", *UNSIGNED)
FLOATS = ("float32", "float64", "float16", "bfloat16")
ROWS, COLUMNS = 4, 9


def leaves(dtype: str) -> st.SearchStrategy[str]:
    """Elements, indices, and constants; no unsigned constants, whose difference must not be negative."""
    elements = st.sampled_from(["A[vi, vj]", "B[vj]", "A[vi, 8 - vj]", f'T.Cast("{dtype}", vi * 3 + vj)'])
    return elements if dtype in UNSIGNED else elements | st.integers(0, 5).map(lambda value: f"T.{dtype}({value})")


def extend(dtype: str) -> Any:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        signs = ["+", "-", "*"] + ([] if dtype in FLOATS else ["&", "|", "^"])
        binary = st.tuples(inner, st.sampled_from(signs), inner).map(lambda parts: f"({' '.join(parts)})")
        choices = st.sampled_from(["T.min({}, {})", "T.max({}, {})", "T.if_then_else({} < {}, B[vj], A[vi, vj])"])
        chosen = st.tuples(choices, inner, inner).map(lambda parts: parts[0].format(*parts[1:]))
        if dtype in FLOATS:
            # The divisor is an element: one of constants may fold to zero, which is refused.
            return binary | chosen | inner.map(lambda part: f"T.floor({part} / B[vj])")
        divisor = inner.map(lambda part: f"T.max({part}, T.{dtype}(1))")
        division = st.tuples(inner, st.sampled_from(["//", "%"]), divisor).map(lambda parts: f"({' '.join(parts)})")
        return binary | chosen | division

    return grow


def expressions(dtype: str) -> st.SearchStrategy[str]:
    return st.recursive(leaves(dtype), extend(dtype), max_leaves=8)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, str]:
    """A text with an elementwise block, under some loops, and a reduction of its result; and its dtype."""
    dtype = draw(st.sampled_from(INTS + FLOATS))
    kind = draw(st.sampled_from(["T.serial", "T.vectorized", "T.unroll", "T.parallel"]))
    factor = draw(st.integers(1, 5))
    steps = -(-COLUMNS // factor)
    first, second = draw(expressions(dtype)), draw(expressions(dtype))
    combine = draw(st.sampled_from(["D[vi] + {}", "T.min(D[vi], {})", "T.max(D[vi], {})"]))
    text = f"""
T.prim_func main(A: T.Buffer(({ROWS}, {COLUMNS}), "{dtype}"), B: T.Buffer(({COLUMNS},), "{dtype}"), D: T.Buffer(({ROWS},), "{dtype}"), E: T.Buffer(({ROWS}, {COLUMNS}), "{dtype}")):
    C = T.alloc_buffer(({ROWS}, {COLUMNS}), "{dtype}")
    for i, j0 in T.grid({ROWS}, {steps}):
        for j1 in {kind}({factor}):
            with T.block("first"):
                vi = T.axis.spatial({ROWS}, i)
                vj = T.axis.spatial({COLUMNS}, j0 * {factor} + j1)
                T.where(j0 * {factor} + j1 < {COLUMNS})
                C[vi, vj] = {first}
    for i, j in T.grid({ROWS}, {COLUMNS}):
        with T.block("reduce"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                D[vi] = T.{dtype}(1)
            D[vi] = {combine.format("C[vi, vj]")}
    for i in range({ROWS}):
        for j in {kind}({COLUMNS}):
            with T.block("second"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = {second} + C[vi, vj]
"""
    return text, dtype


@settings(max_examples=40)
@given(programs(), st.integers(0, 1000))
def test_compiled_is_interpreted(program: tuple[str, str], seed: int) -> None:
    text, dtype = program
    generator, kind = np.random.default_rng(seed), numpy_dtype(dtype)
    low = 0 if dtype.startswith("u") else -20
    a = generator.integers(low, 20, (ROWS, COLUMNS)).astype(kind)
    b = generator.integers(low, 20, COLUMNS).astype(kind)
    module = tvms.parse(text)
    results: list[list[np.ndarray[Any, Any]]] = []
    for call in (tvms.compile(module)["main"], lambda *args: run(module, "main", args)):
        d, e = np.zeros(ROWS, kind), np.zeros((ROWS, COLUMNS), kind)
        call(a, b, d, e)
        results.append([d, e])
    for compiled, interpreted in zip(*results, strict=True):
        wide = np.dtype("f8") if dtype in FLOATS else kind
        np.testing.assert_array_equal(compiled.astype(wide), interpreted.astype(wide))
