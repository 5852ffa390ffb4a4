"""Give every function a linker symbol (TVM: `AttachGlobalSymbol`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule
from .transform import declare_pass


@declare_pass("AttachGlobalSymbol")
def attach_global_symbol(mod: IRModule) -> IRModule:
    """Set the attribute `global_symbol` of every function to its name in the module, which makes it public."""
    functions = {
        name: replace(function, attrs={**function.attrs, "global_symbol": name})
        if isinstance(function, relax.Function | tir.PrimFunc) and function.attrs.get("global_symbol") != name
        else function
        for name, function in mod.functions.items()
    }
    return replace(mod, functions=functions)
