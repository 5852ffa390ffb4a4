"""Operators after a convolution keep its layout where they can, and compute the same."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.passes.transform import get_pass

PLAIN, BLOCKS = ["NHWC", "OHWI"], ["NCHW4c", "OIHW4o"]
FOLLOWING = {
    "R.sum(c, axis=[1, 2])": BLOCKS,
    "R.sum(c, axis=[-2, -1])": BLOCKS,
    "R.mean(c, axis=[2, 3], keepdims=True)": BLOCKS,
    "R.max(c)": BLOCKS,
    "R.expand_dims(c, axis=[-3, 1])": PLAIN,
    "R.squeeze(R.expand_dims(c, axis=[-3, 1]), axis=[1, 3])": PLAIN,
    "R.strided_slice(c, [1, 3], [2, 0], [7, 4], [2, 1])": PLAIN,
    "R.concat((R.nn.relu(c), c), axis=1)": BLOCKS,
    "R.concat((c, c), axis=2)": BLOCKS,
    "R.split(c, 2, axis=1)[1]": BLOCKS,
    "R.split(c, [4], axis=1)[0]": BLOCKS,
    "R.split(c, 2, axis=3)[0]": BLOCKS,
    "R.nn.layer_norm(c, R.sum(c, axis=[0, 1]), R.mean(c, axis=[0, 1]), axes=[-2, -1])": BLOCKS,
}
"""Expressions, and the layouts that they keep."""
KEEPS_NOT = {
    "R.split(c, 8, axis=1)[3]": BLOCKS,
    "R.split(c, [2], axis=1)[1]": BLOCKS,
    "R.sum(c, axis=[1], keepdims=True)": BLOCKS,
    "R.nn.layer_norm(c, R.sum(c, axis=[0, 2]), R.sum(c, axis=[0, 2]), axes=[1, 3])": PLAIN,
}
TEXT = """\
I.ir_module Module:
    R.function main(x: R.Tensor((2, 4, 8, 6), "float32"), w: R.Tensor((8, 4, 3, 3), "float32")):
        with R.dataflow():
            c = R.nn.conv2d(x, w, padding=[1, 1, 1, 1])
            y = {expression}
            R.output(y)
        return y
"""


def converted(expression: str, layouts: list[str]) -> tvms.IRModule:
    """The converted program, after a comparison of its results."""
    module = get_pass("Normalize")(tvms.parse(TEXT.format(expression=expression)))
    new = get_pass("ConvertLayout", {"relax.nn.conv2d": layouts})(module)
    assert not tvms.verify(new)
    random = np.random.default_rng(0)
    args = [random.standard_normal(shape).astype("float32") for shape in ((2, 4, 8, 6), (8, 4, 3, 3))]
    expected = tvms.interpret(module, "main", args)
    np.testing.assert_allclose(tvms.interpret(new, "main", args), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tvms.compile(new)["main"](*args), expected, rtol=1e-4, atol=1e-4)
    return new


def operators(module: tvms.IRModule) -> list[str]:
    """The names of the operators after the convolution, in order."""
    lines = module.script().splitlines()
    after = lines[next(at for at, line in enumerate(lines) if "R.nn.conv2d(" in line) + 1 :]
    return [line.split("= R.")[1].split("(")[0] for line in after if "= R." in line]


def is_conversion(name: str) -> bool:
    return name in ("permute_dims", "layout_transform")


@pytest.mark.parametrize(("expression", "layouts"), [*FOLLOWING.items()])
def test_an_operator_keeps_the_layout(expression: str, layouts: list[str]) -> None:
    found = operators(converted(expression, layouts))
    assert not is_conversion(found[0])
    assert sum(map(is_conversion, found)) <= 1


@pytest.mark.parametrize(("expression", "layouts"), [*KEEPS_NOT.items()])
def test_what_does_not_fit_is_converted_back(expression: str, layouts: list[str]) -> None:
    assert any(is_conversion(name) for name in operators(converted(expression, layouts))[:-1])


def test_a_cast_keeps_the_layout() -> None:
    text = """\
I.ir_module Module:
    R.function main(x: R.Tensor("float32", ndim=4), w: R.Tensor((3, 2, 3, 3), "float32")):
        with R.dataflow():
            c = R.nn.conv2d(x, w)
            n = T.int64()
            h = T.int64()
            d = R.match_cast(c, R.Tensor((n, 3, h, h), "float32"))
            y = R.nn.relu(d)
            R.output(y)
        return y
"""
    module = tvms.parse(text)
    new = get_pass("ConvertLayout", {"relax.nn.conv2d": PLAIN})(module)
    assert not tvms.verify(new)
    assert operators(new) == ["match_cast", "nn.relu", "permute_dims"]
    assert "R.Tensor((n, h, h, 3)" in new.script()
    args = [np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in ((2, 2, 5, 5), (3, 2, 3, 3))]
    np.testing.assert_allclose(
        tvms.interpret(new, "main", args), tvms.interpret(module, "main", args), rtol=1e-4, atol=1e-5
    )
    args[0] = args[0][:, :, :4]
    with pytest.raises(tvms.TvmsError, match="E0705"):
        tvms.interpret(new, "main", args)


@pytest.mark.parametrize("layout", ["NHWC", "NWHC", "NCHW4c"])
def test_resizing_of_images_in_a_wanted_layout(layout: str) -> None:
    module = tvms.parse("""\
I.ir_module Module:
    R.function main(x: R.Tensor((2, 4, 5, 6), "float32")):
        with R.dataflow():
            a = R.image.resize2d(x, (7, 12))
            y = R.nn.relu(a)
            R.output(y)
        return y
""")
    new = get_pass("ConvertLayout", {"relax.image.resize2d": [layout]})(module)
    assert not tvms.verify(new)
    assert f'layout="{layout}"' in new.script()
    x = np.random.default_rng(0).standard_normal((2, 4, 5, 6)).astype("float32")
    np.testing.assert_allclose(
        tvms.interpret(new, "main", [x]), tvms.interpret(module, "main", [x]), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(("name", "layouts", "message", "help"), [
    ("relax.image.resize2d", ["NHWC", "OHWI"], "['NHWC', 'OHWI'] are not layouts of 'relax.image.resize2d'",
     "give a layout, such as ['NCHW'], with the same letters"),
    ("relax.nn.conv2d", ["NHWC"], "['NHWC'] are not layouts of 'relax.nn.conv2d'",
     "give layouts of data and weights, such as ['NCHW', 'OIHW'], with the same letters"),
    ("relax.add", ["NHWC"], "the layout of 'relax.add' cannot be changed",
     "layouts of relax.nn.conv1d, relax.nn.conv2d, relax.nn.conv3d and of the operators of R.image can be changed"),
])  # fmt: skip
def test_layouts_that_are_refused(name: str, layouts: list[str], message: str, help: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        get_pass("ConvertLayout", {name: layouts})(tvms.parse(TEXT.format(expression="c")))
    assert str(caught.value) == f"error[E0902]: pass 'ConvertLayout': {message}\n  = help: {help}"
