"""The thread pool of parallel loops: every iteration is executed once, whoever calls, nests or forks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tvms
from tvms.codegen.llvm.backend import optimize, to_object
from tvms.codegen.runtime.pool import pool_text
from tvms.codegen.target import get_target

COUNT = """
T.prim_func main(A: T.Buffer(({extent}, 256), "int32"), K: T.Buffer(({extent},), "int32")):
    for i in T.parallel({extent}):
        for j in range(256):
            A[i, j] = A[i, j] + K[K[i]] + j
"""
"""Adds to every element once; `K` is a permutation, so that its indices are checked at run time."""

NESTED = """
T.prim_func main(A: T.Buffer((12, 16, 128), "int32")):
    for i in T.parallel(12):
        for j in T.parallel(16):
            for k in range(128):
                A[i, j, k] = A[i, j, k] + i * 16 + j
"""


def count(extent: int, threads: int) -> tuple[tvms.Executable, np.ndarray]:
    """Return the compiled `COUNT` and its indices."""
    executable = tvms.compile(tvms.parse(COUNT.format(extent=extent)), threads=threads)
    return executable, np.random.default_rng(20261124).permutation(extent).astype("i4")


def check(executable: tvms.Executable, indices: np.ndarray, calls: int = 20) -> None:
    """Call `COUNT` several times on the same array."""
    array = np.zeros((len(indices), 256), "i4")
    for _ in range(calls):
        executable["main"](array, indices)
    np.testing.assert_array_equal(array, calls * (indices[indices][:, None] + np.arange(256)))


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 61])
@pytest.mark.parametrize("extent", [1, 2, 3, 17, 64, 1000])
def test_every_iteration_is_executed_once(extent: int, threads: int) -> None:
    check(*count(extent, threads))


def test_a_fault_of_any_iteration_is_reported() -> None:
    executable, indices = count(200, 8)
    for place in (0, 99, 199):
        wrong = indices.copy()
        wrong[place] = 200
        with pytest.raises(tvms.TvmsError, match="E0707"):
            executable["main"](np.zeros((200, 256), "i4"), wrong)
    check(executable, indices)


def test_several_threads_share_the_pool() -> None:
    executable, indices = count(100, 4)
    with ThreadPoolExecutor(8) as callers:
        for done in [callers.submit(check, executable, indices, 50) for _ in range(16)]:
            done.result()


def test_parallel_loops_nest() -> None:
    executable = tvms.compile(tvms.parse(NESTED), threads=4)
    array = np.zeros((12, 16, 128), "i4")
    for _ in range(20):
        executable["main"](array)
    np.testing.assert_array_equal(array[:, :, 0], 20 * np.arange(192).reshape(12, 16))
    assert (array == array[:, :, :1]).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_children_have_workers_of_their_own() -> None:
    executable, indices = count(100, 4)
    with ThreadPoolExecutor(2) as callers:
        running = [callers.submit(check, executable, indices, 300) for _ in range(2)]
        for _ in range(5):
            child = os.fork()
            if not child:
                try:
                    check(executable, indices)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
        for done in running:
            done.result()


def test_idle_workers_sleep() -> None:
    executable, indices = count(1000, 4)
    check(executable, indices)
    time.sleep(0.1)
    start = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - start < 0.25


THREADS = """
import sys
sys.path.insert(0, sys.argv[1])
from test_thread_pool import check, count
check(*count(1000, 0))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("Threads:")))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="/proc is missing")
@pytest.mark.parametrize(
    ("variable", "threads"), [("TVMS_NUM_THREADS", 1), ("OMP_NUM_THREADS", 1), ("TVMS_NUM_THREADS", 3)]
)
def test_the_environment_sets_the_number_of_threads(variable: str, threads: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    environment |= {"OPENBLAS_NUM_THREADS": "1", variable: str(threads)}
    command = [sys.executable, "-c", THREADS, os.path.dirname(__file__)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(threads)


@pytest.mark.parametrize("triple", ["", "aarch64-linux-gnu", "arm64-apple-macosx", "riscv64-linux-gnu"])
def test_the_pool_compiles_for_other_machines(triple: str) -> None:
    target = get_target(f"llvm -mtriple={triple} -mcpu=generic" if triple else "llvm")
    assert to_object(optimize(pool_text(target.layout[0]), target), target)


PLACEMENT = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from test_thread_pool import count, np


def state_and_cpu():
    with open(f"/proc/self/task/{worker}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return fields[0], int(fields[36])


def call():
    executable["main"](array, indices)
    return state_and_cpu()[1]


def sleep():
    while state_and_cpu()[0] != "S":
        time.sleep(0.001)


first, second = sorted(os.sched_getaffinity(0))[:2]
threads = set(os.listdir("/proc/self/task"))
executable, indices = count(1000, 2)
array = np.zeros((1000, 256), "i4")
executable["main"](array, indices)
(worker,) = map(int, set(os.listdir("/proc/self/task")) - threads)
os.sched_setaffinity(0, {first})
for allowed in ({first, second}, {first}):
    os.sched_setaffinity(worker, {first})
    call()
    sleep()
    os.sched_setaffinity(worker, allowed)
    print(call() == (second if second in allowed else first))  # a worker that must stay on the first CPU is not woken
    sleep()
    print(os.sched_getaffinity(worker) == allowed)
"""


WANDERING = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from test_thread_pool import check, count

cpus = os.sched_getaffinity(0)
threads = set(os.listdir("/proc/self/task"))
executable, indices = count(1000, 3)
check(executable, indices)
workers = [int(name) for name in set(os.listdir("/proc/self/task")) - threads]
caller, is_over = threading.get_native_id(), threading.Event()


def move():
    while not is_over.is_set():
        for cpu in cpus:
            os.sched_setaffinity(caller, {cpu})
            is_over.wait(0.0002)


mover = threading.Thread(target=move)
mover.start()
check(executable, indices, 500)
is_over.set()
mover.join()
os.sched_setaffinity(caller, cpus)
check(executable, indices)
print(all(os.sched_getaffinity(worker) == cpus for worker in workers))
"""
NEEDS_TWO_CPUS = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs on Linux"
)


@NEEDS_TWO_CPUS
def test_workers_avoid_a_caller_that_moves() -> None:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WANDERING, os.path.dirname(__file__)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


@NEEDS_TWO_CPUS
def test_a_worker_wakes_on_another_cpu_than_its_caller() -> None:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PLACEMENT, os.path.dirname(__file__)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 4
