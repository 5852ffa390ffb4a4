"""`FuseTIR` of functions that take scalars before their results, as programs for TVM 0.27 do."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import relax

LOOPS = """#tvms 1

I.ir_module M:
    T.prim_func(private=True) double(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("double"):
                v = T.axis.spatial(4, i)
                y[v] = x[v] * 2

    T.prim_func(private=True) scaled(x: T.Buffer((4,), "float32"), k: T.int64, y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("scaled"):
                v = T.axis.spatial(4, i)
                y[v] = x[v] * T.Cast("float32", k)

"""
INNER = """        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.call_tir(M.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
            b = R.call_tir(M.scaled, (a, SCALAR), out_sinfo=R.Tensor((4,), "float32"))
            R.output(b)
        return b

"""
MAIN = """        with R.dataflow():
            y = M.group(x, GIVEN)
            R.output(y)
        return y
"""


@pytest.mark.parametrize(
    ("param", "scalar", "given"),
    [
        ('s: R.Shape(["k"])', "R.prim_value(k)", "s"),
        ('s: R.Prim(value="k")', "s", "s"),
    ],
)
def test_scalars_stay_before_the_results(param: str, scalar: str, given: str) -> None:
    head = f'(x: R.Tensor((4,), "float32"), {param}) -> R.Tensor((4,), "float32"):\n        k = T.int64()\n'
    text = f"{LOOPS}    R.function(private=True) group{head}{INNER}    R.function main{head}{MAIN}"
    fused = relax.transform.FuseTIR()(tvms.parse(text.replace("SCALAR", scalar).replace("GIVEN", given)))
    assert set(fused.functions) == {"group", "main"}
    group = fused["group"]
    assert [param in group.buffer_map for param in group.params] == [True, False, True]
    assert "(x, R.prim_value(k)), out_sinfo" in str(fused["main"])
    x = np.arange(4, dtype=np.float32)
    value = (3,) if "Shape" in param else 3
    np.testing.assert_array_equal(tvms.compile(fused)["main"](x, value), x * 6)


def test_a_constant_scalar_becomes_part_of_the_function() -> None:
    head = '(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):\n'
    text = f"{LOOPS}    R.function(private=True) group{head}{INNER}    R.function main{head}{MAIN}"
    fused = relax.transform.FuseTIR()(tvms.parse(text.replace("SCALAR", "R.prim_value(5)").replace("x, GIVEN", "x")))
    assert len(fused["group"].params) == 2
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(tvms.compile(fused)["main"](x), x * 10)


def test_a_scalar_of_unknown_value_is_not_fused() -> None:
    head = '(x: R.Tensor((4,), "float32"), s: R.Prim("int64")) -> R.Tensor((4,), "float32"):\n'
    text = f"{LOOPS}    R.function(private=True) group{head}{INNER}    R.function main{head}{MAIN}"
    fused = relax.transform.FuseTIR()(tvms.parse(text.replace("SCALAR", "s").replace("GIVEN", "s")))
    assert "Primitive" in fused["group"].attrs
