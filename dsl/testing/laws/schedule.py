"""A chain of schedule primitives never changes what a program does, and replays from its text.

A refused primitive leaves the program as it was. Chains are made of whatever primitives there are: each is given
blocks, loops and numbers by the kinds of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct, field

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.equal import structural_equal
from ....ir.schedule import Schedule, ScheduleError
from ....ir.schedule.declaration import PRIMITIVES, Argument
from ....ir.verify import verify
from ....ir.visit import walk
from ...load import parse_source
from ..oracle import Execute, as_module, assert_equivalent
from ..prim_funcs import prim_funcs
from .law import Law

_CHANGING = sorted(
    name for name, primitive in PRIMITIVES.items() if not primitive.is_query and not name.startswith("unsafe_")
)
_SCOPES = ("global", "shared", "local")
_THREADS = ("threadIdx.x", "blockIdx.x", "vthread.x")
_TEXTS = {"thread_axis": _THREADS, "buf_type": ("read", "write")}
_LAYOUTS: tuple[Callable[..., list[Any]], ...] = (
    lambda *i: list(reversed(i)),
    lambda *i: [*i[:-1], *[part for each in i[-1:] for part in (each // 2, each % 2)]],
    lambda *i: [*[each // 4 for each in i[:1]], *i[1:], *[each % 4 for each in i[:1]]],
    lambda *i: [*i[-1:], *i[:-1]],
)


class _Step(Struct, frozen=True):
    """A primitive, and the numbers that choose its arguments among what there is when its turn comes."""

    primitive: str
    numbers: tuple[int, ...]


class _Example(Struct):
    module: IRModule
    steps: tuple[_Step, ...]
    seed: int
    applied: list[str] = field(default_factory=list[str])
    """The primitives that were not refused when the example was last checked."""
    text: str = ""
    """The schedule so far, then."""

    def __str__(self) -> str:
        return f"{self.module}\n\n{self.text}"


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    modules = prim_funcs(max_stages=2).map(as_module) if file is None else st.just(parse_source(file))
    numbers = st.lists(st.integers(0, 11), min_size=6, max_size=6).map(tuple)
    steps = st.lists(st.builds(_Step, st.sampled_from(_CHANGING), numbers), min_size=1, max_size=6).map(tuple)
    return st.builds(_Example, modules, steps, st.integers(0, 99))


def _check(example: _Example, execute: Execute) -> None:
    schedule = Schedule(example.module, seed=0)
    example.applied.clear()
    for step in example.steps:
        before = schedule.mod
        try:
            schedule.apply(step.primitive, **_arguments(schedule, step))
        except ScheduleError:
            assert schedule.mod is before, f"{step.primitive} was refused, and yet changed the program"
            continue
        example.applied.append(step.primitive)
        example.text = schedule.script()
        found = [each for each in verify(schedule.mod) if each.severity == "error"]
        if found:
            raise TvmsError(found)
    assert_equivalent(example.module, schedule.mod, seed=example.seed, integers=(-8, 9))
    again = Schedule(example.module, seed=0)
    again.replay(schedule.text())
    assert structural_equal(schedule.mod, again.mod), "the text of the schedule makes another program"


def _arguments(schedule: Schedule, step: _Step) -> dict[str, Any]:
    """Return arguments for a primitive, by the kinds that it declares; what is optional is mostly left out."""
    numbers = list(step.numbers)
    given: dict[str, Any] = {}
    for argument in PRIMITIVES[step.primitive].arguments:
        number = numbers.pop(0) if numbers else 0
        if argument.required or argument.variadic or number % 3 == 2:
            given[argument.name] = _value(schedule, step, argument, number)
    return given


def _value(schedule: Schedule, step: _Step, argument: Argument, number: int) -> Any:
    block, own = _pick(_blocks(schedule), number), _pick(_blocks(schedule), step.numbers[0])
    loops: list[Any] = schedule.get_loops(block) if block is not None else []
    first = number // 4 % len(loops) if loops else 0
    match argument.kind.name:
        case "Block":
            return block
        case "Loop" | "BlockOrLoop" | "Location":
            return _several(loops, first, number) if argument.variadic else _pick(loops, number // 4)
        case "Factors":
            return [(None, 2, 3, 4)[number % 4], *([2] if number % 5 == 1 else []), (4, 2, None, 3)[number % 4]]
        case "Integer":
            return number % 3
        case "Flag":
            return number % 2 == 0
        case "Number":
            return number / 4
        case "Integers":
            count = len(schedule.get(own).iter_vars) if argument.name == "padding" and own is not None else 1
            return [number % 3 + (argument.name == "padding")] * count
        case "Numbers":
            return [0.5, 0.5]
        case "AccessedBuffer":
            return _access(schedule, own, number, with_parameters=step.primitive == "reindex")
        case "BufferIndex":
            return number // 3 % 2
        case "StorageScope":
            return _pick(_SCOPES, number)
        case "IndexMap":
            return _LAYOUTS[number % len(_LAYOUTS)]
        case "Text":
            return _pick(_TEXTS.get(argument.name, _SCOPES), number)
        case _:
            return number % 5


def _access(schedule: Schedule, block: Any, number: int, with_parameters: bool) -> tuple[str, int]:
    """A buffer that a block accesses; where the caller would have to know of its layout, one that is no parameter."""
    function: Any = schedule.mod.functions[schedule.func_working_on or ""]
    node = schedule.get(block) if block is not None else None
    found = [
        (which, at)
        for which, regions in (("read", node.reads), ("write", node.writes))
        for at, each in enumerate(regions)
        if with_parameters or all(each.buffer is not parameter for parameter in function.buffer_map.values())
    ] if node is not None else []  # fmt: skip
    return _pick(found, number // 3) or ("write", 99)


def _several(loops: Sequence[Any], first: int, number: int) -> list[Any]:
    """Two or three loops in a row, or in another order."""
    some = list(loops[first : first + 2 + number % 2])
    return some[::-1] if number % 3 == 1 else some


def _pick(options: Sequence[Any], number: int) -> Any:
    return options[number % len(options)] if options else None


def _blocks(schedule: Schedule) -> list[Any]:
    name = schedule.func_working_on
    names = [
        node.name_hint for node in walk(schedule.mod.functions[name or ""]) if isinstance(node, tir.Block) and node.iter_vars
    ]  # fmt: skip
    return [schedule.get_block(each) for each in dict.fromkeys(names)]


def _constructs(example: _Example) -> Iterable[str]:
    return example.applied or ("all refused",)


LAW = Law(
    _examples, _check, read=lambda source: _Example(parse_source(source), (), 0), constructs=_constructs,
    expected=frozenset(_CHANGING),
)  # fmt: skip
