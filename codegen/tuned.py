"""The use of a database of tuned schedules in a compilation: `with database:`, or `compile(..., database=PATH)`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike, fspath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..ir import tir
from ..ir.base import IRModule
from ..ir.diagnostics import TvmsError
from ..ir.schedule.apply import schedules_for
from ..ir.schedule.text import ScheduleText, kind_of
from .target import Target

if TYPE_CHECKING:
    from .tuner.database import Database

_CURRENT: ContextVar[tuple[Database, int] | None] = ContextVar("database", default=None)


@contextmanager
def tuned_by(database: str | PathLike[str] | Database | None, threads: int = 0) -> Generator[None]:
    """Let compilations use the schedules of a database, or of the file of one; those of the context for None.

    `threads` is the number of threads that the schedules are for; 0: all. Raises E1102 if the file cannot be read.
    """
    if database is None:
        yield
        return
    from .tuner.database import Database

    opened = None if isinstance(database, Database) else Database(fspath(database), read_only=True)
    token = _CURRENT.set((opened or database, threads))  # type: ignore[arg-type]
    try:
        yield
    finally:
        _CURRENT.reset(token)
        if opened is not None:
            opened.close()


def is_tuned() -> bool:
    """Return whether compilations use a database now."""
    return _CURRENT.get() is not None


def with_tuned(module: IRModule, target: Target) -> IRModule:
    """Return a module with the schedules of the database, if one is used, for its loop functions that have none."""
    current = _CURRENT.get()
    if current is None:
        return module
    found = tuned_schedules(module, target, *current)
    return replace(module, schedules={**module.schedules, **found}) if found else module


def tuned_schedules(module: IRModule, target: Target, database: Database, threads: int = 0) -> dict[str, ScheduleText]:
    """Return the schedules of a database by name, for the loop functions of a module that have none and that are slower without."""
    from .tuner.database import relative_time
    from .tuner.tasks import key_of, target_key

    own = {text.function for text in schedules_for(module, target.name)} if module.schedules else set[str]()
    key, found = target_key(target, threads), dict[str, ScheduleText]()
    for name, function in module.functions.items():
        if not isinstance(function, tir.PrimFunc) or name in own or not isinstance(function.body, tir.BlockRealize):
            continue
        best = database.best(key_of(function), key)
        text = None if best is None or relative_time(best) >= 1 else read_schedule(function, best.schedule)
        if text is not None:
            unique = f"{name}_tuned" + "_" * sum(
                f"{name}_tuned" in names for names in (module.schedules, module.functions)
            )
            found[unique] = replace(text, name=unique, function=name, target=kind_of(target.name))
    return found


def read_schedule(function: tir.PrimFunc, schedule: str) -> ScheduleText | None:
    """Return the schedule of a row of a database for a function; None if it does not fit the function."""
    from ..ir import script
    from ..ir.schedule import Schedule
    from .tuner.spaces import FUNCTION, workload_of
    from .tuner.tasks import with_schedule

    workload = workload_of(function)
    try:
        program, tensors = script.dump(workload)
        module = script.parse(with_schedule(program, schedule), "database", tensors)
        texts = [text for text in module.schedules.values() if isinstance(text, ScheduleText)]
        for text in texts:
            Schedule(workload, seed=1).replay(text)
    except TvmsError:
        return None
    return next((text for text in texts if text.function == FUNCTION), None)
