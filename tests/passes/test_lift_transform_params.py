"""Transforms of weights follow each other, and hand on the dimensions that a function still needs."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.passes.transform import get_pass

HEAD = "I.ir_module Module:\n"
MAIN = """\
    R.function main(x: R.Tensor((2,), "float32"), w: R.Tensor(("n",), "float32"), s: R.Shape(["k"])) -> R.Tensor(ndim=1):
        k = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            doubled = R.add(w, w)
            total = R.sum(doubled)
            scaled = R.multiply(x, total)
            gv = R.broadcast_to(R.sum(scaled), R.shape([k]))
            R.output(gv)
        return gv
"""
EARLIER = """\
    R.function main_transform_params(params: R.Tuple(R.Tensor(("m",), "float32"), R.Shape(["j"]))) -> R.Tuple(R.Tensor(("m",), "float32"), R.Shape(["j"])):
        R.func_attr({"num_input": 0})
        w = params[0]
        t = R.exp(w)
        s = params[1]
        return (t, s)
"""
X, W = np.array([1, 2], "float32"), np.array([0.5, -1, 2], "float32")


def lifted(text: str, **options: bool) -> tvms.IRModule:
    module = get_pass("LiftTransformParams", **options)(get_pass("Normalize")(tvms.parse(HEAD + text)))
    assert not tvms.verify(module)
    return module


def test_dimensions_that_are_still_needed_are_handed_on() -> None:
    module = lifted(MAIN)
    weights = tvms.interpret(module, "main_transform_params", [(W, (4,))])
    expected = tvms.interpret(tvms.parse(HEAD + MAIN), "main", [X, W, (4,)])
    assert expected.shape == (4,)
    np.testing.assert_allclose(tvms.interpret(module, "main", [X, *weights]), expected)


@pytest.mark.parametrize("shared", [False, True])
def test_a_second_application_changes_nothing(shared: bool) -> None:
    once = lifted(MAIN, shared_transform=shared)
    tvms.ir.assert_structural_equal(get_pass("LiftTransformParams", shared)(once), once)


def test_a_transform_follows_the_one_that_exists() -> None:
    module = lifted(MAIN + EARLIER)
    assert list(module.functions) == ["main", "main_transform_params"]
    weights = tvms.interpret(module, "main_transform_params", [(W, (4,))])
    expected = tvms.interpret(tvms.parse(HEAD + MAIN), "main", [X, np.exp(W), (4,)])
    np.testing.assert_allclose(tvms.interpret(module, "main", [X, *weights]), expected, rtol=1e-6)


def test_a_transform_of_other_weights_is_refused() -> None:
    with pytest.raises(tvms.TvmsError, match=r"E0906.*the weights are not the result of 'main_transform_params'"):
        lifted(
            MAIN
            + EARLIER.replace("return (t, s)", "return (t,)")
            .replace(', R.Shape(["j"])):', "):")
            .replace(
                '-> R.Tuple(R.Tensor(("m",), "float32"), R.Shape(["j"])):', '-> R.Tuple(R.Tensor(("m",), "float32")):'
            )
        )
