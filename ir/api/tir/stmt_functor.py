"""Traversal and rewriting of expressions, statements and functions (TVM: `tvm.tir.stmt_functor`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ... import tir
from ...base import Node
from ...te.expr import operand
from ...variables import defined_variables
from ...visit import children, post_order, rewrite, walk
from ...visit import substitute as _substitute
from ..constructor import plain_node

_Visit = Callable[[Any], Any]


def post_order_visit(stmt: Any, fvisit: _Visit) -> None:
    """Call `fvisit` once with each node below `stmt`, children first."""
    for node in dict.fromkeys(post_order(plain_node(stmt))):
        fvisit(node)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], bool]) -> None:
    """Call `fvisit` once with each node, parents first; descend into its children only if it returns True."""
    stack, seen = [plain_node(stmt)], set[int]()
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(reversed(children(node)) if fvisit(node) else ())


def ir_transform(
    stmt: Any, preorder: _Visit | None, postorder: _Visit | None, only_enable: Sequence[str] | None = None
) -> Any:
    """Return `stmt` with nodes replaced by what `preorder` returns, without descending into it, or by what `postorder` returns
    after their children; None keeps a node. `only_enable` restricts both to kinds such as "tir.For".
    """
    kinds = tuple(getattr(tir, name.removeprefix("tir.")) for name in only_enable) if only_enable else (Node,)
    chosen: dict[Any, Node] = {}

    def before(node: Node) -> bool:
        made = preorder(node) if preorder is not None and isinstance(node, kinds) else None
        if made is not None:
            chosen[node] = plain_node(made)
        return made is None

    def after(node: Node) -> Node | None:
        made = postorder(node) if postorder is not None and isinstance(node, kinds) else None
        return None if made is None else plain_node(made)

    pre_order_visit(stmt, before)
    return rewrite(_substitute(plain_node(stmt), chosen), after)


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Return `node` with variables replaced by values."""
    values = {plain_node(name): operand(value, name.dtype) for name, value in vmap.items()}
    return _substitute(plain_node(node), values)


def renew_defs(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return a copy of `func` in which all defined variables and buffers are new."""
    found = [name for node in walk(func) for name in defined_variables(node)]
    return _substitute(func, {name: replace(name) for name in dict.fromkeys(found)})
