"""The syntax tree of a text, before names are resolved.

Both spellings of a definition (`T.prim_func(private=True) f(…):` and the decorated `def f(…):` inside a `class`)
become the same `Definition`. Positions are character offsets into the source, half open; parentheses around an
expression are not a node, but are within its positions.
"""

from __future__ import annotations

from types import EllipsisType
from typing import TypeAlias

from msgspec import Struct

from ..ir.base import Source, Trivia


class Syntax(Struct, frozen=True, eq=False, kw_only=True):
    start: int = 0
    end: int = 0


# --- Expressions ----------------------------------------------------------------------------------------------


class Name(Syntax, frozen=True, eq=False):
    id: str


class Constant(Syntax, frozen=True, eq=False):
    """A number, string, `True`, `False`, `None` or `...`, by its Python value."""

    value: int | float | str | bool | EllipsisType | None


class Attribute(Syntax, frozen=True, eq=False):
    value: Expr
    attr: str


class Keyword(Syntax, frozen=True, eq=False):
    name: str
    value: Expr


class Call(Syntax, frozen=True, eq=False):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


class Subscript(Syntax, frozen=True, eq=False):
    """`value[i, j:k]`; `A[()]` has no indices."""

    value: Expr
    indices: tuple[Expr, ...]


class Slice(Syntax, frozen=True, eq=False):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Tuple(Syntax, frozen=True, eq=False):
    elements: tuple[Expr, ...]


class List(Syntax, frozen=True, eq=False):
    elements: tuple[Expr, ...]


class Dict(Syntax, frozen=True, eq=False):
    keys: tuple[Expr, ...]
    values: tuple[Expr, ...]


class Unary(Syntax, frozen=True, eq=False):
    """`op` is one of `-`, `+`, `~`, `not`."""

    op: str
    operand: Expr


class Binary(Syntax, frozen=True, eq=False):
    """`op` is an arithmetic, bitwise or comparison operator, `and` or `or`; chained comparisons become `and`."""

    op: str
    left: Expr
    right: Expr


class Conditional(Syntax, frozen=True, eq=False):
    """`then if condition else otherwise`."""

    then: Expr
    condition: Expr
    otherwise: Expr


class Lambda(Syntax, frozen=True, eq=False):
    params: tuple[Param, ...]
    body: Expr


class Starred(Syntax, frozen=True, eq=False):
    value: Expr


Expr: TypeAlias = (
    Name
    | Constant
    | Attribute
    | Call
    | Subscript
    | Slice
    | Tuple
    | List
    | Dict
    | Unary
    | Binary
    | Conditional
    | Lambda
    | Starred
)


# --- Statements -----------------------------------------------------------------------------------------------


class Statement(Syntax, frozen=True, eq=False, kw_only=True):
    trivia: Trivia | None = None


class ExprStmt(Statement, frozen=True, eq=False):
    value: Expr


class Assign(Statement, frozen=True, eq=False):
    """`target = value`; a tuple target unpacks."""

    target: Expr
    value: Expr


class AnnAssign(Statement, frozen=True, eq=False):
    """`target: annotation = value`, or without a value."""

    target: Expr
    annotation: Expr
    value: Expr | None


class AugAssign(Statement, frozen=True, eq=False):
    """`target += value`; `op` is the operator without the `=`."""

    target: Expr
    op: str
    value: Expr


class Return(Statement, frozen=True, eq=False):
    value: Expr | None


class Assert(Statement, frozen=True, eq=False):
    condition: Expr
    message: Expr | None


class Pass(Statement, frozen=True, eq=False): ...


class Import(Statement, frozen=True, eq=False):
    """`import a.b as c` or `from a import b as c`: bound names, each with its dotted name."""

    names: tuple[tuple[str, str], ...]


class With(Statement, frozen=True, eq=False):
    context: Expr
    target: Expr | None
    body: tuple[Stmt, ...]


class For(Statement, frozen=True, eq=False):
    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]


class While(Statement, frozen=True, eq=False):
    condition: Expr
    body: tuple[Stmt, ...]


class If(Statement, frozen=True, eq=False):
    """`elif` is an `If` alone in `orelse`."""

    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


class Param(Syntax, frozen=True, eq=False):
    name: str
    annotation: Expr | None
    default: Expr | None = None


class Definition(Statement, frozen=True, eq=False):
    """`HEAD name(params) -> returns:` with its body.

    `head` is the form that opens the definition, or its decorator: `T.prim_func(private=True)`, `R.function`,
    `I.ir_module`, `S.schedule`; None for an undecorated `def`. `params` is None without a parameter list (a module).
    `name_start` and `name_end` are the position of the name.
    """

    head: Expr | None
    name: str
    params: tuple[Param, ...] | None
    returns: Expr | None
    body: tuple[Stmt, ...]
    name_start: int = 0
    name_end: int = 0
    decorated: bool = False
    type_params: tuple[Param, ...] = ()
    """The symbolic dimensions of `def f[n, m](…)`."""


Stmt: TypeAlias = (
    ExprStmt | Assign | AnnAssign | AugAssign | Return | Assert | Pass | Import | With | For | While | If | Definition
)


class File(Struct, frozen=True, eq=False):
    """A whole text; `header` holds the comments at the top, such as `#tvms 1`.

    `broken` names the definitions that are not in `body` because of a syntax error; `has_unnamed` tells that the name of another
    one could not be read.
    """

    source: Source
    body: tuple[Stmt, ...]
    header: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    has_unnamed: bool = False
