"""Vectorized loops: variables become vectors, scalable extents scalable vectors, and results stay the same."""

import numpy as np
import pytest
import tvms
from tvms.ir.visit import walk
from tvms.tir import For, LetStmt
from tvms.tir.transform import VectorizeLoop

HEAD = 'T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32"), n: T.int32):\n'

BODIES = [
    "    A[i] = A[i] + T.Cast(\"float32\", i * 2)",
    "    v = A[i] * T.float32(2)\n        w: T.int32 = T.reinterpret(\"int32\", v)\n        B[i] = w + T.Cast(\"int32\", T.exp(v))",
    "    v = B[i] + n\n        A[i] = T.Cast(\"float32\", T.if_then_else(n > 1, v, 0))\n        B[i] = v * v",
    "    v = n + 1\n        B[i] = v + T.max(B[i], v)",
    "    v = B[i] % 4\n        B[i] = T.Select(v > 1 and not v == 3, v, -v)",
    "    if i < n:\n            B[i] = T.bitwise_and(B[i], 1) + T.Let(x * x, where={x: B[i] + 1})",
]  # fmt: skip


def program(extent: str, body: str) -> str:
    declared = "    x = T.int32()\n" if "where" in body else ""
    return f"{HEAD}{declared}    for i in T.vectorized({extent}):\n    {body}\n"


def results(module: tvms.IRModule, n: int) -> list[np.ndarray]:
    a, b = np.array([0.5, 1, -2, 3], "float32"), np.array([5, -3, 6, 7], "int32")
    tvms.interpret(module, "main", [a, b, n])
    return [a, b]


@pytest.mark.parametrize("extent", ["4", "T.vscale() * 4", "4 * T.vscale()"])
@pytest.mark.parametrize("body", BODIES)
def test_vectors_compute_what_the_loop_computes(extent: str, body: str) -> None:
    module = tvms.parse(program(extent, body))
    vectors = VectorizeLoop(masks="all")(module)
    assert tvms.verify(vectors) == ()
    assert not any(isinstance(node, For) for node in walk(vectors["main"].body))
    assert ("xvscalex4" in str(vectors) or "T.vscale()" in str(vectors)) == ("vscale" in extent)
    for n in (0, 2, 5):
        for expected, found in zip(results(module, n), results(vectors, n), strict=True):
            np.testing.assert_array_equal(found, expected)
        if extent == "4":
            a, b = np.array([0.5, 1, -2, 3], "float32"), np.array([5, -3, 6, 7], "int32")
            tvms.compile(module)["main"](a, b, n)
            for expected, found in zip(results(module, n), (a, b), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_variables_that_differ_between_lanes_become_vectors() -> None:
    vectors = VectorizeLoop()(tvms.parse(program("T.vscale() * 4", BODIES[1])))
    found = [node.var.dtype for node in walk(vectors["main"].body) if isinstance(node, LetStmt)]
    assert found == ["float32xvscalex4", "int32xvscalex4"]


def test_scalable_vectors_are_refused_where_there_are_none() -> None:
    with pytest.raises(tvms.TvmsError, match=r"the intrinsic 'tir.vscale' does not exist on target 'llvm'"):
        tvms.compile(tvms.parse(program("T.vscale() * 4", BODIES[0])))


@pytest.mark.parametrize("extent", ["n", "65", "T.vscale() * 65", "T.vscale() * n", "T.vscale() + 4"])
def test_other_extents_stay_loops(extent: str) -> None:
    vectors = VectorizeLoop()(tvms.parse(program(extent, "    A[0] = A[0] + T.float32(1)")))
    assert any(isinstance(node, For) for node in walk(vectors["main"].body))
