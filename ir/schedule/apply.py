"""Application of the schedules of a module: for a target, or by name."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ..base import IRModule
from ..diagnostics import Note, error
from .text import ScheduleText


def kind_of(target: object) -> str | None:
    """Return the kind of a target, as schedules and command lines write it: "llvm" for `{"kind": "llvm", …}`."""
    if isinstance(target, Mapping):
        target = target.get("kind")  # type: ignore[reportUnknownMemberType]
    return target.split()[0] if isinstance(target, str) and target else None


def apply_schedules(module: IRModule, target: str) -> IRModule:
    """Return the module with its schedules for `target` applied, and without any schedules.

    Raises ScheduleError if a step is refused, and the errors of `schedules_for`.
    """
    return apply_each(module, schedules_for(module, target)) if module.schedules else module


def schedules_for(module: IRModule, target: str) -> tuple[ScheduleText, ...]:
    """Return the schedules of a module for `target`, at most one per function.

    For each function, this is the schedule for `target`, or else the one without a target. Raises E0529 if two
    schedules qualify equally.
    """
    chosen: dict[str, ScheduleText] = {}
    for text in module.schedules.values():
        assert isinstance(text, ScheduleText)
        if text.target is not None and kind_of(text.target) != kind_of(target):
            continue
        other = chosen.get(text.function)
        if other is not None and (other.target is None) == (text.target is None):
            check_single((other, text))
        if other is None or other.target is None:
            chosen[text.function] = text
    return tuple(chosen.values())


def check_single(texts: tuple[ScheduleText, ...]) -> None:
    """Refuse two schedules of one function (E0529)."""
    first: dict[str, ScheduleText] = {}
    for text in texts:
        other = first.setdefault(text.function, text)
        if other is not text:
            is_other_target = kind_of(other.target) != kind_of(text.target)
            which = "schedules for two targets" if is_other_target else "two schedules for the same target"
            message = f"function '{text.function}' has {which}"
            note = Note("the first one is here", other.span)
            help = (
                "choose one with --target or --apply"
                if is_other_target
                else "give them different targets, or remove one"
            )
            raise error("E0529", message, text.span, help, note)


def apply_each(module: IRModule, texts: tuple[ScheduleText, ...]) -> IRModule:
    """Return the module with the given schedules applied in order, and without any schedules."""
    from .schedule import Schedule

    schedule = Schedule(replace(module, schedules={}))
    for text in texts:
        schedule.replay(text)
    return schedule.mod
