"""Tune loop functions, and apply the schedules that were found (TVM: `MetaScheduleTuneTIR`, `MetaScheduleApplyDatabase`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import hooks
from ..base import IRModule
from .transform import declare_pass, get_pass


@declare_pass("MetaScheduleTuneTIR")
def tune_tir(mod: IRModule, work_dir: str, max_trials_global: int, max_trials_per_task: int | None = None) -> IRModule:
    """Tune the loop functions for the current target; the measurements go to a database in `work_dir`, and the module is
    unchanged.
    """
    return hooks.call("tune_functions", mod, work_dir, max_trials_global, max_trials_per_task)


@declare_pass("MetaScheduleTuneIRMod")
def tune_module(
    mod: IRModule,
    params: Mapping[str, Any],
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
) -> IRModule:
    """Bind `params` to the parameters of `main`, then do the same as MetaScheduleTuneTIR; the module is unchanged."""
    bound = get_pass("BindParams", "main", dict(params))(mod) if params else mod
    hooks.call("tune_functions", bound, work_dir, max_trials_global, max_trials_per_task)
    return mod


@declare_pass("MetaScheduleApplyDatabase")
def apply_database(mod: IRModule, work_dir: str) -> IRModule:
    """Apply the best schedules for the current target that the database in `work_dir` has for the loop functions. Raises E1102 if
    there is no database.
    """
    return hooks.call("apply_database", mod, work_dir)
