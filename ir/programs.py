"""Programs as arguments of public functions: a module, or a single function."""

from __future__ import annotations

from os import PathLike
from typing import cast

from .base import BaseFunc, IRModule
from .diagnostics import ArgumentError, Diagnostic


def as_module(program: object, name: str | None = None) -> IRModule:
    """Return `program`, or a module that contains only this function under `name`, its global symbol, or `main`.

    Raises ArgumentError, a TypeError with E0702, if `program` is neither a module nor a function.
    """
    if isinstance(program, IRModule):
        return program
    if isinstance(program, BaseFunc):
        return IRModule({name or program.attrs.get("global_symbol", "main"): program}, name="")
    raise not_a_program(program)


def not_a_program(value: object) -> ArgumentError:
    """Return the error for a value that is neither a module nor a function."""
    help = "tvms.load reads a file, tvms.parse a text" if isinstance(value, str | PathLike) else None
    kind = type(cast("object", value)).__name__
    return ArgumentError(
        Diagnostic("E0702", f"expected a module or a function, got a value of type {kind}", None, help)
    )
