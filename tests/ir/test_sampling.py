"""Sampling at positions and of regions that are not finite or far away: the interpreter and compiled code agree."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import tvms

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 1e30, -1e30, 0.5, 3.4e38, 1e-40], "float32")


def check(module: tvms.IRModule, *arrays: np.ndarray) -> None:
    found, expected = tvms.compile(module)["main"](*arrays), tvms.interpret(module, "main", list(arrays))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), 1e-4, 1e-5)


def image(random: np.random.Generator) -> np.ndarray:
    x = random.normal(size=(1, 1, 3, 4)).astype("float32")
    x[0, 0, 1, 1] = np.inf
    return x


@pytest.mark.deep(6)
@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_positions(method: str, padding: str, random: np.random.Generator) -> None:
    grid = np.stack(np.meshgrid(SPECIAL, SPECIAL))[None]
    for corners in (False, True):
        module = tvms.parse(f"""
R.function main(x: R.Tensor((1, 1, 3, 4), "float32"), grid: R.Tensor({grid.shape}, "float32")):
    y = R.image.grid_sample(x, grid, method="{method}", padding_mode="{padding}", align_corners={corners})
    return y
""")
        check(module, image(random), grid)


CALLS = [
    *(
        f'roi_align(x, rois, 2, 1.0, sample_ratio={ratio}, aligned={aligned}, mode="{mode}")'
        for ratio, aligned, mode in product((2, -1), (False, True), ("avg", "max"))
    ),
    "roi_pool(x, rois, 2, 1.0)",
]


@pytest.mark.deep(3)
@pytest.mark.parametrize("call", CALLS)
def test_regions(call: str, random: np.random.Generator) -> None:
    rois = random.choice(SPECIAL, (40, 5))
    rois[:, 0] = 0
    module = tvms.parse(f"""
R.function main(x: R.Tensor((1, 1, 3, 4), "float32"), rois: R.Tensor((40, 5), "float32")):
    y = R.vision.{call}
    return y
""")
    check(module, image(random), rois)
