"""Import statements of TVM's scripts: they give the dialects their names. Nothing is ever loaded."""

from __future__ import annotations

import sys
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
"""What programs around TVMScript import: such an import is read, and means nothing here."""
_DIALECTS = {"ir": "I", "tir": "T", "tirx": "T", "relax": "R"}
"""The names of the dialects in `tvm.script`, old and new."""


def base_names() -> dict[str, Any]:
    """Return what names stand for without any import."""
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
    """Define the names of an import that name a dialect; others stay undefined, and are reported where they are used.

    E0101 for a module that is neither of TVM nor known to most programs of Python: it is not there.
    """
    for name, dotted in node.names:
        package = dotted.partition(".")[0]
        if package and package not in _PACKAGES:
            help = "leave it out: nothing is ever loaded, and only imports of tvm.script mean something"
            raise context.error("E0101", f"there is no module '{package}'", node, help)
        value: Any = Namespace("", {"tvm": _tvm()})
        for part in dotted.split("."):
            value = value.members.get(part) if isinstance(value, Namespace) else None
        if value is not None:
            context.scope.define(name, value)
