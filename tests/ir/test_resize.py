"""Resized images next to infinities and NaN: the interpreter and compiled code read the same elements with the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import tvms

METHODS = ("nearest_neighbor", "linear", "cubic")
MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
SIZES = (((1, 4), (1, 4)), ((3, 5), (6, 3)), ((4, 3), (7, 6)), ((9, 3), (2, 7)), ((2, 40), (5, 37)))
"""Sizes of the image and of the result."""


def module(shape: tuple[int, ...], size: tuple[int, int], dtype: str, **attrs: object) -> tvms.IRModule:
    given = "".join(f", {name}={value!r}" for name, value in attrs.items())
    return tvms.parse(f"""
R.function main(x: R.Tensor({shape}, "{dtype}")):
    y = R.image.resize2d(x, R.shape({size}){given})
    return y
""")


@pytest.mark.deep(8)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", METHODS)
def test_the_interpreter_and_compiled_code_agree(method: str, mode: str) -> None:
    random = np.random.default_rng(7)
    for exclude, (old, new) in enumerate(SIZES):
        x = random.standard_normal((1, 2, *old)).astype("float32")
        x.flat[random.integers(0, x.size, 3)] = [np.inf, -np.inf, np.nan]
        func = module(
            x.shape, new, "float32", method=method, coordinate_transformation_mode=mode, cubic_exclude=exclude % 2,
            roi=(0.25, 0.0, 1.0, 1.5), extrapolation_value=-1.5,
        )  # fmt: skip
        interpreted, compiled = tvms.interpret(func, "main", [x]), tvms.compile(func)["main"](x)
        np.testing.assert_array_equal(np.asarray(interpreted), np.asarray(compiled))


@pytest.mark.parametrize(
    ("mode", "size", "expected"),
    [
        ("half_pixel", (4, 8), [1, 1, 1, np.inf, np.inf, np.inf, np.inf, 2]),
        ("asymmetric", (2, 4), [1, np.nan, np.nan, 2]),  # the infinity is also a tap of its left neighbor, of weight 0
        ("asymmetric", (2, 2), [1, np.nan]),
    ],
)
def test_a_tap_of_weight_zero_counts_as_in_pytorch(mode: str, size: tuple[int, int], expected: list[float]) -> None:
    x = np.array([[[[1, 1, np.inf, 2]] * 2]], "float32")
    func = module(x.shape, size, "float32", coordinate_transformation_mode=mode)
    for found in (tvms.interpret(func, "main", [x]), tvms.compile(func)["main"](x)):
        np.testing.assert_array_equal(np.asarray(found)[0, 0], np.array([expected] * size[0], "float32"))


@pytest.mark.parametrize(
    ("dtype", "outside", "expected"), [("uint8", -1.0, 0), ("uint8", 300.0, 255), ("int8", -1.5, -1)]
)
def test_a_value_outside_of_the_image_is_the_nearest_one_of_the_dtype(
    dtype: str, outside: float, expected: int
) -> None:
    x = np.ones((1, 1, 2, 2), dtype)
    func = module(
        x.shape, (1, 2), dtype, method="nearest_neighbor", coordinate_transformation_mode="tf_crop_and_resize",
        roi=(2.0, 2.0, 3.0, 3.0), extrapolation_value=outside,
    )  # fmt: skip
    for found in (tvms.interpret(func, "main", [x]), tvms.compile(func)["main"](x)):
        assert np.asarray(found).tolist() == [[[[expected, expected]]]]
