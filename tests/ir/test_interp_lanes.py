"""The interpreter's fast tier: what runs in lockstep does what it means, and what may not, does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.diagnostics import TvmsError
from tvms.ir.interp import buffers, intrinsics, run
from tvms.ir.interp.lanes import arithmetic

CONV = """
T.prim_func main(A: T.Buffer((4, 10, 10), "float32"), W: T.Buffer((6, 4, 3, 3), "float32"), C: T.Buffer((6, 10, 10), "float32")):
    P = T.alloc_buffer((4, 12, 12))
    for c, y, x in T.grid(4, 12, 12):
        with T.block("pad"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = T.if_then_else(1 <= vy and vy < 11 and 1 <= vx and vx < 11, A[vc, vy - 1, vx - 1], T.float32(0))
    for f, y, x, c, i, j in T.grid(6, 10, 10, 4, 3, 3):
        with T.block("conv"):
            vf, vy, vx, vc, vi, vj = T.axis.remap("SSSRRR", [f, y, x, c, i, j])
            with T.init():
                C[vf, vy, vx] = T.float32(0)
            C[vf, vy, vx] = C[vf, vy, vx] + P[vc, vy + vi, vx + vj] * W[vf, vc, vi, vj]
"""


def outcome(text: str, args: list[Any], tier: Any, **options: Any) -> tuple[str, list[Any]]:
    """Return the error of a run, if there is one, and its arguments afterwards."""
    values = [value.copy() for value in args]
    try:
        run(tvms.parse(text), "main", values, tier=tier, **options)
    except TvmsError as problem:
        return str(problem), values
    return "", values


def check(text: str, *args: Any, **options: Any) -> str:
    """Assert that both tiers do the same, bit for bit; return the error."""
    (said, expected), (found, values) = (
        outcome(text, [*args], "obvious", **options),
        outcome(text, [*args], "lanes", **options),
    )
    assert found == said
    for value, other in zip(values, expected, strict=True):
        assert value.tobytes() == other.tobytes()
    return said


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The elements that were stored one by one."""
    made: list[Any] = []
    put = buffers.compile_put()
    monkeypatch.setattr(buffers, "compile_put", lambda: lambda *args: (made.append(args), put(*args)))
    return made


def test_array_code_runs_in_lockstep(stores: list[Any], random: np.random.Generator) -> None:
    a, w = random.random((4, 10, 10), "float32"), random.random((6, 4, 3, 3), "float32")
    args = [a, w, np.zeros((6, 10, 10), "float32")]
    _, lanes = outcome(CONV, args, "auto")
    assert not stores
    _, expected = outcome(CONV, args, "obvious")
    assert len(stores) == 12 * 12 * 4 + 600 * 37
    assert lanes[2].tobytes() == expected[2].tobytes()


def one_loop(statement: str, extent: int = 100, kind: str = "T.serial") -> str:
    return f"""
T.prim_func main(A: T.Buffer((100,), "int32"), B: T.Buffer((101,), "int32")):
    for i in {kind}({extent}):
        {statement}
"""


@pytest.mark.parametrize(
    "statement",
    [
        "B[i + 1] = B[i] + A[i]",
        "B[100 - i] = B[i] + A[i]",
        "B[0] = B[0] + A[i]",
        "B[i % 7] = A[i]",
        "B[A[i] % 100] = i",
        "B[A[i] % 100] = B[i] + B[A[99 - i] % 100]",
        "B[i // 2] = B[i // 2] * 3 + A[i]",
        "A[(i * 3) % 100] = A[i] + 1",
        "A[i // 2] = A[(i + 50) % 100]",
    ],
)
def test_iterations_that_meet_run_one_after_the_other(statement: str, random: np.random.Generator) -> None:
    a, b = random.integers(0, 1000, 100).astype("int32"), random.integers(0, 9, 101).astype("int32")
    assert not check(one_loop(statement), a, b)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("B[i * 2] = A[i]", "B[102] is outside"),
        ("B[i] = A[i * 3 % 101]", "A[100] is outside"),
        ("B[i] = A[i - T.Select(i > 70, 90, 0)]", "A[-19] is outside"),
        ("B[i] = A[i] // (A[i] - 7)", "division by zero"),
        ("B[i] = T.shift_left(A[i], 50 - i)", "shift by a negative"),
    ],
)
def test_a_fault_is_told_as_it_is_defined(statement: str, said: str) -> None:
    """The elements before it are written, none behind it."""
    a = np.arange(100, dtype="int32") - 60
    assert said in check(one_loop(statement), a, np.zeros(101, "int32"))


def test_an_assertion_is_told_with_its_iteration() -> None:
    text = one_loop('assert i < 70, "too far"\n        B[i] = A[i]')
    assert "assertion failed: too far" in check(text, np.arange(100, dtype="int32"), np.zeros(101, "int32"))


def test_what_nobody_wrote_is_told() -> None:
    text = """
T.prim_func main(A: T.Buffer((100,), "int32")):
    B = T.alloc_buffer((100,), "int32")
    for i in range(100):
        if i != 42:
            B[i] = i
    for i in range(100):
        A[i] = B[i]
"""
    assert "before anything was written" in check(text, np.zeros(100, "int32"), track=True)


