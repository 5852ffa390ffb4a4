"""Operators of torchvision on regions, which import without torchvision where a program names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from tvms import TvmsError  # noqa: E402
from tvms.relax.frontend.torch import from_exported_program  # noqa: E402

_SCHEMAS = (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
)
ROIS = [[0, 2, 2, 10, 13], [1, 1, 4, 12, 9], [0, 5.5, 3.25, 8, 14]]
"""Regions inside of images of 16 × 16, in coordinates that are twice as large as theirs in the data."""


def aligned_regions(x: Any, rois: Any, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Any:
    """Return the means of `ratio` × `ratio` samples, taken by `grid_sample`; no sample is outside of the image."""
    shift, parts = 0.5 if aligned else 0.0, []
    for image, *corners in rois.tolist():
        left, top, right, bottom = (corner * scale - shift for corner in corners)
        ys, xs = (
            start + (end - start) * (torch.arange(count * ratio) + 0.5) / (count * ratio)
            for start, end, count in ((top, bottom, height), (left, right, width))
        )
        sizes = torch.tensor([x.shape[3] - 1.0, x.shape[2] - 1.0])
        points = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), -1) / sizes * 2 - 1
        samples = torch.nn.functional.grid_sample(x[int(image)][None], points[None], align_corners=True)
        parts.append(torch.nn.functional.avg_pool2d(samples, ratio))
    return torch.cat(parts)


def pooled_regions(x: Any, rois: Any, scale: float, height: int, width: int) -> tuple[Any, Any]:
    """Return the maxima of parts of regions, and no positions."""
    result = torch.zeros(len(rois), x.shape[1], height, width)
    for number, (image, *corners) in enumerate(rois.tolist()):
        left, top, right, bottom = (int(np.floor(corner * scale + 0.5)) for corner in corners)
        rows, columns = (bottom - top + 1) / height, (right - left + 1) / width
        for p, q in np.ndindex(height, width):
            window = x[
                int(image),
                :,
                top + int(np.floor(p * rows)) : top + int(np.ceil((p + 1) * rows)),
                left + int(np.floor(q * columns)) : left + int(np.ceil((q + 1) * columns)),
            ]
            result[number, :, p, q] = window.amax((1, 2))
    return result, torch.zeros(result.shape, dtype=torch.int32)


@pytest.fixture
def operators() -> Any:
    """Declare the operators of torchvision, if it is not imported."""
    if hasattr(torch.ops.torchvision, "roi_align"):
        pytest.skip("torchvision declares its operators itself")
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        library.define(schema)
    for kind in ("CPU", "Meta"):
        library.impl("roi_align", aligned_regions if kind == "CPU" else _shape, kind)
        library.impl(
            "roi_pool", pooled_regions if kind == "CPU" else lambda *args: (_shape(*args), _shape(*args).int()), kind
        )
    yield torch.ops.torchvision
    library._destroy()


def _shape(x: Any, rois: Any, scale: float, height: int, width: int, *_: Any) -> Any:
    return x.new_empty(rois.shape[0], x.shape[1], height, width)


class Regions(torch.nn.Module):
    def __init__(self, call: Any) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Any, rois: Any) -> Any:
        return self.call(x, rois)


def test_regions_are_what_torchvision_defines(operators: Any, random: np.random.Generator) -> None:
    x, rois = torch.tensor(random.normal(size=(2, 3, 8, 8)), dtype=torch.float32), torch.tensor(ROIS)
    calls = [
        *(lambda x, rois, a=a: operators.roi_align(x, rois, 0.5, 2, 3, 2, a) for a in (False, True)),
        lambda x, rois: operators.roi_pool(x, rois, 0.5, 2, 3)[0],
    ]
    for call in calls:
        module = from_exported_program(torch.export.export(Regions(call), (x, rois)))
        assert "R.vision.roi_" in module.script()
        (found,) = tvms.compile(module)["main"](x.numpy(), rois.numpy())
        np.testing.assert_allclose(np.asarray(found), call(x, rois).numpy(), 1e-5, 1e-5)


def test_positions_of_maxima_are_not_supported(operators: Any) -> None:
    model = Regions(lambda x, rois: operators.roi_pool(x, rois, 0.5, 2, 3)[1])
    program = torch.export.export(model, (torch.zeros(2, 3, 8, 8), torch.tensor(ROIS)))
    with pytest.raises(TvmsError) as caught:
        from_exported_program(program)
    (found,) = caught.value.diagnostics
    assert (found.code, found.help) == ("E1004", "use only the first result")
    assert found.message.endswith("returns the indices of maxima")
