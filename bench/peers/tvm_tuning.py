"""Runs the tuner of apache-tvm for `bench/tuning.py`, in a separate process.

A line of the input is a task in JSON: a module of one loop function in TVMScript, the number of trials and of threads, the processor,
and the seconds after which nothing is built any more. The answer is a line of figures. An empty line is answered with the seconds of one
call of the best program. Answers begin with `answer`; other lines are messages of the search.

With its own builder, apache-tvm 0.27 builds hardly anything in time: for each batch, `LocalBuilder` starts new processes, each of which
imports `tvm.s_tir.tensor_intrin` first. That takes 17 seconds of processor time, and a build may take 30 seconds in all. `Builder` forks
its processes from one that has imported it. The limits of `LocalRunner` are doubled for the same reason.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tvm
import tvm.s_tir.tensor_intrin
from torch_calls import seconds
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule
from tvm.s_tir.meta_schedule.builder import BuilderResult, PyBuilder
from tvm.s_tir.meta_schedule.builder.local_builder import default_build
from tvm.s_tir.meta_schedule.runner import LocalRunner

LIMIT = 30.0
"""Seconds of a build, as in `LocalBuilder`."""
FAILED = 1e9
"""Seconds that the database holds at least for a program that could not be run."""
INPUTS: list[Any] = []
"""What is built, for the forked processes."""


def build(number: int, folder: str) -> str:
    """Compile an input to a shared library in a new folder, and return its path. TVM deletes the folder later."""
    module = default_build(INPUTS[number].mod, INPUTS[number].target, None)
    path = str(Path(tempfile.mkdtemp(dir=folder)) / "program.so")
    module.export_library(path, cc="cc")
    return path


@derived_object
class Builder(PyBuilder):
    """Builds in processes that are forked from this one, until a deadline."""

    def __init__(self, folder: str, deadline: float) -> None:
        super().__init__()
        self.folder, self.deadline, self.outcomes = folder, deadline, Counter[str]()

    def build(self, build_inputs: list[Any]) -> list[Any]:
        """Return the path of a library for each input, or why there is none."""
        if time.monotonic() > self.deadline:
            self.outcomes["left out"] += len(build_inputs)
            return [BuilderResult(None, "the time is up") for _ in build_inputs]
        INPUTS[:] = build_inputs
        results: list[Any] = []
        with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as pool:
            waiting = [pool.apply_async(build, (at, self.folder)) for at in range(len(build_inputs))]
            for answer in waiting:
                try:
                    results.append(BuilderResult(answer.get(LIMIT), None))
                    self.outcomes["built"] += 1
                except Exception as problem:
                    results.append(BuilderResult(None, str(problem) or "it took too long"))
                    self.outcomes["failed"] += 1
        return results


def tune(task: dict[str, Any], folder: str) -> tuple[Any, dict[str, Any]]:
    """Search, and return the best program with the figures of the search."""
    target = tvm.target.Target({"kind": "llvm", "mcpu": task["cpu"], "num-cores": task["threads"]})
    names = {"T": tvm.script.tirx, "I": tvm.script.ir, "tvm": tvm}
    module = tvm.script.from_source(task["program"], extra_vars=names)
    function = module["main"]  # `tune_tir` and `compile_tir` give a function the same attributes, but not a module
    start = time.monotonic()
    builder = Builder(folder, start + task["seconds"])
    runner = LocalRunner(timeout_sec=2 * LIMIT)
    options = {"num_trials_per_iter": min(32, task["trials"]), "num_tuning_cores": multiprocessing.cpu_count()}
    database = meta_schedule.tune_tir(
        mod=function,
        target=target,
        work_dir=folder,
        max_trials_global=task["trials"],
        builder=builder,
        runner=runner,
        seed=1,
        **options,
    )
    taken = time.monotonic() - start
    ran = [row for row in database.get_all_tuning_records() if row.run_secs and float(row.run_secs[0]) < FAILED]
    figures = {"trials": builder.outcomes["built"] + builder.outcomes["failed"], "seconds": taken, "ran": len(ran)}
    figures["builds failed"] = builder.outcomes["failed"]
    tuned = meta_schedule.tir_integration.compile_tir(database, function, target)
    return (None if tuned is None else tvm.compile(tuned.mod, target=target)["main"]), figures


def main() -> None:
    """Answer: figures to a task, the seconds of a call to an empty line."""
    print("ready", flush=True)
    call: Any = None
    arrays, threads = list[Any](), 1
    for line in sys.stdin:
        if line.strip():
            task = json.loads(line)
            threads, random = task["threads"], np.random.default_rng(0)
            with tempfile.TemporaryDirectory() as folder:
                best, figures = tune(task, folder)
            call = best
            arrays = [tvm.runtime.tensor(random.random(shape, np.float32)) for shape in task["shapes"]]
            print("answer", json.dumps({**figures, "found": best is not None}), flush=True)
        else:
            print("answer", seconds(partial(call, *arrays), threads), flush=True)


if __name__ == "__main__":
    main()
