"""Checks of schedules under the names of `tvm.tir.schedule.testing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import tir
from ...ir.base import IRModule, assert_structural_equal
from ...ir.schedule import Schedule, Trace
from ..traces import apply_trace


def assert_structural_equal_ignore_global_symbol(
    func1: tir.PrimFunc, func2: tir.PrimFunc, *args: Any, **named: Any
) -> None:
    """Raise ValueError with the first difference unless two functions are equal up to their names."""
    first, second = (func.with_attr("global_symbol", "main") for func in (func1, func2))
    assert_structural_equal(first, second, *args, **named)


def verify_trace_roundtrip(
    sch: Schedule,
    mod: tir.PrimFunc | IRModule,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Schedule:
    """Check that each text form of a trace ("python", "json") makes the same module and the same trace again.

    Return the last schedule that was made.
    """
    formats = [text_format] if isinstance(text_format, str) else list(text_format)
    again = sch
    for form in formats:
        again = Schedule(mod, debug_mask=debug_mask)
        if form == "json":
            Trace.apply_json_to_schedule(sch.trace.as_json(), again)
        else:
            apply_trace("\n".join(sch.trace.as_python()), again)
        assert_structural_equal(again.mod, sch.mod)
        assert again.trace.as_python() == sch.trace.as_python()
    return again
