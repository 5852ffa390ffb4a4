"""The program: nodes, operators, law, interpreter, passes. `tvms.ir.IRModule` and `GlobalVar` are found here, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import GlobalVar, IRModule

__all__ = ["GlobalVar", "IRModule"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tvms.ir' has no attribute '{name}'")
    from . import base

    return getattr(base, name)
