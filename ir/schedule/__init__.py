"""Schedules: primitives that change how a program executes, but not what it computes.

Names are imported on first use, so that programs without schedules do not pay for this package.
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
    "CachedFlags": "state",
    "DepKind": "analysis.scope",
    "Dependency": "analysis.scope",
    "ExprRV": "handles",
    "Instruction": "instruction",
    "InstructionKind": "instruction",
    "LoopRV": "handles",
    "SBlockRV": "handles",
    "Schedule": "schedule",
    "ScheduleDebugMask": "state",
    "ScheduleError": "error",
    "BlockScope": "state",
    "ScheduleState": "state",
    "StmtSRef": "state",
    "Trace": "trace",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name.replace("SBlock", "Block"))
