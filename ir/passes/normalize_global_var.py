"""Rename public functions to their linker symbols (TVM: `NormalizeGlobalVar`)."""

from __future__ import annotations

from ..base import IRModule
from ..deep import deep
from ..diagnostics import error
from ..function_table import unused_name
from .calls import with_names
from .transform import declare_pass


@declare_pass("NormalizeGlobalVar")
@deep
def normalize_global_var(mod: IRModule) -> IRModule:
    """Rename every public function to its attribute `global_symbol`; a private function with that name is renamed.

    Raises TvmsError E0910 if two functions have the same symbol.
    """
    names: dict[str, str] = {}
    for name, function in mod.functions.items():
        symbol = function.attrs.get("global_symbol")
        if symbol is not None and str(symbol) in names.values():
            reason = f"'{name}' and another function have the symbol '{symbol}'"
            raise error("E0910", reason, function.span, "give every public function a different symbol")
        if symbol is not None:
            names[name] = str(symbol)
    taken = {*names.values(), *(mod.functions.keys() - names.keys())}
    for name in mod.functions:
        if name not in names:
            names[name] = unused_name(name, taken) if name in names.values() else name
            taken.add(names[name])
    return mod if all(name == new for name, new in names.items()) else with_names(mod, names)
