"""Calls of loop functions take their arguments as a tuple that is written in the call."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import relax

DOUBLE = """
    T.prim_func double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)
"""
BOUND = f"""
I.ir_module Module:
{DOUBLE}
    R.function main(x: R.Tensor((4,), "float32")):
        args = (x,)
        again = args
        y = R.call_tir(Module.double, again, out_sinfo=R.Tensor((4,), "float32"))
        return y
"""
PARAMETER = f"""
I.ir_module Module:
{DOUBLE}
    R.function main(args: R.Tuple(R.Tensor((4,), "float32"))):
        y = R.call_tir(Module.double, args, out_sinfo=R.Tensor((4,), "float32"))
        return y
"""


@pytest.mark.parametrize(("text", "written"), [(BOUND, "(x,)"), (PARAMETER, "(gv,)")])
def test_normalize_writes_the_tuple_into_the_call(text: str, written: str) -> None:
    before = tvms.parse(text)
    after = relax.transform.Normalize()(before)
    assert f"R.call_tir(Module.double, {written}" in after.script()
    assert not tvms.verify(after)
    x = np.arange(4, dtype=np.float32)
    for program in (before, after):
        np.testing.assert_array_equal(tvms.compile(program)["main"](x if text == BOUND else (x,)), x * 2)


def test_a_mutator_normalizes_calls() -> None:
    @relax.expr_functor.mutator
    class Nothing(relax.PyExprMutator):
        pass

    module = tvms.parse(BOUND)
    assert "R.call_tir(double, (x,)" in Nothing(module).visit_expr(module["main"]).script()


def test_legalized_operators_take_the_fields_of_a_tuple_from_variables() -> None:
    module = tvms.parse("""
R.function main(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((3,), "float32"))):
    return R.concat(t, axis=0)
""")
    after = relax.transform.LegalizeOps()(module)
    assert "t[0]" in after.script()
    assert "R.call_tir(concatenate, (gv, gv1)" in after.script()
    parts = np.array([1, 2], np.float32), np.array([3, 4, 5], np.float32)
    np.testing.assert_array_equal(tvms.compile(after)["main"](parts), np.concatenate(parts))
