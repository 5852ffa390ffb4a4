"""The tuner for graph functions under TVM's names (`tvm.meta_schedule.relax_integration`)."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from msgspec import Struct

from ...ir.base import IRModule
from ...ir.passes.transform import get_pass
from ..current_target import default_target
from ..runtime.executable import Executable, compile
from ..target import TargetLike, get_target
from . import tvm_database
from .database import Database
from .meta_schedule import tune_relax
from .tasks import tasks_of

__all__ = ["ExtractedTask", "compile_relax", "extract_tasks", "tune_relax"]


class ExtractedTask(Struct, frozen=True, eq=False):
    """A loop function to tune. `task_name` is the first name under which it occurs, `mod` a module that holds it as `main`, and `weight`
    the number of calls.
    """

    task_name: str
    mod: IRModule
    target: Any
    dispatched: tuple[IRModule, ...]
    weight: int


def extract_tasks(
    mod: IRModule, target: TargetLike | None, params: Mapping[str, Any] | None = None,
    *, module_equality: str = "structural",
) -> list[ExtractedTask]:  # fmt: skip
    """Return the tasks that `tune_relax` tunes; operators of graph functions are lowered to loop functions first.

    `params` are bound to the parameters of `main`. Functions that are equal but for their names are one task, whatever name of
    TVM `module_equality` is. Functions that cannot be tuned, such as those of symbolic sizes, are left out. Raises E0702 for
    another `module_equality`. Source: `tvm.meta_schedule.relax_integration.extract_tasks`.
    """
    tvm_database.MemoryDatabase(module_equality)  # checks the name
    chosen = get_target(default_target(target))
    tasks, _ = tasks_of(_bound(mod, params), chosen)
    return [ExtractedTask(task.name, task.workload, target, (task.workload,), task.calls) for task in tasks]


def compile_relax(
    database: Database | str | PathLike[str], mod: IRModule, target: TargetLike | None,
    params: Mapping[str, Any] | None = None, enable_warning: bool = False,
) -> Executable:  # fmt: skip
    """Compile a module with the schedules of a database (TVM: `meta_schedule.relax_integration.compile_relax`).

    `database` is that of `tune_relax`, or its file. `params` are bound to the parameters of `main` first. `enable_warning` has no
    effect. Raises E1102 if the file cannot be read.
    """
    del enable_warning
    return compile(_bound(mod, params), target, database=database)


def _bound(mod: IRModule, params: Mapping[str, Any] | None) -> IRModule:
    return get_pass("BindParams", "main", dict(params))(mod) if params else mod
