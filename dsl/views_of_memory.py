"""Names of forms in texts, and the views of memory that the newest TVM must have declared: `B = T.Buffer((4,), data=p)` in a body loses its
memory there, `T.decl_buffer` keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..ir import tir
from ..ir.base import IRModule
from ..ir.idioms import sequence
from ..ir.visit import rewrite
from . import syntax
from .builder.imports import DIALECTS
from .edits import Edit

LETTERS = {"I": "I", "T": "T", "R": "R", "tvm": "tvm", **DIALECTS}
"""The letter of a dialect by the names that it has in programs."""
_VIEWS = frozenset(("T.Buffer", "T.buffer_decl"))
_AT_THE_TOP = frozenset(
    f"T.{name}"
    for name in (
        "reads", "writes", "where", "block_attr", "sblock_attr", "func_attr", "match_buffer", "alloc_buffer", "sblock_alloc_buffer",
    )
)  # fmt: skip
"""Forms at the top of a function or block, above all declarations, beside its axes."""


def form_name(node: syntax.Expr | None, letters: Mapping[str, str]) -> str | None:
    """Return the dotted name of a form, such as "T.block", also of `T.Ptr[…]`; None for another expression."""
    node = node.func if isinstance(node, syntax.Call) else node
    node = node.value if isinstance(node, syntax.Subscript) else node
    parts: list[str] = []
    while isinstance(node, syntax.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, syntax.Name) or node.id not in letters or not parts:
        return None
    return ".".join((letters[node.id], *reversed(parts)))


def after_root(node: syntax.Syntax) -> int:
    """Return the offset of what follows the name of a dialect in a form such as `T.ptx.mma.legacy`."""
    while isinstance(node, syntax.Attribute):
        node = node.value
    return node.end + 1


def declarations(body: tuple[syntax.Stmt, ...], letters: Mapping[str, str]) -> Iterator[Edit]:
    """Yield the edits that declare the views of memory in a body and in those below it.

    A buffer that is named above the head of its block stays: the newest TVM takes no declaration there.
    """
    last = max((index for index, stmt in enumerate(body) if _is_at_the_top(stmt, letters)), default=-1)
    for index, stmt in enumerate(body):
        func = _view(stmt, letters) if index > last else None
        if func is not None:
            yield Edit(after_root(func), func.end, "decl_buffer")
        for name in stmt.__struct_fields__:
            inner: Any = getattr(stmt, name)
            if isinstance(inner, tuple) and inner and isinstance(inner[0], syntax.Statement):
                yield from declarations(inner, letters)  # type: ignore[reportUnknownArgumentType]


def _view(stmt: syntax.Stmt, letters: Mapping[str, str]) -> syntax.Attribute | None:
    """Return the name of the form in `B = T.Buffer((4,), data=p)`; None for another statement."""
    call = stmt.value if isinstance(stmt, syntax.Assign) else None
    if not isinstance(call, syntax.Call) or form_name(call, letters) not in _VIEWS:
        return None
    has_data = any(keyword.name == "data" for keyword in call.keywords)
    return call.func if has_data and isinstance(call.func, syntax.Attribute) else None


def _is_at_the_top(stmt: syntax.Stmt, letters: Mapping[str, str]) -> bool:
    value = stmt.value if isinstance(stmt, syntax.ExprStmt | syntax.Assign) else None
    form = form_name(value, letters) if isinstance(value, syntax.Call) else None
    return form is not None and (form in _AT_THE_TOP or form.startswith("T.axis."))


def undeclared(module: IRModule) -> IRModule:
    """Return a module without declarations of buffers, which do not change what a program computes."""
    return rewrite(module, _undeclared)


def _undeclared(node: Any) -> tir.Stmt | None:
    if isinstance(node, tir.SeqStmt) and any(isinstance(stmt, tir.SeqStmt) for stmt in node.seq):
        return sequence(list(node.seq))
    return node.body if isinstance(node, tir.DeclBuffer) else None
