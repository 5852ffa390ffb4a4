"""TVM's traces as schedules: its JSON form, or lines of Python that call methods of the schedule `sch`."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec.structs import replace

from ..ir.base import IRModule
from ..ir.diagnostics import error
from ..ir.schedule import Schedule, Trace
from ..ir.schedule.text import ScheduleText
from .load import parse

_CALL = re.compile(r"^(\s*(?:[^=()#]*=\s*)?)sch\.(?=\w+\()")
"""Start of a line that applies a primitive, with the names of its results."""
_INDEX_MAP = re.compile(r"\b(?:tvm\.)?tirx?\.IndexMap\.from_func\(")
"""Index map as TVM's traces write it."""


def apply_trace(text: str, schedule: Schedule) -> None:
    """Apply a trace to a schedule; nothing in it is executed as Python.

    Raises E0569 if it is neither JSON nor lines of calls, syntax errors, and refusals of primitives.
    """
    if text.lstrip().startswith("["):
        try:
            found: Any = json.loads(text)
        except ValueError as wrong:
            raise _no_trace(f"it is not JSON ({wrong})") from None
        Trace.apply_json_to_schedule(found, schedule)
        return
    schedule.replay(text_of(text, schedule.mod, schedule.func_working_on or "main"))


def text_of(text: str, module: IRModule, function: str) -> ScheduleText:
    """Return lines of Python that apply primitives as a schedule of a function; other lines are omitted."""
    calls = [
        _INDEX_MAP.sub("T.index_map(", _CALL.sub(r"\1S.", line.strip()))
        for line in text.splitlines()
        if _CALL.match(line)
    ]
    if not calls:
        raise _no_trace("no line calls a method of 'sch'")
    empty = replace(module, schedules={"trace": ScheduleText("trace", function, None, ())})
    written, _, _ = str(empty).rpartition("pass")
    indent = written[written.rindex("\n") + 1 :]
    found = parse(written + f"\n{indent}".join(calls) + "\n", "trace").schedules["trace"]
    assert isinstance(found, ScheduleText)
    return found


def _no_trace(reason: str) -> Exception:
    return error(
        "E0569",
        f"invalid trace: {reason}",
        None,
        "pass the result of trace.as_json(), or the lines of trace.as_python()",
    )
