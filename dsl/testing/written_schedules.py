"""Programs and schedules that somebody wrote for the tests, accepted or refused, with random changes of both.

Chains of random primitives rarely reach the conditions of a primitive. A written schedule was made to fulfil them all, or all
but one; a small change of the program or of a number crosses the border between them.
"""

from __future__ import annotations

import re
from functools import cache
from math import prod
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule, Node
from ...ir.diagnostics import TvmsError
from ...ir.schedule.text import ScheduleText
from ...ir.visit import children
from ..load import parse
from .choices import Choices
from .variations import varied

_NUMBER = re.compile(r"(?<![\w.\"])\d+(?![\w.\"])")
_START = re.compile(r"^ *S\.schedule", re.MULTILINE)

_KEPT = (tir.CommReducer, tir.BufferRegion)
"""Parts of programs that do not change: regions that are not those of the accesses say nothing about the schedule."""
_PROMISES = "assume_"
"""Beginning of the names of arguments by which the user promises something, which a change would break."""


class Written(Struct, frozen=True):
    """A module with one loop function, and a schedule of it."""

    module: IRModule
    schedule: ScheduleText


@cache
def written_schedules() -> tuple[Written, ...]:
    """Return the programs in `programs/scheduled_*.tvms` that are usual, once for each of their schedules."""
    files = sorted((Path(__file__).parent / "programs").glob("scheduled_*.tvms"))
    found: list[Written] = []
    for file in files:
        module = parse(file.read_text(encoding="utf-8"), file.name)
        for schedule in [item for item in module.schedules.values() if isinstance(item, ScheduleText)]:
            functions = {schedule.function: module.functions[schedule.function]}
            found.append(Written(replace(module, functions=functions, schedules={}), schedule))
    return tuple([written for written in found if _is_usual(written.module) and _PROMISES not in str(written.schedule)])


def varied_schedule(choose: Choices) -> Written:
    """Return a written program and schedule, each with a few random changes."""
    written = choose.pick(written_schedules())
    module = varied(choose, written.module, _KEPT)
    if not _is_usual(module):
        return written
    if choose.number(0, 1):
        return Written(module, written.schedule)
    return Written(module, _with_other_number(choose, module, written.schedule))


def _is_usual(module: IRModule) -> bool:
    """Return whether a module has only programs to which the rules of schedules apply.

    Loops have a nonnegative number of iterations and are not over threads, which would share their own memory if they became
    another loop; and each block executes as often as its axes have values, unless it has a predicate.
    """
    bodies = [function.body for function in module.functions.values() if isinstance(function, tir.PrimFunc)]
    return all(_is_usual_under(body, 1) for body in bodies)


def _is_usual_under(stmt: Node, around: int | None) -> bool:
    """Return the same for a statement in loops of `around` iterations; None if their number is unknown."""
    match stmt:
        case tir.For(extent=tir.IntImm(value=extent)) if extent >= 0 and stmt.thread_binding is None:
            around = None if around is None else around * extent
        case tir.For(extent=tir.IntImm()) | tir.For(kind=tir.ForKind.THREAD_BINDING):
            return False
        case tir.For():
            around = None
        case tir.BlockRealize(predicate=predicate, block=block):
            extents = [axis.dom.extent for axis in block.iter_vars if axis.dom is not None]
            sizes = [extent.value for extent in extents if isinstance(extent, tir.IntImm)]
            is_known = around is not None and len(sizes) == len(block.iter_vars) and isinstance(predicate, tir.IntImm)
            if is_known and prod(sizes) != around:
                return False
            around = 1
        case _:
            pass
    return all(_is_usual_under(child, around) for child in children(stmt) if isinstance(child, tir.Stmt))


def _with_other_number(choose: Choices, module: IRModule, schedule: ScheduleText) -> ScheduleText:
    """Return the schedule with another number in its text, if that is one of `module`."""
    text = replace(module, schedules={schedule.name: schedule}).script()
    start = _START.search(text)
    numbers = list(_NUMBER.finditer(text, start.end())) if start else []
    if not numbers:
        return schedule
    place = choose.pick(numbers)
    own = int(place[0])
    other = choose.pick((own + 1, max(own - 1, 0), 2 * own, own // 2, 0, 1, 3, -1))
    try:
        changed = parse(f"{text[: place.start()]}{other}{text[place.end() :]}")
    except TvmsError:
        return schedule
    found = changed.schedules.get(schedule.name)
    return found if isinstance(found, ScheduleText) else schedule


def has_same_signature(before: IRModule, after: IRModule) -> bool:
    """Return whether the functions of two modules take arrays of the same shapes: a layout of a parameter may have changed."""
    return all(
        [buffer.shape for buffer in function.buffer_map.values()]
        == [buffer.shape for buffer in other.buffer_map.values()]
        for name, function in before.functions.items()
        if isinstance(function, tir.PrimFunc) and isinstance(other := after.functions[name], tir.PrimFunc)
    )
