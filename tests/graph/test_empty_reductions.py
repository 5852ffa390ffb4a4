"""Sums of nothing: operators over an axis that is empty when they are called, and loops of such however they are scheduled."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.interp import run
from tvms.ir.passes.transform import get_pass
from tvms.ir.schedule.apply import apply_schedules

OF_NONE = {
    "R.sum(x, axis=[0])": 0, "R.prod(x, axis=[0])": 1, "R.max(x, axis=[0])": -np.inf, "R.min(x, axis=[0])": np.inf,
    "R.mean(x, axis=[0])": np.nan, "R.variance(x, axis=[0])": np.nan, "R.argmax(x, axis=0)": -1, "R.argmin(x, axis=0)": -1,
    "R.nn.relu(R.add(R.sum(x, axis=[0]), R.const(2, 'float32')))": 2,
    "R.nn.relu(R.matmul(R.permute_dims(x), x))": 0,
}  # fmt: skip
SETTINGS = ({}, {"schedule": False, "bounds": "check"}, {"target": "cuda -arch=sm_80 -simulate=ascending"})


@pytest.mark.deep(5)
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("operator", OF_NONE)
def test_operators_over_nothing_give_what_they_start_from(operator: str) -> None:
    mod = tvms.parse(f"""I.ir_module Module:
  R.function main(x: R.Tensor(("n", 5), "float32")):
    with R.dataflow():
        result = {operator.replace("'", '"')}
        R.output(result)
    return result
""")
    nothing = np.empty((0, 5), "float32")
    found = [run(mod, "main", [nothing]), run(get_pass("LegalizeOps")(mod), "main", [nothing])]
    found += [tvms.compile(mod, **settings)["main"](nothing) for settings in SETTINGS]
    for item in found:
        np.testing.assert_array_equal(item, np.full((5, 5) if "matmul" in operator else (5,), OF_NONE[operator]))


SUMS = """
T.prim_func sums(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n,))
    for i, k in T.grid(n, m):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(3)
            B[vi] = B[vi] + A[vi, vk]

S.schedule scheduled(sums):
    block = S.get_block("sum")
    i, k = S.get_loops(block)
"""
STEPS = (
    "S.reorder(k, i)",
    "S.fuse(i, k)",
    "i0, i1 = S.split(i, factors=[None, 4])\n    S.fuse(i1, k)",
    "k0, k1 = S.split(k, factors=[None, 4])\n    S.reorder(k1, i, k0)",
    "i0, i1 = S.split(i, factors=[None, 4])\n    k0, k1 = S.split(k, factors=[4, None])\n    S.reorder(k0, i0, k1, i1)",
    "S.decompose_reduction(block, k)",
    'S.bind(k, "threadIdx.x")',
)


@pytest.mark.parametrize("steps", STEPS)
def test_schedules_leave_what_a_reduction_over_nothing_starts_from(steps: str) -> None:
    mod = apply_schedules(tvms.parse(SUMS + f"    {steps}\n"), "llvm")
    for size in (0, 1, 6):
        values = np.ones((7, size), "float32")
        interpreted = np.zeros(7, "float32")
        run(mod, "sums", [values, interpreted])
        np.testing.assert_array_equal(interpreted, np.full(7, 3 + size))
        compiled = np.zeros(7, "float32")
        tvms.compile(mod)["sums"](values, compiled)
        np.testing.assert_array_equal(compiled, interpreted)
