"""Vectors of views whose first element is not aligned to the vector."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.interp import run

PARAMETER = '    V = T.decl_buffer((20,), "float32", data=A.data, elem_offset={offset})'
ALLOCATED = """    M = T.allocate([64], "float32", "global")
    W = T.Buffer((64,), "float32", data=M)
    for i in range(64):
        W[i] = A[i]
    V = T.decl_buffer((20,), "float32", data=M, elem_offset={offset})"""
TEXT = """T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
{view}
    U = T.decl_buffer((20,), "float32", data=B.data, elem_offset={offset})
    U[0:{lanes}] = V[0:{lanes}] + T.Broadcast(T.float32(1), {lanes})
    U[{lanes}] = V[{lanes}]
"""


@pytest.mark.parametrize("view", [PARAMETER, ALLOCATED], ids=["parameter", "allocated"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("offset", [1, 3])
@pytest.mark.parametrize("level", [0, 3])
def test_vectors_start_at_any_element(view: str, lanes: int, offset: int, level: int) -> None:
    program = tvms.parse(TEXT.format(view=view.format(offset=offset), lanes=lanes, offset=offset))
    given, expected, found = np.arange(64, dtype="f4"), np.zeros(64, "f4"), np.zeros(64, "f4")
    run(program, "main", [given, expected])
    tvms.compile(program, target="llvm", level=level)["main"](given, found)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(expected[offset : offset + lanes], given[offset : offset + lanes] + 1)
