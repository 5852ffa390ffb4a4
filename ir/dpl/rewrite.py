"""Rewriting of expressions that match a pattern (TVM: `tvm.relax.dpl.rewrite`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from .. import relax
from ..diagnostics import error
from ..passes.canonicalize_bindings import without_aliases
from ..passes.dead_code import remove_unused_bindings
from ..passes.rewriter import ValueRewriter
from ..passes.topological_sort import used_by
from .context import Match, PatternContext
from .pattern import DFPattern
from .rewriter import PatternMatchingRewriter, Rewriter

BindingsRewriter = Callable[[Match, Mapping[relax.Var, relax.Expr]], Mapping[relax.Var, relax.Expr]]


def rewrite_call(pattern: DFPattern, rewriter: Rewriter, func: relax.Function) -> relax.Function:
    """Return `func` with each bound value that matches `pattern` replaced by the result of `rewriter`.

    `rewriter` gets the value and what each nested pattern matched. It returns a replacement, or the value itself to keep
    it. Nested calls in the replacement are bound to new variables. Replacements are replaced in turn, until nothing changes.
    Bindings that become unused, equal values and aliases of variables are removed.
    """
    return PatternMatchingRewriter.from_pattern(pattern, rewriter)(func)


def rewrite_bindings(ctx: PatternContext, rewriter: BindingsRewriter, func: relax.Function) -> relax.Function:
    """Return `func` with new values for variables of dataflow blocks that match the patterns of `ctx` together.

    `rewriter` gets the variable of each pattern and the value of each variable, and returns the new values by variable.
    New values may be nested; common subexpressions are computed once. `rewriter` is called again for the other bindings
    of a block, until nothing matches or it returns nothing. Bindings are reordered as needed; unused ones are removed.

    Raises TvmsError E0912 if a new value depends on itself.
    """
    rewritten = _ValueReplacer(func, ctx, rewriter).function(func)
    return func if rewritten is func else remove_unused_bindings(without_aliases(rewritten))


class _ValueReplacer(ValueRewriter):
    def __init__(self, function: relax.Function, context: PatternContext, rewriter: BindingsRewriter) -> None:
        super().__init__(function)
        self._context, self._rewriter = context, rewriter

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Return a dataflow block with the new values and the bindings that they need."""
        changed = self._changed(block) if isinstance(block, relax.DataflowBlock) else {}
        if changed:
            with self.collecting(in_dataflow=True) as new:
                bindings = [self._bound(binding, changed) for binding in block.bindings]
            block = replace(block, bindings=_in_order([*bindings, *new]))
        return super().block(block)

    def _changed(self, block: relax.DataflowBlock) -> dict[relax.Var, relax.Expr]:
        changed: dict[relax.Var, relax.Expr] = {}
        left = block
        while (found := self._context.match_dfb(left)) is not None:
            new = self._rewriter(found, {binding.var: binding.value for binding in left.bindings})
            left = replace(left, bindings=tuple([binding for binding in left.bindings if binding.var not in new]))
            if left.bindings == block.bindings or not new:
                break
            changed |= new
        return changed

    def _bound(self, binding: relax.Binding, changed: Mapping[relax.Var, relax.Expr]) -> relax.Binding:
        value = changed.get(binding.var)
        return binding if value is None else self.rebound(binding, self.flat(value))


def _in_order(bindings: Sequence[relax.Binding]) -> tuple[relax.Binding, ...]:
    """Return the bindings with each after the bindings that it uses, otherwise in their order."""
    own, uses = {binding.var: binding for binding in bindings}, used_by(bindings)
    placed: dict[relax.Var, relax.Binding] = {}
    for var in own:
        waiting = [var]
        while waiting:
            missing = [use for use in uses[waiting[-1]] if use in own and use not in placed]
            if not missing:
                placed[waiting[-1]] = own[waiting[-1]]
                waiting.pop()
            elif missing[0] in waiting:
                raise error("E0912", f"the new value of '{var.name_hint}' depends on itself", own[var].value.span)
            else:
                waiting.append(missing[0])
    return tuple(placed.values())
