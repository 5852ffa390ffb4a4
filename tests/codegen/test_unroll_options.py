"""`UnrollLoop` with TVM's options: which loops are unrolled or marked, and that results stay."""

from __future__ import annotations

from textwrap import indent

import numpy as np
import pytest
import tvms
from tvms.codegen import aot
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.passes.transform import PassContext
from tvms.ir.programs import as_module
from tvms.ir.visit import walk
from tvms.tir import transform

NEST = "for i in range(2):\n    for j in range(4):\n        A[i * 4 + j] = B[j] + i"
SHIFTED = "for i in range(n, n + 2 - n + n):\n    A[i] = B[i] + 1"
LOCAL = "L = T.decl_buffer((4,), 'int32', scope='local')\nfor i in range(4):\n    L[i] = B[i]\nfor i in range(4):\n    A[i] = B[i] * 2\nA[9] = L[2]"
ONCE = "for i in range(1):\n    A[i] = 3\n    for j in range(n):\n        A[j + 1] = A[i]"
JUMPS = "for i in range(4):\n    if i == n:\n        break\n    A[i] = 1"
TWO = "for i in range(2):\n    A[i] = 1\nfor i in range(20):\n    B[i % 10] = i"
SCOPED = f"with T.attr(T.int32(0), 'pragma_auto_unroll_max_step', 8):\n{indent(NEST, '    ')}\n{NEST}"


def module(body: str) -> IRModule:
    head = 'T.prim_func main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):'
    return as_module(tvms.parse(f"#tvms 1\n{head}\n{indent(body, '    ')}\n"))


@pytest.mark.parametrize(
    ("body", "options", "loops"),
    [
        (NEST, {}, ["serial 2", "serial 4"]),
        (NEST, {"auto_max_step": 7}, ["serial 2"]),
        (NEST, {"auto_max_step": 8}, []),
        (NEST, {"auto_max_step": 8, "explicit_unroll": False}, ["unroll 2", "unroll 4"]),
        (NEST, {"auto_max_step": 8, "auto_max_depth": 0}, ["serial 2"]),
        (NEST, {"auto_max_extent": 4}, []),
        (SHIFTED, {"auto_max_step": 8}, []),
        (LOCAL, {"unroll_local_access": True}, ["serial 4"]),
        (ONCE, {"auto_max_extent": 1, "explicit_unroll": False}, ["serial n"]),
        (JUMPS, {"auto_max_step": 90}, ["serial 4"]),
        (TWO, {"auto_max_step": 2}, ["serial 20"]),
        (SCOPED, {}, ["serial 2", "serial 4"]),
    ],
)
def test_which_loops_are_unrolled(body: str, options: dict[str, int], loops: list[str]) -> None:
    before = module(body)
    with PassContext(config={"tir.UnrollLoop": options}):
        after = transform.UnrollLoop()(before)
    found = [f"{node.kind.value} {node.extent}" for node in walk(after["main"]) if isinstance(node, tir.For)]
    assert found == loops
    assert "pragma_auto" not in str(after)
    for n in (0, 3):
        results = []
        for mod in (before, after):
            arrays = [np.zeros(16, "int32"), np.arange(16, dtype="int32")]
            run(mod, "main", [*arrays, n])
            results.append(np.concatenate(arrays))
        assert np.array_equal(*results), after


@pytest.mark.parametrize("is_asked", [False, True])
def test_conditions_on_threads_of_attributes_move_by_an_option(is_asked: bool) -> None:
    body = """tx = T.launch_thread("threadIdx.x", 8)
for i in range(n):
    if tx < 3:
        A[tx] = i"""
    with PassContext(config={"tir.HoistIfThenElse": {"support_block_scope_hoisting": is_asked}}):
        after = transform.HoistIfThenElse()(module(body))
    kinds = [type(node).__name__ for node in walk(after["main"]) if isinstance(node, tir.For | tir.IfThenElse)]
    assert kinds == (["IfThenElse", "For"] if is_asked else ["For", "IfThenElse"])


@pytest.mark.parametrize("with_all", [False, True])
@pytest.mark.parametrize("is_declared", [False, True])
def test_memory_is_doubled_for_all_statements_of_a_loop_by_name_only(is_declared: bool, with_all: bool) -> None:
    memory = (
        "X = T.decl_buffer((2,), 'int32')"
        if is_declared
        else "M = T.allocate([2], 'int32', 'global')\n    X = T.Buffer((2,), 'int32', data=M)"
    )
    before = module(f"""for i in range(4):
    {memory}
    with T.attr(X.data, 'double_buffer_scope', 1):
        for j in range(2):
            X[j] = B[i * 2 + j]
        A[i] = X[0] - X[1]""")
    after = transform.InjectDoubleBuffer(with_all=with_all)(before)
    assert ("double_buffer_write" in str(after)) == with_all
    results = []
    for mod in (before, after):
        arrays = [np.zeros(16, "int32"), np.arange(16, dtype="int32") ** 2]
        run(mod, "main", [*arrays, 1])
        results.append(arrays[0])
    assert np.array_equal(*results), after


def test_conditions_on_unrolled_loops_are_decided() -> None:
    """A matrix that is written as a choice, as in TVM's convolutions by Winograd, is numbers."""
    program = tvms.parse("""
T.prim_func main(A: T.Buffer((4, 4), "float32")):
    for i in T.unroll(4):
        for j in T.unroll(4):
            A[i, j] = A[i, j] * T.Select(i % 4 == 3 and j % 4 == 2 or i // 2 == 0, T.float32(1.5), T.Select(j - i == 1, T.float32(-2), T.float32(0)))
""")
    assert "T.Select" not in aot.lowered(program, "llvm").script()
    a = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    factors = [[1.5 if (i, j) == (3, 2) or i < 2 else -2 if j - i == 1 else 0 for j in range(4)] for i in range(4)]
    expected = a * np.array(factors, np.float32)
    tvms.compile(program)["main"](a)
    assert (a == expected).all()


def test_divisions_by_zero_in_unrolled_loops_are_faults_at_run_time() -> None:
    text = """
T.prim_func main(A: T.Buffer((4,), "int32")):
    for i in T.unroll(4):
        if A[i] > 0:
            A[i] = 12 // i + T.Cast("int32", T.uint32(2) - T.Cast("uint32", i))
"""
    run = tvms.compile(tvms.parse(text))["main"]
    run(a := np.array([0, 1, 1, 1], np.int32))
    assert a.tolist() == [0, 13, 6, 3]
    with pytest.raises(tvms.TvmsError, match="E0708"):
        run(np.ones(4, np.int32))
