"""Binds the arguments of an `R.` form to its parameters, before anything is evaluated."""

from __future__ import annotations

from itertools import takewhile

from msgspec import Struct

from ...ir.ops.binding import NEWER_NAMES
from .. import syntax
from .context import Context
from .remedies import did_you_mean


class Parameter(Struct, frozen=True):
    """A parameter of a form; a variadic one collects the remaining positional arguments, an open one other named ones.

    Parameters after a variadic one are keyword-only.
    """

    name: str
    required: bool = True
    variadic: bool = False
    open: bool = False

    def __str__(self) -> str:
        if self.open:
            return f"**{self.name}"
        return f"*{self.name}" if self.variadic else self.name if self.required else f"{self.name}=…"


def parameters(*names: str) -> tuple[Parameter, ...]:
    """Return parameters by their names: `x?` is optional, `*x` variadic and `**x` open."""
    return tuple(
        Parameter(name.strip("*?"), name[0] != "*" and name[-1] != "?", name[:2].count("*") == 1, name.startswith("**"))
        for name in names
    )


class Arguments(Struct, frozen=True):
    """The arguments of a call: the expression of each parameter by name, and those of the variadic parameter."""

    values: dict[str, syntax.Expr]
    rest: tuple[syntax.Expr, ...] = ()
    extra: tuple[syntax.Keyword, ...] = ()
    """Arguments under other names, if the form has an open parameter."""

    def __getitem__(self, name: str) -> syntax.Expr:
        return self.values[name]

    def get(self, name: str) -> syntax.Expr | None:
        """Return the expression given for parameter `name`, or None."""
        return self.values.get(name)


def bind(
    context: Context, form: str, expected: tuple[Parameter, ...], call: syntax.Call, usage: str | None = None
) -> Arguments:
    """Bind the arguments of `call` to the parameters of `form`; raise E0105 if they do not match.

    `usage` describes a call in messages, if the parameters alone do not.
    """
    positional = list(takewhile(lambda parameter: not parameter.variadic and not parameter.open, expected))
    values = {parameter.name: value for parameter, value in zip(positional, call.args, strict=False)}
    rest = call.args[len(positional) :]
    if usage is None:
        usage = f"{form}({', '.join(map(str, expected))})"
    help = f"write {usage}"
    if rest and not any(parameter.variadic for parameter in expected):
        limit = f"{form} takes at most {count(len(positional), 'positional argument')}"
        raise context.error("E0105", f"{limit}, but {len(call.args)} are given", rest[0], help)
    names = {parameter.name for parameter in expected if not parameter.open}
    extra: list[syntax.Keyword] = []
    for keyword in call.keywords:
        name = keyword.name if keyword.name in names else NEWER_NAMES.get(keyword.name, keyword.name)
        if name in values:
            raise context.error("E0105", f"{form} is given argument '{name}' twice", keyword, help)
        if name in names:
            values[name] = keyword.value
        elif any(parameter.open for parameter in expected):
            extra.append(keyword)
        else:
            guess = did_you_mean(name, names) or help
            raise context.error("E0105", f"{form} has no argument '{name}'", keyword, guess)
    for index, parameter in enumerate(expected, 1):
        if parameter.required and not parameter.variadic and not parameter.open and parameter.name not in values:
            raise context.error("E0105", f"{form} needs argument {index}, '{parameter.name}'", call, help)
    return Arguments(values, rest, tuple(extra))


def count(number: int, noun: str = "argument") -> str:
    """Return "1 argument", "2 arguments", …"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
