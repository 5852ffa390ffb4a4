"""Operators on images (TVM: `relax/op/image`)."""

from __future__ import annotations

from ..base import StructInfo
from .inference import Inference, dims_of, tensor_info
from .registry import Param, RelaxOp, register
from .windows import inverse, places


def _infer_resize(a: Inference) -> StructInfo:
    info, size = a.rank("data", 4), a.shape("size")
    order = places(a, a.attr("layout"), "NCHW", "data")
    dtype = info.dtype if a.attr("out_dtype") == "void" else a.attr("out_dtype")
    dims = dims_of(info)
    if dims is None or size.values is None:
        return tensor_info(None, dtype, 4, info.vdevice)
    if len(size.values) != 2:
        raise a.fail("E0323", f"needs a size of 2 dimensions, not {len(size.values)}", None, a.argument("size"))
    result = [dims[order[0]], dims[order[1]], *size.values]
    return tensor_info([result[place] for place in inverse(order)], dtype, 4, info.vdevice)


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
