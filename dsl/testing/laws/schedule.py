"""A chain of schedule primitives never changes what a program computes, and replays from its text.

A refused primitive leaves the program unchanged. The scheduled program survives printing and parsing. Chains are drawn from
all primitives; the kinds of their parameters select blocks, loops and numbers as arguments. The programs have features that
primitives tend to handle wrongly; a run counts for each primitive and feature how often it was applied and how often it was
refused. A quarter of the examples are programs and schedules that somebody wrote, with random changes of both.
"""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec import Struct, field
from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import Diagnostic, TvmsError
from ....ir.equal import structural_equal
from ....ir.schedule import Schedule, ScheduleError
from ....ir.schedule.text import ScheduleText
from ....ir.software_pipeline import ORDER, STAGE
from ....ir.verify import verify
from ....ir.visit import walk
from ...load import parse, parse_source
from ..choices import Choices, weighted
from ..effects import Step, check_effect, operands
from ..matrix import REFUSED, cells, features_of_step
from ..oracle import Execute, as_module, assert_equivalent, interpreted, profiles
from ..prim_funcs import prim_funcs
from ..scheduling import schedulable
from ..smaller import programs_in
from ..steps import CHANGING, apply, arguments
from ..written_schedules import has_same_signature, varied_schedule
from .law import Law
from .lowering import Faulty, checked


class _Planned(Struct, frozen=True):
    """A primitive, and the number that selects its arguments when it is applied."""

    primitive: str
    number: int


class _Example(Struct):
    module: IRModule
    steps: tuple[_Planned, ...]
    seed: int
    written: ScheduleText | None = None
    """A written schedule, which is applied before the steps."""
    met: list[str] = field(default_factory=list[str])
    """Outcome of each step of the last check: "split" or "split, refused"."""
    text: str = ""
    """The schedule at that time."""

    def __str__(self) -> str:
        return f"{self.module}\n\n{self.text}"


_STEPS = 14
_SAMPLE = 10
"""One example in this number is also compiled."""
_FOLLOWING = 3
"""Maximum number of random steps after a written schedule."""
WRITTEN = "written schedule"
FAULTY = "program that faults"


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    others = prim_funcs(max_blocks=2).map(lambda function: (as_module(function), ()))
    suited = schedulable().map(lambda both: (as_module(both[0]), both[1]))
    modules = weighted((4, suited), (1, others)) if file is None else programs_in(file, is_loop_level=True).map(lambda module: (replace(module, schedules={}), ()))  # fmt: skip
    return _drawn(modules, file)


@st.composite
def _drawn(
    draw: st.DrawFn, modules: st.SearchStrategy[tuple[IRModule, tuple[str, ...]]], file: Source | None
) -> _Example:
    """Draw a module, the steps that suit it, and random steps after them.

    One strategy draws everything. With several strategies of one kind, Hypothesis repeats each example with some of its
    parts equal, and five of six examples have the same module.
    """
    choose = Choices(draw)
    if file is None and choose.rarely(4):
        return _written(choose)
    module, suited = draw(modules)
    number, options = choose.number(0, 2**32 - 1), ("", *CHANGING)
    first = [_Planned(name, number + at) for at, name in enumerate(suited)]
    steps = [_Planned(choose.pick(options), choose.number(0, 2**32 - 1)) for _ in range(_STEPS)]
    chain = tuple([step for step in (*first, *steps) if step.primitive])
    return _Example(module, chain, choose.number(0, 99))


def _written(choose: Choices) -> _Example:
    both = varied_schedule(choose)
    steps = [_Planned(choose.pick(CHANGING), choose.number(0, 2**32 - 1)) for _ in range(choose.number(0, _FOLLOWING))]
    return _Example(both.module, tuple(steps), choose.number(0, 99), both.schedule)


def _check(example: _Example, execute: Execute) -> None:
    schedule = Schedule(example.module, seed=0, error_render_level="fast")
    example.met.clear()
    if example.written is not None:
        _replay(schedule, example)
    for step in example.steps:
        _apply(schedule, step, example)
    example.text = schedule.script()
    try:
        _check_result(example, schedule, execute)
    except Faulty:
        example.met.append(FAULTY)


