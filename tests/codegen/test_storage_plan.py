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


VECTORS = """
X = T.decl_buffer((16,), "int32", scope="local")
Y = T.decl_buffer((16,), "int32", scope="local")
for i in range(4):
    X[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] * T.Broadcast(2, 4)
    Y[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4]
for i in range(4):
    B[i * 4:i * 4 + 4] = X[i * 4:i * 4 + 4] + Y[12:16]
B[3] = Y[n]
"""


def test_memory_of_aligned_vectors_holds_vectors() -> None:
    before = module(VECTORS)
    after = transform.StorageRewrite()(before)
    assert not verify(after)
    assert sizes(after) == ["int32x4 4", "int32 16"]
    for run_it in (lambda mod, *args: run(mod, "main", args), lambda mod, *args: tvms.compile(mod)["main"](*args)):
        results = []
        for version in (before, after):
            arrays = [np.arange(5, 21, dtype="int32"), np.arange(16, dtype="int32")]
            run_it(version, *arrays, 3)
            results.append(arrays)
        np.testing.assert_array_equal(results[1], results[0])


@pytest.mark.parametrize(
    ("access", "size"),
    [
        ("B[0:4] = X[4:8]", "int32x4 4"),
        ("B[0:4] = X[n * 4:n * 4 + 4]", "int32x4 4"),
        ("B[0:4] = X[2:6]", "int32 16"),
        ("B[0:2] = X[4:6]", "int32 16"),
        ("B[0:4] = X[T.Ramp(0, 2, 4)]", "int32 16"),
        ("B[0] = X[5]", "int32 16"),
        ('B[0] = T.call_extern("int32", "abs", X.access_ptr("r"))', "int32 16"),
    ],
)
def test_where_memory_holds_vectors(access: str, size: str) -> None:
    body = f'X = T.decl_buffer((16,), "int32", scope="local")\nX[0:4] = A[0:4]\n{access}'
    assert sizes(transform.StorageRewrite()(module(body))) == [size]


def test_single_elements_are_lanes_of_vectors() -> None:
    body = """
    X = T.decl_buffer((8,), "int32", scope="local")
    X[0:4] = A[0:4]
    X[4:8] = A[4:8]
    for i in range(2):
        B[i] = X[i * 4] + X[i * 4 + 3]
    """
    before = module(body)
    after = transform.PointerValueTypeRewrite()(before)
    assert sizes(after) == ["int32x4 2"]
    assert "T.Shuffle" in str(after)
    assert [f"{buffer.name} {buffer.dtype} {buffer.shape[0]}" for buffer in after["main"].buffer_map.values()] == [
        "A int32x4 4",
        "B int32 16",
    ]
    unknown = body.replace("X[i * 4 + 3]", "X[i + n]")
    assert sizes(transform.PointerValueTypeRewrite()(module(unknown))) == ["int32 8"]
