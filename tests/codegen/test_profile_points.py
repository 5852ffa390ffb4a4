"""`InstrumentProfileIntrinsics`: which loops have marks, and their numbers."""

from __future__ import annotations

from textwrap import dedent, indent

import numpy as np
import pytest
import tvms
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.passes.transform import PassContext
from tvms.ir.programs import as_module
from tvms.tir import transform

BODY = """
for i in range(2):
    for j in range(2):
        for k in range(4):
            B[k] = A[i * 8 + j * 4 + k]
    for j in range(2):
        for k in T.parallel(4):
            for l in range(2):
                B[k + 4] = A[k * 2 + l]
        for k in range(4):
            for l in range(2):
                B[k + 8] = A[k * 2 + l]
    for j in range(3):
        B[j + 12] = i
"""
"""i is loop 1, with the loops 2 (and 3 in it), 4 (and 5, 6, 7, 8) and 9."""


def module(body: str = BODY) -> IRModule:
    head = 'T.prim_func main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):'
    return as_module(tvms.parse(f"#tvms 1\n{head}\n{indent(dedent(body).strip(), '    ')}\n"))


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ({}, [0, 2, 4, 5, 7]),
        ({"tir.lwp_disable_func_prof": True}, [2, 4, 5, 7]),
        ({"tir.lwp_disable_func_prof": True, "tir.lwp_min_height": 2}, [4]),
        ({"tir.lwp_disable_func_prof": True, "tir.lwp_min_height": 0}, [2, 4, 5, 7, 9]),
        ({"tir.instr_siblings": False}, [0, 1]),
        ({"tir.instr_siblings": False, "tir.lwp_max_depth": 1}, [0, 1, 2, 4]),
        ({"tir.instr_siblings": False, "tir.lwp_max_depth": 9, "tir.lwp_min_height": 0}, [0, 1, 2, 3, 4, 5, 7, 8, 9]),
    ],
)
def test_which_loops_have_marks(options: dict[str, int], numbers: list[int]) -> None:
    before = module()
    with PassContext(config=options):
        after = transform.InstrumentProfileIntrinsics()(before)
    text = after.script()
    assert [n for n in range(20) if f"start_profile_intrinsic({n})" in text] == numbers
    assert [n for n in range(20) if f"end_profile_intrinsic({n})" in text] == numbers
    results = []
    for version in (before, after):
        arrays = [np.arange(16, dtype="int32"), np.zeros(16, "int32")]
        run(version, "main", arrays)
        results.append(arrays[1])
    np.testing.assert_array_equal(*results)


def test_loops_inside_parallel_ones_have_no_marks() -> None:
    body = "for i in T.parallel(2):\n    for j in range(2):\n        for k in range(4):\n            B[k] = A[i]\n    for j in range(2):\n        for k in range(4):\n            B[k + 4] = A[j]"
    with PassContext(config={"tir.lwp_disable_func_prof": True}):
        assert transform.InstrumentProfileIntrinsics()(module(body)).script() == module(body).script()


def test_functions_are_numbered_in_order() -> None:
    text = '#tvms 1\nI.ir_module Module:\n    T.prim_func a(A: T.Buffer((4,), "int32")):\n        for i in range(4):\n            A[i] = i\n    T.prim_func b(A: T.Buffer((4,), "int32")):\n        A[0] = 1\n'
    after = transform.InstrumentProfileIntrinsics()(as_module(tvms.parse(text))).script()
    assert (
        after.index("start_profile_intrinsic(0)")
        < after.index("end_profile_intrinsic(0)")
        < after.index("start_profile_intrinsic(2)")
    )
