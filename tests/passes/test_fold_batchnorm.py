"""Normalizations that convolutions take over: the same results, with nothing left of the normalization."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import relax

TEXT = """
R.function main(x: R.Tensor({shape}, "float32"), w: R.Tensor({kernel}, "float32"), {moments}) -> R.Tensor({result}, "float32"):
    with R.dataflow():
        lv = R.nn.conv2d(x, w, padding=[1, 1], data_layout="{layout}", kernel_layout="{kernel_layout}")
        lv1 = R.nn.batch_norm(lv, gamma, beta, mean, variance, axis={axis}, {options})
        gv = lv1[0]
        R.output(gv)
    return gv
"""
MOMENTS = ", ".join(f'{name}: R.Tensor((4,), "float32")' for name in ("gamma", "beta", "mean", "variance"))
LAYOUTS = {
    "NCHW": ((2, 3, 5, 5), "OIHW", (4, 3, 3, 3), (2, 4, 5, 5), 1),
    "NHWC": ((2, 5, 5, 3), "OHWI", (4, 3, 3, 3), (2, 5, 5, 4), -1),
}


def network(layout: str, options: str) -> tvms.IRModule:
    shape, kernel_layout, kernel, result, axis = LAYOUTS[layout]
    text = TEXT.format(
        shape=shape, kernel=kernel, moments=MOMENTS, result=result, layout=layout, kernel_layout=kernel_layout, axis=axis,
        options=options,
    )  # fmt: skip
    return relax.transform.Normalize()(tvms.parse(text))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("options", ["training=False", "training=False, scale=False", "training=False, center=False"])
def test_a_convolution_takes_a_normalization_over(layout: str, options: str) -> None:
    random = np.random.default_rng(1)
    shape, _, kernel, _, _ = LAYOUTS[layout]
    values = [random.standard_normal(size, np.float32) for size in (shape, kernel, 4, 4, 4)]
    names = ("w", "gamma", "beta", "mean", "variance")
    bound = relax.transform.BindParams("main", dict(zip(names, [*values[1:], values[0].ravel()[:4] ** 2], strict=True)))
    module = bound(network(layout, options))
    folded = relax.transform.FoldBatchnormToConv2D()(module)
    assert "batch_norm" not in folded.script()
    assert not [problem for problem in tvms.verify(folded) if problem.severity == "error"]
    expected = tvms.interpret(module, "main", [values[0]])
    np.testing.assert_allclose(tvms.interpret(folded, "main", [values[0]]), expected, rtol=1e-4, atol=1e-5)


def test_it_leaves_what_is_not_known_yet() -> None:
    module = network("NCHW", "training=False")
    assert relax.transform.FoldBatchnormToConv2D()(module) is module


def test_it_leaves_moments_of_the_data() -> None:
    values = {name: np.ones(4, np.float32) for name in ("gamma", "beta", "mean", "variance")}
    values["w"] = np.ones((4, 3, 3, 3), np.float32)
    module = relax.transform.BindParams("main", values)(network("NCHW", "training=True"))
    assert relax.transform.FoldBatchnormToConv2D()(module) is module


def test_it_leaves_a_convolution_that_others_read() -> None:
    values = {name: np.ones(4, np.float32) for name in ("gamma", "beta", "mean", "variance")}
    values["w"] = np.ones((4, 3, 3, 3), np.float32)
    text = TEXT.replace("gv = lv1[0]", "lv2 = lv1[0]\n        gv = R.add(lv, lv2)")
    shape, kernel_layout, kernel, result, axis = LAYOUTS["NCHW"]
    module = tvms.parse(
        text.format(
            shape=shape, kernel=kernel, moments=MOMENTS, result=result, layout="NCHW", kernel_layout=kernel_layout, axis=axis,
            options="training=False",
        )
    )  # fmt: skip
    module = relax.transform.BindParams("main", values)(relax.transform.Normalize()(module))
    assert relax.transform.FoldBatchnormToConv2D()(module) is module


def test_compilation_folds_normalizations_of_constants() -> None:
    """The program that is compiled has one kernel, and computes the same."""
    random = np.random.default_rng(2)
    values = [random.standard_normal(size, np.float32) for size in ((2, 3, 5, 5), (4, 3, 3, 3), 4, 4, 4)]
    names = ("w", "gamma", "beta", "mean", "variance")
    bound = relax.transform.BindParams("main", dict(zip(names, [*values[1:], values[0].ravel()[:4] ** 2], strict=True)))
    module = bound(network("NCHW", "training=False"))
    executable = tvms.compile(module)
    assert len([name for name in executable.module.functions if name != "main"]) == 1
    expected = tvms.interpret(module, "main", [values[0]])
    np.testing.assert_allclose(executable["main"](values[0]), expected, rtol=1e-4, atol=1e-5)
