"""Rewriting what matches a pattern (TVM: `tvm.relax.dpl.rewrite`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from .. import relax
from ..passes.canonicalize_bindings import without_aliases
from ..passes.dead_code import remove_unused_bindings
from ..passes.flatten import flatten
from ..passes.rewriter import BindingRewriter
from .pattern import DFPattern

Rewriter = Callable[[relax.Expr, Mapping[DFPattern, relax.Expr]], relax.Expr]


def rewrite_call(pattern: DFPattern, rewriter: Rewriter, func: relax.Function) -> relax.Function:
    """Return `func` with each bound call that matches `pattern` replaced by what `rewriter` makes of it.

    `rewriter` gets the call and what each part of the pattern matched; it may return nested calls, which get variables
    of their own and are tried in turn, or the call itself. What nothing uses afterwards is removed, and so are bindings
    that only give a value a second name.
    """
    rewritten = _Rewriter(pattern, rewriter).function(func)
    return func if rewritten is func else remove_unused_bindings(without_aliases(rewritten))


class _Rewriter(BindingRewriter):
    def __init__(self, pattern: DFPattern, rewriter: Rewriter) -> None:
        super().__init__()
        self._pattern, self._rewriter = pattern, rewriter
        self._values: dict[relax.Var, relax.Expr] = {}
        self._new_var: type[relax.Var] = relax.Var

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        self._new_var = relax.DataflowVar if isinstance(block, relax.DataflowBlock) else relax.Var
        return super().block(block)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        value = binding.value
        if isinstance(binding, relax.VarBinding):
            self._values[binding.var] = value
        found = isinstance(value, relax.Call) and self._pattern.extract_matched_expr(value, self._values)
        if not found:
            return (binding,)
        new = self._rewriter(value, found)
        if new is value:
            return (binding,)
        parts: list[relax.Binding] = []

        def bind(nested: relax.Expr) -> relax.Var:
            part = flatten(nested, bind)
            name = f"{binding.var.name_hint}_{len(parts)}"
            var = self._new_var(name, struct_info=part.struct_info, span=part.span)
            parts.extend(self.binding(relax.VarBinding(var, part, span=part.span)))
            return var

        flat = flatten(new, bind)
        self._values[binding.var] = flat
        return (*parts, replace(binding, value=flat))
