"""The base of schedule rules, and steps that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ...ir.diagnostics import ArgumentError, Diagnostic
from ...ir.schedule import BlockRV, ExprRV, Schedule, ScheduleError
from ..machine import core_count
from ..target import Target, get_target


class ScheduleRule(ABC):
    """A rule; subclasses define `apply` (TVM: `ScheduleRule`, `PyScheduleRule`)."""

    target: Target = get_target("llvm")
    """The target of the search; it is set before `apply` is called."""

    @abstractmethod
    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """Return the schedules that the rule makes of `sch` for a block."""
        ...

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """Return the default rules of a kind of target: "llvm", "vnni", "avx512" or "cuda" (TVM: `ScheduleRule.create`). Raises ArgumentError E0702
        for others.
        """
        if kind not in DEFAULTS:
            raise wrong(
                f"argument 1, 'kind' to create: there are no rules for {kind!r}", f"kinds are {', '.join(DEFAULTS)}"
            )
        return DEFAULTS[kind]()

    def clone(self) -> ScheduleRule:
        """Return the rule itself, which searches can share."""
        return self


PyScheduleRule = ScheduleRule


DEFAULTS: dict[str, Callable[[], list[ScheduleRule]]] = {}
"""What makes the default rules of a kind of target; `schedule_rule` adds them."""
INTRINSIC = "meta_schedule.auto_tensorize"
"""Annotation of a block that `RewriteTensorize` replaces by an intrinsic."""


def try_step(sch: Schedule, name: str, *arguments: object) -> bool:
    """Apply a primitive; return whether it is accepted."""
    try:
        sch.apply(name, *arguments)
    except ScheduleError:
        return False
    return True


def drawn(sch: Schedule, candidates: Sequence[int]) -> ExprRV:
    """Draw one of several numbers, each with the same probability."""
    return sch.sample_categorical(tuple(candidates), [1 / len(candidates)] * len(candidates))


def cores_of(target: Target) -> int:
    """Return the number of threads of parallel loops."""
    return target.threads or core_count()


def wrong(message: str, help: str) -> ArgumentError:
    """Return the error for an argument of a rule."""
    return ArgumentError([Diagnostic("E0702", message, None, help)])
