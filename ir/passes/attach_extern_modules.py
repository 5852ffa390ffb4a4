"""Load the external modules that `nn.Module.export_tvm` returns (TVM: `AttachExternModules`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..base import IRModule
from ..functions import register_func
from .transform import declare_pass


class _Extern(Protocol):
    def load(self) -> Mapping[str, Callable[..., Any]]: ...


@declare_pass("AttachExternModules")
def attach_extern_modules(mod: IRModule, ext_mods: Sequence[Any]) -> IRModule:
    """Load external modules, such as `nn.SourceModule`, and register their functions by symbol."""
    externs: Sequence[_Extern] = ext_mods
    for extern in externs:
        for symbol, function in extern.load().items():
            register_func(symbol, function, override=True)
    return mod
