"""All forms of the language with name, arguments and meaning. The operators of `R` have their own table."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from ...ir.ops import tir as intrinsics
from ...ir.ops import tir_builtin, tir_device, tir_math
from ..builder import relax_annotations, relax_calls, relax_function, tir_methods
from ..builder.forms import NAMESPACES, Form, Namespace
from ..builder.module import function

__all__ = ["SECTIONS", "Entry", "forms"]

SECTIONS = {
    "module": "Modules and definitions",
    "tir_loops": "Loops",
    "tir_blocks": "Blocks",
    "tir_buffers": "Buffers",
    "tir_methods": "Methods of buffers and expressions",
    "tir_scopes": "Statements and scopes",
    "tir_literals": "Dtypes, variables and constants",
    "tir_operators": "Operators by name",
    "tir_calls": "Calls and targets",
    "tir_math": "Intrinsics: numbers",
    "tir_builtin": "Intrinsics: control, memory, calls",
    "tir_device": "Intrinsics: devices",
    "tile": "The tile level of TIRX, which is not compiled",
    "relax_annotations": "Struct info",
    "relax_statements": "Graph-level statements",
    "relax_calls": "Graph-level values",
    "relax_distributed": "Graph-level values on many devices",
}
"""Sections of the reference in order: the module that declares the forms, and the heading."""

_DECLARED_WITH = {"tir_function": "module", "macros": "module"}
"""Modules whose forms belong to the section of another one."""

Role = Literal["definition", "type", "form"]
_TYPES = ("tir_literals", "relax_annotations")
_DEFINITIONS = (
    "I.ir_module",
    "T.prim_func",
    "R.function",
    "S.schedule",
    "S.function",
    "T.macro",
    "T.inline",
    "R.macro",
)


class Entry(Struct, frozen=True):
    """A form: its `name` ("T.grid"), its arguments ("(*extents)"), its meaning and its section."""

    name: str
    arguments: str
    doc: str
    section: str

    @property
    def role(self) -> Role:
        """Whether the form opens a definition, names a type, or neither."""
        if self.name in _DEFINITIONS:
            return "definition"
        return "type" if self.section in _TYPES else "form"


@cache
def forms() -> dict[str, Entry]:
    """Return all forms by name, in the order of their declaration."""
    entries = [
        *(_entry(name, form) for letter in NAMESPACES.values() for name, form in _members(letter, letter.name)),
        *(_entry(f"A.{name}", form, 2) for name, form in tir_methods.BUFFER_METHODS.items()),
        *(_entry(f"x.{name}", form, 2) for name, form in tir_methods.EXPRESSION_METHODS.items()),
        *_graph_level("module", {"R.function": (relax_function.HEAD, function)}),
        *_graph_level("relax_annotations", relax_annotations.FORMS),
        *_graph_level("relax_calls", relax_calls.VALUE_FORMS),
    ]
    return {entry.name: entry for entry in entries}


def _members(namespace: Namespace, path: str) -> Iterator[tuple[str, Form]]:
    for name, member in namespace.members.items():
        if isinstance(member, Namespace):
            yield from _members(member, f"{path}.{name}")
        elif isinstance(member, Form):
            yield f"{path}.{name}", member


def _entry(name: str, form: Form, hidden: int = 1) -> Entry:
    """Describe a form whose function has `hidden` leading parameters that are not written in the text."""
    row = intrinsics.find_script(form.name.removeprefix("T."))
    section = form.build.__module__.rsplit(".", 1)[-1]
    if row is not None and section == "tir_calls":
        section = _family(row)
    if row is not None and form.signature.open is not None:
        arguments = _arguments_of_call(row)
    else:
        arguments = _arguments(form, hidden)
    return Entry(name, arguments, _meaning(form.build), _DECLARED_WITH.get(section, section))


def _family(row: intrinsics.Intrinsic) -> str:
    family = next(family for family in (tir_math, tir_builtin, tir_device) if row in family.ROWS)
    return family.__name__.rsplit(".", 1)[-1]


def _arguments_of_call(row: intrinsics.Intrinsic) -> str:
    """Return the arguments of an intrinsic, including its dtype if the call names it."""
    shown = row.arguments.split()
    place = row.dtype_location
    return f"({', '.join((*('dtype',) * (place == 'first'), *shown, *('dtype',) * (place == 'last')))})"


def _arguments(form: Form, hidden: int) -> str:
    signature = inspect.signature(form.build)
    wrapped = hasattr(form.build, "__wrapped__")
    parameters = [
        parameter.replace(name=parameter.name.rstrip("_"), annotation=inspect.Parameter.empty)
        for parameter in list(signature.parameters.values())[0 if wrapped else hidden :]
        if not (wrapped and parameter.name == "span")
    ]
    return str(inspect.Signature(parameters))


def _graph_level(section: str, table: dict[str, Any]) -> Iterator[Entry]:
    for name, (signature, build) in table.items():
        yield Entry(name, f"({', '.join(map(str, signature.parameters))})", _meaning(build), section)


def _meaning(build: Any) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((build.__doc__ or "").split("\n\n")[0].split())
