"""The parts of an operator declaration; docs/tutorial/own-operator.md shows an example."""

from __future__ import annotations

from ...ops.dims import Dims, add, floordiv, multiply, subtract
from ...ops.inference import Inference, common_vdevice, dims_of, float_like_first, like, same_as_first, tensor_info
from ...ops.registry import Param, RelaxOp, register

__all__ = [
    "Dims", "Inference", "Param", "RelaxOp", "add", "common_vdevice", "dims_of", "float_like_first", "floordiv", "like",
    "multiply", "register", "same_as_first", "subtract", "tensor_info",
]  # fmt: skip
