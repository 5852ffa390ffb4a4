"""Modules: `with I.ir_module():` around functions."""

from __future__ import annotations

from ....ir.base import Attrs, IRModule
from ....ir.building.values import plain_nodes
from .base import IRBuilder, Opened


def ir_module() -> Opened:
    """`with I.ir_module():`; every function that is built inside belongs to the module."""
    builder = IRBuilder.current()

    def enter() -> None:
        builder.functions = {}

    def leave() -> None:
        functions, builder.functions = builder.functions or {}, None
        builder.finish("", IRModule(functions, builder.attrs))

    return Opened(enter, leave)


def module_attrs(attrs: Attrs) -> None:
    """Set attributes of the module."""
    builder = IRBuilder.current()
    builder.attrs = {**builder.attrs, **plain_nodes(attrs)}
