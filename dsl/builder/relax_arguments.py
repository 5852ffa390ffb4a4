"""Binds the arguments of an `R.` form to its parameters, before anything is evaluated."""

from __future__ import annotations

from msgspec import Struct

from ...ir.ops.binding import NEWER_NAMES
from ...ir.signature import BadArguments, Parameter, ParameterKind, Signature
from .. import syntax
from .context import Context
from .remedies import foreign_argument


def parameters(*names: str) -> Signature[Parameter]:
    """Return a signature from the names of its parameters: `x?` is optional, `*x` variadic and `**x` open."""
    kinds: dict[int, ParameterKind] = {0: "plain", 1: "variadic", 2: "open"}
    return Signature(
        [Parameter(name.strip("*?"), name[0] != "*" and name[-1] != "?", kinds[name[:2].count("*")]) for name in names],
        variadic_by_name=True,
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


def bind(context: Context, form: str, expected: Signature[Parameter], call: syntax.Call) -> Arguments:
    """Bind the arguments of `call` to the parameters of `form`; raise E0105 if they do not fit."""
    known, named = expected.by_name, list[tuple[str, syntax.Keyword]]()
    for keyword in call.keywords:
        name = keyword.name if keyword.name in known else NEWER_NAMES.get(keyword.name, keyword.name)
        named.append((name, keyword))
    try:
        bound = expected.bind(form, call.args, named)
    except BadArguments as wrong:
        at = wrong.at
        node = call if at is None else call.args[at] if isinstance(at, int) else dict(named)[at]
        raise context.error(wrong.code, wrong.message, node, foreign_argument(form, wrong.at) or wrong.help) from None
    values = {name: value.value if isinstance(value, syntax.Keyword) else value for name, value in bound.values.items()}
    return Arguments(values, bound.rest, tuple(bound.extra.values()))
