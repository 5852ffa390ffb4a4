"""Threads are asked only where there is enough to do (`codegen.llvm.parallel`)."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.codegen.llvm.parallel import statements_run
from tvms.ir import tir
from tvms.ir.simplify import simplify
from tvms.ir.visit import walk

TEXT = """\
T.prim_func main(a: T.handle, n: T.int64):
    A = T.match_buffer(a, (n, 64))
    for i in T.parallel(n):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("A[i, 0] = T.float32(0)", "n"),
        ("for j in range(64): A[i, j] = T.float32(0)", "n * 64"),
        ("for j in range(T.min(T.int64(8), n - i)): A[i, j] = T.float32(0)", "n * T.min(n, T.int64(8))"),
        ("if i < 3: A[i, 0] = T.float32(0)", "n"),
        ("while A[i, 0] > T.float32(0): A[i, 0] = T.float32(0)", None),
        ("for j in range(T.cast(A[0, 0], 'int64')): A[i, j] = T.float32(0)", None),
        ("for j in range(T.cast(A[i, 0], 'int64')): A[i, j] = T.float32(0)", None),
    ],
)
def test_what_a_loop_has_to_do_is_known_before(body: str, count: str | None) -> None:
    func: Any = tvms.parse(TEXT.format(body=body))["main"]
    loop: Any = next(node for node in walk(func) if isinstance(node, tir.For))
    found = statements_run(loop, set(func.params))
    assert (None if found is None else str(simplify(found))) == count
