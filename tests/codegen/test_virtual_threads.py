"""`InjectVirtualThread`: virtual threads become statements of one thread, and results stay."""

from __future__ import annotations

from textwrap import dedent, indent

import numpy as np
import pytest
import tvms
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.programs import as_module
from tvms.ir.verify import verify
from tvms.ir.visit import walk
from tvms.tir import transform

TOUCHED = """
with T.launch_thread("vthread", 2) as v:
    X = T.allocate([4], "int32", "shared")
    X_1 = T.Buffer((4,), "int32", data=X, scope="shared")
    for j in range(4):
        X_1[j] = A[v + j]
    B[v] = X_1[3] + X_1[1]
"""
UNTOUCHED = """
with T.launch_thread("vthread", 3) as v:
    X = T.decl_buffer((4,), "int32", scope="local")
    X[1] = A[7]
    B[v] = X[1]
    B[9] = B[9] + 1
"""
IN_ORDER = """
with T.launch_thread("vthread", 4) as v:
    B[v] = A[v]
    B[3 - v] = B[3 - v] + B[v]
"""
NESTED = """
for i in range(2):
    with T.launch_thread("vthread.y", 2) as w:
        with T.launch_thread("vthread.x", 17) as v:
            X = T.decl_buffer((4,), "int32", scope="local")
            Y = T.decl_buffer((2,), "int32", scope="local")
            X[w] = A[v]
            Y[i] = X[w] * 3
            if v > 4:
                X[1 - w] = i
            else:
                X[1 - w] = v
            B[v] = B[v] + Y[i] + X[1 - w]
"""
POINTER = """
with T.launch_thread("vthread", 2) as v:
    X = T.allocate([4], "int32", "local")
    X_1 = T.decl_buffer((4,), "int32", data=X, scope="local")
    p: T.handle("int32") = T.address_of(X_1[1])
    P = T.decl_buffer((1,), "int32", data=p)
    X_1[1] = v
    P[0] = P[0] + A[3]
    B[v] = X_1[1]
"""
BOUND = """
for v in T.thread_binding(3, "vthread.x"):
    X = T.decl_buffer((2, 2), "int32", scope="local")
    X[v % 2, 1] = A[v]
    B[v] = X[v % 2, 1]
"""
VECTORS = """
with T.launch_thread("vthread", 4) as v:
    X = T.decl_buffer((4,), "int32", scope="local")
    X[0:4] = T.Broadcast(v, 4)
    B[v * 4:v * 4 + 4] = X[0:4]
"""
JUMPS = """
with T.launch_thread("vthread", 4) as v:
    if v == 2:
        T.thread_return()
    B[v] = A[v]
"""


def module(body: str) -> IRModule:
    head = 'T.prim_func main(A: T.Buffer((20,), "int32"), B: T.Buffer((20,), "int32"), n: T.int32):'
    return as_module(tvms.parse(f"#tvms 1\n{head}\n{indent(dedent(body).strip(), '    ')}\n"))


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        (TOUCHED, [8]), (UNTOUCHED, [4]), (IN_ORDER, []), (NESTED, [4 * 17 * 2, 2 * 17 * 2]), (POINTER, [8]), (BOUND, [2, 2]),
        (VECTORS, [16]),
    ],
)  # fmt: skip
def test_threads_are_executed_in_order(body: str, sizes: list[int]) -> None:
    before = module(body)
    after = transform.InjectVirtualThread()(before)
    assert "vthread" not in str(after)
    assert not verify(after)
    found = [int(size.value) for node in walk(after["main"]) if isinstance(node, tir.Allocate) for size in node.extents]  # type: ignore[attr-defined]
    assert found == sizes
    results = []
    for version in (before, after):
        arrays = [np.arange(5, 25, dtype="int32"), np.arange(20, dtype="int32")]
        run(version, "main", [*arrays, 3])
        results.append(arrays)
    np.testing.assert_array_equal(results[1], results[0])


@pytest.mark.parametrize("body", [JUMPS, IN_ORDER.replace("4)", "n)"), TOUCHED.replace("vthread", "threadIdx.x")])
def test_other_threads_stay(body: str) -> None:
    before = module(body)
    assert transform.InjectVirtualThread()(before).script() == before.script()


def test_small_bodies_are_repeated_and_others_loop() -> None:
    few, many, inner = (
        [
            node.extent.value
            for node in walk(transform.InjectVirtualThread()(module(body))["main"])
            if isinstance(node, tir.For)
        ]  # type: ignore[attr-defined]
        for body in (UNTOUCHED.replace("3)", "15)"), UNTOUCHED.replace("3)", "16)"), TOUCHED)
    )
    assert (few, many, inner) == ([], [16], [2, 4])


def test_threads_with_a_context_have_own_memory() -> None:
    text = """
    with T.launch_thread("cthread", 2) as v:
        X = T.decl_buffer((4,), "int32", scope="local")
        X[0] = A[0]
        B[v] = X[0]
    """
    after = transform.InjectVirtualThread()(module(text))
    assert [node.extents[0].value for node in walk(after["main"]) if isinstance(node, tir.Allocate)] == [8]  # type: ignore[attr-defined]
