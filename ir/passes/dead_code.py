"""Remove unused bindings and unreachable functions (TVM: `DeadCodeElimination`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from .. import relax
from ..base import BaseFunc, IRModule, Node
from ..deep import deep
from ..diagnostics import error
from ..function_table import mentions_of
from ..purity import is_pure_call
from ..visit import walk
from .transform import declare_pass, map_functions


@declare_pass("DeadCodeElimination", opt_level=1)
@deep
def eliminate_dead_code(mod: IRModule, entry_functions: Sequence[str] | None = None) -> IRModule:
    """Remove unused pure bindings, and functions that neither `entry_functions` nor public functions reach.

    Raises TvmsError: E0905 if an entry function does not exist.
    """
    named = entry_functions or ()
    for name in named:
        if name not in mod:
            raise error("E0905", f"the module has no function '{name}'", help=f"it has {', '.join(mod.functions)}")
    entries = {*named, *[name for name, function in mod.functions.items() if is_public(function)]}
    mod = remove_unused_functions(mod, entries)
    live = map_functions(mod, relax.Function, lambda function: remove_unused_bindings(function, mod))
    return live if live is mod else remove_unused_functions(live, entries)


def is_public(function: BaseFunc) -> bool:
    """Return whether a function can be called from outside its module."""
    return isinstance(function, relax.ExternFunc) or "global_symbol" in function.attrs


def remove_unused_functions(mod: IRModule, entries: Iterable[str]) -> IRModule:
    """Return `mod` with only the functions that are reachable from `entries` by calls or references."""
    reached: dict[str, None] = {}
    pending = list(entries)
    while pending:
        name = pending.pop()
        if name not in reached and name in mod:
            reached[name] = None
            mentions = mentions_of(mod[name])
            pending += (*mentions.called, *mentions.passed)
    if len(reached) == len(mod.functions):
        return mod
    return replace(mod, functions={name: function for name, function in mod.functions.items() if name in reached})


def remove_unused_bindings(function: relax.Function, mod: IRModule | None = None) -> relax.Function:
    """Return `function` without unused bindings whose values have no side effects."""
    body = remove_unused_in(function.body, mod)
    return function if body is function.body else replace(function, body=body)


def remove_unused_in(body: relax.SeqExpr, mod: IRModule | None = None) -> relax.SeqExpr:
    """Return the body of a function without unused bindings whose values have no side effects."""
    return _Liveness(mod).sequence(body, set())


class _Liveness:
    """Walks a function backwards, so that the uses of a variable precede its binding."""

    def __init__(self, mod: IRModule | None) -> None:
        self._mod = mod

    def sequence(self, body: relax.SeqExpr, used: set[Node]) -> relax.SeqExpr:
        """Return a body without its unused bindings, and add the variables that it needs from outside to `used`."""
        _use(body.body, used)
        blocks: list[relax.BindingBlock] = []
        for block in reversed(body.blocks):
            bindings = [kept for old in reversed(block.bindings) if (kept := self._binding(old, used)) is not None]
            bindings.reverse()
            if len(bindings) != len(block.bindings) or any(
                a is not b for a, b in zip(bindings, block.bindings, strict=True)
            ):
                block = replace(block, bindings=tuple(bindings))
            if bindings:
                blocks.append(block)
        blocks.reverse()
        if len(blocks) == len(body.blocks) and all(a is b for a, b in zip(blocks, body.blocks, strict=True)):
            return body
        return replace(body, blocks=tuple(blocks))

    def _binding(self, binding: relax.Binding, used: set[Node]) -> relax.Binding | None:
        """Return the binding to keep, or None. A match_cast is kept, since it is checked at run time."""
        is_needed = binding.var in used or isinstance(binding, relax.MatchCast) or self._has_effects(binding.value)
        if not is_needed:
            return None
        value = self._value(binding.value, used)
        _use(binding.var.struct_info, used)
        if isinstance(binding, relax.MatchCast):
            _use(binding.struct_info, used)
        return binding if value is binding.value else replace(binding, value=value)

    def _value(self, value: relax.Expr, used: set[Node]) -> relax.Expr:
        match value:
            case relax.If():
                yes, no = self.sequence(value.true_branch, used), self.sequence(value.false_branch, used)
                _use(value.cond, used)
                is_same = yes is value.true_branch and no is value.false_branch
                return value if is_same else replace(value, true_branch=yes, false_branch=no)
            case relax.Function():
                body = self.sequence(value.body, used)
                return value if body is value.body else replace(value, body=body)
            case _:
                _use(value, used)
                return value

    def _has_effects(self, value: relax.Expr) -> bool:
        if isinstance(value, relax.Function):
            return False
        return any(isinstance(node, relax.Call) and not is_pure_call(node, self._mod) for node in walk(value))


def _use(node: Node | None, used: set[Node]) -> None:
    if node is not None:
        used.update(below for below in walk(node) if isinstance(below, relax.Var))
