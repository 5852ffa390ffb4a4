"""The default schedules of a module as texts: what `compile` applies to its functions, to be printed, edited and kept."""

from __future__ import annotations

from msgspec import Struct

from ..ir import tir
from ..ir.base import IRModule
from ..ir.diagnostics import TvmsError
from ..ir.schedule.apply import kind_of, schedules_for
from ..ir.schedule.text import ScheduleText
from .build import called_functions, guarded_loops, loop_level_functions
from .gpu.rules import derive_for_gpu
from .gpu.split import has_threads
from .rules import Decision, Recipe, derive, rules_for
from .target import Target


class DefaultSchedule(Struct, frozen=True, eq=False):
    """Default schedule of one function: its text, None if nothing is scheduled, and the decisions of the rules."""

    function: str
    text: ScheduleText | None
    decisions: tuple[Decision, ...]


def default_schedules(module: IRModule, target: Target) -> dict[str, DefaultSchedule]:
    """Return the default schedules of the loop functions of a module that has no schedules for them, by function.

    Each text is for the kind of `target`; applying it gives the function that is compiled, but for its attributes.
    """
    called, functions = called_functions(module), loop_level_functions(module)
    own = {text.function: text.name for text in schedules_for(module, target.name)} if module.schedules else {}
    found: dict[str, DefaultSchedule] = {}
    for name, function in functions.items():
        recipe = _declined(f"it has the schedule '{own[name]}'") if name in own else None
        if recipe is None and target.arch:
            is_bound = has_threads(function)
            derived = _declined("it has thread bindings") if is_bound else None
            recipe = derived or derive_for_gpu(function, target.arch)
        elif recipe is None and name in called and not function.attrs.get("tir.noalias"):
            recipe = _declined("another function calls it, perhaps with arguments that overlap")
        elif recipe is None:
            recipe = _for_processor(function, module, target)
        text = recipe.text(name, _free_name(name, module), kind_of(target.name)) if recipe.schedule else None
        found[name] = DefaultSchedule(name, text, recipe.decisions)
    return found


def _declined(reason: str) -> Recipe:
    return Recipe(tir.PrimFunc((), tir.Evaluate(tir.IntImm("int32", 0))), (Decision("root", None, (("all", reason),)),))


def _for_processor(function: tir.PrimFunc, module: IRModule, target: Target) -> Recipe:
    recipe = derive(function, rules_for(target.processor))
    if recipe.schedule is None:
        return recipe
    try:
        is_dropped = not guarded_loops(function, "prove", module.functions, target).decisions
    except TvmsError:
        is_dropped = False  # the errors of compilation are reported there
    return _declined("its schedule would need more checks of indices") if is_dropped else recipe


def _free_name(function: str, module: IRModule) -> str:
    """Return a name for the schedule of a function."""
    name, number = f"{function}_default", 0
    while name in module.schedules or name in module.functions:
        number += 1
        name = f"{function}_default_{number}"
    return name
