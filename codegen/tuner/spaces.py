"""Search spaces: schedule texts whose steps draw numbers (`S.sample_categorical`, `S.sample_perfect_tile`, ...).

A function has the spaces that its module contains, that of its default schedule, whose knobs become draws, and those
that the sketches generate (`sketches`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.equal import structural_hash
from ...ir.function_table import unused_name
from ...ir.schedule import Schedule
from ...ir.schedule.apply import SEED, draws, schedules_for
from ...ir.schedule.declaration import COMPOSITES, Knob, primitive_called
from ...ir.schedule.text import Name, ScheduleText, Statement, Step
from ..default_schedules import default_schedules
from ..target import Target
from .sketches import sketches

FUNCTION = "main"
"""Name of the only function of a workload."""
_FACTORS = ((1, 4), (1, 2), (3, 4), (1, 1), (3, 2), (2, 1), (3, 1), (4, 1))
"""Candidates of a knob, relative to its default: numerators and denominators."""


Complete: TypeAlias = Callable[[Schedule], str]
"""Completes a schedule whose numbers are drawn; returns why it is not to be measured, empty if it is."""


def complete_already(schedule: Schedule) -> str:
    """Leave a schedule as it is."""
    return ""


class Space(Struct, frozen=True, eq=False):
    """A search space: a schedule text, of which the steps that draw numbers span the space."""

    name: str
    text: ScheduleText
    complete: Complete = complete_already


class Spaces(Struct, frozen=True, eq=False):
    """The spaces of a workload. `baseline` is what runs without tuning, None if nothing is scheduled."""

    baseline: ScheduleText | None
    found: tuple[Space, ...]


def spaces_of(
    module: IRModule, target: Target, own: Sequence[ScheduleText] = (), complete: Complete = complete_already
) -> Spaces:
    """Return the spaces of a workload, a module of one loop function; `own` are the schedules that its file has for it, which
    `complete` completes.

    If one of these draws numbers or has integer parameters, they are the only spaces besides the default schedule.
    """
    written = [text for text in own if draws(text)]
    parametric = [_with_drawn_parameters(text) for text in own if text not in written and _parameters(text)]
    fixed = next((text for text in own if not draws(text)), None)
    default = default_schedules(replace(module, schedules={}), target)[FUNCTION].text
    found = [Space(text.name, text, complete) for text in (*written, *parametric)]
    if default is not None:
        found.append(Space("default", _with_drawn_knobs(default)))
    if not written and not parametric:
        found += [Space(name, text) for name, text in sketches(module, target)]
    return Spaces(fixed or default, tuple(found))


def own_schedules(module: IRModule, target: Target) -> dict[str, tuple[ScheduleText, ...]]:
    """Return the schedules of a module that are for `target` or for all targets, by function."""
    found: dict[str, tuple[ScheduleText, ...]] = {}
    for text in module.schedules.values():
        if isinstance(text, ScheduleText) and schedules_for(replace(module, schedules={text.name: text}), target.name):
            found[text.function] = (*found.get(text.function, ()), text)
    return found


# --- Parameters and knobs as draws ------------------------------------------------------------------------------


def _parameters(text: ScheduleText) -> dict[str, int]:
    return {name: value for name, value in text.parameters.items() if type(value) is int and value > 0}


def _with_drawn_parameters(text: ScheduleText) -> ScheduleText:
    """Return a schedule whose positive integer parameters are drawn from values around their defaults."""
    numbers = _parameters(text)
    drawn = [_draw(name, candidates_of(value, None)) for name, value in numbers.items()]
    rest = {name: value for name, value in text.parameters.items() if name not in numbers}
    return replace(text, parameters=rest, steps=(*drawn, *text.steps))


def _with_drawn_knobs(text: ScheduleText) -> ScheduleText:
    """Return a default schedule whose composite steps take drawn numbers instead of the chosen ones."""
    steps: list[Statement] = []
    taken = {name for step in text.steps if isinstance(step, Step) for name in step.results}
    for step in text.steps:
        assert isinstance(step, Step)
        named = dict(step.named)
        for name, value, knob in _knobs(step):
            candidates = candidates_of(value, knob)
            if len(candidates) > 1:
                unique = unused_name(name, taken)
                taken.add(unique)
                steps.append(_draw(unique, candidates))
                named[name] = Name("int32", unique)
        steps.append(replace(step, named=named))
    return replace(text, steps=tuple(steps))


def _knobs(step: Step) -> Iterator[tuple[str, int, Knob]]:
    """Yield the numbers among the knobs of a composite step."""
    found = primitive_called(step.primitive)
    if found is None or found.name not in COMPOSITES:
        return
    for name, value in step.named.items():
        if name in found.knobs and type(value) is int and value > 0 and name not in _FIXED:
            yield name, value, found.knobs[name]


_FIXED = {"lanes"}
"""Knobs that follow from the vectors of the machine."""


def candidates_of(value: int, knob: Knob | None) -> tuple[int, ...]:
    """Return the values near `value` that a knob may have, in ascending order."""
    near = {value * up // down for up, down in _FACTORS if value * up % down == 0}
    return tuple(sorted(number for number in near if number > 0 and (knob is None or knob.takes(number))))


def _draw(name: str, candidates: Sequence[int]) -> Step:
    probs = tuple([1 / len(candidates)] * len(candidates))
    return Step("sample_categorical", (tuple(candidates),), {"probs": probs}, (name,))


def workload_of(function: tir.PrimFunc) -> IRModule:
    """Return the module of one loop function, under a common name, by which its tuning is stored."""
    attrs = {name: value for name, value in function.attrs.items() if name != "global_symbol"}
    return IRModule({FUNCTION: replace(function, attrs=attrs)}, name="Workload")


def scheduled(workload: IRModule, text: ScheduleText | None, target: str) -> tir.PrimFunc:
    """Return the function of a workload after a schedule; as it is for None. Raises ScheduleError if a step is refused."""
    schedule = Schedule(workload, seed=SEED)
    if text is not None:
        schedule.replay(text, target)
    function = schedule.mod.functions[FUNCTION]
    assert isinstance(function, tir.PrimFunc)
    return function


def key_of(function: tir.PrimFunc) -> str:
    """Return the key of a function: its structural hash in hexadecimal digits."""
    return f"{structural_hash(function):016x}"
