"""Rewrites programs in the forms that the newest TVM has. Their results stay the same."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..ir import tir
from ..ir.base import IRModule
from ..ir.idioms import sequence
from ..ir.visit import rewrite
from .comments import with_comments

_SCOPES = tir.LetStmt | tir.AssertStmt | tir.Allocate | tir.DeclBuffer
"""Statements whose scope is the rest of their block in the newest TVM."""


def without_sizes(module: IRModule) -> IRModule:
    """Return a module in which variables of sizes, which the newest TVM does not have, are plain variables."""
    plain: dict[int, tir.Var] = {}

    def named(node: Any) -> tir.Var | None:
        if not isinstance(node, tir.SizeVar):
            return None
        return plain.setdefault(id(node), tir.Var(**{name: getattr(node, name) for name in node.__struct_fields__}))

    return rewrite(module, named)


def widened(module: IRModule) -> IRModule:
    """Return a module in which bindings, allocations and assertions extend to the end of their block, as the newest TVM has them.

    That changes nothing: what follows does not use their names.
    """
    functions = {
        name: rewrite(function, _widened) if isinstance(function, tir.PrimFunc) else function
        for name, function in module.functions.items()
    }
    return replace(module, functions=functions)


def _widened(node: Any) -> tir.Stmt | None:
    """Return a sequence in which each scope extends to the end; None for any other node."""
    if not isinstance(node, tir.SeqStmt) or not any(isinstance(stmt, _SCOPES) for stmt in node.seq[:-1]):
        return None
    rest: tir.Stmt | None = None
    for stmt in reversed(node.seq):
        rest = stmt if rest is None else _followed(stmt, rest)
    return rest


def _followed(stmt: tir.Stmt, rest: tir.Stmt) -> tir.Stmt:
    if isinstance(stmt, _SCOPES):
        trivia = stmt.trivia
        if trivia is not None and trivia.end:  # they stay above what follows
            rest = _below(trivia.end, rest)
            trivia = replace(trivia, end=())
        return replace(stmt, body=_followed(stmt.body, rest), trivia=trivia)
    if isinstance(stmt, tir.SeqStmt):
        *before, last = stmt.seq
        return sequence([*before, _followed(last, rest)])
    return sequence([stmt, rest])


def _below(comments: tuple[str, ...], stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` with comments above it."""
    if isinstance(stmt, tir.SeqStmt):
        first, *others = stmt.seq
        return replace(stmt, seq=(_below(comments, first), *others))
    return replace(stmt, trivia=with_comments(stmt.trivia, before=comments))
