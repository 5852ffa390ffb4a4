"""The program during one primitive: queries on its structure, and changes that keep all handles valid.

A primitive gets its blocks and loops as nodes of the current tree. After `replace`, `current` maps nodes of the old
tree to the new tree. The schedule changes only when the primitive returns, so a refusal has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace as with_fields

from .. import tir
from ..base import IRModule, Node
from ..spelling import did_you_mean
from ..variables import renamed_lets
from ..visit import rewrite_recording
from .conditions import EXISTS, name_of
from .random import Random
from .tree import Became, Tree, replaced, statements_in, walk_statements

_Stmt = TypeVar("_Stmt", bound=tir.Stmt)


_LISTED = 12
"""How many names of blocks a remedy lists at most."""


class Program:
    """Module that one primitive changes."""

    def __init__(
        self, module: IRModule, trees: dict[str, Tree], working_on: str | None, random: Random, target: str = "llvm"
    ) -> None:
        self.module = module
        self.working_on = working_on
        """Function in which block names are looked up; None if it is ambiguous."""
        self.random = random
        self.target = target
        """Kind of the target that is scheduled for."""
        self.decision: Any = None
        """Decision of a sampling primitive, for the trace."""
        self.recorded: dict[str, Any] = {}
        """Values that the trace records in place of arguments that have no text, such as functions."""
        self.became: dict[tir.Stmt, tir.Stmt | None] = {}
        self._trees = trees

    def trial(self) -> Program:
        """Return a copy of the program, to try a primitive on."""
        return Program(self.module, self._trees, self.working_on, self.random, self.target)

    # --- Where things stand ----------------------------------------------------------------------------------

    def tree(self, name: str) -> Tree:
        """Return the statement tree of loop function `name`."""
        function = self.module.functions[name]
        assert isinstance(function, tir.PrimFunc)
        known = self._trees.get(name)
        if known is None or known.function is not function:
            known = self._trees[name] = Tree(function, None if known is None else known.notes)
        return known

    def function_of(self, node: tir.Stmt) -> str | None:
        """Return the name of the function that contains `node`; None if there is none."""
        names = [name for name, function in self.module.functions.items() if isinstance(function, tir.PrimFunc)]
        names.sort(key=lambda name: name != self.working_on)
        return next((name for name in names if node in self.tree(name)), None)

    def note(self, node: tir.Stmt, what: str, compute: Callable[[Any], Any]) -> Any:
        """Return a fact about a statement, called `what`, which is computed once: it does not depend on the program."""
        notes, key = self._tree_of(node).notes, (node, what)
        if key not in notes:
            notes[key] = compute(node)
        return notes[key]

    def facts_of(self, node: tir.Stmt) -> dict[object, bool]:
        """Return the cached facts about the function that contains `node`."""
        return self._tree_of(node).facts

    def _tree_of(self, node: tir.Stmt) -> Tree:
        name = self.function_of(node)
        assert name is not None, f"{name_of(node)} is not part of the program: use program.current(…)"
        return self.tree(name)

    def prim_func_of(self, node: tir.Stmt) -> tir.PrimFunc:
        """Return the function that contains `node`."""
        return self._tree_of(node).function

    def around(self, node: tir.Stmt) -> Iterator[tir.Stmt]:
        """Yield the ancestors of `node`, innermost first."""
        return self._tree_of(node).around(node)

    def parent(self, node: tir.Stmt) -> tir.For | tir.Block | None:
        """Return the innermost loop or block around a loop or block (TVM: the parent of its sref)."""
        return next((stmt for stmt in self.around(node) if isinstance(stmt, tir.For | tir.Block)), None)

    def statement_around(self, node: tir.Stmt) -> tir.Stmt | None:
        """Return the parent statement of `node`, of any kind."""
        return next(self.around(node), None)

    def scope_of(self, node: tir.Stmt) -> tir.Block | None:
        """Return the block around `node`, its scope; None for the root block."""
        return next((stmt for stmt in self.around(node) if isinstance(stmt, tir.Block)), None)

    def loops_of(self, node: tir.Stmt) -> tuple[tir.For, ...]:
        """Return the loops around `node` within its scope, outermost first (TVM: `GetLoops`)."""
        loops: list[tir.For] = []
        for stmt in self.around(node):
            if isinstance(stmt, tir.Block):
                break
            if isinstance(stmt, tir.For):
                loops.append(stmt)
        return tuple(reversed(loops))

    def realize_of(self, block: tir.Block) -> tir.BlockRealize:
        """Return the `BlockRealize` of `block`."""
        realize = next(self.around(block))
        assert isinstance(realize, tir.BlockRealize)
        return realize

    def child_blocks(self, node: tir.Stmt) -> tuple[tir.Block, ...]:
        """Return the outermost blocks below a loop or in a block, in order."""
        return child_blocks(node)

    def blocks_named(self, name: str, function: str) -> tuple[tir.Block, ...]:
        """Return the blocks called `name` in a function, in order."""
        return tuple([block for block in self._blocks_in(function) if block.name_hint == name])

    def _blocks_in(self, function: str) -> list[tir.Block]:
        body = self.tree(function).function.body
        return [stmt for stmt in walk_statements(body) if isinstance(stmt, tir.Block)]

    def block_named(self, name: str, function: str, argument: str | None = None) -> tir.Block:
        """Return the only block called `name`; refused if there is none, or several (E0502): then `argument` is wrong."""
        found = self.blocks_named(name, function)
        if len(found) != 1:
            many = f"{len(found)} blocks are" if found else "no block is"
            known = [block.name_hint for block in self._blocks_in(function) if block.name_hint != "root"]
            listed = f"use {'one of ' * (len(known) > 1)}{', '.join(known)}" if 0 < len(known) <= _LISTED else None
            help = None if found else did_you_mean(name, known) or listed
            raise EXISTS.refuse(
                f"{many} called '{name}' in function '{function}'", *found, help=help, argument=argument
            )
        return found[0]

    # --- Changes ---------------------------------------------------------------------------------------------

    def replace(self, old: tir.Stmt, new: tir.Stmt, became: Became | None = None) -> None:
        """Replace `old` by `new`; `became` maps loops and blocks of the old tree to those in the new one.

        Nodes rebuilt by `substitute` and `rewrite` and ancestors of `old` need not be in `became`. A new loop with
        the variable of the old one, and a block that replaces a block, inherit its handles.
        """
        name = self.function_of(old)
        assert name is not None, f"{name_of(old)} is not part of the program: use program.current(…)"
        tree = self.tree(name)
        function, ancestors = replaced(tree, old, new)
        self._trees[name] = tree.after(function)
        self._follow(old, new)
        self.became.update(became or {})
        self.became.update(ancestors)
        self.module = with_fields(self.module, functions={**self.module.functions, name: function})

    def _follow(self, old: tir.Stmt, new: tir.Stmt) -> None:
        if isinstance(old, tir.BlockRealize) and isinstance(new, tir.BlockRealize):
            old, new = old.block, new.block
        same_loop = isinstance(old, tir.For) and isinstance(new, tir.For) and old.loop_var is new.loop_var
        if old is not new and (same_loop or (isinstance(old, tir.Block) and isinstance(new, tir.Block))):
            self.became[old] = new

    def separate_lets(self, name: str) -> None:
        """Let different values in a function have different variables of `T.Let`, after copies of expressions changed."""
        function = self.module.functions.get(name)
        while isinstance(function, tir.PrimFunc) and (renamed := renamed_lets(function.body)):
            self.replace(function.body, self.substitute(function.body, renamed))
            function = self.module.functions[name]

    def replace_function(self, name: str, function: tir.PrimFunc, became: Became | None = None) -> None:
        """Replace function `name` by `function`, for changes of its signature or attributes."""
        self.became.update(became or {})
        self.module = with_fields(self.module, functions={**self.module.functions, name: function})

    def rewrite(self, node: _Stmt, function: Any, mapping: Mapping[Any, Node] = {}) -> _Stmt:
        """Return `node` with the keys of `mapping` replaced by their values and `function` applied to all other nodes.

        Children come first, as in `visit.rewrite`. Handles follow the loops and blocks that are rebuilt.
        """
        result, rebuilt = rewrite_recording(node, function, mapping)
        for old, new in rebuilt:
            if isinstance(old, tir.For | tir.Block) and isinstance(new, tir.Stmt):
                self.became[old] = new
        return result

    def substitute(self, node: _Stmt, mapping: Mapping[Any, Node]) -> _Stmt:
        """Return `node` with the keys of `mapping` replaced by their values; handles follow, as in `rewrite`."""
        return self.rewrite(node, _leave, mapping) if mapping else node

    def current(self, node: tir.Stmt) -> Any:
        """Return the current node of a loop or block of an older tree; None if it no longer exists."""
        return follow(node, self.became)


def _leave(_: Node) -> None:
    """Keep the node."""


def follow(node: tir.Stmt | None, became: Became) -> tir.Stmt | None:
    """Return the node that finally replaced `node`."""
    while node is not None and node in became:
        node = became[node]
    return node


def child_blocks(node: tir.Stmt) -> tuple[tir.Block, ...]:
    """Return the outermost blocks below a loop or in a block, in order."""
    found: list[tir.Block] = []
    stack = list(reversed(statements_in(node)))
    while stack:
        statement = stack.pop()
        if isinstance(statement, tir.BlockRealize):
            found.append(statement.block)
        else:
            stack.extend(reversed(statements_in(statement)))
    return tuple(found)
