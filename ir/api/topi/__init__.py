"""Operators as tensor expressions, under TVM's names (TVM: `tvm.topi`): `topi.add(a, b)`, `topi.nn.dense(x, w)`.

Each is the tensor expression that the operator of `relax.op` is legalized to; operands that do not fit raise TvmsError.
"""

from __future__ import annotations

from typing import Any

from ...left_out import message_for, reason_for
from . import image, nn, vision
from .arguments import argsort, dyn_tile, sort, strided_slice, topk
from .mathematics import (
    all,
    any,
    ceil_log2,
    dft,
    elemwise_sum,
    fast_erf,
    fast_exp,
    fast_tanh,
    fixed_point_multiply,
    fixed_point_multiply_per_axis,
    identity,
    log2,
    log10,
    reinterpret,
    scanop,
    searchsorted,
    stft,
)
from .table import ROWS, function
from .transforms import (
    dynamic_strided_slice,
    expand_like,
    matrix_set_diag,
    ndarray_size,
    reverse_sequence,
    sequence_mask,
    shape,
    sliding_window,
    sparse_reshape,
    sparse_to_dense,
    squeeze,
    strided_set,
    tensordot,
    trilu,
    unravel_index,
)
from .utils import InvalidShapeError

__all__ = [
    "InvalidShapeError", "all", "any", "argsort", "ceil_log2", "dft", "dyn_tile", "dynamic_strided_slice", "elemwise_sum", "expand_like", "fast_erf", "fast_exp",
    "fast_tanh", "fixed_point_multiply", "fixed_point_multiply_per_axis", "identity", "image", "log2", "log10", "matrix_set_diag", "ndarray_size", "nn",
    "reinterpret", "reverse_sequence", "scanop", "searchsorted", "sequence_mask", "shape", "sliding_window", "sort", "sparse_reshape",
    "sparse_to_dense", "squeeze", "stft", "strided_set", "strided_slice", "tensordot", "topk", "trilu", "unravel_index", "vision",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if reason_for(f"tvms.topi.{name}"):
        raise AttributeError(message_for(f"tvms.topi.{name}"))
    return function(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in ROWS if "." not in name)})
