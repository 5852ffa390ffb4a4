"""The pass `VectorizeLoop` by name: conditions on lanes become masks where the target has them, otherwise statements run lane by lane."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.lower.passes import LOWERING_OPTIONS
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.passes.transform import PassContext
from tvms.ir.programs import as_module
from tvms.tir import transform

SVE = "llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+sve"
BODIES = {
    "a guard": "for i in range(4):\n    for j in T.vectorized(4):\n        if i * 4 + j < n:\n            B[i * 4 + j] = A[i * 4 + j] + 1",
    "two statements": "for j in T.vectorized(8):\n    if j < n:\n        A[j] = 2\n        B[j] = A[j] + j",
    "another condition": "for j in T.vectorized(8):\n    if j > n:\n        B[j] = A[j]\n    A[j] = 3",
    "one element for all": "for j in T.vectorized(8):\n    if j < n:\n        B[j] = A[n]",
    "a choice": "for j in T.vectorized(8):\n    B[j] = T.if_then_else(j < n, A[j] + 5, j)\n    A[j] = A[j] * 2",
    "another side": "for j in T.vectorized(8):\n    if n < 5:\n        B[j] = A[j]\n    elif j < n:\n        B[j] = 7\n    else:\n        B[j] = A[j + 1]",
    "a variable": "for j in T.vectorized(8):\n    v: T.int32 = A[j] * 3\n    if j < n:\n        B[j] = v",
    "conditions inside": "for j in T.vectorized(8):\n    if j < n:\n        if j != 2:\n            B[j] = A[j]",
}


def module(body: str) -> IRModule:
    head = 'T.prim_func main(A: T.Buffer((17,), "int32"), B: T.Buffer((17,), "int32"), n: T.int32):'
    return as_module(tvms.parse(f"#tvms 1\n{head}\n{indent(body, '    ')}\n"))


def vectorized(mod: IRModule, asked: bool | None) -> IRModule:
    config: dict[str, Any] = {} if asked is None else {"tir.enable_buffer_level_predication": asked}
    with PassContext(config=config):
        return transform.VectorizeLoop()(mod)


@pytest.mark.parametrize("asked", [None, True, False])
@pytest.mark.parametrize("name", BODIES)
def test_statements_compute_the_same(name: str, asked: bool | None) -> None:
    before = module(BODIES[name])
    after = vectorized(before, asked)
    assert "T.vectorized" not in str(after)
    for n in (0, 3, 8, 14):
        results = []
        for mod in (before, after):
            arrays = [np.arange(17, dtype="int32") * 3, np.zeros(17, "int32")]
            run(mod, "main", [*arrays, n])
            results.append(np.concatenate(arrays))
        assert np.array_equal(*results), after


@pytest.mark.parametrize(
    ("asked", "target", "is_masked"),
    [(None, None, False), (None, SVE, True), (True, None, True), (False, SVE, False)],
)
def test_masks_need_a_target_that_has_them_or_an_option(
    asked: bool | None, target: str | None, is_masked: bool
) -> None:
    before = module(BODIES["a guard"])
    if target is None:
        after = vectorized(before, asked)
    else:
        with tvms.target.Target(target):
            after = vectorized(before, asked)
    assert ("T.get_active_lane_mask" in str(after)) == is_masked
    assert ("T.grid(4, 4)" in str(after)) != is_masked


def test_the_target_of_a_scope_counts() -> None:
    scope = f"with T.attr(T.target('{SVE}'), 'target', 0):"
    guard = BODIES["a guard"]
    text = str(vectorized(module(f"{scope}\n{indent(guard, '    ')}\n{guard}"), None))
    assert text.count("T.get_active_lane_mask") == 2
    assert text.count("T.grid(4, 4)") == 1


def test_the_lowering_masks_all_conditions() -> None:
    after = transform.VectorizeLoop(**LOWERING_OPTIONS["VectorizeLoop"])(module(BODIES["another condition"]))
    assert ("predicate=" in str(after), "for j" in str(after)) == (True, False)
