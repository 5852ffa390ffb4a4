"""`StorageRewrite`: where allocations are, which share memory, and that results stay."""

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

IN_LOOPS = """
for i in range(4):
    X = T.decl_buffer((8,), "int32")
    for j in range(8):
        X[j] = A[j] + i
    Y = T.decl_buffer((16,), "int16")
    for j in range(16):
        Y[j] = T.cast(X[j // 2], "int16")
    for j in range(8):
        B[j] = B[j] + T.cast(Y[j], "int32")
"""
IN_TURN = """
X = T.decl_buffer((8,), "int32")
for j in range(8):
    X[j] = A[j] + 1
for j in range(8):
    B[j] = X[j]
Y = T.decl_buffer((16,), "int16")
for j in range(16):
    Y[j] = T.cast(A[j], "int16")
for j in range(16):
    B[j] = B[j] + T.cast(Y[j], "int32")
"""
IN_PLACE = """
X = T.decl_buffer((4, 4), "int32")
Y = T.decl_buffer((4, 4), "int32")
for i, j in T.grid(4, 4):
    X[i, j] = A[i * 4 + j]
for i, j in T.grid(4, 4):
    Y[i, j] = X[i, j] * 2
for i, j in T.grid(4, 4):
    B[i * 4 + j] = Y[i, j]
"""
TRANSPOSED = IN_PLACE.replace("X[i, j] * 2", "X[j, i] * 2")
REPEATED = IN_PLACE.replace(
    "for i, j in T.grid(4, 4):\n    Y[i, j]", "for i, j, k in T.grid(4, 4, 2):\n    Y[i, j]"
).replace("* 2", "* k")
FLAT = """
X = T.decl_buffer((16,), "int32")
Y = T.decl_buffer((16,), "int32")
for i in range(16):
    X[i] = A[i]
for i, j in T.grid(4, 4):
    Y[i * 4 + j] = X[i * 4 + j] * 2
for i in range(16):
    B[i] = Y[i]
"""
FLAT_AGAIN = FLAT.replace("[i * 4 + j]", "[i * 2 + j]").replace("Y[i]", "Y[i % 8]")
FROM_OUTSIDE = """
X = T.decl_buffer((8,), "int32")
X[2] = A[2]
for i in range(4):
    Y = T.decl_buffer((8,), "int32")
    for j in range(8):
        Y[j] = A[j] + X[2]
    B[i] = Y[i]
"""
PARALLEL = """
for i in T.parallel(4):
    for k in range(2):
        X = T.decl_buffer((8,), "int32")
        for j in range(8):
            X[j] = A[j] + i
        B[i] = X[3] + k
"""
SYMBOLIC = """
for i in range(4):
    X = T.decl_buffer((n + i,), "int32")
    X[0] = A[i]
    Y = T.decl_buffer((n + 1,), "int32")
    Y[0] = X[0]
    B[i] = Y[0]
"""
POINTER = """
X = T.decl_buffer((8,), "int32")
p: T.handle("int32") = T.address_of(X[0])
P = T.decl_buffer((8,), "int32", data=p)
X[1] = A[1]
Y = T.decl_buffer((8,), "int32")
Y[1] = A[2]
B[0] = Y[1] + P[1]
"""
SPECIAL = """
for i in range(4):
    X = T.decl_buffer((8,), "int32", scope="local.L0A")
    Y = T.decl_buffer((8,), "int16", scope="local.L0A")
    Z = T.decl_buffer((16,), "int32", scope="local.L0A")
    for j in range(8):
        X[j] = A[j] + i
        Y[j] = T.cast(X[j], "int16")
    for j in range(16):
        Z[j] = A[j] * T.cast(Y[j // 2], "int32")
    for j in range(8):
        B[j] = B[j] + X[j] - Z[j + 1]
"""
REGISTERS = IN_TURN.replace('32")\nfor', '32", scope="local")\nfor').replace(
    '((16,), "int16")', '((16,), "int16", scope="local")'
)
BRANCHES = """
for i in range(4):
    if i < 2:
        X = T.decl_buffer((8,), "int32")
        X[i] = A[i]
        B[i] = X[i]
    else:
        Y = T.decl_buffer((8,), "int32")
        Y[i] = A[i]
        B[i] = Y[i] * 2
    Unused = T.decl_buffer((8,), "int32")
"""


def module(body: str) -> IRModule:
    head = 'T.prim_func main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):'
    return as_module(tvms.parse(f"#tvms 1\n{head}\n{indent(dedent(body).strip(), '    ')}\n"))


def sizes(mod: IRModule) -> list[str]:
    found = [node for node in walk(mod["main"]) if isinstance(node, tir.Allocate)]
    return [f"{node.dtype} {' '.join(map(str, node.extents))}" for node in found]


CASES = {
    "allocations leave loops": (IN_LOOPS, ["int32 8", "int16 16"]),
    "memory is used in turn": (IN_TURN, ["int32 8"]),
    "in place": (IN_PLACE, ["int32 4 4"]),
    "other elements": (TRANSPOSED, ["int32 4 4", "int32 4 4"]),
    "each element twice": (REPEATED, ["int32 4 4", "int32 4 4"]),
    "in place by one index": (FLAT, ["int32 16"]),
    "an element twice by one index": (FLAT_AGAIN, ["int32 16", "int32 16"]),
    "a loop reads what is outside": (FROM_OUTSIDE, ["int32 8", "int32 8"]),
    "each thread has its own": (PARALLEL, ["int32 8"]),
    "sizes of loops": (SYMBOLIC, ["int32 n + 1", "int32 n + i"]),
    "pointers": (POINTER, ["int32 8", "int32 8"]),
    "one allocation for special memory": (SPECIAL, ["int32 28"]),
    "registers stay apart": (REGISTERS, ["int32 8", "int16 16"]),
    "branches": (BRANCHES, ["int32 8"]),
}


@pytest.mark.parametrize("name", CASES)
def test_allocations_after_the_plan(name: str) -> None:
    body, expected = CASES[name]
    before = module(body)
    after = transform.StorageRewrite()(before)
    assert not verify(after)
    assert sizes(after) == expected
    flat = transform.StorageRewrite()(transform.FlattenBuffer()(before))
    results = []
    for version in (before, after, flat):
        arrays = [np.arange(5, 21, dtype="int32"), np.arange(16, dtype="int32")]
        run(version, "main", [*arrays, 3])
        results.append(arrays)
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])
    arrays = [np.arange(5, 21, dtype="int32"), np.arange(16, dtype="int32")]
    tvms.compile(after)["main"](*arrays, 3)
    np.testing.assert_array_equal(arrays, results[0])


def test_memory_of_threads_is_allocated_in_them() -> None:
    after = transform.StorageRewrite()(module(PARALLEL))
    (loop,) = (node for node in walk(after["main"]) if isinstance(node, tir.For) and node.kind is tir.ForKind.PARALLEL)
    assert isinstance(loop.body, tir.Allocate)


def test_the_compiler_moves_no_allocation() -> None:
    before = module(IN_LOOPS)
    assert tvms.ir.passes.transform.get_pass("StorageRewrite", with_all=False)(before).script() == before.script()
