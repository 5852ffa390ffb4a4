"""Winograd convolutions: the same results up to rounding, where they are cheaper."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.ir.passes import winograd

TEXT = """
R.function main(x: R.Tensor({data}, "float32"), w: R.Tensor({weight}, "float32")):
    with R.dataflow():
        lv = R.nn.conv2d(x, w, {attributes})
        gv = R.nn.relu(lv)
        R.output(gv)
    return gv
"""


def network(data: tuple[int, ...], outputs: int, attributes: str, window: int = 3) -> tvms.IRModule:
    weight = (outputs, data[1], window, window)
    module = tvms.parse(TEXT.format(data=data, weight=weight, attributes=attributes))
    values = np.random.default_rng(3).standard_normal(weight, np.float32)
    return relax.transform.BindParams("main", {"w": values})(relax.transform.Normalize()(module))


def converted(module: tvms.IRModule, tile: int) -> tvms.IRModule:
    return relax.transform.FoldConstant()(relax.transform.WinogradConv2D(tile)(module))


@pytest.mark.deep(5)
@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize(
    ("data", "outputs", "padding"),
    [
        ((2, 2, 7, 9), 3, [1, 1]),
        ((1, 3, 8, 8), 2, [0, 0]),
        ((3, 1, 5, 10), 1, [2, 0, 1, 3]),
        ((2, 2, 3, 3), 2, [1, 1]),
        ((2, 3, 6, 127), 13, [1, 1]),  # rows of tiles are panels
    ],
)
def test_results_are_those_of_the_convolution(
    data: tuple[int, ...], outputs: int, padding: list[int], tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(winograd, "TRANSFORM", 0)
    module = network(data, outputs, f"padding={padding}")
    other = converted(module, tile)
    assert "R.nn.conv2d" not in other.script()
    assert "R.matmul" not in other.script()
    assert not [problem for problem in tvms.verify(other) if problem.severity == "error"]
    x = np.random.default_rng(4).standard_normal(data, np.float32)
    expected = tvms.interpret(module, "main", [x])
    np.testing.assert_allclose(tvms.interpret(other, "main", [x]), expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(tvms.compile(other)["main"](x), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("tile", "limit"), [(2, 3e-6), (4, 2e-5)])
def test_errors_are_as_small_as_stated(tile: int, limit: float) -> None:
    module = network((1, 128, 28, 28), 64, "padding=[1, 1]")
    x = np.random.default_rng(5).standard_normal((1, 128, 28, 28), np.float32)
    expected = tvms.compile(module)["main"](x)
    other = converted(module, tile)
    assert "R.nn.conv2d" not in other.script()
    assert np.abs(tvms.compile(other)["main"](x) - expected).max() < limit * np.abs(expected).max()


def test_the_epilogue_is_part_of_the_last_kernel() -> None:
    other = tvms.compile(converted(network((1, 128, 28, 28), 128, "padding=[1, 1]"), 4))
    assert len(other.module.functions) == 4


@pytest.mark.parametrize(
    "attributes", ["strides=[2, 2]", "dilation=[2, 2]", "data_layout='NHWC', kernel_layout='OHWI'"]
)
def test_it_leaves_other_convolutions(attributes: str) -> None:
    layout = "NHWC" in attributes
    shape, weight = ((1, 56, 56, 64), (64, 3, 3, 64)) if layout else ((1, 64, 56, 56), (64, 64, 3, 3))
    text = TEXT.format(data=shape, weight=weight, attributes=attributes)
    bound = relax.transform.BindParams("main", {"w": np.ones(weight, np.float32)})
    module = bound(relax.transform.Normalize()(tvms.parse(text)))
    assert relax.transform.WinogradConv2D()(module) is module


def test_it_leaves_other_windows_few_channels_and_variable_weights() -> None:
    assert (large := network((1, 64, 56, 56), 64, "padding=[2, 2]", window=5)) is relax.transform.WinogradConv2D()(
        large
    )
    assert (few := network((1, 3, 224, 224), 16, "padding=[1, 1]")) is relax.transform.WinogradConv2D()(few)
    text = TEXT.format(data=(1, 64, 56, 56), weight=(64, 64, 3, 3), attributes="padding=[1, 1]")
    variable = relax.transform.Normalize()(tvms.parse(text))
    assert relax.transform.WinogradConv2D()(variable) is variable


def test_the_width_of_tiles_is_checked() -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        relax.transform.WinogradConv2D(3)(network((1, 64, 56, 56), 64, "padding=[1, 1]"))
    print(repr(str(caught.value)))
    assert str(caught.value) == (
        "error[E0902]: pass 'WinogradConv2D' has tiles of 2 or 4, not 3\n  = help: give 2 for small errors, or 4 for speed"
    )
