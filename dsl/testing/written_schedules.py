"""Programs and schedules that somebody wrote for the tests, accepted or refused, with random changes of both.

Chains of random primitives rarely reach the conditions of a primitive. A written schedule was made to fulfil them all, or all
but one; a small change of the program or of a number crosses the border between them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError
from ...ir.schedule.text import ScheduleText
from ..load import parse
from .choices import Choices
from .variations import varied

_NUMBER = re.compile(r"(?<![\w.\"])\d+(?![\w.\"])")
_START = re.compile(r"^ *S\.schedule", re.MULTILINE)

_PROMISES = ("assume_", "disable_predication")
"""Beginnings of arguments by which the user promises something about this program, which a change would break."""


class Written(Struct, frozen=True):
    """A module with one loop function, and a schedule of it."""

    module: IRModule
    schedule: ScheduleText


@cache
def written_schedules() -> tuple[Written, ...]:
    """Return the programs in `programs/scheduled_*.tvms`, once for each of their schedules."""
    files = sorted((Path(__file__).parent / "programs").glob("scheduled_*.tvms"))
    found: list[Written] = []
    for file in files:
        module = parse(file.read_text(encoding="utf-8"), file.name)
        for schedule in [item for item in module.schedules.values() if isinstance(item, ScheduleText)]:
            functions = {schedule.function: module.functions[schedule.function]}
            found.append(Written(replace(module, functions=functions, schedules={}), schedule))
    return tuple(found)


def varied_schedule(choose: Choices) -> Written:
    """Return a written program and schedule, each with a few random changes, or as they are if the schedule promises something."""
    written = choose.pick(written_schedules())
    if any(promise in str(written.schedule) for promise in _PROMISES):
        return written
    module = varied(choose, written.module)
    if choose.number(0, 1):
        return Written(module, written.schedule)
    return Written(module, _with_other_number(choose, module, written.schedule))


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