def test_arguments_that_overlap_are_seen() -> None:
    text = one_loop("B[i + 1] = A[i] + 1")
    memory = np.arange(102, dtype="int32")
    args = [memory[1:101], memory[:101]]
    run(tvms.parse(text), "main", args, tier="lanes")
    expected = np.arange(102, dtype="int32")
    run(tvms.parse(text), "main", [expected[1:101], expected[:101]], tier="obvious")
    np.testing.assert_array_equal(memory, expected)


def test_local_memory_belongs_to_its_lane(random: np.random.Generator) -> None:
    text = """
T.prim_func main(A: T.Buffer((40, 30), "float32"), B: T.Buffer((40, 30), "float32")):
    for i in range(40):
        with T.block("row"):
            vi = T.axis.spatial(40, i)
            row = T.alloc_buffer((31,))
            row[0] = T.float32(0)
            for j in range(30):
                row[j + 1] = row[j] + A[vi, j]
            view = T.match_buffer(B[vi, 0:30], (30,), offset_factor=1)
            for j in range(30):
                view[j] = row[30 - j]
"""
    assert not check(text, random.random((40, 30), "float32"), np.zeros((40, 30), "float32"))


@pytest.mark.parametrize("loops", ["i, j in T.grid(30, 30)", "i in range(30):\n        for j in range(i + 1)"])
def test_triangles_and_guards(loops: str, random: np.random.Generator) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((30, 30), "float32"), B: T.Buffer((30,), "float32")):
    for {loops}:
            if j <= i and A[i, j] > T.float32(0.5) or j == 0:
                B[i] = T.max(B[i], T.exp(A[i, j]) / A[j, i])
"""
    assert not check(text, random.random((30, 30), "float32"), np.zeros(30, "float32"))


def test_a_while_loop_ends_in_each_lane_by_itself() -> None:
    text = """
T.prim_func main(A: T.Buffer((100,), "int32"), N: T.Buffer((100,), "int32")):
    for i in range(100):
        while A[i] != 1:
            A[i] = T.if_then_else(A[i] % 2 == 0, A[i] // 2, 3 * A[i] + 1)
            N[i] = N[i] + 1
"""
    assert not check(text, np.arange(1, 101, dtype="int32"), np.zeros(100, "int32"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize(
    "formula", ["a + b", "a - b", "a * b", "a // b", "a % b", "T.truncdiv(a, b)", "T.truncmod(a, b)", "T.min(a, b)"]
)
def test_integers_wrap_around(dtype: str, formula: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = np.array([low, low + 1, 1, 2, 3, 7, high - 1, high, high // 2, high // 3], dtype)
    a, b = (
        array.reshape(-1).copy()
        for array in np.meshgrid(values, np.append(values[values != 0], np.array([-1 if low else 5], dtype)))
    )
    text = f"""
T.prim_func main(A: T.Buffer(({len(a)},), "{dtype}"), B: T.Buffer(({len(a)},), "{dtype}"), C: T.Buffer(({len(a)},), "{dtype}")):
    for i in range({len(a)}):
        C[i] = {formula.replace("a", "A[i]", 1).replace("b", "B[i]", 1) if formula[1] == " " else formula.replace("(a, b)", "(A[i], B[i])")}
"""
    assert not check(text, a, b, np.zeros(len(a), dtype))


@pytest.mark.parametrize("source", ["float16", "float32", "float64", "int64", "uint64"])
@pytest.mark.parametrize(
    "target", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "bfloat16", "bool"]
)
def test_casts_of_arrays_are_those_of_scalars(source: str, target: str) -> None:
    bits = [0, 1, 7, 8, 15, 16, 31, 32, 33, 53, 63, 64]
    exact = [sign * (2**bit + step) for bit in bits for step in (-1, 0, 1) for sign in (1, -1)]
    if source.startswith("float"):
        with np.errstate(over="ignore"):
            values = np.array([*exact, np.nan, np.inf, -np.inf, 0.5, -0.5, 2.5, -0.0], source)
    else:
        values = np.array([value % 2**64 for value in exact], np.uint64).astype(source)
    convert, scalar = arithmetic.cast(source, target), arithmetic.scalars.cast(source, target)
    decode = arithmetic.scalars.decoder(source)
    with np.errstate(all="ignore"):
        found = convert(values)
        expected = np.array([scalar(decode(value)) for value in values], found.dtype)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", sorted(arithmetic.EXACT))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_arrays_have_the_bits_of_scalars(name: str, dtype: str, random: np.random.Generator) -> None:
    values = (random.standard_normal(1003) * 10 ** random.uniform(-6, 6, 1003)).astype(dtype)
    values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).smallest_subnormal]
    operands = (values, random.permutation(values)) if name == "copysign" else (values,)
    dtypes = (dtype,) * len(operands)
    scalar = intrinsics.FLOAT[name]
    with np.errstate(all="ignore"):
        found = arithmetic.function(name, dtypes, dtype, scalar)(*operands)
        expected = arithmetic.elementwise(scalar, dtypes, dtype)(*operands)
    same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
    assert same.all()
