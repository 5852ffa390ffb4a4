"""Give every function a linker symbol (TVM: `AttachGlobalSymbol`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule
from ..diagnostics import error
from .calls import with_names
from .transform import declare_pass

PREFIX = "system_lib_prefix"
"""Attribute of a module with the prefix of the symbols of its loop functions."""


@declare_pass("AttachGlobalSymbol")
def attach_global_symbol(mod: IRModule) -> IRModule:
    """Set the attribute `global_symbol` of every function to its name in the module, which makes it public.

    If the module has the attribute `system_lib_prefix`, loop functions are renamed, so that their names start with it.

    Raises TvmsError E0906 if another function has the new name of a loop function.
    """
    given = mod.attrs.get(PREFIX, "")
    prefix = str(getattr(given, "value", given))
    loops = [name for name, function in mod.functions.items() if isinstance(function, tir.PrimFunc)]
    names = {
        name: f"{prefix}{name}"
        for name in loops
        if prefix and (not name.startswith(prefix) or name.removeprefix(prefix) in loops)
    }
    taken = next((name for name, new in names.items() if new in mod.functions and new not in names), None)
    if taken is not None:
        reason = f"loop function '{taken}' gets the name of another function, '{names[taken]}'"
        raise error("E0906", reason, mod.functions[taken].span, f"rename one of them, or change '{PREFIX}'")
    named = with_names(mod, names) if names else mod
    functions = {
        name: replace(function, attrs={**function.attrs, "global_symbol": name})
        if isinstance(function, relax.Function | tir.PrimFunc) and function.attrs.get("global_symbol") != name
        else function
        for name, function in named.functions.items()
    }
    return replace(named, functions=functions)
