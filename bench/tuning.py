"""Speed of `tvms tune`, and what it gains over default schedules; optionally beside apache-tvm's tuner.

    python bench/tuning.py [--trials 128] [--threads 1] [--peer PYTHON] [--minutes 15] [--state FILE] [NAME …]

For each workload: trials a minute, the time with the default schedule, the best time, and the outcomes of trials. `--peer` names an
interpreter with apache-tvm 0.27, psutil, cloudpickle and xgboost, which searches the same loop functions with as many trials (`peers/tvm_tuning.py`). The
best programs of both and the default then run alternately; times are medians of rounds, ratios medians of the ratios of rounds. The gain is "kept" where
no schedule was faster, so that both times are those of the default.

`--minutes` limits the whole run: each search gets an equal part of what is left. With `--state`, workloads that the file holds are not
measured again, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import llvmlite.binding  # pyright: ignore[reportMissingTypeStubs]
import tvms
from msgspec.structs import replace
from peers.torch_calls import seconds
from tvms.codegen.target import get_target
from tvms.codegen.tuner.database import Database
from tvms.codegen.tuner.inputs import make_inputs
from tvms.codegen.tuner.runner import LocalRunner
from tvms.codegen.tuner.spaces import FUNCTION
from tvms.codegen.tuner.tasks import Task, tasks_of
from tvms.codegen.tuner.tuning import Plan, TaskState, Tuning

ROUNDS = 9
"""Rounds in which the programs run alternately."""
SHARE = 0.9
"""Share of the time that the searches get; the rest is for the last trials and the rounds."""
PRODUCT = """#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor({x}, "float32"), w: R.Tensor({w}, "float32")):
        with R.dataflow():
            y = {call}
            R.output(y)
        return y
"""
LOOPS = """#tvms 1
I.ir_module Module:
    T.prim_func {head}
"""
BANDED = """main(A: T.Buffer((65536, 64), "float32"), x: T.Buffer((65599,), "float32"), y: T.Buffer((65536,), "float32")):
        for i, k in T.grid(65536, 64):
            with T.block("band"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] = y[vi] + A[vi, vk] * x[vi + vk]
