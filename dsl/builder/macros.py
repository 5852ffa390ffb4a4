"""Macros: `T.macro f(…):` holds statements that replace each statement `f(…)`, with its arguments as parameters.

A macro is not part of the program: the printed text has its statements at each use, with its comments at the first.
"""

from __future__ import annotations

from typing import Any

from ...ir.signature import Signature
from .. import syntax
from ..comments import comments_in, without_comments
from .budget import TEXT
from .context import POISON, Context, TooManyErrors
from .convert import CONVERTERS, Flag
from .expressions import evaluate, opener
from .forms import Form, FormParameter, FormUse, form
from .tir_frames import Expansion
from .tir_statements import STATEMENTS, build_statements

MAX_NESTED = 200


@form("T.macro", "T.inline")
def macro(site: FormUse, func: Any = None, *, hygienic: Flag = True) -> bool:
    """`T.macro f(A, i):` opens a macro, whose statements replace each statement `f(…)`.

    Its names are resolved where it is defined or, with `hygienic=False`, where it is used. Its value: whether hygienic.
    """
    return hygienic


MACROS = ("T.macro", "T.inline")


def is_macro(opener: Any) -> bool:
    """Return whether the head of a definition opens a macro."""
    return isinstance(opener, Form) and opener.name in MACROS


def define_macro(context: Context, definition: syntax.Definition) -> None:
    """Define the name of `definition`, whose head is `T.macro`, as a macro."""
    params = definition.params or ()
    defaults = {param.name: evaluate(context, param.default) for param in params if param.default is not None}
    parameters = [FormParameter(param.name, param.name not in defaults, convert=CONVERTERS["Any"]) for param in params]
    hygienic, scope, depth = _is_hygienic(context, definition), context.scope, context.scope.depth
    source = context.source
    unused = context.unused_comments
    unused[definition.start] = comments_in(definition.body)

    def use(site: FormUse, *values: Any, **named: Any) -> Expansion:
        arguments = defaults | dict(zip((param.name for param in params), values, strict=False)) | named

        def build() -> None:
            _check_limits(context, site, definition)
            is_first = unused.pop(definition.start, None) is not None
            body = definition.body if is_first else without_comments(definition.body)
            names = scope.outer(depth) if hygienic else context.scope
            with context.expanding(site.node, source, names), names.frame():
                for name, value in arguments.items():
                    names.define(name, value)
                build_statements(context, body)

        return Expansion(definition.name, build)

    scope.define(definition.name, Form(definition.name, use, Signature(parameters)))


def _is_hygienic(context: Context, definition: syntax.Definition) -> bool:
    head: Any = definition.head
    call = head if isinstance(head, syntax.Call) else syntax.Call(head, (), (), start=head.start, end=head.end)
    return evaluate(context, call)


def _check_limits(context: Context, site: FormUse, definition: syntax.Definition) -> None:
    if len(context.uses) >= MAX_NESTED:
        message = f"macros are nested more than {MAX_NESTED} deep"
        site.error("E0010", message, "break the recursion")
        raise TooManyErrors
    context.pay((definition.end - definition.start) // TEXT, site.node)


def _definition(context: Context, node: syntax.Definition) -> None:
    if node.head is not None and is_macro(opener(context, node.head)):
        context.tir.body.keep(node.trivia)
        return define_macro(context, node)
    context.scope.define(node.name, POISON)
    help = "move it out of the function, or make it a macro with @T.macro"
    raise context.error("E0207", f"'{node.name}' is defined inside a loop function", node, help)


STATEMENTS[syntax.Definition] = _definition
