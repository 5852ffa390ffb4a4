"""Operators that change the dtype (TVM: `relax/op/datatype.py`)."""

from __future__ import annotations

from typing import Any

from ..base import StructInfo
from ..dtype import is_float, is_int
from ..numpy_dtype import float_to_int
from ..te import topi
from .inference import Inference, like
from .registry import Param, RelaxOp, register


def _infer(a: Inference) -> StructInfo:
    return like(a.tensor(a.op.arguments[0].name), a.attr("dtype"))


def _converted(np: Any, a: Any) -> Any:
    """Convert an array as at the loop level: unlike in NumPy, floats outside of the range of an integer dtype saturate."""
    is_rounded = is_float(str(a.x.dtype)) and is_int(str(a.result_dtype))
    return float_to_int(a.x, str(a.result_dtype)) if is_rounded else a.x.astype(a.result_dtype)


register(
    RelaxOp(
        "relax.astype",
        (Param("x"), Param("dtype", "dtype")),
        _infer,
        "Return `x` converted to `dtype`; floats become integers by rounding towards zero.",
        _converted,
        lambda a: topi.cast(a.x, a.dtype),
        prim_func="cast",
    )
)
register(
    RelaxOp(
        "relax.wrap_param",
        (Param("data"), Param("dtype", "dtype", "float32")),
        _infer,
        "Return the parameter `data` converted to `dtype`.",
        lambda np, a: a.data.astype(a.result_dtype),
        lambda a: topi.cast(a.data, a.result.dtype),
    )
)
