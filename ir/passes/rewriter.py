"""Rewriting graph-level functions binding by binding, in the order of execution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from .. import relax
from ..base import Node
from ..visit import substitute


class BindingRewriter:
    """Rewrites functions from the first binding to the last; a pass overrides `binding`, and perhaps `block`.

    What `replaced` maps a variable to stands in its place from there on, in everything that is rewritten after it.
    """

    def __init__(self) -> None:
        self.replaced: dict[Node, Node] = {}

    def function(self, function: relax.Function) -> relax.Function:
        """Return `function` with its body rewritten; itself where nothing changes."""
        body = self.sequence(function.body)
        return function if body is function.body else replace(function, body=body)

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Return a body with its blocks rewritten; a block that loses all its bindings goes."""
        blocks = tuple([block for old in body.blocks if (block := self.block(old)).bindings])
        value = self.use(body.body)
        if value is body.body and _same(blocks, body.blocks):
            return body
        return replace(body, blocks=blocks, body=value)

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Return a block with its bindings rewritten."""
        bindings = tuple([new for old in block.bindings for new in self.binding(self.visit(old))])
        return block if _same(bindings, block.bindings) else replace(block, bindings=bindings)

    def visit(self, binding: relax.Binding) -> relax.Binding:
        """Return a binding with the variables replaced in its value, and what stands inside its value rewritten."""
        value = binding.value
        match value:
            case relax.If():
                cond = self.use(value.cond)
                branches = self.sequence(value.true_branch), self.sequence(value.false_branch)
                if (cond, *branches) != (value.cond, value.true_branch, value.false_branch):
                    value = replace(value, cond=cond, true_branch=branches[0], false_branch=branches[1])
            case relax.Function():
                value = self.function(value)
            case _:
                value = self.use(value)
        return binding if value is binding.value else replace(binding, value=value)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return what takes the place of a binding whose value is rewritten already."""
        return (binding,)

    def use(self, expr: Any) -> Any:
        """Return an expression with the variables replaced."""
        return substitute(expr, self.replaced)


def _same(new: tuple[Any, ...], old: tuple[Any, ...]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
