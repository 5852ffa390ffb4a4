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
    "R.nn.rms_norm(c, R.sum(c, axis=[0, 1]), axes=[-2, -1])": BLOCKS,
    "R.nn.group_norm(c, R.sum(c, axis=[0, 2, 3]), R.mean(c, axis=[0, 2, 3]), 4, channel_axis=1, axes=[2, 3])": PLAIN,
    "R.nn.prelu(c, R.mean(c, axis=[0, 2, 3]), axis=1)": PLAIN,
    'R.astype(R.astype(c, "float16"), "float32")': BLOCKS,
    "R.ewise_fma(c, c, R.nn.relu(c))": BLOCKS,
    "R.repeat(c, 2, axis=-3)": PLAIN,
    "R.tile(c, [2, 1])": PLAIN,
    "R.tile(c, [2, 1, 3, 1, 2])": PLAIN,
    "R.flip(c, axis=-3)": PLAIN,
    "R.scatter_nd(c, n, R.nn.relu(c))": PLAIN,
}
"""Expressions, and the layouts that they keep."""
KEEPS_NOT = {
    "R.split(c, 8, axis=1)[3]": BLOCKS,
    "R.split(c, [2], axis=1)[1]": BLOCKS,
    "R.sum(c, axis=[1], keepdims=True)": BLOCKS,
    "R.nn.layer_norm(c, R.sum(c, axis=[0, 2]), R.sum(c, axis=[0, 2]), axes=[1, 3])": PLAIN,
    "R.nn.rms_norm(c, R.sum(c, axis=[0, 2]), axes=[1, 3])": PLAIN,
    "R.repeat(c, 2)": PLAIN,
    "R.repeat(c, 2, axis=1)": BLOCKS,
    'R.scatter_nd(c, R.zeros((3, 2), "int64"), R.zeros((3, 8, 6), "float32"))': PLAIN,
    'R.ewise_fma(c, R.zeros((2, 8, 8, 6), "float32"), R.ones((2, 8, 8, 6), "float32"))': PLAIN,
    "R.image.resize2d(c, (5, 5))": BLOCKS,
}
TEXT = """\
I.ir_module Module:
    R.function main(x: R.Tensor((2, 4, 8, 6), "float32"), w: R.Tensor((8, 4, 3, 3), "float32"), i: R.Tensor((2, 8, 8, 6), "int64"), n: R.Tensor((2, 1), "int64")):
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
    args += [random.integers(0, high, shape) for high, shape in ((6, (2, 8, 8, 6)), (2, (2, 1)))]
    args[0][1, 2, 0, 3] = np.nan
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


@pytest.mark.deep(8)
@pytest.mark.parametrize(("expression", "layouts"), [*FOLLOWING.items()])
def test_an_operator_keeps_the_layout(expression: str, layouts: list[str]) -> None:
    found = operators(converted(expression, layouts))
    assert not is_conversion(found[0])
    assert sum(map(is_conversion, found)) <= 1


@pytest.mark.deep(4)
@pytest.mark.parametrize(("expression", "layouts"), [*KEEPS_NOT.items()])
def test_what_does_not_fit_is_converted_back(expression: str, layouts: list[str]) -> None:
    assert any(is_conversion(name) for name in operators(converted(expression, layouts))[:-1])


@pytest.mark.parametrize(("expression", "expected"), [
    ("R.gather_elements(c, i, axis=1)", ["permute_dims", "gather_elements", "permute_dims"]),
    ('R.scatter_elements(c, i, R.nn.relu(c), axis=-1, reduction="add")',
     ["nn.relu", "permute_dims", "scatter_elements", "permute_dims"]),
])  # fmt: skip
def test_indices_are_converted_instead_of_data(expression: str, expected: list[str]) -> None:
    assert operators(converted(expression, PLAIN)) == expected


SYMBOLIC = """\
I.ir_module Module:
    R.function main(x: R.Tensor((2, 8, "h", "w"), "float32"), k: R.Tensor(({channels}, 8, 3, 3), "float32"), b: R.Tensor((1, "n", 1, 1), "float32"), m: R.Tensor((1, "4 * q", 1, 1), "float32"), z: R.Tensor(("q",), "float32")):
        with R.dataflow():
            c: R.Tensor(ndim=4, dtype="float32") = R.nn.conv2d(x, k)
            r = R.nn.relu(c)
            y = R.add(r, {addend})
            R.output(y)
        return y
"""


@pytest.mark.deep(4)
@pytest.mark.parametrize(("addend", "channels", "expected"), [
    ("b", "4", ["nn.relu", "layout_transform", "add"]),
    ("m", '"4 * q"', ["nn.relu", "layout_transform", "add", "layout_transform"]),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(2, 8, 3, 4), (2, 8, 5, 6)])
def test_only_axes_that_are_known_to_be_divisible_are_split(
    addend: str, channels: str, expected: list[str], shape: tuple[int, ...]
) -> None:
    """A tensor of one channel that were padded to a block would no longer be broadcast."""
    module = tvms.parse(SYMBOLIC.format(addend=addend, channels=channels))
    new = get_pass("ConvertLayout", {"relax.nn.conv2d": BLOCKS})(module)
    assert not tvms.verify(new)
    assert 'data_layout="NCHW4c"' in new.script()
    assert operators(new) == expected
    random = np.random.default_rng(0)
    x, k = (random.standard_normal(size).astype("float32") for size in (shape, (4, 8, 3, 3)))
    for size in (1, 4):
        b, m, z = (np.ones(dims, "float32") for dims in ((1, size, 1, 1), (1, 4, 1, 1), (1,)))
        args = [x, k, b * 3, m * 2, z]
        expected_values = tvms.interpret(module, "main", args)
        np.testing.assert_allclose(tvms.interpret(new, "main", args), expected_values, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(tvms.compile(new)["main"](*args), expected_values, rtol=1e-4, atol=1e-4)


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
