"""The machine: from programs to results. `compile` makes an executable, `emit` shows what the machine gets."""

from __future__ import annotations

from ..ir.functions import register_func
from .runtime.executable import Executable, compile, emit
from .target import TARGETS, Target

__all__ = ["TARGETS", "Executable", "Target", "compile", "emit", "register_func"]
