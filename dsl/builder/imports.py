"""Import statements of TVM's scripts: they name the dialects. Nothing is ever loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op, VDevice
from ...ir.ops.builtin import DEVICE_TYPES
from ...ir.signature import describe
from .. import syntax
from . import tile
from .context import Context
from .convert import Integer, Text, is_tuple
from .forms import NAMESPACES, Form, FormUse, MetadataTable, Namespace, signature_of

PACKAGES = sys.stdlib_module_names | {
    "tvm", "tvms", "numpy", "ml_dtypes", "torch", "pytest", "scipy", "onnx", "jax", "typing_extensions", "tvm_ffi",
}  # fmt: skip
"""Packages that programs around TVMScript import: such an import is accepted and has no effect."""
DIALECTS = {"ir": "I", "tir": "T", "tirx": "T", "relax": "R"}
"""Names of the dialects in `tvm.script`, old and new."""
_OF_SCRIPT = (
    *DIALECTS, "ir_module", "from_source", "parser", "ir_builder", "printer", "highlight", "register", "registry", "utils", "ty",
)  # fmt: skip
"""Names in `tvm.script`."""


_FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "abs": (abs, "write T.abs(x)"),
    "float": (float, 'write T.Cast("float32", x) to convert an expression'),
    "int": (int, 'write T.Cast("int32", x) to convert an expression'),
    "len": (len, "write A.shape[0] for the extent of the first dimension of buffer A"),
    "max": (max, "write T.max(a, b)"),
    "min": (min, "write T.min(a, b)"),
}
"""Python functions of plain numbers, computed when the text is read: the function, and the remedy for arguments that are known only when the program runs."""


def _form(name: str, function: Callable[..., Any], help: str) -> Form:
    def build(site: FormUse, *values: Any) -> Any:
        unknown = [value for value in values if not isinstance(value, bool | int | float | str) and not is_tuple(value)]
        if values and not unknown:
            try:
                return function(*values)
            except (TypeError, ValueError, OverflowError):
                pass
        given = f", not {describe((unknown or values)[0])}" if values else ""
        if not values and name in ("int", "float", "bool"):
            kind = {"int": "T.int32", "float": "T.float32", "bool": "T.bool"}[name]
            raise site.error("E0202", f"{name} takes plain numbers, and is not a type", f"write {kind} for the type")
        raise site.error("E0202", f"{name} takes plain numbers{given}", help)

    return Form(name, build, signature_of(build))


def _op(site: FormUse, name: Text) -> str:
    """`tvm.ir.Op.get("tir.exp")`: an intrinsic by name, for `T.Call`."""
    return name


def _device_form(kind: str) -> Form:
    """Return the form `tvm.cuda(0)`: a device of the program, for `R.hint_on_device`."""

    def build(site: FormUse, device_id: Integer = 0) -> VDevice:
        return VDevice({"kind": kind}, device_id, span=site.span)

    return Form(f"tvm.{_device_name(kind)}", build, signature_of(build))


def _device_name(kind: str) -> str:
    return "cpu" if kind == "llvm" else kind


_OP = Form("tvm.ir.Op.get", _op, signature_of(_op))
_PLAIN_FORMS = {name: _form(name, function, help) for name, (function, help) in _FUNCTIONS.items()}


def base_names() -> dict[str, Any]:
    """Return the names that are defined without any import."""
    names: dict[str, Any] = {letter: NAMESPACES[letter] for letter in ("I", "T", "R", "S") if letter in NAMESPACES}
    names |= {name: NAMESPACES[letter] for name, letter in DIALECTS.items()}
    names |= {word: tir.Call("int32", Op(f"tir.{word}_loop"), ()) for word in ("break", "continue")}
    names["range"] = replace(NAMESPACES["T"].members["serial"], name="range")
    return names | _PLAIN_FORMS | {"tvm": _tvm(), "metadata": MetadataTable(), "Tx": tile.TileName("tile")}


def _tvm() -> Namespace:
    members: dict[str, Any] = {name: NAMESPACES[letter] for name, letter in DIALECTS.items()}
    members["ir_module"] = NAMESPACES["I"].members["ir_module"]
    of_ir = {"VDevice": NAMESPACES["I"].members["vdevice"], "Op": Namespace("tvm.ir.Op", {"get": _OP})}
    return Namespace("tvm", {"script": Namespace("tvm.script", members), "ir": Namespace("tvm.ir", of_ir), **_of_tvm()})


def _of_tvm() -> dict[str, Any]:
    """Return the other names of TVM that definitions use: devices and targets."""
    devices = {_device_name(kind): _device_form(kind) for kind in DEVICE_TYPES}
    return {**devices, "target": Namespace("tvm.target", {"Target": NAMESPACES["T"].members["target"]})}


def define_imports(context: Context, node: syntax.Import) -> None:
    """Define the imported names of dialects; other imported names stay undefined and are reported where they are used.

    Raise E0101 for a module that is neither part of TVM nor listed in `PACKAGES`.
    """
    for name, dotted in node.names:
        package = dotted.partition(".")[0]
        if package and package not in PACKAGES:
            help = "remove it: nothing is ever loaded, and only imports of tvm.script have an effect"
            raise context.error("E0101", f"there is no module '{package}'", node, help)
        _check_dialect(context, dotted, node)
        value: Any = Namespace("", {"tvm": _tvm()})
        for part in dotted.split("."):
            value = value.members.get(part, tile.member(value, part)) if isinstance(value, Namespace) else None
        if value is not None:
            context.scope.define(name, value)


def _check_dialect(context: Context, dotted: str, node: syntax.Import) -> None:
    """Raise E0101 for a name that tvm.script does not have."""
    package, _, name = dotted.rpartition(".")
    if package not in ("tvm.script", "tvms.script") or name in _OF_SCRIPT or name == "*":
        return
    near = get_close_matches(name, _OF_SCRIPT, 1)
    help = f"did you mean '{near[0]}'?" if near else f"its names are {', '.join(DIALECTS)} and ir_module"
    raise context.error("E0101", f"{package} has no '{name}'", node, help)
