"""Schedules that compilations take from elsewhere, such as a database of tuned ones (`tuner.use`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from msgspec.structs import replace

from ..ir.base import IRModule
from ..ir.schedule.text import ScheduleText
from .target import Target

Lookup: TypeAlias = Callable[[IRModule, Target], Mapping[str, ScheduleText]]
"""Returns the schedules by name for loop functions of a module that have none."""
_CURRENT: ContextVar[Lookup | None] = ContextVar("lookup", default=None)


@contextmanager
def use(lookup: Lookup) -> Generator[None]:
    """Let compilations within a `with` take schedules from `lookup`."""
    token = _CURRENT.set(lookup)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def is_tuned() -> bool:
    """Return whether compilations take schedules from elsewhere now."""
    return _CURRENT.get() is not None


def with_tuned(module: IRModule, target: Target) -> IRModule:
    """Return a module with the schedules that are taken from elsewhere, if any."""
    lookup = _CURRENT.get()
    found: Mapping[str, ScheduleText] = lookup(module, target) if lookup is not None else {}
    return replace(module, schedules={**module.schedules, **found}) if found else module
