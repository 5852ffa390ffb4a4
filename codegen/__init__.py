"""Compilation: `compile` returns an executable, `emit` returns LLVM IR, assembly or object code."""

from __future__ import annotations

from ..ir.functions import register_func
from .build import Settings
from .runtime.executable import Executable, compile, emit, load_compiled
from .target import TARGETS, Target

__all__ = ["TARGETS", "Executable", "Settings", "Target", "compile", "emit", "load_compiled", "register_func"]
