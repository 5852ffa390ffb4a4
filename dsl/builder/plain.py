"""Python functions of plain numbers, computed when the text is read: `R.const(float("inf"), "float32")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.signature import describe
from .convert import is_tuple
from .forms import Form, FormUse, signature_of

_FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "abs": (abs, "write T.abs(x)"),
    "float": (float, 'write T.Cast("float32", x) to convert an expression'),
    "int": (int, 'write T.Cast("int32", x) to convert an expression'),
    "len": (len, "write A.shape[0] for the extent of the first dimension of buffer A"),
    "max": (max, "write T.max(a, b)"),
    "min": (min, "write T.min(a, b)"),
}
"""The Python function, and the remedy for arguments that are known only when the program runs."""


def _form(name: str, function: Callable[..., Any], help: str) -> Form:
    def build(site: FormUse, *values: Any) -> Any:
        unknown = [value for value in values if not isinstance(value, bool | int | float | str) and not is_tuple(value)]
        if values and not unknown:
            try:
                return function(*values)
            except (TypeError, ValueError, OverflowError):
                pass
        given = f", not {describe((unknown or values)[0])}" if values else ""
        raise site.error("E0202", f"{name} takes plain numbers{given}", help)

    return Form(name, build, signature_of(build))


FORMS = {name: _form(name, function, help) for name, (function, help) in _FUNCTIONS.items()}
