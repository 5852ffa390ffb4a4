"""The program: nodes, operators, law, interpreter, passes; TVM's names of `tvm.ir` are found here, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import GlobalVar, IRModule, Op, VDevice
    from .equal import assert_structural_equal, structural_equal, structural_hash
    from .passes import transform
    from .tir import Range

_PLACES = {
    "GlobalVar": "base",
    "IRModule": "base",
    "Op": "base",
    "Range": "tir",
    "VDevice": "base",
    "assert_structural_equal": "equal",
    "structural_equal": "equal",
    "structural_hash": "equal",
}

__all__ = [
    "GlobalVar", "IRModule", "Op", "Range", "VDevice", "assert_structural_equal", "structural_equal", "structural_hash", "transform",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "transform":
        return import_module(f"{__name__}.transform")
    if name not in _PLACES:
        raise AttributeError(f"module 'tvms.ir' has no attribute '{name}'")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
