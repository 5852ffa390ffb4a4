"""The program: nodes, operators, law, interpreter, passes; TVM's names of `tvm.ir` are found here, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import DummyGlobalInfo, GlobalVar, IRModule, Op, VDevice
    from .equal import assert_structural_equal, structural_equal, structural_hash
    from .passes import transform
    from .tir import Range

__all__ = [
    "DummyGlobalInfo", "GlobalVar", "IRModule", "Op", "Range", "VDevice", "assert_structural_equal", "structural_equal", "structural_hash",
    "transform",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tvms.ir' has no attribute '{name}'")
    if name == "transform":
        from .passes import transform

        return transform
    from . import base, equal, tir

    return next(getattr(room, name) for room in (base, equal, tir) if hasattr(room, name))
