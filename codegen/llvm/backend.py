"""LLVM IR as text, assembly or an object file: parsed, verified and optimised by LLVM.

What LLVM refuses here is a mistake of ours, never of the user: an `InternalError`, with LLVM's own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.passes.transform import announce
from .api import binding

if TYPE_CHECKING:
    from ..target import Target


class InternalError(Exception):
    """The compiler made something that LLVM refuses: a bug to report, with the program that shows it."""


def optimise(text: str, target: Target, level: int = 3) -> Any:
    """Return the LLVM module of `text`, verified and optimised for the target's machine, at level 0 to 3."""
    announce("optimise")
    level = min(level, target.level)
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as problem:
        raise InternalError(f"LLVM refuses what was emitted: {problem}") from problem
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = level > 1
    builder = binding.create_pass_builder(target.machine_at(level), options)
    builder.getModulePassManager().run(module, builder)
    return module


def to_object(module: Any, target: Target, level: int = 3) -> bytes:
    """Return the object file of an optimised module."""
    announce("make machine code")
    return target.machine_at(level).emit_object(module)


def to_assembly(module: Any, target: Target, level: int = 3) -> str:
    """Return the assembly of an optimised module."""
    return target.machine_at(level).emit_assembly(module)
