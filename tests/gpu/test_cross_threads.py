"""`LowerCrossThreadReduction`: its blocks compute what the reductions compute, and what threads cannot share is refused."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import TvmsError
from tvms.ir.interp import Trap, run
from tvms.ir.programs import as_module
from tvms.ir.verify import verify
from tvms.ir.visit import walk
from tvms.tir import transform

SHARED = {
    "a part of each thread": """
for i, ko in T.grid(4, 3):
    for ki in T.thread_binding(8, "threadIdx.x"):
        with T.block("sum"):
            vi, vk = T.axis.S(4, i), T.axis.R(24, ko * 8 + ki)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
""",
    "a value of each thread": """
for i in range(4):
    for k in T.thread_binding(24, "threadIdx.x"):
        with T.block("most"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.min_value("int32")
            C[vi] = T.max(A[vi, vk], C[vi])
""",
    "a start that counts once": """
for i in range(4):
    for k in T.thread_binding(24, "threadIdx.x"):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = vi + 7
            C[vi] = C[vi] + A[vi, vk]
""",
    "a predicate": """
for i0 in T.thread_binding(2, "blockIdx.x"):
    for i1 in range(3):
        for ko in range(4):
            for ki in T.thread_binding(8, "threadIdx.x"):
                with T.block("sum"):
                    vi, vk = T.axis.S(4, i0 * 3 + i1), T.axis.R(24, ko * 8 + ki)
                    T.where(i0 * 3 + i1 < 4 and ko * 8 + ki < 24)
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + A[vi, vk]
""",
    "a predicate on results only": """
for i in range(6):
    for k in T.thread_binding(24, "threadIdx.x"):
        with T.block("sum"):
            vi, vk = T.axis.S(4, i), T.axis.R(24, k)
            T.where(i < 4)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
""",
    "two loops over threads": """
for i in range(4):
    for y in T.thread_binding(3, "threadIdx.y"):
        for x in T.thread_binding(8, "threadIdx.x"):
            with T.block("sum"):
                vi, vk = T.axis.S(4, i), T.axis.R(24, y * 8 + x)
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[vi, vk]
""",
    "results in local memory": """
L = T.alloc_buffer((4,), "int32", scope="local")
for i in T.thread_binding(4, "blockIdx.x"):
    for k in T.thread_binding(24, "threadIdx.x"):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                L[vi] = 0
            L[vi] = L[vi] + A[vi, vk]
    with T.block("store"):
        vi = T.axis.spatial(4, i)
        C[vi] = L[vi] * 2
""",
    "statements of each thread before": """
P = T.alloc_buffer((24,), "int32", scope="shared")
for i in T.thread_binding(4, "blockIdx.x"):
    for y in T.thread_binding(3, "threadIdx.x"):
        for ko in range(2):
            for k in range(4):
                with T.block("copy"):
                    vi, vk = T.axis.S(4, i), T.axis.S(24, ko * 12 + y * 4 + k)
                    P[vk] = A[vi, vk] * 3
            for k in range(4):
                with T.block("sum"):
                    vi, vk = T.axis.S(4, i), T.axis.R(24, ko * 12 + y * 4 + k)
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + P[vk]
""",
    "pairs": """
for i in range(4):
    for k in T.thread_binding(24, "threadIdx.x"):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
                D[vi] = 0
            c: T.int32 = C[vi] + A[vi, vk]
            d: T.int32 = D[vi] + A[vi, vk] * A[vi, vk]
            C[vi] = c
            D[vi] = d
""",
}
LOCAL = "results in local memory"
"""The interpreter keeps local memory of threads no longer than their loop."""
BEFORE = "threads cannot share the reduction of block 'sum': "
REFUSED: dict[str, tuple[str, str]] = {
    "over blocks of threads": (
        """
for i in range(4):
    for k in T.thread_binding(24, "blockIdx.x"):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
""",
        "the loop over 'k' is bound to 'blockIdx.x'",
    ),
    "around results": (
        """
for k in T.thread_binding(24, "threadIdx.x"):
    for i in range(4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
""",
        "a loop of the reduction contains another statement, which is not before the block in each thread",
    ),
    "no reducer": (
        """
for i in range(4):
    for k in T.thread_binding(24, "threadIdx.x"):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] - A[vi, vk]
""",
        "its store does not combine the old element with a value by +, *, min, max, and, or",
    ),
    "results that are read": (
        """
for i in range(4):
    for k in T.thread_binding(24, "threadIdx.x"):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + C[(vi + 1) % 4]
""",
        "a loop of the reduction accesses the memory of its results",
    ),
    "results of the loop": (
        """
for k in T.thread_binding(24, "threadIdx.x"):
    with T.block("sum"):
        vi, vk = T.axis.S(4, k % 4), T.axis.R(24, k)
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]
""",
        "a loop of the reduction is one over the results as well",
    ),
}


def module(body: str, results: Sequence[str] = ("C", "D")) -> IRModule:
    rest = "".join(f', {name}: T.Buffer((4,), "int32")' for name in results)
    text = f'#tvms 1\nT.prim_func main(A: T.Buffer((4, 24), "int32"){rest}):\n{indent(body.strip(), "    ")}\n'
    return as_module(tvms.parse(text))


def start() -> list[Any]:
    return [np.arange(96, dtype="int32").reshape(4, 24) * 7 % 31 - 11, *(np.full(4, -5, "int32") for _ in range(2))]


def computed(mod: IRModule) -> list[Any]:
    arrays = start()
    run(mod, "main", arrays, track=True, observer=Trap(mod))
    return arrays


def names(mod: IRModule) -> list[str]:
    return [node.name_hint for node in walk(mod["main"]) if isinstance(node, tir.Block) and node.name_hint != "root"]


@pytest.mark.parametrize("name", [name for name in SHARED if name != LOCAL])
def test_the_blocks_compute_what_the_reduction_computes(name: str) -> None:
    before = module(SHARED[name])
    after = transform.LowerCrossThreadReduction()(before)
    assert "tvm_thread_allreduce" in str(after)
    assert [problem for problem in verify(after) if problem not in verify(before)] == []
    for found, expected in zip(computed(after), computed(before), strict=True):
        assert np.array_equal(found, expected), after
    assert str(tvms.parse(f"#tvms 1\n{after}")) == str(after)


@pytest.mark.parametrize("name", SHARED)
def test_kernels_compute_what_the_reduction_computes(name: str) -> None:
    body = SHARED[name].strip()
    if "blockIdx" not in body:
        body = f"for b in T.thread_binding(1, 'blockIdx.x'):\n{indent(body, '    ')}"
    before = module(body)
    arrays = start()
    tvms.compile(transform.LowerCrossThreadReduction()(before), target="cuda -simulate=each")["main"](*arrays)
    for found, expected in zip(arrays, computed(before), strict=True):
        assert np.array_equal(found, expected)


def test_threads_reduce_their_parts_first() -> None:
    lowered = transform.LowerCrossThreadReduction()
    steps = ["sum_in_thread_init", "sum_in_thread", "sum_cross_thread", "sum_write_back"]
    assert names(lowered(module(SHARED["a part of each thread"]))) == steps
    assert names(lowered(module(SHARED["a value of each thread"]))) == ["most_cross_thread", "most_write_back"]


def test_the_first_threads_execute_blocks_that_read_results() -> None:
    after = transform.LowerCrossThreadReduction()(module(SHARED[LOCAL]))
    stored = [
        node for node in walk(after["main"]) if isinstance(node, tir.BlockRealize) and node.block.name_hint == "store"
    ]
    assert [str(realize.predicate) for realize in stored] == ["tx == 0"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_threads_cannot_share_is_refused(name: str) -> None:
    body, reason = REFUSED[name]
    with pytest.raises(TvmsError) as caught:
        transform.LowerCrossThreadReduction()(module(body))
    assert isinstance(caught.value, ValueError)
    assert [(problem.code, problem.message) for problem in caught.value.diagnostics] == [("E0612", BEFORE + reason)]


@pytest.mark.parametrize("tag", ["vthread", "threadIdx.x"])
def test_other_functions_stay_the_same(tag: str) -> None:
    before = module(f"""
for i in T.thread_binding(4, "{tag}"):
    for k in range(24):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
""")
    assert transform.LowerCrossThreadReduction()(before) is before
