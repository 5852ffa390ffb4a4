"""The innermost scopes of the accesses of buffers."""

from __future__ import annotations

import pytest
import tvms
from tvms.tir.analysis import detect_buffer_access_lca

HEAD = "T.prim_func f(A: T.Buffer((4, 4), 'float32'), B: T.Buffer((4, 4), 'float32')):\n"


def scope_of(body: str, name: str) -> str:
    """The first line of the scope of a buffer."""
    func = tvms.parse(HEAD + body)["f"]
    (scope,) = [scope for buffer, scope in detect_buffer_access_lca(func).items() if buffer.name == name]
    return "function" if scope is None else str(scope).split("\n")[0]


@pytest.mark.parametrize(
    ("body", "name", "scope"),
    [
        ("    A[0, 0] = B[0, 0]", "A", "function"),
        ("    for i, j in T.grid(4, 4):\n        A[i, j] = B[i, j]", "A", "for j in range(4):"),
        ("    for i in range(4):\n        for j in range(4):\n            A[i, j] = B[i, j]\n        B[i, 0] = T.float32(0)", "B", "for i in range(4):"),
        ("    for i in T.thread_binding(4, 'blockIdx.x'):\n        for j in T.thread_binding(4, 'threadIdx.x'):\n            A[i, j] = B[i, j]", "A", "for i in T.thread_binding(4, thread=\"blockIdx.x\"):"),
        ("    for i, j, k in T.grid(4, 4, 4):\n        with T.block('s'):\n            vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n            A[vi, vj] = A[vi, vj] + B[vi, vk]", "A", "for j, k in T.grid(4, 4):"),
        ("    for i, j, k in T.grid(4, 4, 4):\n        with T.block('s'):\n            vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n            A[vi, vj] = A[vi, vj] + B[vi, vk]", "B", "with T.block(\"s\", no_realize=True):"),
        ("    with T.block('v'):\n        C = T.match_buffer(A[0:2, 0:4], (2, 4))\n        for i in range(2):\n            C[i, 0] = T.float32(0)", "A", "with T.block(\"v\", no_realize=True):"),
        ("    for i in range(4):\n        T.evaluate(T.call_extern('int32', 'f', A.data))", "A", "for i in range(4):"),
    ],
)  # fmt: skip
def test_scope(body: str, name: str, scope: str) -> None:
    assert scope_of(body, name) == scope
