"""A chain of schedule primitives never changes what a program does, and replays from its text.

A refused primitive leaves the program as it was. Chains are made of whatever primitives there are: each is given
blocks, loops and numbers by the kinds of its arguments. The programs have what primitives tend to forget; a run counts for
each primitive and each such feature how often it was applied, and how often it was refused.
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
from ...load import parse_source
from ..matrix import REFUSED, cells, features_of_step
from ..oracle import Execute, as_module, assert_equivalent, interpreted, profiles
from ..prim_funcs import prim_funcs
from ..scheduling import schedulable
from ..smaller import programs_in
from ..steps import CHANGING, arguments
from .law import Law


class _Step(Struct, frozen=True):
    """A primitive, and the number that chooses its arguments among what there is when its turn comes."""

    primitive: str
    number: int


class _Example(Struct):
    module: IRModule
    steps: tuple[_Step, ...]
    seed: int
    met: list[str] = field(default_factory=list[str])
    """What became of each step when the example was last checked: "split", or "split, refused"."""
    text: str = ""
    """The schedule so far, then."""

    def __str__(self) -> str:
        return f"{self.module}\n\n{self.text}"


_STEPS = 14
_SAMPLE = 10
"""Of how many examples one is compiled, too."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    others = prim_funcs(max_blocks=2).map(lambda function: (as_module(function), ()))
    suited = schedulable().map(lambda both: (as_module(both[0]), both[1]))
    modules = (
        st.one_of(suited, suited, suited, suited, others)
        if file is None
        else programs_in(file, is_loop_level=True).map(lambda module: (module, ()))
    )
    numbers = st.integers(0, 2**32 - 1)
    steps = st.lists(st.builds(_Step, st.sampled_from(("", *CHANGING)), numbers), min_size=_STEPS, max_size=_STEPS)
    return st.builds(_example, modules, numbers, steps, st.integers(0, 99))


def _example(module: tuple[IRModule, tuple[str, ...]], number: int, steps: list[_Step], seed: int) -> _Example:
    """An example of the steps that are named, after those that suit the module."""
    first = [_Step(name, number + at) for at, name in enumerate(module[1])]
    chain = (*first, *steps)
    return _Example(module[0], tuple([step for step in chain if step.primitive]), seed)


def _check(example: _Example, execute: Execute) -> None:
    schedule = Schedule(example.module, seed=0, error_render_level="fast")
    example.met.clear()
    for step in example.steps:
        given = arguments(schedule, step.primitive, step.number)
        before, features = schedule.mod, features_of_step(schedule, given)
        try:
            schedule.apply(step.primitive, **given)
        except ScheduleError:
            assert schedule.mod is before, f"{step.primitive} was refused, and yet changed the program"
            example.met += cells(step.primitive, features, is_refused=True)
            continue
        example.met += cells(step.primitive, features, is_refused=False)
    example.text = schedule.script()
    found = [each for each in verify(schedule.mod, "races") if each.severity == "error"]
    if found:
        raise TvmsError(found)
    is_compiled = example.seed % _SAMPLE == 0 and _is_native(schedule.mod)
    for execute_after in (interpreted, execute) if is_compiled else (interpreted,):
        assert_equivalent(
            example.module, schedule.mod, seed=example.seed, profiles=profiles(example.seed), integers=(-8, 9),
            execute_after=execute_after,
        )  # fmt: skip
    again = Schedule(example.module, seed=0)
    again.replay(schedule.text())
    assert structural_equal(schedule.mod, again.mod), "the text of the schedule makes another program"


def _is_native(module: IRModule) -> bool:
    """Whether the processor runs a module as it stands: no loop is bound to a thread, or half annotated as a pipeline."""
    loops = [node for node in walk(module) if isinstance(node, tir.For)]
    return all(
        loop.kind is not tir.ForKind.THREAD_BINDING and (STAGE in loop.annotations) == (ORDER in loop.annotations)
        for loop in loops
    )


LAW = Law(
    _examples, _check, read=lambda source: _Example(parse_source(source), (), 0), constructs=lambda example: example.met, counts_all=True,
    expected=frozenset(each for name in CHANGING for each in (name, f"{name}{REFUSED}")),
)  # fmt: skip
