"""Give every function a linker symbol (TVM: `AttachGlobalSymbol`)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Node
from ..visit import rewrite
from .transform import declare_pass


@declare_pass("AttachGlobalSymbol")
def attach_global_symbol(mod: IRModule) -> IRModule:
    """Set the attribute `global_symbol` of every function to its name in the module, which makes it public.

    If the module has the attribute `system_lib_prefix`, it comes before the names of loop functions.
    """
    prefix = mod.attrs.get("system_lib_prefix", "")
    names = {
        name: f"{prefix if isinstance(function, tir.PrimFunc) else ''}{name}"
        for name, function in mod.functions.items()
    }
    functions = {
        names[name]: replace(function, attrs={**function.attrs, "global_symbol": names[name]})
        if isinstance(function, relax.Function | tir.PrimFunc) and function.attrs.get("global_symbol") != names[name]
        else function
        for name, function in mod.functions.items()
    }
    return _renamed(replace(mod, functions=functions), names) if prefix else replace(mod, functions=functions)


def _renamed(mod: IRModule, names: Mapping[str, str]) -> IRModule:
    """Return a module whose references have new names."""

    def reference(node: Node) -> Node | None:
        return replace(node, name_hint=names[node.name_hint]) if isinstance(node, GlobalVar) else None

    functions = {name: rewrite(function, reference) for name, function in mod.functions.items()}
    return replace(mod, functions=functions)
