"""Schedules: primitives that change how a program is run, and never what it computes."""

from __future__ import annotations

from .handles import BlockRV, ExprRV, LoopRV
from .schedule import Schedule, ScheduleError
from .trace import Trace

__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "Trace"]
