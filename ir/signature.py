"""Signatures, and the binding of arguments to them: one mechanism for forms, operators, primitives, passes and macros.

A callee is called in the text, such as `T.grid(4, n=8)`, or in Python. `Signature.bind` assigns its arguments to
parameters; `BadArguments` says what is wrong, in the same words for every callee.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from . import tir
from .base import GlobalVar, Node
from .spelling import did_you_mean

ParameterKind: TypeAlias = Literal["plain", "named", "variadic", "open"]
"""`plain`: given by position or by name. `named`: by name only. `variadic`: all further arguments by position. `open`: all
other named arguments."""
_SHOWN = 4
"""Maximum number of optional arguments that a help names."""


class Parameter(Struct, frozen=True, eq=False):
    """Parameter of a callee."""

    name: str
    required: bool = True
    kind: ParameterKind = "plain"

    def __str__(self) -> str:
        if self.kind in ("variadic", "open"):
            return f"{'*' if self.kind == 'variadic' else '**'}{self.name}"
        return self.name if self.required else f"{self.name}=…"


P = TypeVar("P", bound=Parameter)


class Bound(Struct, frozen=True):
    """The arguments of a call: by the names of parameters, for the variadic parameter, and for the open one."""

    values: dict[str, Any]
    rest: tuple[Any, ...]
    extra: dict[str, Any]


class BadArguments(Exception):
    """Arguments that do not fit a signature (E0105): the message without a position, a help, and the wrong argument.

    `at` is the number of an argument by position, the name of a named argument, or None for a missing argument.
    """

    code = "E0105"

    def __init__(self, message: str, help: str, at: int | str | None = None) -> None:
        super().__init__(message)
        self.message, self.help, self.at = message, help, at


class Signature(Generic[P]):
    """The parameters of a callee, in order."""

    __slots__ = ("_names", "by_name", "open", "parameters", "positional", "variadic")

    def __init__(self, parameters: Iterable[P], variadic_by_name: bool = False) -> None:
        """`variadic_by_name`: whether one value may be given for the variadic parameter by its name."""
        self.parameters = tuple(parameters)
        self.positional = tuple(takewhile(lambda parameter: parameter.kind == "plain", self.parameters))
        self.variadic = next((parameter for parameter in self.parameters if parameter.kind == "variadic"), None)
        self.open = next((parameter for parameter in self.parameters if parameter.kind == "open"), None)
        unnamed = ("open",) if variadic_by_name else ("variadic", "open")
        self.by_name = {parameter.name: parameter for parameter in self.parameters if parameter.kind not in unnamed}
        self._names = tuple([p.name for p in self.positional])

    def bind(self, callee: str, args: Sequence[Any], named: Iterable[tuple[str, Any]] = ()) -> Bound:
        """Return the arguments by parameter, without defaults; raise BadArguments if they do not fit."""
        values = dict(zip(self._names, args, strict=False))
        rest, extra = tuple(args[len(self._names) :]), dict[str, Any]()
        if rest and self.variadic is None:
            count = f"{len(self._names)} argument{'s' * (len(self._names) != 1)}"
            message = f"{callee}: expected at most {count} by position, got {len(args)}"
            raise BadArguments(message, self.usage(callee), len(self._names))
        for name, value in named:
            is_rest = bool(rest) and self.variadic is not None and name == self.variadic.name
            if name in values or name in extra or (is_rest and name in self.by_name):
                raise BadArguments(f"{callee}: argument '{name}' is given twice", "keep one of them", name)
            if name in self.by_name:
                values[name] = value
            elif self.open is not None:
                extra[name] = value
            else:
                help = did_you_mean(name, self.by_name) or self.usage(callee)
                raise BadArguments(f"{callee}: unknown argument '{name}'", help, name)
        for number, parameter in enumerate(self.parameters, 1):
            if parameter.required and parameter.name not in values and parameter.kind in ("plain", "named"):
                message = f"{callee}: missing argument {number}, '{parameter.name}'"
                raise BadArguments(message, self.usage(callee))
        return Bound(values, rest, extra)

    def usage(self, callee: str) -> str:
        """Return a help that shows how the callee is called."""
        optional = [
            parameter
            for parameter in self.parameters
            if not parameter.required and parameter.kind in ("plain", "named")
        ]
        hidden = optional[_SHOWN:]
        shown = [str(parameter) for parameter in self.parameters if parameter not in hidden]
        return f"write {callee}({', '.join([*shown, '…'] if hidden else shown)})"


def argument_name(callee: str, number: int | None, name: str) -> str:
    """Return the description of an argument in messages: "argument 2, 'dtype' to T.Cast".

    `number` is None, or `name` empty, if unknown.
    """
    position = "" if number is None else f" {number}"
    quoted = f" '{name}'" if name else ""
    both = "," if position and name else ""
    return f"argument{position}{both}{quoted} to {callee}"


def wrong_kind(callee: str, number: int | None, name: str, expected: str, found: str) -> str:
    """Return the message about an argument of the wrong kind, alike for all callees."""
    return f"{argument_name(callee, number, name)}: expected {expected}, got {found}"


def describe(value: Any) -> str:
    """Describe the kind of a value, for messages."""
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | str):
        return f"'{value}'" if isinstance(value, str) else repr(value)
    if isinstance(value, tuple | list):
        return "a tuple"
    if isinstance(value, dict):
        return "a dict"
    if isinstance(value, tir.Buffer):
        return f"buffer '{value.name}'" if value.name else "a buffer"
    if isinstance(value, tir.BufferRegion):
        return f"a region of buffer '{value.buffer.name}'"
    if isinstance(value, tir.Var):
        return f"variable '{value.name}' of dtype {value.dtype}"
    if isinstance(value, tir.PrimExpr):
        return f"an expression of dtype {value.dtype}"
    if isinstance(value, GlobalVar):
        return f"function '{value.name_hint}'"
    if isinstance(value, Node):
        return f"a {type(value).__name__}"
    kind, name = getattr(value, "kind", None), getattr(value, "name", None)
    return kind or (f"'{name}'" if isinstance(name, str) else "something else")
