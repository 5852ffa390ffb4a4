"""The use of a database in a compilation: `with tuned_by(database):`, or `compile(..., database=PATH)`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from os import PathLike, fspath

from msgspec.structs import replace

from ...ir import script, tir
from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError
from ...ir.schedule import Schedule
from ...ir.schedule.apply import schedules_for
from ...ir.schedule.text import ScheduleText, kind_of
from ..target import Target
from ..tuned import use
from .database import Database, relative_time
from .spaces import FUNCTION, workload_of
from .tasks import key_of, target_key, with_schedule


@contextmanager
def tuned_by(database: str | PathLike[str] | Database | None, threads: int = 0) -> Generator[None]:
    """Let compilations use the schedules of a database, or of the file of one; those of the context for None.

    `threads` is the number of threads that the schedules are for; 0: all. Raises E1102 if the file cannot be read.
    """
    if database is None:
        yield
        return
    opened = database if isinstance(database, Database) else Database(fspath(database), read_only=True)
    try:
        with use(partial(tuned_schedules, database=opened, threads=threads)):
            yield
    finally:
        if opened is not database:
            opened.close()


def tuned_schedules(module: IRModule, target: Target, database: Database, threads: int = 0) -> dict[str, ScheduleText]:
    """Return the schedules of a database by name, for the loop functions of a module that have none and that are slower without."""
    if target.arch:
        return {}  # GPUs are not tuned
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
