"""Branches that load elements and store to them compute the same at each level of optimization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.llvm.masks import exchanged_loads
from tvms.ir import tir
from tvms.ir.interp import run

LOOP = """
I.ir_module Module:
    T.prim_func main(G: T.Buffer((67,), "int32"), C: T.Buffer((67,), "{dtype}"), R: T.Buffer((67,), "{dtype}")):
        T.func_attr({{"tir.noalias": T.bool(True)}})
        for i in range(67):
"""
BODIES = {
    "swap": """
if G[i] == 0:
    t: T.{dtype} = C[i]
    C[i] = R[i]
    R[i] = t
""",
    "copy and reset": """
if G[i] == 0:
    R[i] = C[i]
    C[i] = T.cast(5, "{dtype}")
R[i] = R[i] + T.cast(1, "{dtype}")
""",
    "in the other branch": """
if G[i] > 0:
    R[i] = R[i] + T.cast(1, "{dtype}")
else:
    R[i] = C[i]
    C[i] = T.cast(5, "{dtype}")
R[i] = R[i] + T.cast(1, "{dtype}")
""",
    "in two branches": """
if G[i] < 2:
    R[i] = C[i]
    if G[i] == 0:
        C[i] = T.cast(5, "{dtype}")
R[i] = R[i] + T.cast(1, "{dtype}")
""",
    "later in the row": """
if G[i] == 0:
    R[i] = C[66 - i]
    C[66 - i] = C[i]
R[i] = R[i] + T.cast(1, "{dtype}")
""",
    "update": """
if G[i] == 0:
    C[i] = C[i] + T.cast(1, "{dtype}")
R[i] = C[i]
""",
}
EXCHANGED = {
    "swap": 2,
    "copy and reset": 1,
    "in the other branch": 1,
    "in two branches": 1,
    "later in the row": 1,
    "update": 0,
}
"""The number of loads that must stay before the stores."""


def program(name: str, dtype: str) -> Any:
    body = BODIES[name].format(dtype=dtype).strip().split("\n")
    return tvms.parse(LOOP.format(dtype=dtype) + "\n".join(f"            {line}" for line in body))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64"])
@pytest.mark.parametrize("name", BODIES)
def test_every_level_computes_the_same(name: str, dtype: str) -> None:
    module = program(name, dtype)
    g = (np.arange(67) % 3).astype(np.int32)
    c, r = np.arange(67).astype(dtype), (-np.arange(67)).astype(dtype)
    expected = [c.copy(), r.copy()]
    run(module, "main", [g, *expected])
    for level in range(4):
        found = [c.copy(), r.copy()]
        tvms.compile(module, level=level)["main"](g, *found)
        assert all(map(np.array_equal, found, expected)), level


@pytest.mark.parametrize("name", BODIES)
def test_only_exchanges_are_found(name: str) -> None:
    function = program(name, "float32").functions["main"]
    assert isinstance(function, tir.PrimFunc)
    assert len(exchanged_loads(function.body)) == EXCHANGED[name]


def test_tiles_in_registers_are_left_alone() -> None:
    module = tvms.parse(
        """
T.prim_func main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32"), n: T.int32):
    acc = T.alloc_buffer((4,), "float32", scope="local")
    for i in range(8):
        if i < n:
            acc[0] = acc[0] + A[i, 0]
            B[i, 0] = acc[0]
            acc[0] = T.float32(0)
        if i < n:
            for j in range(4):
                B[i, j] = acc[j]
                acc[j] = A[i, j]
"""
    )
    assert not exchanged_loads(module.functions["main"].body)