"""
STENCIL = """main(A: T.Buffer((1026, 1026), "float32"), B: T.Buffer((1026, 1026), "float32"), C: T.Buffer((1026, 1026), "float32")):
        for i, j in T.grid(1024, 1024):
            with T.block("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi + 1, vj + 1] = T.float32(0.2) * (A[vi + 1, vj + 1] + A[vi, vj + 1] + A[vi + 2, vj + 1] + A[vi + 1, vj] + A[vi + 1, vj + 2])
        for i, j in T.grid(1024, 1024):
            with T.block("second"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi + 1, vj + 1] = T.float32(0.2) * (B[vi + 1, vj + 1] + B[vi, vj + 1] + B[vi + 2, vj + 1] + B[vi + 1, vj] + B[vi + 1, vj + 2])
"""
HEAT = """main(A: T.Buffer((2, 1026, 1026), "float32")):
        for t, i, j in T.grid(8, 1024, 1024):
            with T.block("step"):
                vt = T.axis.opaque(8, t)
                vi, vj = T.axis.remap("SS", [i, j])
                A[(vt + 1) % 2, vi + 1, vj + 1] = T.float32(0.2) * (A[vt % 2, vi + 1, vj + 1] + A[vt % 2, vi, vj + 1] + A[vt % 2, vi + 2, vj + 1] + A[vt % 2, vi + 1, vj] + A[vt % 2, vi + 1, vj + 2])
"""
WORKLOADS = {
    "sgemm 1024": PRODUCT.format(x=(1024, 1024), w=(1024, 1024), call="R.matmul(x, w)"),
    "conv 64x56x56": PRODUCT.format(x=(1, 64, 56, 56), w=(64, 64, 3, 3), call="R.nn.conv2d(x, w, padding=1)"),
    "conv 512x7x7": PRODUCT.format(x=(1, 512, 7, 7), w=(512, 512, 3, 3), call="R.nn.conv2d(x, w, padding=1)"),
    "softmax": PRODUCT.format(x=(1024, 1024), w=(1,), call="R.nn.softmax(x)"),
    "attention product": PRODUCT.format(x=(12, 128, 64), w=(12, 64, 128), call="R.matmul(x, w)"),
    "banded product": LOOPS.format(head=BANDED),
    "stencil in two steps": LOOPS.format(head=STENCIL),
    "stencil in time": LOOPS.format(head=HEAT),
}


class Peer:
    """The tuner of apache-tvm, running in a separate process."""

    def __init__(self, python: str) -> None:
        command = [str(Path(python).absolute()), str(Path(__file__).parent / "peers" / "tvm_tuning.py")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
        )
        assert self._process.stdout is not None
        while (line := self._process.stdout.readline()) != "ready\n":  # so that importing counts for no workload
            assert line, f"{python} ended with {self._process.wait()}"

    def ask(self, line: str = "") -> Any:
        """Return the answer to a task, or the seconds of a call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        while not (answer := self._process.stdout.readline()).startswith("answer "):
            assert answer, f"the peer ended with {self._process.wait()}"
        return json.loads(answer.removeprefix("answer "))


def tuned(task: Task, plan: Plan) -> dict[str, Any]:
    """Return the figures of our tuner, and its schedule."""
    with tempfile.TemporaryDirectory() as folder, Database(Path(folder) / "tuning.db") as database:
        runner = LocalRunner()
        start = time.perf_counter()
        (state,) = Tuning([task], get_target("llvm"), plan, runner, database).run().states
        taken = time.perf_counter() - start
        runner.close()
    return {"state": state, "trials": state.trials, "seconds": taken}


def compared(task: Task, state: TaskState, peer: Peer | None, threads: int) -> list[list[float]]:
    """Return the seconds of the default program, the best one, and that of the peer, if there is one, in each round."""
    texts = {} if state.chosen is None else {state.chosen.name: state.chosen}
    function: Any = task.workload.functions[FUNCTION]
    calls: list[Any] = []
    for schedules in ({}, texts):
        call, values = (
            tvms.compile(replace(task.workload, schedules=schedules), threads=threads)[FUNCTION],
            make_inputs(function, {}, 0),
        )
        calls.append(partial(call, *values))
    rounds: list[list[float]] = []
    for _ in range(ROUNDS + 1):
        row = [seconds(call, threads) for call in calls]
        rounds.append([*row, peer.ask()] if peer is not None else row)
    return rounds[1:]


def row_of(name: str, plan: Plan, peer: Peer | None) -> dict[str, Any]:
    """Search, compare, and return what is printed of a workload."""
    (task,), _ = tasks_of(tvms.parse(WORKLOADS[name]), get_target("llvm"))
    own = tuned(task, plan)
    state = own["state"]
    row = {"name": name, "rate": own["trials"] * 60 / own["seconds"], "trials": own["trials"], "stopped": state.stopped}
    row["outcomes"] = ", ".join(f"{count} {outcome}" for outcome, count in state.outcomes.most_common())
    found = False
    if peer is not None:
        function: Any = task.workload.functions[FUNCTION]
        shapes = [value.shape for value in make_inputs(function, {}, 0)]
        request = {
            "program": task.workload.script(dialect="tvm-0.27"), "trials": plan.trials, "threads": plan.threads, "shapes": shapes,
            "cpu": llvmlite.binding.get_host_cpu_name(), "seconds": plan.seconds,
        }  # fmt: skip
        other = peer.ask(json.dumps(request))
        found = other["found"]
        row |= {"peer rate": other["trials"] * 60 / other["seconds"], "peer trials": other["trials"]}
        row |= {"failed builds": other["builds failed"], "peer ran": other["ran"]}
    rounds = compared(task, state, peer if found else None, plan.threads)
    default, best, *rest = [statistics.median(column) * 1e3 for column in zip(*rounds, strict=True)]
    gain = statistics.median(times[0] / times[1] for times in rounds) if state.chosen is not None else None
    row |= {"default": default, "best": best, "gain": gain}
    if rest:
        row |= {"peer best": rest[0], "ahead": statistics.median(times[2] / times[1] for times in rounds)}
    return row


def shown(row: dict[str, Any]) -> str:
    """Return the row of a table."""
    cells = [
        row["name"],
        *(f"{row[key]:.3g}" for key in ("default", "best")),
        "kept" if row["gain"] is None else f"{row['gain']:.3g}",
        f"{row['rate']:.0f}",
        row["outcomes"] or row["stopped"],
    ]
    if "peer rate" in row:
        cells += [f"{row[key]:.3g}" if key in row else "–" for key in ("peer best", "ahead")]
        cells += [f"{row['peer rate']:.0f}", f"{row['peer ran']} of {row['peer trials']}", str(row["failed builds"])]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a row for each workload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(WORKLOADS))
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--peer", metavar="PYTHON", help="an interpreter with apache-tvm 0.27, psutil, cloudpickle and xgboost"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--state", type=Path, metavar="FILE")
    given = parser.parse_args()
    end = time.monotonic() + given.minutes * 60
    lines: list[str] = given.state.read_text().splitlines() if given.state and given.state.exists() else []
    known = {row["name"]: row for row in map(json.loads, lines)}
    left = [name for name in given.names if name not in known]
    peer = Peer(given.peer) if given.peer and left else None
    titles = ["workload", "default ms", "best ms", "gain", "trials a minute", "outcomes"]
    titles += ["TVM ms", "× TVM", "TVM's trials a minute", "TVM's that ran", "failed builds"] if given.peer else []
    print(f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}", flush=True)
    for name in given.names:
        if name in left:
            seconds_left = (end - time.monotonic()) * SHARE / (len(left) * (2 if peer else 1))
            plan = Plan(given.trials, max(seconds_left, 1.0), threads=given.threads)
            known[name] = row_of(name, plan, peer)
            left.remove(name)
            if given.state:
                with given.state.open("a") as file:
                    print(json.dumps(known[name]), file=file)
        print(shown(known[name]), flush=True)


if __name__ == "__main__":
    THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
    os.environ["TVM_NUM_THREADS"] = THREADS  # read when the library is loaded
    main()
