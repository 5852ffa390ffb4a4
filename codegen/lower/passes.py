"""The steps of the lowering as passes, by their names, and the pipeline `lower` of all of them: for `tvms opt`.

Importing this registers them; the steps are those that functions are compiled by.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from ...ir.base import IRModule
from ...ir.deep import deep
from ...ir.passes.pipelines import register_pipeline
from ...ir.passes.transform import Pass, Sequential, declare_pass, get_pass, map_functions
from ...ir.simplify.statements import simplify_statements
from ...ir.visit import walk
from . import BLOCK_STEPS, LOOP_STEPS, Step
from .bounds import Bounds, guard_indices
from .invariants import hoist_expressions


def _on_modules(step: Step) -> Callable[[IRModule], IRModule]:
    def run(mod: IRModule) -> IRModule:
        return map_functions(mod, tir.PrimFunc, deep(step))

    run.__doc__ = step.__doc__
    return run


def _unless(is_early: Callable[[tir.Block], bool], step: Step) -> Step:
    """Return `step` for functions without blocks for which it is too early; those that have some stay as they are."""

    def run(func: tir.PrimFunc) -> tir.PrimFunc:
        blocks = (node for node in walk(func.body) if isinstance(node, tir.Block))
        return func if any(is_early(block) for block in blocks) else step(func)

    run.__doc__ = step.__doc__
    return run


def _on_loops(step: Step) -> Step:
    return _unless(lambda _: True, step)


_EARLY: dict[str, Callable[[tir.Block], bool]] = {
    "ConvertBlocksToOpaque": lambda block: block.init is not None,
    "LowerOpaqueBlock": lambda block: bool(block.iter_vars or block.init or block.match_buffers),
}
"""Steps that take blocks as steps before them leave them, and for which blocks it is too early."""


for _name, _step in BLOCK_STEPS.items():
    declare_pass(_name)(_on_modules(_unless(_EARLY[_name], _step) if _name in _EARLY else _step))


@declare_pass("GuardIndices")
def guard(mod: IRModule, bounds: Bounds = "prove") -> IRModule:
    """Check indices as a function runs: all with `bounds="check"`, those that are not proven to be inside with "prove"."""
    return map_functions(mod, tir.PrimFunc, deep(lambda func: guard_indices(func, bounds)[0]))


for _name, _step in LOOP_STEPS.items():
    declare_pass(_name)(_on_modules(_on_loops(_step)))


declare_pass("HoistExpression")(_on_modules(_on_loops(hoist_expressions)))
declare_pass("Simplify")(_on_modules(simplify_statements))


@declare_pass("ApplyDefaultSchedule")
def apply_default_schedule(mod: IRModule) -> IRModule:
    """Schedule the functions that nobody scheduled, as the compiler does for the processor that it runs on."""
    from ..rules import apply_rules, rules_for
    from ..target import get_target

    rules = rules_for(get_target("llvm").processor)
    return map_functions(mod, tir.PrimFunc, lambda func: apply_rules(func, rules)[0])


@register_pipeline("lower")
def lowering() -> Pass:
    """Return the steps from a function as it is written to what LLVM IR is written from, one after the other."""
    return Sequential([get_pass(name) for name in (*BLOCK_STEPS, "GuardIndices", *LOOP_STEPS)], name="lower")
