"""Application of the schedules of a module: for a target, or by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ..base import IRModule
from ..diagnostics import Note, error
from ..spelling import did_you_mean
from ..visit import walk
from .text import ScheduleText, Step, kind_of

SEED = 1
"""Seed of the steps of a text that draw numbers: a text always gives the same module."""


def apply_schedules(module: IRModule, target: str) -> IRModule:
    """Return the module with its schedules for `target` applied, and without any schedules.

    Raises ScheduleError if a step is refused, and the errors of `schedules_for`.
    """
    return apply_each(module, schedules_for(module, target), target) if module.schedules else module


def schedules_for(module: IRModule, target: str) -> tuple[ScheduleText, ...]:
    """Return the schedules of a module for `target`, at most one per function.

    For each function, this is one that draws no numbers if there is one, and then the one for `target`, or else the one without
    a target. Raises E0529 if two schedules qualify equally.
    """
    chosen: dict[str, ScheduleText] = {}
    for text in module.schedules.values():
        if not isinstance(text, ScheduleText):
            continue
        if text.target is not None and kind_of(text.target) != kind_of(target):
            continue
        other = chosen.setdefault(text.function, text)
        if other is not text and _rank(other) == _rank(text):
            check_single((other, text))
        if _rank(text) > _rank(other):
            chosen[text.function] = text
    return tuple(chosen.values())


def _rank(text: ScheduleText) -> tuple[bool, bool]:
    return not draws(text), text.target is not None


def draws(text: ScheduleText) -> bool:
    """Return whether a schedule draws numbers that it does not state: it is a space for a tuner."""
    steps = [step for step in walk(text) if isinstance(step, Step)]
    return any(step.primitive.startswith("sample_") and step.named.get("decision") is None for step in steps)


def without_spaces(texts: tuple[ScheduleText, ...]) -> tuple[ScheduleText, ...]:
    """Return the schedules without those that draw numbers for functions that have another one."""
    decided = {text.function for text in texts if not draws(text)}
    return tuple([text for text in texts if text.function not in decided or not draws(text)])


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


def apply_each(module: IRModule, texts: tuple[ScheduleText, ...], target: str | None = None) -> IRModule:
    """Return the module with the given schedules applied in order, and without any schedules."""
    from .schedule import Schedule

    schedule = Schedule(replace(module, schedules={}), seed=SEED)
    for text in texts:
        schedule.replay(text, kind_of(target))
    return schedule.mod


def with_parameters(module: IRModule, values: Mapping[str, Any]) -> IRModule:
    """Return the module with other values of parameters of its schedules: `bn`, of every schedule, or `tiled.bn`, of one.

    Raises E0814 if no schedule has such a parameter, E0202 if its kind is another one.
    """
    schedules = dict(module.schedules)
    for key, value in values.items():
        owner, _, name = key.rpartition(".")
        texts = [text for text in schedules.values() if isinstance(text, ScheduleText)]
        found = [text for text in texts if name in text.parameters and owner in ("", text.name)]
        if not found:
            known = [
                f"{text.name}.{parameter}" if owner else parameter for text in texts for parameter in text.parameters
            ]
            help = did_you_mean(key, known) or "name a parameter of an S.schedule"
            raise error("E0814", f"no schedule has a parameter '{key}'", None, help)
        for text in found:
            default = text.parameters[name]
            if default is not None and type(value) is not type(default):
                reason = (
                    f"parameter '{name}' of schedule '{text.name}': expected a value such as {default!r}, got {value!r}"
                )
                raise error("E0202", reason, text.span, "give a value of the same kind as its default")
            schedules[text.name] = replace(text, parameters={**text.parameters, name: value})
    return replace(module, schedules=schedules)
