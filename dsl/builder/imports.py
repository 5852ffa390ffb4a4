"""Import statements of TVM's scripts: they name the dialects. Nothing is ever loaded."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from .. import syntax
from . import plain
from .context import Context
from .forms import NAMESPACES, MetadataTable, Namespace

_PACKAGES = sys.stdlib_module_names | {
    "tvm", "tvms", "numpy", "ml_dtypes", "torch", "pytest", "scipy", "onnx", "jax", "typing_extensions", "tvm_ffi",
}  # fmt: skip
"""Packages that programs around TVMScript import: such an import is accepted and has no effect."""
_DIALECTS = {"ir": "I", "tir": "T", "tirx": "T", "relax": "R"}
"""Names of the dialects in `tvm.script`, old and new."""
_OF_SCRIPT = (
    *_DIALECTS, "ir_module", "from_source", "parser", "ir_builder", "printer", "highlight", "register", "registry", "utils", "ty",
)  # fmt: skip
"""Names in `tvm.script`."""


def base_names() -> dict[str, Any]:
    """Return the names that are defined without any import."""
    names: dict[str, Any] = {letter: NAMESPACES[letter] for letter in ("I", "T", "R", "S") if letter in NAMESPACES}
    names |= {name: NAMESPACES[letter] for name, letter in _DIALECTS.items()}
    names |= {word: tir.Call("int32", Op(f"tir.{word}_loop"), ()) for word in ("break", "continue")}
    names["range"] = replace(NAMESPACES["T"].members["serial"], name="range")
    return names | plain.FORMS | {"tvm": _tvm(), "metadata": MetadataTable()}


def _tvm() -> Namespace:
    members: dict[str, Any] = {name: NAMESPACES[letter] for name, letter in _DIALECTS.items()}
    members["ir_module"] = NAMESPACES["I"].members["ir_module"]
    return Namespace("tvm", {"script": Namespace("tvm.script", members)})


def define_imports(context: Context, node: syntax.Import) -> None:
    """Define the imported names of dialects; other imported names stay undefined and are reported where they are used.

    Raise E0101 for a module that is neither part of TVM nor listed in `_PACKAGES`.
    """
    for name, dotted in node.names:
        package = dotted.partition(".")[0]
        if package and package not in _PACKAGES:
            help = "remove it: nothing is ever loaded, and only imports of tvm.script have an effect"
            raise context.error("E0101", f"there is no module '{package}'", node, help)
        _check_dialect(context, dotted, node)
        value: Any = Namespace("", {"tvm": _tvm()})
        for part in dotted.split("."):
            value = value.members.get(part) if isinstance(value, Namespace) else None
        if value is not None:
            context.scope.define(name, value)


def _check_dialect(context: Context, dotted: str, node: syntax.Import) -> None:
    """Raise E0101 for a name that tvm.script does not have."""
    package, _, name = dotted.rpartition(".")
    if package not in ("tvm.script", "tvms.script") or name in _OF_SCRIPT or name == "*":
        return
    near = get_close_matches(name, _OF_SCRIPT, 1)
    help = f"did you mean '{near[0]}'?" if near else f"its names are {', '.join(_DIALECTS)} and ir_module"
    raise context.error("E0101", f"{package} has no '{name}'", node, help)
