"""Binding parameters and dimensions: the bound program computes what the unbound one does with those values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir import relax
from tvms.ir.base import Op
from tvms.ir.passes.transform import Sequential, get_pass
from tvms.ir.visit import walk

PROGRAM = """\
I.ir_module Module:
    R.function main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv
"""


def bound(name: str, *args: Any) -> Any:
    module = get_pass(name, *args)(tvms.parse(PROGRAM))
    assert not tvms.verify(module)
    return module


def test_a_bound_parameter_goes_and_its_dimensions_are_known() -> None:
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype("float32") for shape in ((2, 4), (4, 3)))
    module = bound("BindParams", "main", {"w": w})
    assert 'main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 3), "float32")' in module.script()
    np.testing.assert_array_equal(
        tvms.interpret(module, "main", [x]), tvms.interpret(tvms.parse(PROGRAM), "main", [x, w])
    )


def test_variables_of_bound_values_get_their_struct_info() -> None:
    """An annotation without dtype is refined if the value of the variable changes, and kept if it does not."""
    text = """\
I.ir_module Module:
    R.function main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((6,), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a: R.Tensor((2, 3)) = R.reshape(w, R.shape([2, 3]))
            b: R.Tensor((2, 3)) = R.reshape(x, R.shape([2, 3]))
            c: R.Tensor(ndim=2) = R.add(a, x)
            gv = R.add(c, b)
            R.output(gv)
        return gv
"""
    module = get_pass("BindParams", "main", {"w": np.ones(6, "float32")})(tvms.parse(text))
    bindings = module["main"].body.blocks[0].bindings
    infos = {binding.var.name_hint: str(binding.var.struct_info) for binding in bindings}
    assert infos == {
        "a": 'R.Tensor((2, 3), "float32")',
        "b": "R.Tensor((2, 3))",
        "c": 'R.Tensor((2, 3), "float32")',
        "gv": "R.Tensor((2, 3))",
    }


def test_dimensions_are_bound_by_name() -> None:
    module = bound("BindSymbolicVars", {"n": 2, "m": 3})
    wanted = tvms.parse(
        PROGRAM.replace('"n"', "2").replace('"m"', "3").replace("n = T.int64()", "").replace("m = T.int64()", "")
    )
    assert tvms.structural_equal(module, wanted)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("BindParams", ("main", {"v": np.zeros((4, 3), "float32")}), "'main' has no parameter 'v'"),
        ("BindParams", ("main", {"w": np.zeros((5, 3), "float32")}), "the value does not match parameter 'w' of 'main': "),
        ("BindParams", ("other", {}), "the module has no graph function 'other'"),
        ("BindSymbolicVars", ({"k": 1}, "main"), "'main' has no symbolic dimension 'k'"),
    ],
)  # fmt: skip
def test_what_does_not_exist_or_fit_is_refused(name: str, args: Any, message: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        bound(name, *args)
    assert caught.value.diagnostics[0].message.startswith(message)


def test_products_with_bound_weights_become_one() -> None:
    """Weights and biases that are bound are concatenated once, not at every call."""
    module = tvms.parse("""
R.function main(x: R.Tensor(("n", 3), "float32"), q: R.Tensor((2, 3), "float32"), a: R.Tensor((2,), "float32"), k: R.Tensor((4, 3), "float32"), b: R.Tensor((4,), "float32")):
    with R.dataflow():
        qt = R.permute_dims(q)
        lv = R.matmul(x, qt)
        lv1 = R.add(lv, a)
        kt = R.permute_dims(k)
        lv2 = R.matmul(x, kt)
        lv3 = R.add(lv2, b)
        gv = (lv1, lv3)
        R.output(gv)
    return gv
""")
    random = np.random.default_rng(3)
    shapes = {"q": (2, 3), "a": (2,), "k": (4, 3), "b": (4,)}
    weights = {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}
    passes = ("FoldConstant", "CombineParallelMatmul", "FoldConstant")
    joined = Sequential([get_pass(name) for name in passes])(get_pass("BindParams", "main", weights)(module))
    function = joined["main"]
    assert isinstance(function, relax.Function)
    names = [node.op.name for node in walk(function) if isinstance(node, relax.Call) and isinstance(node.op, Op)]
    assert sorted(names) == ["relax.add", "relax.matmul", "relax.split"]
    x = random.normal(size=(5, 3)).astype("float32")
    expected = x @ weights["q"].T + weights["a"], x @ weights["k"].T + weights["b"]
    for found, wanted in zip(tvms.compile(joined)["main"](x), expected, strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted, 1e-5, 1e-6)