def _replay(schedule: Schedule, example: _Example) -> None:
    """Apply the written schedule, unless it is refused."""
    assert example.written is not None
    before, name = schedule.mod, WRITTEN
    try:
        schedule.replay(example.written)
    except TvmsError:
        assert schedule.mod is before, "the written schedule was refused but changed the program"
        name += REFUSED
    example.met.append(name)


def _apply(schedule: Schedule, step: _Planned, example: _Example) -> None:
    """Apply a step, unless it is refused, and check its effect."""
    given = arguments(schedule, step.primitive, step.number)
    before, features, known = schedule.mod, features_of_step(schedule, given), operands(schedule, given)
    try:
        result = apply(schedule, step.primitive, given)
    except ScheduleError:
        assert schedule.mod is before, f"{step.primitive} was refused but changed the program"
        example.met += cells(step.primitive, features, is_refused=True)
        return
    check_effect(step.primitive, Step(given, known, result, schedule))
    example.met += cells(step.primitive, features, is_refused=False)


def _check_result(example: _Example, schedule: Schedule, execute: Execute) -> None:
    """Check that the result prints, computes the same, is accepted by the verifier, and follows from the text of the schedule."""
    printed = parse(str(schedule.mod), "scheduled.tvms")
    assert structural_equal(schedule.mod, printed, map_free_vars=True), (
        "the scheduled program prints as a different one"
    )
    is_written = example.written is not None
    is_compiled = not is_written and example.seed % _SAMPLE == 0 and _is_native(schedule.mod)
    if has_same_signature(example.module, schedule.mod):
        for execute_after in (interpreted, execute) if is_compiled else (interpreted,):
            assert_equivalent(
                example.module, schedule.mod, seed=example.seed, profiles=_profiles(example), integers=_INTEGERS[example.seed % 2],
                execute_before=checked if is_written else interpreted, execute_after=execute_after,
            )  # fmt: skip
        found = _errors(schedule.mod)
        if found and not _errors(example.module):
            raise TvmsError(found)
    again = Schedule(example.module, seed=0)
    again.replay(schedule.text())
    assert structural_equal(schedule.mod, again.mod), "the text of the schedule gives a different program"


def _errors(module: IRModule) -> list[Diagnostic]:
    return [diagnostic for diagnostic in verify(module, "races") if diagnostic.severity == "error"]


def _profiles(example: _Example) -> tuple[str, ...]:
    """Return a profile of inputs. Which number is the greatest of several depends on their order if one is NaN."""
    selects = any(isinstance(node, tir.Select) for node in walk(example.module))
    return ("plain",) if example.written is not None and selects else profiles(example.seed)


_INTEGERS = ((-8, 9), (0, 3))
"""Ranges of integers: in a small one, many elements are equal, so that the order of ties matters."""


def _is_native(module: IRModule) -> bool:
    """Return whether a module runs on the CPU unchanged: no loop is bound to a thread or partly annotated as a pipeline."""
    loops = [node for node in walk(module) if isinstance(node, tir.For)]
    return all(
        loop.kind is not tir.ForKind.THREAD_BINDING and (STAGE in loop.annotations) == (ORDER in loop.annotations)
        for loop in loops
    )


def _read(source: Source) -> _Example:
    """Return a program, and the last schedule in its text: in a saved example, the one that was applied."""
    module = parse_source(source)
    texts = [text for text in module.schedules.values() if isinstance(text, ScheduleText)]
    return _Example(replace(module, schedules={}), (), 0, texts[-1] if texts else None)


LAW = Law(
    _examples, _check, read=_read, constructs=lambda example: example.met, counts_all=True,
    expected=frozenset(key for name in (WRITTEN, *CHANGING) for key in (name, f"{name}{REFUSED}")) | {FAULTY},
)  # fmt: skip
