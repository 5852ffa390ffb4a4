"""Legalization over whole functions: names, sharing, symbolic shapes, and what stays."""

from __future__ import annotations

import numpy as np
from tvms.dsl.load import parse
from tvms.ir import relax, tir
from tvms.ir.base import IRModule
from tvms.ir.equal import structural_equal
from tvms.ir.interp import run
from tvms.ir.passes.legalize_ops import legalize_ops
from tvms.ir.verify import verify

HEADER = "#tvms 1\n\nI.ir_module Module:\n"
MLP = (
    HEADER
    + """\
    R.function main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((3, 4), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor(("n", 3), "float32"):
        with R.dataflow():
            lv = R.linear(x, w, b)
            lv1 = R.nn.relu(lv)
            lv2 = R.nn.relu(lv1)
            lv3 = R.multiply(lv2, R.const(2, "float32"))
            gv = R.add(lv3, R.ones_like(lv3))
            R.output(gv)
        return gv
"""
)


def legal(text: str) -> IRModule:
    module = legalize_ops(parse(text))
    assert verify(module) == ()
    assert structural_equal(legalize_ops(module), module)
    return module


def prim_funcs(module: IRModule) -> list[str]:
    return [name for name, function in module.functions.items() if isinstance(function, tir.PrimFunc)]


def test_equal_functions_are_made_once_and_named_as_tvm_names_them() -> None:
    module = legal(MLP)
    assert prim_funcs(module) == ["transpose", "matmul", "add", "relu", "multiply", "ones", "add1"]
    assert all("global_symbol" not in module[name].attrs for name in prim_funcs(module))


def test_a_legalized_model_computes_the_same_for_every_length() -> None:
    module, rng = parse(MLP), np.random.default_rng(7)
    w, b = rng.random((3, 4), "float32"), rng.random(3, "float32")
    for length in (1, 3):
        x = rng.random((length, 4), "float32") - 0.5
        np.testing.assert_allclose(run(legal(MLP), "main", [x, w, b]), run(module, "main", [x, w, b]), 1e-5)


def test_a_constant_scalar_becomes_a_part_of_the_function() -> None:
    module = legal(MLP)
    assert len(module["multiply"].params) == 2  # type: ignore[attr-defined]


def test_a_variable_that_no_shape_shows_is_passed() -> None:
    text = (
        HEADER
        + """\
    R.function main(x: R.Tensor((8, 2), "float32"), s: R.Shape(["m"])) -> R.Tensor(None, "float32", ndim=2):
        m = T.int64()
        gv = R.strided_slice(x, axes=[0], begin=[m], end=[8], assume_inbound=True)
        return gv
"""
    )
    module = legal(text)
    (call,) = [
        binding.value
        for block in module["main"].body.blocks  # type: ignore[attr-defined]
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    ]
    assert isinstance(call.args[2], relax.ShapeExpr)
    x = np.arange(16, dtype="float32").reshape(8, 2)
    np.testing.assert_array_equal(run(module, "main", [x, (5,)]), x[5:])


def test_what_has_no_meaning_or_no_shape_stays() -> None:
    text = (
        HEADER
        + """\
    R.function main(x: R.Tensor((4, 2), "float32"), y: R.Tensor(None, "float32", ndim=2)) -> R.Object:
        a = R.shape_of(x)
        b = R.add(y, y)
        c = (a, b)
        return c
"""
    )
    assert prim_funcs(legal(text)) == []


def test_branches_and_local_functions_are_legalized() -> None:
    text = (
        HEADER
        + """\
    R.function main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if c:
            a = R.exp(x)
            y = a
        else:
            b = R.negative(x)
            y = b
        return y
"""
    )
    assert prim_funcs(legal(text)) == ["tir_exp", "tir_negative"]
