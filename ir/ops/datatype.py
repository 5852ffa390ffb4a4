"""Operators that change the dtype (TVM: `relax/op/datatype.py`)."""

from __future__ import annotations

from ..base import StructInfo
from ..numpy_dtype import converted
from ..te import topi
from .inference import Inference, like
from .registry import Param, RelaxOp, register


def _infer(a: Inference) -> StructInfo:
    return like(a.tensor(a.op.arguments[0].name), a.attr("dtype"))


register(
    RelaxOp(
        "relax.astype",
        (Param("x"), Param("dtype", "dtype")),
        _infer,
        "Return `x` converted to `dtype`; floats become integers by rounding towards zero.",
        lambda np, a: converted(a.x, a.result_dtype),
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
        lambda np, a: converted(a.data, a.result_dtype),
        lambda a: topi.cast(a.data, a.result.dtype),
    )
)
