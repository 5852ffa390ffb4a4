"""A module compiled in several ways, all of which must do the same: for the law of compiled code."""

from __future__ import annotations

from ...ir import tir
from ...ir.base import IRModule
from ...ir.deep import deep
from ..build import Settings, build, prepare
from ..lower import Bounds
from ..rules import apply_rules, rules_for
from ..target import Target, get_target
from .executable import Executable, link_built, machine_code


@deep
def compile_variants(program: IRModule, bounds: Bounds = "prove") -> dict[str, Executable]:
    """Return a module of loop-level functions as it stands, not optimised ("O0") and optimised ("O3"), and with default
    schedules ("scheduled") where a rule takes anything.

    The first two are lowered and written as LLVM IR once. Raises TvmsError as `compile` does.
    """
    target = get_target("llvm")
    module = prepare(program, target)
    plain, unoptimised = Settings(schedule=False, bounds=bounds), Settings(schedule=False, bounds=bounds, level=0)
    built = build(module, target, plain)
    ways = {"O0": (built, unoptimised), "O3": (built, plain)}
    if _is_scheduled(module, target):
        ways["scheduled"] = (build(module, target, Settings(bounds=bounds)), Settings(bounds=bounds))
    return {
        way: link_built(each, machine_code(each, target, settings), target, settings)
        for way, (each, settings) in ways.items()
    }


def _is_scheduled(module: IRModule, target: Target) -> bool:
    """Whether a rule takes a block of any function."""
    functions = (each for each in module.functions.values() if isinstance(each, tir.PrimFunc))
    rules = rules_for(target.processor)
    return any(decision.rule for each in functions for decision in apply_rules(each, rules)[1])
