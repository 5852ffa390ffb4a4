"""A chain of schedule primitives never changes what a program computes, and replays from its text.

A refused primitive leaves the program unchanged. The scheduled program survives printing and parsing. Chains are drawn from
all primitives; the kinds of their parameters select blocks, loops and numbers as arguments. The programs have features that
primitives tend to handle wrongly; a run counts for each primitive and feature how often it was applied and how often it was
refused.
"""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec import Struct, field

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.equal import structural_equal
from ....ir.schedule import Schedule, ScheduleError
from ....ir.software_pipeline import ORDER, STAGE
from ....ir.verify import verify
from ....ir.visit import walk
from ...load import parse, parse_source
from ..choices import Choices
from ..effects import Step, check_effect, operands
from ..matrix import REFUSED, cells, features_of_step
from ..oracle import Execute, as_module, assert_equivalent, interpreted, profiles
from ..prim_funcs import prim_funcs
from ..scheduling import schedulable
from ..smaller import programs_in
from ..steps import CHANGING, apply, arguments
from .law import Law


class _Planned(Struct, frozen=True):
    """A primitive, and the number that selects its arguments when it is applied."""

    primitive: str
    number: int


class _Example(Struct):
    module: IRModule
    steps: tuple[_Planned, ...]
    seed: int
    met: list[str] = field(default_factory=list[str])
    """Outcome of each step of the last check: "split" or "split, refused"."""
    text: str = ""
    """The schedule at that time."""

    def __str__(self) -> str:
        return f"{self.module}\n\n{self.text}"


_STEPS = 14
_SAMPLE = 10
"""One example in this number is also compiled."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    others = prim_funcs(max_blocks=2).map(lambda function: (as_module(function), ()))
    suited = schedulable().map(lambda both: (as_module(both[0]), both[1]))
    modules = st.one_of(suited, suited, suited, suited, others) if file is None else programs_in(file, is_loop_level=True).map(lambda module: (module, ()))  # fmt: skip
    return _drawn(modules)


@st.composite
def _drawn(draw: st.DrawFn, modules: st.SearchStrategy[tuple[IRModule, tuple[str, ...]]]) -> _Example:
    """Draw a module, the steps that suit it, and random steps after them.

    One strategy draws everything. With several strategies of one kind, Hypothesis repeats each example with some of its
    parts equal, and five of six examples have the same module.
    """
    (module, suited), choose = draw(modules), Choices(draw)
    number, options = choose.number(0, 2**32 - 1), ("", *CHANGING)
    first = [_Planned(name, number + at) for at, name in enumerate(suited)]
    steps = [_Planned(choose.pick(options), choose.number(0, 2**32 - 1)) for _ in range(_STEPS)]
    chain = tuple([step for step in (*first, *steps) if step.primitive])
    return _Example(module, chain, choose.number(0, 99))


def _check(example: _Example, execute: Execute) -> None:
    schedule = Schedule(example.module, seed=0, error_render_level="fast")
    example.met.clear()
    for step in example.steps:
        given = arguments(schedule, step.primitive, step.number)
        before, features, known = schedule.mod, features_of_step(schedule, given), operands(schedule, given)
        try:
            result = apply(schedule, step.primitive, given)
        except ScheduleError:
            assert schedule.mod is before, f"{step.primitive} was refused but changed the program"
            example.met += cells(step.primitive, features, is_refused=True)
            continue
        check_effect(step.primitive, Step(given, known, result, schedule))
        example.met += cells(step.primitive, features, is_refused=False)
    example.text = schedule.script()
    printed = parse(str(schedule.mod), "scheduled.tvms")
    assert structural_equal(schedule.mod, printed, map_free_vars=True), (
        "the scheduled program prints as a different one"
    )
    found = [diagnostic for diagnostic in verify(schedule.mod, "races") if diagnostic.severity == "error"]
    if found:
        raise TvmsError(found)
    is_compiled = example.seed % _SAMPLE == 0 and _is_native(schedule.mod)
    for execute_after in (interpreted, execute) if is_compiled else (interpreted,):
        assert_equivalent(
            example.module, schedule.mod, seed=example.seed, profiles=profiles(example.seed), integers=_INTEGERS[example.seed % 2],
            execute_after=execute_after,
        )  # fmt: skip
    again = Schedule(example.module, seed=0)
    again.replay(schedule.text())
    assert structural_equal(schedule.mod, again.mod), "the text of the schedule gives a different program"


_INTEGERS = ((-8, 9), (0, 3))
"""Ranges of integers: in a small one, many elements are equal, so that the order of ties matters."""


def _is_native(module: IRModule) -> bool:
    """Return whether a module runs on the CPU unchanged: no loop is bound to a thread or partly annotated as a pipeline."""
    loops = [node for node in walk(module) if isinstance(node, tir.For)]
    return all(
        loop.kind is not tir.ForKind.THREAD_BINDING and (STAGE in loop.annotations) == (ORDER in loop.annotations)
        for loop in loops
    )


LAW = Law(
    _examples, _check, read=lambda source: _Example(parse_source(source), (), 0), constructs=lambda example: example.met, counts_all=True,
    expected=frozenset(key for name in CHANGING for key in (name, f"{name}{REFUSED}")),
)  # fmt: skip
