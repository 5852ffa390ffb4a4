"""Every operator: what is inferred is what the oracle gives, and the legalized program computes the same."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from tvms.ir import relax
from tvms.ir.ops.registry import relax_ops

sys.path.insert(0, str(Path(__file__).parent))
from operator_programs import Case, Random, b, check, check_compiled, f, i, index_map, number, positive

_UNIT = ("acos", "asin", "atanh")
_POSITIVE = ("log", "rsqrt", "sqrt")
_UNARY = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "log",
    "negative",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "isfinite",
    "isinf",
    "isnan",
    "nn.relu",
    "nn.gelu",
    "nn.gelu_tanh",
    "nn.silu",
    "nn.selu",
]
_BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "floor_mod",
    "mod",
    "maximum",
    "minimum",
    "power",
    "log_add_exp",
]
_COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
_BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
_LOGIC = ["logical_and", "logical_or", "logical_xor"]
_REDUCE = ["sum", "prod", "max", "min", "mean", "variance", "std"]


def _range(name: str) -> Random:
    if name in _UNIT:
        return f(2, 3, low=-0.9, high=0.9)
    if name == "acosh":
        return f(2, 3, low=1.1, high=3)
    return positive(2, 3) if name in _POSITIVE else f(2, 3)


_ROIS = relax.Constant(
    np.array([(0, 1, 1, 9, 7), (1, -4, 2, 30, 3), (0, 3, 3, 3, 3), (1, 8, 6, 2, 1), (1, 40, 40, 50, 50)], "float32")
)
"""Regions: inside of an image, partly outside, empty, reversed, and outside."""
_WIDE = [(-128, 127, "int8"), (100, 255, "uint8"), (-(2**30), 2**30, "int32")]
"""Ranges of integers whose sums and squares exceed their dtype."""
CASES: list[Case] = [
    *((name, _range(name)) for name in _UNARY),
    *((name, f(2, 3, 4), f(3, 1)) for name in ("add", "subtract", "multiply", "maximum", "minimum", "log_add_exp")),
    *((name, positive(2, 3), positive(1)) for name in ("divide", "floor_divide", "floor_mod", "mod", "power")),
    *((name, i(2, 3, low=-9, high=9), i(3, low=1, high=5)) for name in ("add", "divide", "floor_divide", "floor_mod", "mod")),
    *((name, i(4, 3, dtype="int32"), i(3, dtype="int32")) for name in (*_COMPARE, *_BITS)),
    *((name, b(2, 3), b(3)) for name in _LOGIC),
    *((name, f(2, 3, dtype="float16"), f(3, dtype="float16")) for name in ("add", "multiply", "subtract")),
    ("add", f(2, 3), number(2.0)),
    ("subtract", number(2.0), f(2, 3)),
    ("power", positive(3), number(2.0)),
    ("ewise_fma", f(2, 3), f(2, 3), f(2, 3)),
    ("logical_not", b(2, 3)),
    ("bitwise_not", i(2, 3, dtype="int32")),
    ("floor", i(2, 3)),
    ("clip", f(2, 3), -1.0, 1.0),
    ("clip", f(2, 3), 1.0, -1.0),
    *((name, f(2, 3, 4), {"axis": [1], "keepdims": keep}) for name in _REDUCE for keep in (False, True)),
    *((name, f(2, 3, 4)) for name in _REDUCE),
    *((name, f(2, 3), {"axis": []}) for name in _REDUCE),  # over no axis
    *((name, f()) for name in _REDUCE),
    ("matmul", f(2, 3, dtype="bfloat16"), f(3, 4, dtype="bfloat16")),
    ("einsum", (f(2, 3, dtype="bfloat16"), f(3, 4, dtype="bfloat16")), "ij,jk->ik"),
    ("nn.max_pool2d", f(1, 2, 6, 5, dtype="bfloat16"), {"pool_size": 2}),
    ("sum", f(2, 3, 4), {"axis": [0, -1]}),
    ("cumsum", f(2, 3), {"axis": 1}),
    ("cumsum", f(2, 3)),
    ("cumsum", f(2, 3), {"axis": 0, "exclusive": True}),
    ("cumprod", f(2, 3), {"axis": -1}),
    ("cumsum", i(2, 3, dtype="int32"), {"axis": 1, "dtype": "int64"}),
    ("permute_dims", f(2, 3, 4)),
    ("permute_dims", f(2, 3, 4), [1, 2, 0]),
    *(("reshape", f(2, 3, 4), shape) for shape in ((6, 4), (4, 6), (24,), (2, 12), (3, -1), (0, 2, 6), (1, 2, 3, 4, 1))),
    ("flatten", f(2, 3, 4)),
    ("broadcast_to", f(3, 1), (2, 3, 4)),
    ("expand_dims", f(2, 3), [0, -1]),
    ("squeeze", f(1, 2, 1)),
    ("squeeze", f(1, 2, 1), [0]),
    ("concat", (f(2, 3), f(2, 1), f(2, 2)), {"axis": 1}),
    ("stack", (f(2, 3), f(2, 3), f(2, 3)), {"axis": -1}),
    ("split", f(2, 7), 3, {"axis": 1}),
    ("split", f(6, 2), [1, 4]),
    ("repeat", f(2, 3), 2, {"axis": 1}),
    ("repeat", f(2, 3), 2),
    ("tile", f(2, 3), [2, 1, 3]),
    ("flip", f(2, 3), {"axis": 0}),
    ("take", f(4, 3), i(2, 2), {"axis": 0}),
    ("take", f(2, 4), i(5), {"axis": -1}),
    *(("take", f(3, 4, 2), i(2, 5, low=-9, high=9), {"axis": 1, "mode": mode}) for mode in ("clip", "wrap", "nan")),
    *(("reverse_sequence", f(3, 4, 2), i(3, high=5), {"seq_axis": axis}) for axis in (1, -1)),
    ("reverse_sequence", f(4, 3), i(3, high=5), 0, 1),
    ("nn.batch_flatten", f(2, 3, 4)),
    ("gather_elements", f(2, 4), i(2, 3), {"axis": 1}),
    ("gather_nd", f(4, 4, 2), i(3, 2)),
    ("gather_nd", f(3, 4, 2), i(3, 5, 1), {"batch_dims": 1}),
    ("index_tensor", f(4, 4, 2), (i(3), i(2, 1))),
    ("meshgrid", (f(2), f(3))),
    ("meshgrid", (f(2), f(3), f(4)), {"indexing": "xy"}),
    ("strided_slice", f(6, 5), [0, 1], [1, 0], [6, -1], [2, 1]),
    ("strided_slice", f(6, 5), [0], [5], [0], [-2]),
    ("dynamic_strided_slice", f(6, 5), number(0)),
    ("scatter_elements", f(4, 3), i(2, 3), f(2, 3)),
    ("scatter_elements", f(4, 3), i(2, 3), f(2, 3), {"reduction": "add"}),
    ("scatter_nd", f(4, 3), i(2, 1), f(2, 3), {"reduction": "max"}),
    ("index_put", f(4, 4), (i(3), i(3)), f(3), {"accumulate": True}),
    ("slice_scatter", f(6, 2), f(2, 2), 1, 5, 2),
    ("one_hot", i(2, 3), 1.0, 0.0, 4),
    ("one_hot", i(2, 3), 1, 0, {"depth": 4, "axis": 0}),
    ("collapse_sum_to", f(2, 3, 4), (3, 1)),
    ("collapse_sum_like", f(2, 3, 4), f(3, 4)),
    ("where", b(2, 3), f(2, 1), f(3)),
    ("argmax", f(2, 3, 4), {"axis": 1}),
    ("argmin", f(2, 3), {"keepdims": True}),
    ("argmax", i(2, 9, high=3), {"axis": 1}),
    ("bucketize", f(2, 3), number((-1, 0, 1))),
    ("bucketize", number((float("nan"), 0.5)), number((-1, 0, 1))),
    ("unique", i(4, 3, high=5)),
    ("nonzero", i(4, 3, high=2)),
    ("sort", f(2, 5), {"descending": True}),
    ("argsort", i(2, 9, high=3), {"axis": 1, "descending": True}),
    ("topk", f(2, 5), {"k": 2}),
    ("topk", f(2, 5), {"k": 2, "ret_type": "indices", "largest": False}),
    ("sort", i(3, 2, high=3, dtype="int32"), {"axis": 0}),
    ("topk", i(7, high=3), {"k": -1}),
    ("argsort", f(4, 3), {"axis": 0, "dtype": "int64"}),
    ("multinomial_from_uniform", positive(3, 4), f(5, 1, low=0, high=4), i(5, 1, high=3)),
    *(("scatter_elements", f(4, 3), i(5, 2, low=-4), f(5, 2), {"reduction": r}) for r in ("update", "add", "mul", "mean", "max", "min")),
    ("scatter_elements", i(3, 4), i(3, 2), i(3, 2, low=-9, high=9), {"axis": 1, "reduction": "add"}),
    *(("scatter_nd", f(4, 3, 2), i(5, 2, high=3), f(5, 2), {"reduction": r}) for r in ("update", "add", "mul", "max", "min")),
    ("scatter_nd", f(4, 3), i(2, 3, 1), f(2, 3, 3)),
    ("index_put", f(4, 3), (i(5, high=4), i(5, high=3)), f(5)),
    ("index_put", f(4, 3, 2), (i(2, 1, low=-4), i(2, high=3)), f(2, 2, 2), {"accumulate": True}),
    *(("nn.pad", f(5, 4), (1, 2, 0, 3), {"pad_mode": mode}) for mode in ("reflect", "replicate", "circular")),
    ("nn.dropout", f(2, 3)),
    ("layout_transform", f(4, 6), index_map(lambda i, j: (j, i))),
    ("layout_transform", f(4, 6), index_map(lambda i, j: (i // 2, j // 3, i % 2, j % 3))),
    ("layout_transform", f(5, 6), index_map(lambda i, j: (i // 4, j, i % 4)), {"pad_value": 7.0}),
    ("layout_transform", i(2, 3, 4), index_map(lambda i, j, k: (i * 3 + j, k))),
    ("layout_transform", f(12), index_map(lambda i: (i % 3, i // 3))),
    ("wrap_param", f(2, 3), "float16"),
    *(("image.resize2d", f(1, 2, 4, 5), size, {"method": method}) for size in ((7, 9), (3, 2)) for method in ("nearest_neighbor", "linear", "cubic")),
    *(("image.resize2d", f(1, 4, 6, 1), (5, 4), {"layout": "NHWC", "method": method, "coordinate_transformation_mode": mode, "roi": (0.21, 0.0, 0.7, 1.37)}) for method in ("nearest_neighbor", "linear") for mode in ("align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize")),
    *(("image.resize2d", f(1, 1, 4, 5), (3, 8), {"method": "nearest_neighbor", "rounding_method": rounding}) for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "")),
    ("image.resize2d", f(1, 1, 4, 5), (6, 8), {"method": "cubic", "cubic_exclude": 1, "cubic_alpha": -0.5}),
    ("image.resize2d", i(1, 1, 4, 5, high=99, dtype="uint8"), (8, 10), {"out_dtype": "float32"}),
    *(("image.resize3d", f(1, 2, 3, 4, 2), size, {"method": method}) for size in ((5, 2, 3), (2, 6, 2)) for method in ("nearest_neighbor", "linear", "cubic")),
    *(("image.resize3d", f(1, 2, 3, 4, 1), (4, 3, 5), {"layout": "NDHWC", "method": method, "coordinate_transformation_mode": mode, "roi": (0.21, 0.0, -0.1, 0.7, 1.37, 0.9)}) for method in ("nearest_neighbor", "linear") for mode in ("align_corners", "pytorch_half_pixel", "tf_crop_and_resize")),
    ("image.resize3d", f(1, 1, 2, 3, 4), 4, {"out_dtype": "float16"}),
    *(("image.affine_grid", f(2, n, n + 1), size, {"align_corners": corners}) for n, size in ((2, (4, 3)), (2, (1, 5)), (3, (2, 3, 4))) for corners in (True, False)),
    ("image.affine_grid", f(1, 2, 3, dtype="float16"), 3),
    *(
        ("image.grid_sample", f(2, 3, 4, 5), f(2, 2, 3, 6), {"method": method, "padding_mode": mode, "align_corners": corners})
        for method in ("nearest", "bilinear", "bicubic") for mode in ("zeros", "border", "reflection") for corners in (False, True)
    ),
    *(("image.grid_sample", f(1, 2, 3, 4, 2), f(1, 3, 2, 3, 2), {"method": method, "padding_mode": mode, "layout": "NCDHW"}) for method in ("nearest", "bilinear") for mode in ("zeros", "border", "reflection")),
    ("image.grid_sample", f(1, 4, 5, 3), f(1, 2, 2, 3), {"layout": "NHWC"}),
    ("image.grid_sample", f(1, 1, 1, 4, dtype="float16"), f(1, 2, 5, 3), {"padding_mode": "reflection", "align_corners": True}),
    *(("vision.roi_align", f(2, 3, 5, 6), _ROIS, size, 0.5, {"sample_ratio": ratio, "aligned": aligned, "mode": mode}) for size, ratio in ((2, 2), ((3, 2), -1), ((1, 2), 0)) for aligned in (False, True) for mode in ("avg", "max")),
    ("vision.roi_align", f(2, 5, 6, 3, dtype="float16"), _ROIS, 2, 0.25, {"layout": "NHWC"}),
    *(("vision.roi_pool", f(2, 3, 5, 6), _ROIS, size, scale) for size, scale in ((2, 0.5), ((3, 2), 0.25))),
    ("vision.roi_pool", i(2, 1, 5, 6, low=-9, high=9, dtype="int32"), _ROIS, (2, 3), 0.5),
    *(("vision.all_class_non_max_suppression", f(2, 6, 4), f(2, 3, 6), number(most, "int64"), number(0.3), number(0.1), {"output_format": form}) for most in (2, 9) for form in ("onnx", "tensorflow")),
    ("negative", i(5, high=9, dtype="uint8")),
    ("sign", i(5, high=3, dtype="uint8")),
    ("astype", number((float("nan"), float("inf"), -float("inf"), 3e9, -1.5)), "int32"),
    ("nn.conv1d", f(1, 1, 4), f(1, 1, 3), {"strides": 2, "dilation": 2}),
    ("nn.pad", f(3, 2), [0, 0, 0, 0]),
    ("tile", f(2, 0), [1, 2]),
    ("nn.max_pool1d", number((((-float("inf"), -float("inf"), 1.0),),)), 2),
    *(("grad.nll_loss_backward", g, f(3, 4, 2), i(3, 2), {"reduction": r}) for g, r in ((f(3, 2), "none"), (f(), "sum"), (f(), "mean"))),
    ("grad.nll_loss_backward", f(), f(3, 4), i(3), positive(4), {"ignore_index": 2}),
    ("grad.nll_loss_backward", f(), f(4), i(), positive(4)),
    *((f"grad.{name}_pool2d_backward", f(1, 2, 3, 3), f(1, 2, 6, 6), (2, 2), (2, 2), (0, 0, 0, 0)) for name in ("max", "avg")),
    *((f"grad.{name}_pool2d_backward", f(2, 3, 3, 1), f(2, 5, 5, 1), (3, 2), (2, 2), (1, 1, 1, 0), (1, 1), {"layout": "NHWC"}) for name in ("max", "avg")),
    ("grad.avg_pool2d_backward", f(1, 1, 3, 3), f(1, 1, 5, 5), (3, 3), (2, 2), (1, 1, 1, 1), {"count_include_pad": True}),
    ("grad.take_backward", f(3, 4, 2), f(3, 5, 2), i(4, low=-5, high=5), {"axis": 1}),
    ("grad.take_backward", f(4), f(5), i(4, high=5)),
    ("nn.conv2d", f(1, 2, 5, 5, 4), f(2, 2, 3, 3, 4, 4), {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"}),
    ("nn.conv2d", f(1, 1, 5, 5, 4), f(8, 4, 3, 3), {"data_layout": "NCHW4c", "out_layout": "NHWC", "padding": 1}),
    ("nn.max_pool2d", f(1, 2, 5, 5, 4), (2, 2), {"layout": "NCHW4c"}),
    ("nn.avg_pool2d", f(1, 2, 5, 5, 4), (2, 2), {"layout": "NCHW4c", "out_layout": "NCHW"}),
    ("nn.adaptive_avg_pool2d", f(1, 2, 6, 5, 4), (3, 2), {"layout": "NCHW4c"}),
    ("matmul", f(2, 3, 4), f(4, 5)),
    ("matmul", f(4), f(2, 4, 5)),
    ("matmul", f(3, 4), f(4)),
    ("matmul", f(4), f(4)),
    ("matmul", f(2, 1, 3, 4), f(5, 4, 2)),
    ("matmul", f(3, 4, dtype="float16"), f(4, 2, dtype="float16"), {"out_dtype": "float32"}),
    ("outer", f(3), f(4)),
    ("einsum", (f(2, 3), f(3, 4)), "ij,jk->ik"),
    ("einsum", (f(2, 2, 3), f(2, 3, 4)), "...ij,...jk"),
    ("nn.leakyrelu", f(2, 3), {"alpha": 0.1}),
    ("nn.softplus", f(2, 3)),
    ("nn.prelu", f(2, 3, 2), f(3)),
    ("nn.softmax", f(2, 3, 4), {"axis": 1}),
    ("nn.log_softmax", f(2, 3)),
    ("nn.layer_norm", f(2, 3, 4), f(3, 4), f(3, 4), {"axes": [1, 2]}),
    ("nn.layer_norm", f(2, 4, dtype="float16"), f(4, dtype="float16"), f(4, dtype="float16"), {"axes": [-1]}),
    ("nn.rms_norm", f(2, 3, 4), f(4)),
    ("nn.batch_norm", f(2, 3, 2), f(3), f(3), f(3), positive(3), {"axis": 1, "training": False}),
    ("nn.batch_norm", f(2, 3, 2), f(3), f(3), f(3), positive(3), {"axis": 1}),
    ("nn.group_norm", f(2, 4, 3), f(4), f(4), {"num_groups": 2, "channel_axis": 1, "axes": [2]}),
    ("nn.instance_norm", f(2, 3, 4), f(3), f(3), {"channel_axis": 1, "axes": [2]}),
    ("nn.dropout", f(2, 3)),
    ("layout_transform", f(4, 6), index_map(lambda i, j: (j, i))),
    ("layout_transform", f(4, 6), index_map(lambda i, j: (i // 2, j // 3, i % 2, j % 3))),
    ("layout_transform", f(5, 6), index_map(lambda i, j: (i // 4, j, i % 4)), {"pad_value": 7.0}),
    ("layout_transform", i(2, 3, 4), index_map(lambda i, j, k: (i * 3 + j, k))),
    ("layout_transform", f(12), index_map(lambda i: (i % 3, i // 3))),
    ("nn.conv1d", f(1, 2, 8), f(3, 2, 3), {"strides": 2, "padding": 1}),
    ("nn.conv2d", f(1, 3, 5, 6), f(2, 3, 3, 2), {"padding": (1, 0), "dilation": (1, 2)}),
    ("nn.conv2d", f(1, 4, 4, 4), f(4, 2, 3, 3), {"groups": 2}),
    ("nn.conv2d", f(1, 5, 6, 3), f(3, 3, 3, 2), {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": 1}),
    ("nn.conv3d", f(1, 2, 3, 3, 3), f(2, 2, 2, 2, 2)),
    ("nn.conv1d_transpose", f(1, 2, 4), f(2, 3, 3), {"strides": 2, "padding": 1, "output_padding": 1}),
    *(
        ("nn.conv1d_transpose", f(1, 2, 4), f(2, 3, window), {"strides": stride, "padding": padding, "output_padding": added})
        for stride in (1, 2, 3)
        for window in (1, 2, 3)
        for padding in ((0, 0), (0, 1))
        for added in range(stride)
    ),
    ("nn.conv2d_transpose", f(1, 2, 3, 3), f(2, 3, 2, 2), {"strides": 2, "output_padding": (1, 0)}),
    ("nn.conv3d_transpose", f(1, 2, 2, 3, 2), f(2, 3, 2, 2, 3), {"strides": (2, 1, 2), "padding": (1, 0, 1), "output_padding": (1, 0, 0)}),
    ("nn.conv3d_transpose", f(1, 4, 2, 2, 2), f(4, 1, 2, 1, 2), {"groups": 2, "dilation": 2}),
    ("nn.conv3d_transpose", f(1, 2, 2, 2, 3), f(2, 2, 2, 2, 3), {"data_layout": "NDHWC", "kernel_layout": "DHWOI"}),
    ("atan2", f(3, 4), f(4)),
    ("atan2", number((0.0, -0.0, 0.0, -0.0, float("inf"), 1.0)), number((1.0, 1.0, -1.0, -1.0, -float("inf"), 0.0))),
    ("atan2", f(5, dtype="float16"), f(5, dtype="float16")),
    ("size", f(2, 3, 4)),
    ("size", i()),
    *(("median", f(3, 4, 5), {"axis": axis, "keepdims": keepdims}) for axis in (None, [1], [-1], [0], [2, 0]) for keepdims in (False, True)),
    ("median", i(4, 6), 1),
    ("median", f()),
    ("median", number((2.0, float("nan"), -1.0, float("nan"))), 0),
    ("nn.conv2d_transpose", f(1, 4, 3, 3), f(4, 2, 3, 3), {"strides": 2, "groups": 2}),
    ("nn.max_pool1d", f(1, 2, 7), {"pool_size": 3, "strides": 2, "padding": 1}),
    ("nn.max_pool2d", f(1, 2, 6, 5), {"pool_size": 2, "strides": 2}),
    ("nn.max_pool2d", f(1, 2, 6, 5), {"pool_size": 2, "strides": 2, "ceil_mode": True}),
    ("nn.max_pool2d", f(1, 6, 5, 2), {"pool_size": (2, 1), "layout": "NHWC", "dilation": (2, 1)}),
    ("nn.max_pool3d", f(1, 2, 3, 3, 3), {"pool_size": 2}),
    ("nn.avg_pool1d", f(1, 2, 7), {"pool_size": 3, "padding": 1}),
    ("nn.avg_pool2d", f(1, 2, 6, 5), {"pool_size": 3, "strides": 2, "padding": 1}),
    ("nn.avg_pool2d", f(1, 2, 6, 5), {"pool_size": 3, "strides": 2, "padding": 1, "count_include_pad": True}),
    ("nn.avg_pool2d", f(1, 2, 5, 5), {"pool_size": 2, "strides": 2, "ceil_mode": True}),
    ("nn.avg_pool3d", f(1, 2, 3, 3, 3), {"pool_size": 2}),
    ("nn.adaptive_avg_pool1d", f(1, 2, 7), {"output_size": 3}),
    ("nn.adaptive_avg_pool2d", f(1, 2, 6, 4), {"output_size": (3, 2)}),
    ("nn.adaptive_avg_pool2d", f(1, 2, 5, 4)),
    ("nn.adaptive_avg_pool3d", f(1, 1, 4, 3, 2), {"output_size": (2, 2, 1)}),
    ("nn.pad", f(2, 3), (1, 0, 2, 1), {"pad_value": 3.0}),
    ("nn.pixel_shuffle", f(1, 8, 2, 3), 2),
    ("nn.attention", f(2, 3, 2, 4), f(2, 5, 2, 4), f(2, 5, 2, 6)),
    ("nn.attention", f(1, 3, 2, 4), f(1, 5, 2, 4), f(1, 5, 2, 4), f(1, 1, 3, 5), {"scale": 0.5}),
    ("nn.attention", f(1, 3, 2, 4), f(1, 5, 2, 4), f(1, 5, 2, 4), {"causal_mask": "BottomRight"}),
    ("nn.attention", f(1, 4, 1, 4), f(1, 4, 1, 4), f(1, 4, 1, 4), {"causal_mask": "TopLeft", "window_size": 2}),
    ("nn.attention", f(1, 3, 4, 4), f(1, 5, 2, 4), f(1, 5, 2, 4)),
    *(
        ("nn.attention_var_len", f(1, 7, 2, 4), f(1, 7, 2, 4), f(1, 7, 2, 4), number((0, 2, 6, 7), "int32"), number(4, "int32"), {"causal_mask": mask})
        for mask in (None, "TopLeft", "BottomRight")
    ),
    ("nn.attention_var_len", f(1, 3, 2, 4), f(1, 7, 1, 4), f(1, 7, 1, 4), number((0, 1, 3), "int32"), number(2, "int32"), number((0, 4, 7), "int32"), number(4, "int32"), {"causal_mask": "BottomRight", "window_size": 2}),
    ("nn.cross_entropy_with_logits", f(2, 3), f(2, 3)),
    *(("nn.nll_loss", f(3, 4), i(3), positive(4), {"reduction": how}) for how in ("none", "sum", "mean")),
    ("nn.nll_loss", f(2, 4, 3), i(2, 3), {"ignore_index": 1}),
    ("full", (2, 3), number(2.5)),
    ("full", (2, 3), f(), "float16"),
    ("full_like", f(2, 3), number(3, "int32"), {"dtype": "int64"}),
    ("ones", (2, 3), "int8"),
    ("zeros", (2,), "float32"),
    ("ones_like", f(2, 3)),
    ("zeros_like", f(2, 3), {"dtype": "int32"}),
    ("eye", 3, 4, 1, {"dtype": "int32"}),
    ("eye", 3),
    ("eye_like", f(2, 3)),
    ("arange", 1, 9, 3),
    ("arange", 5),
    ("tril", f(3, 4), 1),
    ("triu", f(2, 3, 3), -1),
    ("hamming_window", 6, True, 0.54, 0.46, "float32"),
    ("astype", f(2, 3), "int32"),
    ("astype", f(2, 3), "float16"),
    ("wrap_param", f(2, 3, dtype="float16")),
    ("quantize", f(2, 3), number(0.1), number(2, "int8")),
    ("quantize", f(2, 3), positive(3), i(3, dtype="int8"), {"axis": 1}),
    ("dequantize", i(2, 3, low=-9, high=9, dtype="int8"), number(0.1), number(2, "int8")),
    ("grad.no_grad", f(2, 3)),
    ("shape_to_tensor", (2, 3)),
    *((f"nn.{kind}pool2d", i(1, 2, 8, 8, low=low, high=high, dtype=dtype), 4) for kind in ("avg_", "adaptive_avg_") for low, high, dtype in _WIDE),
    *((name, i(40, 9, low=low, high=high, dtype=dtype), {"axis": [0]}) for name in ("mean", "std") for low, high, dtype in _WIDE),
    *((name, i(40, 9, low=-9, high=9, dtype="int8"), {"axis": [0]}) for name in ("variance", "std")),
]  # fmt: skip
CASES = [case for case in CASES if case[0] != "dynamic_strided_slice"]


def _rng(number: int) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{CASES[number][0]}{number}".encode()))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case[0]}-{number}" for number, case in enumerate(CASES)])
def test_inference_and_legalization_agree_with_the_oracle(number: int) -> None:
    check(CASES[number], _rng(number))


COMPILED = (
    "sort", "topk", "scatter_nd", "index_put", "nn.pad", "image.resize2d", "grad.max_pool2d_backward", "nn.conv2d",
    "nn.attention", "nn.layer_norm", "einsum", "strided_slice", "argmax", "nn.nll_loss", "unique", "nonzero", "floor_mod",
)  # fmt: skip
"""Operators of which one case each is compiled in every run; with TVMS_FUZZ all cases of all are."""


def test_compiled_programs_agree_with_the_oracle() -> None:
    chosen = [next(case for case in CASES if case[0] == name) for name in COMPILED]
    check_compiled(CASES if "TVMS_FUZZ" in os.environ else chosen, np.random.default_rng(3))


def test_every_meaning_has_an_oracle_and_a_case() -> None:
    covered = {f"relax.{case[0]}" for case in CASES} | {"relax.nn.attention_bias"}
    with_meaning = {name for name, op in relax_ops().items() if op.compute is not None}
    assert with_meaning - covered == set()
    assert [name for name in with_meaning if relax_ops()[name].numpy is None] == []


def test_declarations_are_whole() -> None:
    for name, op in relax_ops().items():
        assert op.name == name
        assert op.doc.endswith("."), name
        assert (op.infer is None) == (op.expand is not None), name
        names = [param.name for param in op.params]
        assert len(set(names)) == len(names), name
