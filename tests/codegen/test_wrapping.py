"""Index arithmetic that wraps around: no proof follows from it, and the interpreter and compiled code agree on every fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.lower import guard_indices, lower_blocks
from tvms.codegen.lower.wrapping import limit_sizes
from tvms.ir.interp import run

TEXT = """
T.prim_func main(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), n: T.int32, m: T.int32):
"""
LARGE = 2**31 - 2

CASES = {
    "a product in a condition": ("if n >= 0 and n * 4 < 16:", "C[0] = A[n]", (2**30, 0), "A[1073741824]"),
    "a sum in a condition": ("if n >= 0 and m >= 0 and n + m < 4:", "C[0] = A[n]", (LARGE, LARGE), "A[2147483646]"),
    "a store": ("if n >= 0 and m >= 0 and n + m < 4:", "C[n] = 7", (LARGE, LARGE), "C[2147483646]"),
    "a difference in a condition": ("if n <= 3 and n - 4 >= 0:", "C[0] = A[n]", (-(2**31), 0), "A[-2147483648]"),
    "a negation": ("if n <= 0 and 0 - n <= 0:", "C[0] = A[n]", (-(2**31), 0), "A[-2147483648]"),
    "a quotient": ("if n < 0 and T.truncdiv(n, m) < 0:", "C[0] = A[n + 4]", (-(2**31), -1), "A[-2147483644]"),
    "a shift": ("if n >= 0 and T.shift_left(n, 2) < 16:", "C[0] = A[n]", (2**30, 0), "A[1073741824]"),
    "a loop variable and a scalar": ("if n >= 2:", "for i in range(4):\n            if i + n < 4:\n"
        "                C[i] = A[i + n - 2]", (LARGE, 0), "A[2147483646]"),
    "the extent of a loop": ("if n >= 0:", "for i in range(4 - n * 4):\n            C[0] = A[n]", (2**30, 0), "A[1073741824]"),
    "a name": ("if n >= 0:", "k: T.int32 = n * 4\n        if k < 16:\n            C[0] = A[n]", (2**30, 0), "A[1073741824]"),
    "a choice": ("if n >= 0:", "C[0] = T.if_then_else(n * 4 < 16, A[n], 0)", (2**30, 0), "A[1073741824]"),
}  # fmt: skip


def ways(text: str) -> dict[str, Any]:
    """Return `main` of `text` as it is interpreted and compiled, by what its accesses are checked by."""
    module = tvms.parse(text, "wrapping.tvms")
    calls: dict[str, Any] = {"interpreted": lambda *args: run(module, "main", args)}
    for bounds in ("check", "prove"):
        for level in (0, 3):
            calls[f"{bounds} at O{level}"] = tvms.compile(module, bounds=bounds, level=level)["main"]
    return calls


@pytest.mark.parametrize("case", CASES)
def test_conditions_that_wrap_around_prove_nothing(case: str) -> None:
    condition, body, scalars, access = CASES[case]
    for way, call in ways(f"{TEXT}    {condition}\n        {body}\n").items():
        with pytest.raises(tvms.TvmsError) as caught:
            call(np.arange(4, dtype="i4"), np.zeros(4, "i4"), *scalars)
        said = f"{access} is outside the buffer: its dimension 0 has 4 elements"
        assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [said], way


def test_loops_end_in_the_range_of_their_variables() -> None:
    text = TEXT + "    for i in range(n, n + m):\n        if i < 4:\n            C[0] = A[i]\n"
    for way, call in ways(text).items():
        result = np.zeros(4, "i4")
        call(np.arange(4, dtype="i4") + 1, result, 2, 2)
        assert result[0] == 4, way
        call(np.arange(4, dtype="i4") + 1, result, 2**31 - 3, 2)
        call(np.arange(4, dtype="i4") + 1, result, -(2**31) + 1, -8)
        assert result[0] == 4, way
        with pytest.raises(tvms.TvmsError) as caught:
            call(np.arange(4, dtype="i4"), result, LARGE, 8)
        said = "the loop over 'i' ends beyond the range of int32"
        assert [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics] == [
            ("E0703", said)
        ], way


def test_inner_loops_end_in_the_range_of_their_variables() -> None:
    text = TEXT + "    for o in range(64):\n        for i in range(n + o, n + o + m):\n            C[0] = C[0] + 1\n"
    for way, call in ways(text).items():
        result = np.zeros(4, "i4")
        call(result.copy(), result, 5, 3)
        assert result[0] == 192, way
        with pytest.raises(tvms.TvmsError) as caught:
            call(result.copy(), result, 2**31 - 40, 3)
        said = "the loop over 'i' ends beyond the range of int32"
        assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [said], way


SIZES = """
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int8")
    B = T.match_buffer(b, (1,), "int8")
    for i in range((n + 7) // 8):
        for j in range(8):
            if i * 8 + j < n:
                A[i * 8 + j] = B[0]
"""


def test_sizes_leave_room_for_the_arithmetic_of_their_dtype() -> None:
    module = tvms.parse(SIZES)
    call = tvms.compile(module)["main"]
    small = np.zeros(21, "i1")
    call(small, np.ones(1, "i1"))
    assert small.all()
    with pytest.raises(tvms.TvmsError) as caught:
        call(np.empty(2**31 - 3, "i1"), np.ones(1, "i1"))
    (problem,) = caught.value.diagnostics
    assert problem.code == "E0703"
    assert problem.message == "n is too large for index arithmetic, which may wrap around above 2147418112"


def test_sizes_are_limited_only_where_a_proof_needs_it() -> None:
    module = tvms.parse(SIZES)
    function = module["main"]
    guarded, safety = guard_indices(lower_blocks(function), "prove")
    assert (safety.proven, safety.checked, guarded.script().count("T.check(")) == (2, 0, 1)
    plain = tvms.parse(SIZES.split("    for")[0] + "    for i in range(n):\n        A[i] = B[0]\n")["main"]
    assert guard_indices(lower_blocks(plain), "prove")[0].script().count("T.check(") == 0


def test_products_of_sizes_are_limited_together() -> None:
    text = """
T.prim_func main(a: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    for f in range(n * m):
        if f < n * m:
            A[f // m, f % m] = T.float32(0)
"""
    limited = limit_sizes(tvms.parse(text)["main"])
    assert limited is not None
    lines = [line for line in limited.script().splitlines() if "T.check(" in line]
    assert len(lines) == 2
    assert "72057594037927936 // T.max(T.max(m, 0 - m), T.int64(1))" in lines[1]


def test_schedules_whose_arithmetic_may_wrap_are_checked() -> None:
    text = TEXT + "    for i in range(4):\n        if i * n < 4:\n            C[i] = A[i]\n"
    assert limit_sizes(tvms.parse(text)["main"]) is None
    assert limit_sizes(tvms.parse(text.replace("i * n", "i * 3"))["main"]) is not None


def test_a_view_of_a_size_that_wrapped_around_is_checked() -> None:
    text = (
        TEXT
        + """    if n > 0:
        K = T.alloc_buffer((n * 4 + 64,), "int8")
        V = T.Buffer((n + 16,), "int32", data=K.data)
        V[m] = 5
        C[0] = V[m]
"""
    )
    for way, call in ways(text).items():
        result = np.zeros(4, "i4")
        call(result.copy(), result, 2, 1)
        assert result[0] == 5, way
        with pytest.raises(tvms.TvmsError) as caught:
            call(result.copy(), result, 2**30, 1000)
        assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0707"], way


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "body",
    [
        "for i, j in T.grid(n, m):\n        A[i] = A[i] + i * m + j",
        "S = T.alloc_buffer((n, m), 'int8')\n    for i, j in T.grid(n, m):\n        S[i, j] = A[i]\n        A[i] = S[i, j]",
        "for f in range(n * m):\n        A[f // m] = f % m",
        "for i in range(n):\n        if i * m < 9:\n            A[i] = i * m",
    ],
)
def test_products_of_a_size_and_a_scalar_have_no_limit_of_zero(body: str, dtype: str) -> None:
    text = f"T.prim_func main(a: T.handle, m: T.{dtype}):\n    n = T.{dtype}()\n    A = T.match_buffer(a, (n,), '{dtype}')\n    {body}\n"
    expected: Any = None
    for way, call in ways(text).items():
        result = np.arange(5).astype(dtype)
        call(result, 3)
        expected = result if expected is None else expected
        np.testing.assert_array_equal(result, expected, err_msg=way)
