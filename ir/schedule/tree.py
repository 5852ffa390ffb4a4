"""Statement trees of functions: the parent of each statement, and replacement. Trees are immutable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from .. import tir
from ..idioms import sequence
from ..software_pipeline import is_pipeline

_BELOW: dict[type[tir.Stmt], tuple[str, ...]] = {
    tir.SeqStmt: ("seq",),
    tir.BlockRealize: ("block",),
    tir.IfThenElse: ("then_case", "else_case"),
    tir.BufferStore: (),
    tir.ProducerStore: (),
    tir.Evaluate: (),
}
"""Fields that contain statements, `body` for other kinds. As in TVM, the `init` of a block is not part of the tree."""
_BODY = ("body",)
Became = Mapping[tir.Stmt, tir.Stmt | None]


class Tree:
    """Parents of the statements of a function."""

    def __init__(self, function: tir.PrimFunc, notes: dict[tuple[tir.Stmt, str], Any] | None = None) -> None:
        self.function = function
        self.facts: dict[object, bool] = {}
        """Cached facts about the function."""
        self.notes = {} if notes is None else notes
        """Cached facts about statements, which hold in any function."""
        self.parents: dict[tir.Stmt, tir.Stmt | None] = {function.body: None}
        self.pipelines: list[tir.For] = []
        """Loops annotated as software pipelines."""
        stack = [function.body]
        while stack:
            parent = stack.pop()
            if isinstance(parent, tir.For) and parent.annotations and is_pipeline(parent):
                self.pipelines.append(parent)
            for child in statements_in(parent):
                self.parents[child] = parent
                stack.append(child)

    def after(self, function: tir.PrimFunc) -> Tree:
        """Return the tree of `function`, which was made from the one of this tree by replacing a statement.

        Statements that both share are kept with all below them: the time depends on what changed.
        """
        tree: Tree = object.__new__(Tree)
        tree.function, tree.facts, tree.notes = function, {}, self.notes
        tree.parents, pipelines = dict(self.parents), list(self.pipelines)
        kept = set[tir.Stmt]()
        entered: list[tuple[tir.Stmt, tir.Stmt | None]] = [(function.body, None)]
        while entered:
            node, parent = entered.pop()
            tree.parents[node] = parent
            if node in self.parents:
                kept.add(node)
                continue
            if isinstance(node, tir.For) and node.annotations and is_pipeline(node):
                pipelines.append(node)
            entered.extend([(child, node) for child in statements_in(node)])
        left = [self.function.body]
        while left:
            node = left.pop()
            if node not in kept:
                del tree.parents[node]
                left.extend(statements_in(node))
        tree.pipelines = [loop for loop in pipelines if loop in tree.parents]
        return tree

    def __contains__(self, node: object) -> bool:
        return node in self.parents

    def around(self, node: tir.Stmt) -> Iterator[tir.Stmt]:
        """Yield the ancestors of `node`, innermost first."""
        parent = self.parents[node]
        while parent is not None:
            yield parent
            parent = self.parents[parent]


def statements_in(node: tir.Stmt) -> tuple[tir.Stmt, ...]:
    """Return the child statements of `node`, in order."""
    found: list[tir.Stmt] = []
    for field in _BELOW.get(type(node), _BODY):
        value: Any = getattr(node, field)
        if field == "seq":
            found.extend(value)
        elif value is not None:
            found.append(value)
    return tuple(found)


def walk_statements(node: tir.Stmt) -> Iterator[tir.Stmt]:
    """Yield `node` and the statements below it, in preorder."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(statements_in(node)))


def with_child(parent: tir.Stmt, old: tir.Stmt, new: tir.Stmt) -> tir.Stmt:
    """Return `parent` with its child `old` replaced by `new`."""
    if isinstance(parent, tir.SeqStmt):
        return sequence([new if stmt is old else stmt for stmt in parent.seq])
    for field in _BELOW.get(type(parent), _BODY):
        if getattr(parent, field) is old:
            return replace(parent, **{field: new})
    raise KeyError(old)


def replaced(tree: Tree, old: tir.Stmt, new: tir.Stmt) -> tuple[tir.PrimFunc, dict[tir.Stmt, tir.Stmt | None]]:
    """Return the function with `old` replaced by `new`, and the mapping of its ancestors to the new tree.

    Only the ancestors of `old` are rebuilt: O(depth).
    """
    became: dict[tir.Stmt, tir.Stmt | None] = {}
    for parent in tree.around(old):
        rebuilt = with_child(parent, old, new)
        if isinstance(parent, tir.For | tir.Block):
            became[parent] = rebuilt
        old, new = parent, rebuilt
    return replace(tree.function, body=new), became
