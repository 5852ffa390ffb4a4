"""Options of printing besides the dialect, with TVM's names (TVM: `PrinterConfig`)."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from msgspec import Struct


class Options(Struct, frozen=True):
    """Options of printing."""

    name: str | None = None
    """Name of the function."""
    verbose_expr: bool = False
    """Whether an expression alone is preceded by declarations of its variables."""
    indent_spaces: int = 4
    print_line_numbers: bool = False
    syntax_sugar: bool = True
    """Whether nests of loops are `T.grid`, and axes bound to loop variables `T.axis.remap`."""
    show_all_struct_info: bool = True
    """Whether the dialects of TVM annotate bindings; the native one does if the struct info cannot be inferred."""
    shows_small_tensors: bool = False
    """Whether the dialects of TVM also print small tensors as lists, as texts without a sidecar file need."""


AS_USUAL = Options()
_NEWER = {"show_all_ty": "show_all_struct_info"}
"""Names of options in TVM 0.27, and those before."""
_FIXED: dict[str, Any] = {
    "ir_prefix": "I",
    "tir_prefix": "T",
    "relax_prefix": "R",
    "module_alias": "cls",
    "buffer_dtype": "float32",
    "int_dtype": "int32",
    "float_dtype": "void",
    "num_context_lines": -1,
    "show_object_address": False,
}
"""Options of TVM for which only TVM's default is supported, so that texts are the same everywhere."""


def read_options(given: dict[str, Any]) -> Options:
    """Return the options for arguments with TVM's names. `show_meta` and `extra_config` are accepted and ignored: tensors are
    stored beside the text (`tvms.save`), and `Options` has all settings of the printer.

    Raise TypeError for an unknown option, ValueError for an unsupported value.
    """
    known = Options.__struct_fields__
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        key = _NEWER.get(name, name)
        if key in known:
            chosen[key] = value
        elif key in _FIXED:
            if value != _FIXED[key]:
                raise ValueError(f"{key}={value!r} is not supported: it is always {_FIXED[key]!r}")
        elif key not in ("show_meta", "extra_config"):
            near = get_close_matches(key, (*known, *_FIXED, "show_meta"), 1)
            hint = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(known)}"
            raise TypeError(f"unknown printing option '{key}'; {hint}")
    return Options(**chosen)
