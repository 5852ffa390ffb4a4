"""The declaration of an intrinsic, and the syntax of its rows (`tir_math`, `tir_builtin`, `tir_device`)."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from ..dtype import is_dtype
from ..signature import Parameter, Signature
from .tir_kinds import KINDS

Effect = Literal["annotation", "pure", "read", "update", "special", "embed", "jump", "opaque"]
"""Side effects of a call (TVM: `CallEffectKind`): "pure" calls may be moved, repeated and removed; "read" ones depend on
memory; "update" ones change it; "opaque" ones may do anything; the others are handled by specific passes.
"""

ARGUMENT_RULES = ("arg0", "arg1", "bool@0", "int32@0")
"""Rules that derive the dtype or the lanes of the result from an argument."""

REQUIRED = object()
"""Marks a parameter without a default."""


class IntrinsicParameter(Struct, frozen=True):
    name: str
    kind: str
    """A name of `KINDS`, or the name of an earlier parameter whose dtype the argument must have."""
    default: Any = REQUIRED
    variadic: bool = False


class Intrinsic(Struct, frozen=True, dict=True):
    """A loop-level intrinsic.

    `script` is its name after `T.`; `arguments` are its parameters by TVM's names, each with its kind (`KINDS`), or with the
    name of an earlier one of the same dtype: "x:float y:x n:index=0 *rest:any". `dtype` is the rule of the result's dtype: a
    dtype; "arg0" or "arg1", the dtype of that argument; "bool@0", bool with the lanes of the first argument; or "first" or
    "last" if the call states it before or after the other arguments.
    """

    script: str
    arguments: str
    dtype: str
    effect: Effect
    doc: str
    op: str = ""
    """The registered name if it is not `tir.<script>`."""
    in_script: bool = True
    """Whether TVM's `T` has a function for it; otherwise TVM calls it by `T.call_intrin`."""

    @property
    def name(self) -> str:
        """The registered name, such as `tir.exp`."""
        return self.op or f"tir.{self.script}"

    @cached_property
    def parameters(self) -> tuple[IntrinsicParameter, ...]:
        """The parameters except the dtype."""
        return tuple([_parameter(text) for text in self.arguments.split()])

    @cached_property
    def signature(self) -> Signature[Parameter]:
        """The signature of a call; its parameters are those of the table."""
        parameters = [
            Parameter(parameter.name, False, "variadic")
            if parameter.variadic
            else Parameter(parameter.name, parameter.default is REQUIRED)
            for parameter in self.parameters
        ]
        return Signature(parameters)

    @cached_property
    def arity(self) -> tuple[int, int | None]:
        """The minimum and maximum number of arguments; None if unlimited."""
        least = sum(p.default is REQUIRED and not p.variadic for p in self.parameters)
        variadic = any(p.variadic for p in self.parameters)
        return least, None if variadic else len(self.parameters)

    @property
    def dtype_location(self) -> Literal["none", "first", "last"]:
        """Position of the dtype among the arguments in a text (TVM: `ScriptDtypePrintLocation`)."""
        if self.dtype == "first":
            return "first"
        return "last" if self.dtype == "last" else "none"

    @property
    def is_pure(self) -> bool:
        """Whether a call neither reads nor changes memory."""
        return self.effect in ("pure", "annotation")


_DEFAULTS: dict[str, Any] = {"None": None, "False": False}


def _parameter(text: str) -> IntrinsicParameter:
    said, equals, default = text.partition("=")
    name, _, kind = said.partition(":")
    if name.startswith("*"):
        return IntrinsicParameter(name[1:], kind, variadic=True)
    if not equals:
        return IntrinsicParameter(name, kind)
    return IntrinsicParameter(name, kind, _DEFAULTS[default] if default in _DEFAULTS else int(default))


def check_row(row: Intrinsic) -> str | None:
    """Return the error in a row of the table, or None."""
    if row.dtype not in (*ARGUMENT_RULES, "first", "last") and not is_dtype(row.dtype):
        return f"'{row.dtype}' is not a dtype rule"
    if row.dtype in ARGUMENT_RULES and row.arity[1] == 0:
        return "no argument gives the dtype"
    for place, parameter in enumerate(row.parameters):
        if parameter.kind not in (*KINDS, *[earlier.name for earlier in row.parameters[:place]]):
            return f"'{parameter.kind}' is not a kind of argument"
    return None
