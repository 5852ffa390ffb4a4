"""Constant arrays in the module, addressed by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .api import Builder, Value, ir
from .types import POINTER

_ALIGNMENT = 64


def constant_array(builder: Builder, data: np.ndarray[Any, Any], name: str | None = None) -> Value:
    """Return the address of the contents of `data`. Arrays with the same `name` share one copy."""
    module = builder.module
    symbol = module.get_unique_name("constant") if name is None else name
    found = module.globals.get(symbol)
    if found is not None:
        return found
    contents = np.ascontiguousarray(data).tobytes()
    array = ir.Constant(ir.ArrayType(ir.IntType(8), len(contents)), bytearray(contents))
    variable = ir.GlobalVariable(module, array.type, symbol)
    variable.linkage, variable.global_constant, variable.align = "internal", True, _ALIGNMENT
    variable.initializer, variable.type = array, POINTER
    return variable
