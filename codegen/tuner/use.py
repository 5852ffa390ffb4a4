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
from ...ir.function_table import unused_name
from ...ir.schedule.apply import schedules_for
from ...ir.schedule.text import ScheduleText, kind_of
from ..default_schedules import default_schedules
from ..gpu.figures import has_figures
from ..target import Target
from ..tuned import use
from .database import Database, relative_time
from .spaces import FUNCTION, key_of, scheduled, workload_of
from .tasks import target_key, with_schedule, workload_key


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
    if target.arch and not has_figures(target.arch):
        return {}
    own = {text.function for text in schedules_for(module, target.name)} if module.schedules else set[str]()
    found: dict[str, ScheduleText] = {}
    for name, function in module.functions.items():
        if isinstance(function, tir.PrimFunc) and name not in own and isinstance(function.body, tir.BlockRealize):
            text = _best(function, target, database, threads)
            if text is not None:
                unique = unused_name(f"{name}_tuned", {*module.schedules, *module.functions, *found})
                found[unique] = replace(text, name=unique, function=name, target=kind_of(target.name))
    return found


def _best(function: tir.PrimFunc, target: Target, database: Database, threads: int) -> ScheduleText | None:
    """Return the schedule of a function that is faster than its default one; None if the database has none."""
    workload, key = workload_key(function), target_key(target, threads)
    if not database.records(workload, key):
        return None
    module = workload_of(function)
    default = default_schedules(module, target)[FUNCTION].text
    best = database.best(workload, key, key_of(scheduled(module, default, target.name)))
    return None if best is None or relative_time(best) >= 1 else read_schedule(function, best.schedule)


def read_schedule(function: tir.PrimFunc, schedule: str) -> ScheduleText | None:
    """Return the schedule of a row of a database for a function; None if it does not fit the function."""
    workload = workload_of(function)
    try:
        program, tensors = script.dump(workload)
        module = script.parse(with_schedule(program, schedule), "database", tensors)
        texts = [text for text in module.schedules.values() if isinstance(text, ScheduleText)]
        for text in texts:
            scheduled(workload, text, "llvm")
    except TvmsError:
        return None
    return next((text for text in texts if text.function == FUNCTION), None)
