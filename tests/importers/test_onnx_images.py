"""Rows for images, blocks and volumes compute what onnx's reference evaluator computes, for random shapes, attributes and dtypes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from .onnx_laws import Node, by_onnxruntime, by_reference, check, choice, generator, tensor

Rng = np.random.Generator
COUNT = 6 * int(os.environ.get("TVMS_FUZZ", "1"))
TRANSFORMS = (
    "half_pixel",
    "asymmetric",
    "align_corners",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "tf_crop_and_resize",
)


def _sizes(rng: Rng, count: int, low: int = 2, high: int = 7) -> list[int]:
    return [int(size) for size in rng.integers(low, high, count)]


def _mode(rng: Rng) -> dict[str, Any]:
    """Return random attributes of an interpolation."""
    mode = choice(rng, ("nearest", "linear", "cubic"))
    if mode == "nearest":
        return {"mode": mode, "nearest_mode": choice(rng, ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))}
    attributes: dict[str, Any] = {"mode": mode}
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": choice(rng, (-0.75, -0.5)), "exclude_outside": int(rng.integers(2))}
    return attributes


def _transform(rng: Rng, mode: str, transforms: Sequence[str] = TRANSFORMS) -> str:
    """Return a random transformation of coordinates.

    For "pytorch_half_pixel" and a result of length 1, the reference evaluator computes the position -0.5; the specification
    says 0. They differ only in cubic interpolation.
    """
    return choice(rng, [name for name in transforms if mode != "cubic" or name != "pytorch_half_pixel"])


def _resize(by: str, rng: Rng) -> Node:
    """Return a node with factors or sizes of all dimensions, or of some axes."""
    rank = int(rng.integers(2, 5))
    attributes = _mode(rng)
    attributes["coordinate_transformation_mode"] = _transform(rng, attributes["mode"])
    axes = sorted(int(axis) for axis in rng.permutation(rank)[: int(rng.integers(1, 3))])
    if (
        attributes["mode"] != "nearest"
        and rng.random() < 0.3
        and attributes["coordinate_transformation_mode"] in TRANSFORMS[:2]
    ):
        attributes["antialias"] = 1
    x = tensor(rng, _sizes(rng, rank))
    roi = None
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        attributes["extrapolation_value"] = 7.5
        starts, ends = rng.uniform(-0.2, 0.4, len(axes)), rng.uniform(0.6, 1.2, len(axes))
        roi = np.array([*starts, *ends], "float32")
    given: dict[str, Any] = {"X": x, "roi": roi}
    if by == "scales":
        given["scales"] = rng.choice([0.5, 0.6, 1.5, 2.0, 2.5], len(axes)).astype("float32")
    else:
        given |= {"scales": None, "sizes": np.array(_sizes(rng, len(axes), 1, 9))}
        if rng.random() < 0.4 and roi is None:
            attributes["keep_aspect_ratio_policy"] = choice(rng, ("stretch", "not_larger", "not_smaller"))
    return Node(
        "Resize", given, {**attributes, "axes": axes}, 1, opset=19
    )  # the reference evaluator refuses negative axes


def _resize_of_old(opset: int, rng: Rng) -> Node:
    """Return a node of version 10, whose positions are asymmetric, or of version 11 or 13."""
    x = tensor(rng, (1, 2, *_sizes(rng, 2)))
    scales = np.array([1, 1, *rng.choice([0.5, 1.5, 2.0, 3.0], 2)], "float32")
    if opset == 10:
        return Node("Resize", {"X": x, "scales": scales}, {"mode": "nearest"}, 1, opset=10)
    attributes = _mode(rng)
    attributes["coordinate_transformation_mode"] = _transform(rng, attributes["mode"], TRANSFORMS[:4])
    return Node("Resize", {"X": x, "roi": np.zeros(0, "float32"), "scales": scales}, attributes, 1, opset=opset)


def _upsample(opset: int, rng: Rng) -> Node:
    x, scales = tensor(rng, (1, 2, *_sizes(rng, 2))), [1.0, 1.0, *rng.choice([1.0, 2.0, 3.0], 2).tolist()]
    if opset == 7:
        return Node("Upsample", {"X": x}, {"mode": "nearest", "scales": scales}, opset=7)
    return Node("Upsample", {"X": x, "scales": np.array(scales, "float32")}, {"mode": "nearest"}, 1, opset=9)


def _grid_sample(opset: int, rng: Rng) -> Node:
    spatial = int(choice(rng, (2, 3))) if opset >= 20 else 2
    linear, cubic = ("linear", "cubic") if opset >= 20 else ("bilinear", "bicubic")
    modes = (linear, "nearest", *((cubic,) if spatial == 2 else ()))
    grid = rng.uniform(-1.3, 1.3, (2, *_sizes(rng, spatial, 1, 4), spatial)).astype("float32")
    attributes = {
        "mode": choice(rng, modes), "padding_mode": choice(rng, ("zeros", "border", "reflection")), "align_corners": int(rng.integers(2)),
    }  # fmt: skip
    if opset >= 20 and attributes["mode"] == cubic and attributes["padding_mode"] == "border":
        attributes["padding_mode"] = "zeros"  # the reference evaluator differs from onnxruntime
    x = tensor(rng, (2, 2, *_sizes(rng, spatial)))
    return Node("GridSample", {"X": x, "grid": grid}, attributes, opset=opset)


def _affine_grid(rng: Rng) -> Node:
    spatial, batch = int(choice(rng, (2, 3))), 2
    theta = rng.normal(0, 1, (batch, spatial, spatial + 1)).astype("float32")
    size = np.array([batch, 3, *_sizes(rng, spatial, 2, 5)])
    return Node("AffineGrid", {"theta": theta, "size": size}, {"align_corners": int(rng.integers(2))}, 1, opset=20)


def _to_image(rng: Rng) -> Node:
    """Return a node that adds blocks, which may overlap, to an image."""
    spatial, batch, channels = int(rng.integers(1, 4)), 2, 2
    block, strides, dilations = (_sizes(rng, spatial, 1, high) for high in (4, 3, 3))
    pads = _sizes(rng, 2 * spatial, 0, 2)
    image = [
        int(rng.integers(0, 3)) + max(1, dilation * (size - 1) + 1 - pads[n] - pads[n + spatial])
        for n, (size, dilation) in enumerate(zip(block, dilations, strict=True))
    ]
    counts = [
        (image[n] + pads[n] + pads[n + spatial] - dilations[n] * (block[n] - 1) - 1) // strides[n] + 1
        for n in range(spatial)
    ]
    x = tensor(rng, (batch, channels * int(np.prod(block)), int(np.prod(counts))))
    given = {"input": x, "image_shape": np.array(image), "block_shape": np.array(block)}
    return Node("Col2Im", given, {"strides": strides, "dilations": dilations, "pads": pads}, 1, opset=18)


def _depth_to_space(rng: Rng) -> Node:
    size, channels = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    x = tensor(rng, (2, channels * size * size, *_sizes(rng, 2, 1, 4)), choice(rng, ("float32", "int32", "float16")))
    return Node("DepthToSpace", [x], {"blocksize": size, "mode": choice(rng, ("DCR", "CRD"))}, opset=13)


def _space_to_depth(rng: Rng) -> Node:
    size = int(rng.integers(1, 4))
    x = tensor(rng, (2, 3, *(size * n for n in _sizes(rng, 2, 1, 4))), choice(rng, ("float32", "int64")))
    return Node("SpaceToDepth", [x], {"blocksize": size}, opset=13)


def _crop_or_pad(rng: Rng) -> Node:
    rank = int(rng.integers(2, 5))
    axes = [int(axis) for axis in rng.permutation(rank)[: int(rng.integers(1, rank + 1))]]
    signed = [axis - rank if rng.random() < 0.5 else axis for axis in axes]
    shape = np.array(_sizes(rng, len(axes), 1, 8))
    return Node(
        "CenterCropPad", {"x": tensor(rng, _sizes(rng, rank, 1, 7)), "shape": shape}, {"axes": signed}, 1, opset=18
    )


def _roi_align(rng: Rng) -> Node:
    corners = np.sort(rng.uniform(0, 8, (3, 2, 2)), axis=1)
    given = {
        "X": tensor(rng, (2, 2, 7, 8)), "rois": corners.reshape(3, 4).astype("float32"), "batch_indices": rng.integers(0, 2, 3),
    }  # fmt: skip
    attributes = {
        "mode": choice(rng, ("avg", "max")), "output_height": int(rng.integers(1, 4)), "output_width": int(rng.integers(1, 4)),
        "sampling_ratio": int(rng.integers(1, 4)), "spatial_scale": choice(rng, (1.0, 0.5)),
        "coordinate_transformation_mode": choice(rng, ("half_pixel", "output_half_pixel")),
    }  # fmt: skip
    return Node("RoiAlign", given, attributes, opset=16)


def _image(rng: Rng) -> Node:
    """Return a node that decodes an image whose format loses nothing."""
    image: Any = pytest.importorskip("PIL.Image", reason="Pillow, which decodes images, is not installed")
    data, stream = io.BytesIO(), choice(rng, ("PNG", "BMP", "TIFF"))
    pixels = rng.integers(0, 256, (*_sizes(rng, 2), 3)).astype("uint8")
    image.fromarray(pixels).save(data, format=stream)
    encoded = np.frombuffer(data.getvalue(), "uint8")
    return Node("ImageDecoder", [encoded], {"pixel_format": choice(rng, ("RGB", "BGR", "Grayscale"))}, opset=20)


MAKERS: dict[str, Callable[[Rng], Node]] = {
    "Resize by factors": partial(_resize, "scales"), "Resize to sizes": partial(_resize, "sizes"),
    **{f"Resize-{opset}": partial(_resize_of_old, opset) for opset in (10, 11, 13)},
    **{f"Upsample-{opset}": partial(_upsample, opset) for opset in (7, 9)},
    **{f"GridSample-{opset}": partial(_grid_sample, opset) for opset in (16, 20, 22)},
    "AffineGrid": _affine_grid, "Col2Im": _to_image, "DepthToSpace": _depth_to_space, "SpaceToDepth": _space_to_depth,
    "CenterCropPad": _crop_or_pad, "RoiAlign": _roi_align, "ImageDecoder": _image,
}  # fmt: skip
OF_ONNXRUNTIME = ("Resize-10", "Upsample-7", "GridSample-16")
"""Versions that the reference evaluator lacks or gets wrong."""


@pytest.mark.deep(8)
@pytest.mark.parametrize("name", MAKERS)
def test_images(name: str) -> None:
    rng = generator()
    for number in range(COUNT):
        check(MAKERS[name](rng), number % 3 == 2, oracle=by_onnxruntime if name in OF_ONNXRUNTIME else by_reference)
