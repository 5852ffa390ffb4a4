"""Operators on images (TVM: `relax/op/image`)."""

from __future__ import annotations

from ..base import StructInfo
from .inference import Inference, dims_of, tensor_info
from .registry import Param, RelaxOp, register
from .windows import layout_of


def _infer_resize(a: Inference) -> StructInfo:
    layout, size = layout_of(a, "layout", "NCHW"), a.shape("size")
    info = a.rank("data", layout.ndim)
    dtype = info.dtype if a.attr("out_dtype") == "void" else a.attr("out_dtype")
    dims = dims_of(info)
    if dims is None or size.values is None:
        return tensor_info(None, dtype, layout.ndim, info.vdevice)
    if len(size.values) != 2:
        raise a.fail("E0323", f"needs a size of 2 dimensions, not {len(size.values)}", None, a.argument("size"))
    result = [*layout.primal(dims, "NCHW")[:2], *size.values]
    return tensor_info(layout.split(result, "NCHW"), dtype, layout.ndim, info.vdevice)


register(
    RelaxOp(
        "relax.image.resize2d",
        (
            Param("data"),
            Param("size", "shape"),
            Param("roi", "value", (0.0, 0.0, 0.0, 0.0)),
            Param("layout", "str", "NCHW"),
            Param("method", "str", "linear"),
            Param("coordinate_transformation_mode", "str", "half_pixel"),
            Param("rounding_method", "str", "round"),
            Param("cubic_alpha", "float", -0.75),
            Param("cubic_exclude", "int", 0),
            Param("extrapolation_value", "float", 0.0),
            Param("out_dtype", "dtype", None),
        ),
        _infer_resize,
        "Return images scaled to `size`, height and width.",
    )
)
