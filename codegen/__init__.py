"""The machine: from programs to results. `compile` makes an executable, `emit` shows what the machine gets."""

from __future__ import annotations

from .runtime.executable import Executable, compile, emit
from .runtime.functions import register_func
from .target import TARGETS, Target

__all__ = ["TARGETS", "Executable", "Target", "compile", "emit", "register_func"]
