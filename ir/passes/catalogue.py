"""All passes by name, as constructors: `relax.transform.FuseOps(fuse_opt_level=2)` (TVM: `tvm.relax.transform`)."""

from __future__ import annotations

from collections.abc import Callable

from ..spelling import newer_names
from .fuse_by_pattern import FusionPattern, PatternCheckContext
from .transform import Pass, dataflowblock_pass, function_pass, passes

__all__ = [
    "DataflowBlockPass",
    "FunctionPass",
    "FusionPattern",
    "PatternCheckContext",
    "dataflowblock_pass",
    "function_pass",
]
DataflowBlockPass = FunctionPass = Pass
"""Passes of functions and dataflow blocks are passes of modules that visit them."""
_NEW_NAMES = {"VMBuiltinLower": "LowerRuntimeBuiltin"}
"""Other names of passes, of earlier and later versions of TVM."""


def __getattr__(name: str) -> Callable[..., Pass]:
    if name == "UpdateParamType":
        return newer_names(ty_func="sinfo_func")(passes()["UpdateParamStructInfo"])
    name = _NEW_NAMES.get(name, name)
    if name.startswith("__") or name not in passes():
        raise AttributeError(f"unknown pass '{name}'; 'tvms opt --list' shows all")
    return passes()[name]


def __dir__() -> list[str]:
    return [*__all__, *passes()]
