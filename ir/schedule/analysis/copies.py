"""Duplication of statements: a copy has its own statements, variables, blocks and buffers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import tir
from ...base import Node
from ...variables import defined_variables
from ...visit import rewrite, substitute, walk


def fresh_copy(node: tir.Stmt, mapping: dict[Any, Node], function: tir.PrimFunc) -> Any:
    """Return a copy of `node`, a part of `function`, with `mapping` applied.

    Loop variables, iterators and buffers defined in it are new, with the same names. So is every statement, also one without
    any of these: a statement has one parent in the tree of a function.
    """
    outside = set(defined_variables(function))
    inside = [variable for inner in walk(node) for variable in defined_variables(inner) if variable not in outside]
    renamed: dict[Any, Node] = {variable: replace(variable) for variable in inside}
    shared = {inner for inner in walk(node) if isinstance(inner, tir.Stmt)}
    copy = substitute(node, {**renamed, **mapping})
    return rewrite(copy, lambda inner: replace(inner) if inner in shared else None)
