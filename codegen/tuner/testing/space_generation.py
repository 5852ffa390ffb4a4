"""Comparison of the spaces that rules make with expected programs (TVM: `meta_schedule.testing.space_generation`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule
from ....ir.diagnostics import TvmsError
from ....ir.equal import structural_equal
from ....ir.programs import as_module
from ....ir.sanitize import say
from ....ir.schedule import Schedule, Trace
from ..rule import ScheduleRule
from ..space_generator import PostOrderApply
from ..tune_context import TuneContext

__all__ = ["check_sketches", "generate_design_space", "get_rules", "print_sketches", "structural_equal_no_gs"]
Decisions = Sequence[tuple[str, Any]]
"""Names of sampling instructions, with what each gives."""


def get_rules(kind: str, types: type | tuple[type, ...]) -> list[ScheduleRule]:
    """Return the default rules of a kind of target that belong to some classes."""
    return [rule for rule in ScheduleRule.create(kind) if isinstance(rule, types)]


def generate_design_space(
    kind: str, mod: IRModule | tir.PrimFunc, target: Any, types: type | tuple[type, ...] | None,
    sch_rules: Sequence[ScheduleRule] | None = None,
) -> list[Schedule]:  # fmt: skip
    """Return the schedules that rules make of a module: `sch_rules`, or the default ones of some classes."""
    rules = get_rules(kind, types or ScheduleRule) if sch_rules is None else list(sch_rules)
    generator = PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})
    return TuneContext(mod, target=target, space_generator=generator, task_name="test").generate_design_space()


def structural_equal_no_gs(mod1: IRModule, mod2: IRModule) -> bool:
    """Return whether two modules are equal but for the names of their functions in libraries."""
    return structural_equal(_without_symbols(mod1), _without_symbols(mod2), as_tvm=True)


def _without_symbols(mod: IRModule) -> IRModule:
    found: dict[str, Any] = {}
    for name, function in mod.functions.items():
        attrs = {key: value for key, value in function.attrs.items() if key != "global_symbol"}
        found[name] = replace(function, attrs=attrs)
    return replace(mod, functions=found, schedules={})


def check_sketches(
    mod: IRModule | tir.PrimFunc, sketches: Sequence[Schedule], expected_mods: Sequence[IRModule | tir.PrimFunc],
    expected_decisions: Sequence[Decisions], *, debug_mask: str | int = "all",
) -> None:  # fmt: skip
    """Check that each sketch makes another one of the expected programs with the decisions that belong to it. Raises AssertionError otherwise."""
    if not len(sketches) == len(expected_mods) == len(expected_decisions):
        raise AssertionError(f"expected {len(expected_mods)} sketches, got {len(sketches)}")
    left = list(sketches)
    for number, (expected, decisions) in enumerate(zip(expected_mods, expected_decisions, strict=True)):
        wanted = as_module(expected, "main") if isinstance(expected, tir.PrimFunc) else expected
        found = next((sketch for sketch in left if _makes(mod, sketch, wanted, decisions, debug_mask)), None)
        if found is None:
            raise AssertionError(f"no sketch makes the expected program {number}")
        left.remove(found)


def _makes(
    mod: IRModule | tir.PrimFunc, sketch: Schedule, expected: IRModule, decisions: Decisions, debug_mask: str | int
) -> bool:
    insts, left = list(sketch.trace.insts), list(decisions)
    for place, inst in enumerate(insts):
        if inst.primitive.name.startswith("sample_"):
            if not left or inst.kind.name != left[0][0]:
                return False
            value = left.pop(0)[1]
            insts[place] = inst.with_decision(tuple(value) if isinstance(value, list) else value)  # type: ignore[reportUnknownArgumentType]
    if left:
        return False
    made = Schedule(mod, debug_mask=debug_mask)
    try:
        Trace(insts, function=sketch.trace.function).apply_to_schedule(made, remove_postproc=True)
    except TvmsError:
        return False
    return structural_equal_no_gs(made.mod, expected)


def print_sketches(sketches: Sequence[Schedule]) -> None:
    """Print the program and the decisions of each sketch."""
    for number, sketch in enumerate(sketches):
        say(f"# sketch {number}")
        sketch.mod.show()
        for inst, decision in sketch.trace.decisions.items():
            shown = list(decision) if isinstance(decision, tuple) else decision  # type: ignore[reportUnknownArgumentType]
            say(f"({inst.kind.name!r}, {shown}),")
