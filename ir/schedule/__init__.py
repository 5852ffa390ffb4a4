"""Schedules: primitives that change how a program is run, and never what it computes.

Names are imported when they are first used: that a text may hold a schedule costs a program that has none nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .error import ScheduleError
    from .handles import BlockRV, ExprRV, LoopRV
    from .schedule import Schedule
    from .trace import Trace

__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "Trace"]

_PLACES = {
    "BlockRV": "handles",
    "ExprRV": "handles",
    "LoopRV": "handles",
    "Schedule": "schedule",
    "ScheduleError": "error",
    "Trace": "trace",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
