"""Change the bindings of a dataflow block one by one (TVM: `relax.binding_rewrite`).

    rewriter = DataflowBlockRewrite(block, function)
    rewriter.replace_all_uses(old, new)
    rewriter.remove_unused(old)
    function = rewriter.mutated_root_fn()

Blocks and functions never change: the rewriter makes new ones.
"""

from __future__ import annotations

from msgspec.structs import replace

from ... import relax
from ...base import IRModule, Node
from ...deep import deep
from ...diagnostics import count, error
from ...function_table import unused_name
from ...infer import infer_struct_info
from ...passes.dead_code import remove_unused_bindings
from ...passes.rewriter import BindingRewriter
from ...visit import rewrite, walk


class DataflowBlockRewrite:
    """Makes new versions of the block `dfb` of the function `root_fn`."""

    def __init__(self, dfb: relax.DataflowBlock, root_fn: relax.Function) -> None:
        if not any(node is dfb for node in walk(root_fn)):
            raise error("E0105", "'dfb' is not a block of 'root_fn'", help="give a block of root_fn.body.blocks")
        self._block, self._function = dfb, root_fn
        self._original = root_fn

    def mutated_dfb(self) -> relax.DataflowBlock:
        """Return the block as it is now."""
        return self._block

    def mutated_root_fn(self) -> relax.Function:
        """Return the function as it is now; a block that lost all of its bindings is not in it."""
        return self._function

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """Return `irmodule` with the function as it is now in place of the original one."""
        functions = {
            name: self._function if function is self._original else function
            for name, function in irmodule.functions.items()
        }
        return replace(irmodule, functions=functions)

    @deep
    def replace_all_uses(self, old_var: relax.Var, new_var: relax.Var) -> None:
        """Use `new_var` wherever the function uses `old_var`; the binding of `old_var` stays.

        Raises TvmsError E0105 if a variable does not occur in the function.
        """
        known = {node for node in walk(self._function) if isinstance(node, relax.Var)}
        for var in (old_var, new_var):
            if var not in known:
                raise error(
                    "E0105", f"Cannot find '{var.name_hint}' in the function", help="give a variable of root_fn"
                )
        uses = BindingRewriter()
        uses.replaced[old_var] = new_var
        self._update(uses.function(self._function))

    def add_binding(self, binding: relax.Binding) -> None:
        """Add a binding at the end of the block."""
        old, self._block = self._block, replace(self._block, bindings=(*self._block.bindings, binding))
        self._function = _with_block(self._function, old, self._block)

    def add(self, expr: relax.Expr, name: str | None = None, is_dfvar: bool = False) -> None:
        """Bind `expr` at the end of the block to a new variable, which is an output of the block unless `is_dfvar`.

        Without a name, the variable is `tmp`, with a number if another variable has this name.
        """
        if name is None:
            taken = {node.name_hint for node in walk(self._function) if isinstance(node, relax.Var)}
            name = unused_name("tmp", taken)
        kind = relax.DataflowVar if is_dfvar else relax.Var
        info = expr.struct_info or infer_struct_info(expr)
        self.add_binding(relax.VarBinding(kind(name, struct_info=info), expr))

    @deep
    def remove_unused(self, var: relax.Var, allow_undef: bool = False) -> None:
        """Remove the binding of `var` from the block.

        Raise TvmsError E0105 if the function uses `var`, or if the block does not define it and `allow_undef` is False.
        """
        kept = tuple(binding for binding in self._block.bindings if binding.var is not var)
        if len(kept) == len(self._block.bindings):
            if not allow_undef:
                raise error("E0105", f"the block does not bind '{var.name_hint}'", help="pass allow_undef=True")
            return
        block = replace(self._block, bindings=kept)
        function = _with_block(self._function, self._block, block)
        users = [
            node
            for node in walk(function)
            if isinstance(node, relax.VarBinding | relax.MatchCast) and var in walk(node.value)
        ]
        if any(node is var for node in walk(function)):
            help = "replace its uses first: replace_all_uses(old_var, new_var)"
            raise error("E0105", f"'{var.name_hint}' is used by {count(len(users), 'var')}", help=help)
        self._block, self._function = block, function

    @deep
    def remove_all_unused(self) -> None:
        """Remove all unused bindings of the function, also those that only unused bindings use."""
        self._update(remove_unused_bindings(self._function))

    def _update(self, function: relax.Function) -> None:
        """Take a new function, and find the block in it by the variables that it defines."""
        own = {binding.var for binding in self._block.bindings}
        blocks = (node for node in walk(function) if isinstance(node, relax.DataflowBlock))
        found = next((block for block in blocks if own & {binding.var for binding in block.bindings}), None)
        self._block = replace(self._block, bindings=()) if found is None else found
        self._function = function


def _with_block(function: relax.Function, old: relax.DataflowBlock, new: relax.DataflowBlock) -> relax.Function:
    """Return `function` with `new` in place of `old`; a block without bindings is not in a function."""
    added = (new,) if new.bindings else ()
    if not old.bindings:
        return replace(function, body=replace(function.body, blocks=(*function.body.blocks, *added)))

    def change(node: Node) -> Node | None:
        if not isinstance(node, relax.SeqExpr) or not any(block is old for block in node.blocks):
            return None
        return replace(node, blocks=tuple([b for block in node.blocks for b in (added if block is old else (block,))]))

    return rewrite(function, change)
