"""Speed of `tvms tune`, and what it gains over default schedules.

    python bench/tuning.py [--trials 128] [--threads 1] [NAME …]

For each workload: trials a minute, the time with the default schedule, the best time, and the outcomes of trials.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import tvms
from tvms.codegen.target import get_target
from tvms.codegen.tuner.database import Database
from tvms.codegen.tuner.runner import LocalRunner
from tvms.codegen.tuner.tasks import tasks_of
from tvms.codegen.tuner.tuning import Plan, Tuning

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
WORKLOADS = {
    "sgemm 1024": PRODUCT.format(x=(1024, 1024), w=(1024, 1024), call="R.matmul(x, w)"),
    "conv 64x56x56": PRODUCT.format(x=(1, 64, 56, 56), w=(64, 64, 3, 3), call="R.nn.conv2d(x, w, padding=1)"),
    "conv 512x7x7": PRODUCT.format(x=(1, 512, 7, 7), w=(512, 512, 3, 3), call="R.nn.conv2d(x, w, padding=1)"),
    "softmax": PRODUCT.format(x=(1024, 1024), w=(1,), call="R.nn.softmax(x)"),
    "attention product": PRODUCT.format(x=(12, 128, 64), w=(12, 64, 128), call="R.matmul(x, w)"),
    "banded product": LOOPS.format(head=BANDED),
    "stencil in two steps": LOOPS.format(head=STENCIL),
}


def main() -> None:
    """Tune each workload, and print a line for each function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(WORKLOADS))
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    target = get_target("llvm")
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as folder, Database(Path(folder) / "tuning.db") as database:
            runner = LocalRunner()
            tasks, _ = tasks_of(tvms.parse(WORKLOADS[name]), target)
            start = time.perf_counter()
            result = Tuning(tasks, target, Plan(arguments.trials, threads=arguments.threads), runner, database).run()
            seconds = time.perf_counter() - start
            runner.close()
        for state in result.states:
            outcomes = ", ".join(f"{count} {outcome}" for outcome, count in state.outcomes.most_common())
            rate = state.trials * 60 / seconds
            print(
                f"{name:<22}{rate:6.0f} trials a minute  {state.baseline * 1e3:8.3f} ms to {state.time * 1e3:8.3f} ms "
                f"({1 / state.best:.2f} ×)  {outcomes}  {state.stopped}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
