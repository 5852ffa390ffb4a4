"""The arguments of an `R.` form, bound to its parameters before anything is evaluated."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from .. import syntax
from .context import Context, did_you_mean

_NEWER_NAMES = {"out_ty": "out_sinfo", "ty_args": "sinfo_args", "ty": "struct_info"}
"""Parameters that TVM renamed after 0.21, and the name they have here."""


class Parameter(Struct, frozen=True):
    """A parameter of a form; a variadic one takes all further positional arguments, an open one all further names."""

    name: str
    required: bool = True
    variadic: bool = False
    keyword_only: bool = False
    open: bool = False

    def __str__(self) -> str:
        if self.open:
            return f"**{self.name}"
        return f"*{self.name}" if self.variadic else self.name if self.required else f"{self.name}=…"


def parameters(*names: str) -> tuple[Parameter, ...]:
    """Return parameters by their names: `x?` is optional, `*x` variadic and `**x` open; after `*x`, they are keyword-only."""
    found: list[Parameter] = []
    for name in names:
        keyword_only = any(parameter.variadic for parameter in found)
        is_open, required = name.startswith("**"), name[-1] != "?" and name[0] != "*"
        variadic = name[0] == "*" and not is_open
        found.append(Parameter(name.strip("*?"), required, variadic, keyword_only or is_open, is_open))
    return tuple(found)


class Arguments(Struct, frozen=True):
    """What a call gives: the expression of each parameter by name, and those of the variadic one."""

    values: dict[str, syntax.Expr]
    rest: tuple[syntax.Expr, ...] = ()
    extra: tuple[syntax.Keyword, ...] = ()
    """Arguments under other names, where a parameter takes them."""

    def __getitem__(self, name: str) -> syntax.Expr:
        return self.values[name]

    def get(self, name: str) -> syntax.Expr | None:
        """Return the expression given for parameter `name`, or None."""
        return self.values.get(name)


def bind(context: Context, form: str, expected: tuple[Parameter, ...], call: syntax.Call) -> Arguments:
    """Bind the arguments of `call` to the parameters of `form`; E0320 where they do not fit."""
    positional = [parameter for parameter in expected if not parameter.variadic and not parameter.keyword_only]
    values = {parameter.name: value for parameter, value in zip(positional, call.args, strict=False)}
    rest = call.args[len(positional) :]
    signature = f"its signature is {form}({', '.join(map(str, expected))})"
    if rest and not any(parameter.variadic for parameter in expected):
        raise context.error("E0320", f"{form} takes {count(len(positional))}, not {len(call.args)}", rest[0], signature)
    names = {parameter.name for parameter in expected if not parameter.variadic and not parameter.open}
    extra: list[syntax.Keyword] = []
    for keyword in call.keywords:
        name = keyword.name if keyword.name in names else _NEWER_NAMES.get(keyword.name, keyword.name)
        if name not in names and any(parameter.open for parameter in expected):
            extra.append(keyword)
            continue
        if name not in names:
            help = did_you_mean(name, names) or signature
            raise context.error("E0320", f"{form} has no argument '{name}'", keyword, help)
        if name in values:
            raise context.error("E0320", f"{form} is given argument '{name}' twice", keyword, signature)
        values[name] = keyword.value
    missing = [p.name for p in expected if p.required and not p.variadic and p.name not in values]
    if missing:
        raise context.error("E0320", f"{form} lacks {_listed(missing)}", call, signature)
    return Arguments(values, rest, tuple(extra))


def count(number: int, noun: str = "argument") -> str:
    """Return "1 argument", "2 arguments", …"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: Iterable[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    noun = "argument" if len(quoted) == 1 else "arguments"
    return f"the {noun} {', '.join(quoted)}"
