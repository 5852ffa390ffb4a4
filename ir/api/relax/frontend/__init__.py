"""Frontends for graph-level programs (TVM: `tvm.relax.frontend`): `nn`, modules as in PyTorch, and `onnx` and `torch`, the
importers of ONNX and PyTorch models.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from .... import nn, relax
from ....base import IRModule

__all__ = ["detach_params", "nn"]


def detach_params(module: IRModule) -> tuple[IRModule, dict[str, list[Any]]]:
    """Return `module` without the attribute "params" of its functions, and the arrays in these attributes by function name
    (TVM: `relax.frontend.detach_params`).
    """
    functions = dict(module.functions)
    arrays: dict[str, list[Any]] = {}
    for name, function in functions.items():
        if isinstance(function, relax.Function) and "params" in function.attrs:
            attrs = dict(function.attrs)
            given = attrs.pop("params")
            arrays[name] = [value.data if isinstance(value, relax.Constant) else value for value in given]
            functions[name] = replace(function, attrs=attrs)
    return replace(module, functions=functions), arrays
