"""Huge functions are compiled in pieces, and compute what they computed in one."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.codegen.build import Settings, build, prepare
from tvms.codegen.llvm import pieces
from tvms.codegen.target import get_target
from tvms.ir.deep import run_with_big_stack
from tvms.ir.diagnostics import TvmsError
from tvms.ir.interp import call_prim_func

PROGRAMS = {
    "statements": """
T.prim_func f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    B[0] = A[1] + n
    B[1] = B[0] * 3
    B[2] = B[1] - A[2]
    for i in range(n):
        B[i + 3] = A[i] + B[2]
    B[15] = B[4]
""",
    "an early return": """
T.prim_func f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    B[0] = A[1]
    B[1] = A[2] * n
    if A[0] < n:
        B[2] = A[3]
        T.evaluate(T.ret(0))
    B[3] = A[4] + B[1]
    B[4] = A[5] + B[3]
""",
    "jumps": """
T.prim_func f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    for i in range(16):
        B[i] = A[i] * 2
        B[i] = B[i] + n
        if i == n:
            break
        for j in range(4):
            B[j] = B[j] + A[j + 1] * 3
            if B[j] < 0:
                continue
            B[j] = B[j] + A[i]
""",
    "nested loops and lets": """
T.prim_func f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    x: T.int32 = A[3] + n
    for i in range(2):
        y: T.int32 = x + i
        for j in range(2):
            z: T.int32 = A[j] + y
            for k in range(2):
                for l in range(2):
                    B[i * 8 + j * 4 + k * 2 + l] = x + y * z + k * l + n
""",
    "lazy operands": """
T.prim_func f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    for i in range(16):
        B[i] = T.if_then_else(i < n and A[i] * 2 + 1 < 9, A[i] // T.max(n, 1) * 3 + i * 4 + n, A[i] + A[15 - i] * 2 + 1)
        if A[i] * 3 < n or A[i] + n * 2 < 5:
            B[i] = B[i] + A[i] * A[i] + n
""",
    "memory": """
T.prim_func f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    W = T.decl_buffer((16,), "int32")
    V = T.decl_buffer((4096,), "int32")
    for i in range(16):
        W[i] = A[i] + n
    for i in range(4096):
        V[i] = W[i % 16] + i
    for i in T.parallel(16):
        B[i] = V[i] + V[i + 4080] * W[15 - i]
    for i in T.vectorized(16):
        B[i] = B[i] * 2 + W[i]
""",
}  # fmt: skip

FAULT = """
T.prim_func f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    for i in range(2):
        for j in range(2):
            for k in range(2):
                B[i * 4 + j * 2 + k] = A[i] + A[j] * A[k] + A[n + i] + 1
    B[0] = B[0] // (n - 3) + A[1] * A[2] + A[3]
"""


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {"WHOLE": 20, "PIECE": 10, "VALUE": 6, "NEST": 2}.items():
        monkeypatch.setattr(pieces, name, size)


def _values() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(5).integers(-9, 9, 16).astype("int32"), np.zeros(16, "int32")


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("small_pieces")
def test_pieces_compute_the_same(name: str, level: int) -> None:
    module = tvms.parse(PROGRAMS[name])
    kernel = tvms.compile(module, level=level, schedule=False)
    for n in (0, 3, 7):
        a, expected = _values()
        call_prim_func(module["f"], [a, expected, n])
        result = np.zeros(16, "int32")
        kernel["f"](a, result, n)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("n", "said"), [(15, "E0707"), (3, "E0708"), (2, None)])
def test_faults_in_pieces_are_faults_of_the_call(n: int, said: str | None) -> None:
    kernel = tvms.compile(tvms.parse(FAULT), schedule=False)
    a, result = _values()
    if said is None:
        kernel["f"](a, result, n)
        return
    with pytest.raises(TvmsError) as problem:
        kernel["f"](a, result, n)
    assert [diagnostic.code for diagnostic in problem.value.diagnostics] == [said]


def _cut(text: str) -> int:
    target = get_target("llvm")
    module = prepare(tvms.parse(text), target)
    emitted = run_with_big_stack(lambda: build(module, target, Settings(schedule=False)).emitted)
    return emitted.text.count("define internal")


HEAD = 'T.prim_func f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):\n'


@pytest.mark.parametrize(
    ("text", "at_least", "at_most"),
    [
        (HEAD + "    B[0] = " + " * ".join(f"A[{i % 64}]" for i in range(400)) + "\n", 0, 0),
        (HEAD + "    B[0] = " + " * ".join(f"A[{i % 64}]" for i in range(5000)) + "\n", 5, 12),
        (HEAD + "".join(f"    B[{i % 64}] = A[{i % 64}]\n" for i in range(1000)), 0, 0),
        (HEAD + "".join(f"    for i{i} in range(64):\n        B[i{i}] = A[i{i}]\n" for i in range(400)), 8, 16),
        (
            HEAD + "".join(f"{' ' * (i + 4)}for i{i} in range(2):\n" for i in range(64)) + " " * 68 + "B[0] = A[0]\n",
            3,
            4,
        ),
    ],
    ids=["sum", "long sum", "statements", "loops", "nest"],
)
def test_only_huge_functions_are_cut(text: str, at_least: int, at_most: int) -> None:
    assert at_least <= _cut(text) <= at_most
