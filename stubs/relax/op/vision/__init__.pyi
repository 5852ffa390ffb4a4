"""`tvms.relax.op.vision`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.relax
import typing
def all_class_non_max_suppression(boxes: tvms.ir.relax.Expr, scores: tvms.ir.relax.Expr, max_output_boxes_per_class: tvms.ir.relax.Expr, iou_threshold: tvms.ir.relax.Expr, score_threshold: tvms.ir.relax.Expr, output_format: builtins.str = 'onnx') -> tvms.ir.relax.Expr:
    """Return the boxes of each class of each image that score above `score_threshold` and overlap no better one by `iou_threshold` or more, best first. For ONNX, return rows of image, class and box, and their number; for TensorFlow, return rows of class and box for each image, their scores and their number, padded with zeros."""
def get_valid_counts(data: tvms.ir.relax.Expr, score_threshold: typing.Any = 0, id_index: builtins.int = 0, score_index: builtins.int = 1) -> tvms.ir.relax.Expr:
    """Move the boxes of each image that score above `score_threshold` to the front. It is kept and printed, but not compiled."""
def multibox_transform_loc(cls_pred: tvms.ir.relax.Expr, loc_pred: tvms.ir.relax.Expr, anchor: tvms.ir.relax.Expr, clip: builtins.bool = False, threshold: typing.Any = 0.0, variances: typing.Any = ..., keep_background: builtins.bool = True, apply_softmax: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Decode the boxes of a detector from its anchors. It is kept and printed, but not compiled."""
def non_max_suppression(data: tvms.ir.relax.Expr, valid_count: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, max_output_size: builtins.int = -1, iou_threshold: typing.Any = 0.5, force_suppress: builtins.bool = False, top_k: builtins.int = -1, coord_start: builtins.int = 2, score_index: builtins.int = 1, id_index: builtins.int = 0, return_indices: builtins.bool = True, invalid_to_bottom: builtins.bool = False, soft_nms_sigma: typing.Any = 0.0, score_threshold: typing.Any = 0.0) -> tvms.ir.relax.Expr:
    """Suppress boxes that overlap better ones. It is kept and printed, but not compiled."""
def roi_align(data: tvms.ir.relax.Expr, rois: tvms.ir.relax.Expr, pooled_size: builtins.int | collections.abc.Sequence[builtins.int], spatial_scale: builtins.float, sample_ratio: builtins.int = -1, aligned: builtins.bool = False, layout: builtins.str = 'NCHW', mode: builtins.str = 'avg') -> tvms.ir.relax.Expr:
    """Return the regions `rois`, of shape (n, 5) with the number of the image, x1, y1, x2 and y2, resized to `pooled_size`: means or maxima of `sample_ratio` interpolated samples in either direction. The mode "weighted_max", that of ONNX, takes the maximum of the four summands of each interpolation."""
def roi_pool(data: tvms.ir.relax.Expr, rois: tvms.ir.relax.Expr, pooled_size: builtins.int | collections.abc.Sequence[builtins.int], spatial_scale: builtins.float, layout: builtins.str = 'NCHW') -> tvms.ir.relax.Expr:
    """Return the maxima of `pooled_size` parts of the regions `rois`, of shape (n, 5) with the number of the image, x1, y1, x2 and y2; 0 for parts without pixels."""
from tvms.relax.op.vision import vision as vision
