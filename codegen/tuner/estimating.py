"""Trials for GPUs: nothing runs on one, the time of a program is estimated (`gpu.estimate`). The results of the best programs are checked
in the simulation, if they are small enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import script
from ..build import Settings, prepare
from ..gpu.estimate import estimate
from ..gpu.program import build_program
from ..runtime.executable import compile
from ..target import get_target
from .protocol import Outcome, Workload
from .spaces import FUNCTION

SIMULATED = 1 << 22
"""Largest number of innermost iterations of a function whose best schedules are simulated, to check their results."""


def is_estimated(workload: Workload) -> bool:
    """Return whether the times of a workload are estimates."""
    return get_target(workload.target).is_device


def simulated(program: str, workload: Workload) -> Callable[..., Any]:
    """Return the compiled function of a program, whose threads are simulated in random order."""
    target = get_target(workload.target)
    module = script.parse(program, "candidate", workload.tensors)
    return compile(module, f"{target.name} -arch={target.arch} -simulate=random", cache=None)[FUNCTION]


def estimated(program: str, workload: Workload, reference: float = 0.0) -> Outcome:
    """Return the estimated time of a program; `reference` is that of the baseline, 0 for the baseline itself.

    Raises the errors of reading, scheduling and compiling it.
    """
    target = get_target(workload.target)
    module = prepare(script.parse(program, "candidate", workload.tensors), target)
    found = estimate(build_program(module, target, Settings()), target, workload.sizes)
    if found.problem:
        return Outcome("compile error", f"ptxas: {found.problem.splitlines()[0]}")
    return Outcome("ok", str(found), (found.seconds,), (reference or found.seconds,))
