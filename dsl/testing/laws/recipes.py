"""A default schedule is a text: it replays to the function that is compiled, and stays correct when its knobs are edited.

The functions are those that rules recognize, and others. They are scheduled for processors with other vectors, registers and
numbers of threads, and for GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct, field
from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.equal import structural_equal
from ....ir.schedule import Schedule, ScheduleError
from ....ir.schedule.declaration import COMPOSITES, Knob
from ....ir.schedule.text import ScheduleText, Statement, Step
from ....ir.verify import verify
from ...load import parse, parse_source
from ..choices import weighted
from ..computations import computations
from ..matrix import Decided, rule_cells
from ..oracle import as_module, assert_equivalent, profiles
from ..prim_funcs import prim_funcs
from ..smaller import programs_in
from .law import Law, module_constructs


class Defaults(Struct, frozen=True):
    """A module whose default schedules are requested from the executor of the law, for a machine that `number` selects."""

    module: IRModule
    number: int


class Derived(Struct, frozen=True):
    """A default schedule that `execute` returns for `Defaults`."""

    kind: str
    """The kind of machine, a key of `RULES`."""
    decisions: tuple[Decided, ...]
    text: ScheduleText | None
    """None if nothing is scheduled."""
    function: tir.PrimFunc
    """The scheduled function."""


class _Example(Struct):
    module: IRModule
    number: int
    """Selects the machine, the edits and the inputs."""
    met: list[str] = field(default_factory=list[str])
    """Cells of rules that the last check met."""


_OTHERS = frozenset({"E0595", "E0594"})
"""Refusals of knobs that do not fit each other, or the block."""
_SMALL = 16
"""How far edited knobs are from the least value: the interpreter executes every lane."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    known = computations()
    programs = (
        weighted((2, known), (1, prim_funcs().map(as_module)))
        if file is None
        else programs_in(file, is_loop_level=True)
    )
    return st.builds(_Example, programs, st.integers(0, 100_000))


def _check(example: _Example, execute: Any) -> None:
    """Check the schedules that `execute` returns for `Defaults`, each with the function that it leads to; edit one of them."""
    module, number = example.module, example.number
    found = [(schedule.text, schedule.function) for schedule in derive(example, execute) if schedule.text is not None]
    for place, (text, function) in enumerate(found):
        whole = parse(str(replace(module, schedules={text.name: text})), "recipe.tvms")
        (read,) = whole.schedules.values()
        assert isinstance(read, ScheduleText)
        assert read.script() == text.script(), f"the schedule prints differently after it was read:\n{text.script()}"
        again = _replayed(whole, read)
        expected = replace(again, functions={**again.functions, text.function: function})
        assert structural_equal(again, expected), f"the text gives a different function:\n{text.script()}"
        if place != number % len(found):
            continue
        edited = _edited(read, Random(number))
        try:
            after = _replayed(whole, edited)
        except ScheduleError as problem:
            if {diagnostic.code for diagnostic in problem.diagnostics} <= _OTHERS:
                continue
            raise
        _compare(module, after, number, edited)


def derive(example: _Example, execute: Any) -> list[Derived]:
    """Return the default schedules of an example, which keeps the cells of rules that they met."""
    derived: list[Derived] = execute(Defaults(example.module, example.number), "main")
    example.met = [
        cell for schedule in derived for cell in rule_cells(example.module, schedule.kind, schedule.decisions)
    ]
    return derived


def _replayed(module: IRModule, text: ScheduleText) -> IRModule:
    schedule = Schedule(replace(module, schedules={}), error_render_level="fast")
    schedule.replay(text)
    return schedule.mod


def _compare(before: IRModule, after: IRModule, number: int, text: ScheduleText) -> None:
    known = {problem.code for problem in verify(before)}
    new = [f"{problem.code} {problem.message}" for problem in verify(after) if problem.code not in known]
    assert not new, f"after an edit: {', '.join(new)}\n{text.script()}"
    try:
        assert_equivalent(before, after, seed=number % 1000, profiles=profiles(number)[:1], integers=(-8, 9))
    except AssertionError as problem:
        raise AssertionError(f"{problem}\n\n{text.script()}") from None


def _edited(text: ScheduleText, random: Random) -> ScheduleText:
    """Return a schedule with some of its knobs changed within their ranges."""
    return replace(text, steps=tuple([_edited_step(step, random) for step in text.steps]))


def _edited_step(step: Statement, random: Random) -> Statement:
    if not isinstance(step, Step):
        return step
    composite = COMPOSITES.get(step.primitive)
    declared: Mapping[str, Knob] = {} if composite is None else composite.knobs
    named = dict(step.named)
    for name, knob in declared.items():
        if random.random() < 0.5:
            named[name] = _other(knob, named.get(name), random)
    if "columns" in named and "lanes" in named:
        named["columns"] = named["lanes"] * random.randint(1, 4)
    return replace(step, named={name: value for name, value in named.items() if value is not None})


def _other(knob: Knob, value: Any, random: Random) -> Any:
    """Return another value of a knob; None if there is none and it was not given."""
    if knob.choices:
        return random.choice(knob.choices)
    few = [number for number in range(knob.least, min(knob.most, knob.least + _SMALL) + 1) if knob.takes(number)]
    return random.choice(few) if few else value


LAW = Law(
    _examples,
    _check,
    show=lambda example: str(example.module),
    read=lambda source: _Example(parse_source(source), 0),
    constructs=lambda example: (*module_constructs(example.module), *example.met),
)
