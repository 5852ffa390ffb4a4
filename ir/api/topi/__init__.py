"""Operators as tensor expressions, under TVM's names (TVM: `tvm.topi`): `topi.add(a, b)`, `topi.nn.dense(x, w)`.

Each is the tensor expression that the operator of `relax.op` is legalized to; operands that do not fit raise TvmsError.
"""

from __future__ import annotations

from typing import Any

from . import image, nn, vision
from .arguments import argsort, dyn_tile, sort, strided_slice, topk
from .table import ROWS, function

__all__ = ["argsort", "dyn_tile", "image", "nn", "sort", "strided_slice", "topk", "vision"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return function(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in ROWS if "." not in name)})
