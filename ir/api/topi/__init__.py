"""Tensors computed by the operators, under TVM's names (TVM: `tvm.topi`): `topi.add(a, b)`, `topi.nn.dense(x, w)`.

Each is the tensor expression that `relax.op`'s operator is legalised to; operands that do not fit are a TvmsError.
"""

from __future__ import annotations

from typing import Any

from . import image, nn
from .arguments import argsort, sort, strided_slice, topk
from .table import ROWS, function

__all__ = ["argsort", "image", "nn", "sort", "strided_slice", "topk"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return function(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in ROWS if "." not in name)})
