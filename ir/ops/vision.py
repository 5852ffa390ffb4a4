"""Operators of object detection: suppression of boxes that overlap better ones (TVM: `topi/vision`)."""

from __future__ import annotations

from typing import Any

from ..base import StructInfo
from ..relax import TensorStructInfo, TupleStructInfo
from . import dims as d
from .inference import Inference, dims_of, tensor_info, written_dims
from .registry import Param, RelaxOp, register


def _infer_suppression(a: Inference) -> StructInfo:
    if a.attr("output_format") not in ("onnx", "tensorflow"):
        raise a.fail("E0321", f'has no output_format "{a.attr("output_format")}"', 'choose "onnx" or "tensorflow"')
    boxes, scores = a.rank("boxes", 3), a.rank("scores", 3)
    for name in ("boxes", "scores"):
        a.float_tensor(name)
    for name in ("max_output_boxes_per_class", "iou_threshold", "score_threshold"):
        a.rank(name, 0, 1)
    places, dims = dims_of(boxes), dims_of(scores)
    if places is not None:
        a.check_equal(places[2], d.dim(4), f"needs boxes of 4 coordinates, not {d.show_one(places[2])}")
    if places is not None and dims is not None:
        for axis, other, what in ((0, 0, "images"), (1, 2, "boxes")):
            reason = f"gets {d.show_one(places[axis])} {what} in 'boxes', but {d.show_one(dims[other])} in 'scores'"
            a.check_equal(places[axis], dims[other], reason)
    if a.attr("output_format") == "onnx":
        count = tensor_info([d.dim(1)], "int64", -1, scores.vdevice)
        return TupleStructInfo((tensor_info(None, "int64", 2, scores.vdevice), count))
    if dims is None:
        unknown = [
            TensorStructInfo(None, dtype, ndim) for dtype, ndim in (("int64", 3), (scores.dtype, 2), ("int64", 1))
        ]
        return TupleStructInfo(tuple(unknown))
    most = d.multiply(dims[1], dims[2])
    parts = (([dims[0], most, d.dim(2)], "int64"), ([dims[0], most], scores.dtype), ([dims[0]], "int64"))
    return TupleStructInfo(tuple(tensor_info(shape, dtype, -1, scores.vdevice) for shape, dtype in parts))


def _kept(np: Any, a: Any, boxes: Any, scores: Any) -> list[int]:
    """Return the kept boxes of one class, best first."""
    most, overlap, least = (
        np.asarray(value).reshape(-1)[0] for value in (a.max_output_boxes_per_class, a.iou_threshold, a.score_threshold)
    )
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area, kept = np.prod(high - low, 1), list[int]()
    for number in np.argsort(-scores, kind="stable"):
        if len(kept) >= most or not scores[number] > least:
            break
        sides = np.minimum(high[kept], high[number]) - np.maximum(low[kept], low[number])
        common = np.prod(np.maximum(sides, 0), 1)
        union = area[kept] + area[number] - common
        ratio = np.where(union > 0, common / np.where(union > 0, union, 1), 0)
        if not (ratio >= overlap).any():
            kept.append(int(number))
    return kept


def _numpy_suppression(np: Any, a: Any) -> Any:
    images, classes, count = a.scores.shape
    kept = [[_kept(np, a, a.boxes[n], a.scores[n, c]) for c in range(classes)] for n in range(images)]
    if a.output_format == "onnx":
        rows = [(n, c, box) for n in range(images) for c in range(classes) for box in kept[n][c]]
        return np.array(rows, "int64").reshape(-1, 3), np.array([len(rows)], "int64")
    indices = np.zeros((images, classes * count, 2), "int64")
    scores = np.zeros((images, classes * count), a.scores.dtype)
    for n in range(images):
        rows = [(c, box) for c in range(classes) for box in kept[n][c]]
        for place, row in enumerate(rows):
            indices[n, place], scores[n, place] = row, a.scores[n, *row]
    return indices, scores, np.array([sum(map(len, of_image)) for of_image in kept], "int64")


register(
    RelaxOp(
        "relax.vision.all_class_non_max_suppression",
        (
            Param("boxes"),
            Param("scores"),
            Param("max_output_boxes_per_class"),
            Param("iou_threshold"),
            Param("score_threshold"),
            Param("output_format", "str", "onnx"),
        ),
        _infer_suppression,
        "Return the boxes of each class of each image that score above `score_threshold` and overlap no better one by "
        "`iou_threshold` or more, best first. For ONNX, return rows of image, class and box, and their number; for TensorFlow, return "
        "rows of class and box for each image, their scores and their number, padded with zeros.",
        _numpy_suppression,
        at_run_time=True,
    )
)


def _infer_valid_counts(a: Inference) -> StructInfo:
    data = a.rank("data", 3)
    dims = written_dims(data)
    count = tensor_info(None if dims is None else [dims[0]], "int32", 1, data.vdevice)
    return TupleStructInfo((count, data, tensor_info(None if dims is None else dims[:2], "int32", 2, data.vdevice)))


def _infer_non_max_suppression(a: Inference) -> StructInfo:
    data = a.rank("data", 3)
    if not a.attr("return_indices"):
        return data
    dims = written_dims(data)
    one = None if dims is None else [dims[0], d.dim(1)]
    kept = tensor_info(None if dims is None else dims[:2], "int32", 2, data.vdevice)
    return TupleStructInfo((kept, tensor_info(one, "int32", 2, data.vdevice)))


def _infer_multibox(a: Inference) -> StructInfo:
    scores, anchors = a.rank("cls_pred", 3), a.rank("anchor", 3)
    dims, places = written_dims(scores), written_dims(anchors)
    boxes = None if dims is None or places is None else [dims[0], places[1], d.dim(4)]
    return TupleStructInfo((tensor_info(boxes, scores.dtype, 3, scores.vdevice), scores))


register(
    RelaxOp(
        "relax.vision.get_valid_counts",
        (
            Param("data"),
            Param("score_threshold", "value", 0),
            Param("id_index", "int", 0),
            Param("score_index", "int", 1),
        ),
        _infer_valid_counts,
        "Move the boxes of each image that score above `score_threshold` to the front. It is kept and printed, but not compiled.",
    )
)
register(
    RelaxOp(
        "relax.vision.non_max_suppression",
        (
            Param("data"),
            Param("valid_count"),
            Param("indices"),
            Param("max_output_size", "int", -1),
            Param("iou_threshold", "value", 0.5),
            Param("force_suppress", "bool", False),
            Param("top_k", "int", -1),
            Param("coord_start", "int", 2),
            Param("score_index", "int", 1),
            Param("id_index", "int", 0),
            Param("return_indices", "bool", True),
            Param("invalid_to_bottom", "bool", False),
            Param("soft_nms_sigma", "value", 0.0),
            Param("score_threshold", "value", 0.0),
        ),
        _infer_non_max_suppression,
        "Suppress boxes that overlap better ones. It is kept and printed, but not compiled.",
    )
)
register(
    RelaxOp(
        "relax.vision.multibox_transform_loc",
        (
            Param("cls_pred"),
            Param("loc_pred"),
            Param("anchor"),
            Param("clip", "bool", False),
            Param("threshold", "value", 0.0),
            Param("variances", "value", (1.0, 1.0, 1.0, 1.0)),
            Param("keep_background", "bool", True),
            Param("apply_softmax", "bool", True),
        ),
        _infer_multibox,
        "Decode the boxes of a detector from its anchors. It is kept and printed, but not compiled.",
    )
)
