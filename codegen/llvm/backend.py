"""Optimize LLVM IR and translate it to assembly or an object file.

If LLVM rejects the IR, the compiler has a bug; the user's program is not at fault. The result is an
`InternalError` with LLVM's message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.passes.transform import announce
from .api import binding

if TYPE_CHECKING:
    from ..target import Target


class InternalError(Exception):
    """LLVM rejected IR that the compiler emitted: a bug to report, with the program that triggers it."""


def optimize(text: str, target: Target, level: int = 3) -> Any:
    """Parse, verify and optimize `text` for the target's machine, at level 0 to 3; return the LLVM module."""
    announce("optimize")
    level = min(level, target.level)
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as problem:
        raise InternalError(f"LLVM rejects the emitted IR: {problem}") from problem
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = level > 1
    builder = binding.create_pass_builder(target.machine_at(level), options)
    builder.getModulePassManager().run(module, builder)
    return module


def to_object(module: Any, target: Target, level: int = 3) -> bytes:
    """Return the object file of an optimized module."""
    announce("make machine code")
    return target.machine_at(level).emit_object(module)


def to_assembly(module: Any, target: Target, level: int = 3) -> str:
    """Return the assembly of an optimized module."""
    return target.machine_at(level).emit_assembly(module)
