"""Small functions to tune, and a runner whose costs are computed instead of measured."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import tvms
from tvms.codegen.target import Target, get_target
from tvms.codegen.tuner.database import Database
from tvms.codegen.tuner.protocol import Batch, Outcome, Workload
from tvms.codegen.tuner.runner import Runner
from tvms.codegen.tuner.tasks import tasks_of
from tvms.codegen.tuner.tuning import Plan, Result, Tuning
from tvms.ir.base import IRModule

TARGET: Target = get_target("llvm")

MATMUL = """
I.ir_module Module:
    T.prim_func matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
        for i, j, k in T.grid(64, 64, 64):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
SMALL = MATMUL.replace("64", "16")
"""A product that is compiled and measured in little time."""
ROWS = """
I.ir_module Module:
    T.prim_func scale(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
        for i, j in T.grid(64, 32):
            with T.block("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.sqrt(T.abs(A[vi, vj])) * T.float32(2)
"""
TOTAL = """
I.ir_module Module:
    T.prim_func total(A: T.Buffer((1024,), "float32"), B: T.Buffer((1,), "float32")):
        for i, k in T.grid(1, 1024):
            with T.block("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vk] * A[1023 - vk]
"""
SPACE = """
    S.schedule space(matmul):
        block = S.get_block("matmul")
        i, j, k = S.get_loops(block)
        inner = S.sample_categorical([2, 4, 8, 16], [0.25, 0.25, 0.25, 0.25])
        j0, j1 = S.split(j, factors=[None, inner])
        S.reorder(i, j0, k, j1)
        S.vectorize(j1)
"""
PARAMETRIC = """
    S.schedule blocked(matmul, bn=8):
        block = S.get_block("matmul")
        i, j, k = S.get_loops(block)
        j0, j1 = S.split(j, factors=[None, bn])
        S.reorder(i, j0, k, j1)
"""


def module(text: str) -> IRModule:
    """Return the module of a text."""
    return tvms.parse("#tvms 1\n" + text)


class SimulatedRunner:
    """Costs that depend on the text of a program alone; the last digit of its digest decides about failures. `offset` is
    the smallest time in milliseconds."""

    def __init__(self, failures: int = 0, stop_after: int | None = None, offset: float = 0.2) -> None:
        self.failures, self.stop_after, self.offset = failures, stop_after, offset
        self.measured: list[str] = []

    def open(self, workload: Workload) -> Outcome:
        return Outcome("ok", "", (1e-3,), (1e-3,))

    def measure(self, batch: Batch) -> Iterator[tuple[int, Outcome]]:
        for number, program in reversed(list(enumerate(batch.programs))):
            if self.stop_after is not None and len(self.measured) == self.stop_after:
                raise KeyboardInterrupt
            self.measured.append(program)
            value = int.from_bytes(blake2b(program.encode(), digest_size=2).digest())
            if value % 10 < self.failures:
                yield number, Outcome("crash", "it was ended by SIGILL")
            else:
                yield number, Outcome("ok", "", ((self.offset + value / 40_000) * 1e-3,), (1e-3,))

    def close(self) -> None:
        pass


def tuned(text: str, plan: Plan, runner: Runner, database: Database | None = None) -> Result:
    """Return the result of a run over all functions of a text."""
    tasks, left_out = tasks_of(module(text), TARGET, (), plan.sizes)
    return Tuning(tasks, TARGET, plan, runner, database or Database(":memory:")).run(left_out)
