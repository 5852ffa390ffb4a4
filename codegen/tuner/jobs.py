"""Jobs of a worker that need no workload: compile a module into a file, and time the calls of such a file. Each runs in a fork."""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any, NoReturn

import msgspec
import numpy as np
from msgspec import Struct

from ...ir import script
from ..runtime.executable import Executable, compile, load_module
from ..runtime.timing import Evaluator
from .forks import forked, read_until
from .inputs import random_array
from .protocol import Build, Call, Jobs, Limits, Outcome
from .spaces import FUNCTION
from .trial import answer

_FLUSHED = 256 << 20
"""Bytes that are written to empty the caches."""


class _Running(Struct, eq=False):
    number: int
    child: int
    tell: int
    deadline: float


def run_jobs(request: Jobs) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of each job, with its position."""
    _warm_up()
    waiting, running = deque(enumerate(request.jobs)), list[_Running]()
    while waiting or running:
        while waiting and len(running) < max(request.at_once, 1):
            number, job = waiting.popleft()
            tell, child = forked(partial(_run, job, request.limits))
            running.append(_Running(number, child, tell, time.monotonic() + request.limits.seconds))
        left = max(min(job.deadline for job in running) - time.monotonic(), 0)
        readable, _, _ = select.select([job.tell for job in running], [], [], left)
        for job in [job for job in running if job.tell in readable or job.deadline <= time.monotonic()]:
            running.remove(job)
            data, ended = read_until(job.tell, job.child, job.deadline)
            if ended is None:
                ended = msgspec.msgpack.decode(data, type=Outcome) if data else Outcome("crash", "its process failed")
            yield job.number, ended


@cache
def _warm_up() -> None:
    """Load in this process what each fork would load otherwise."""
    function = 'T.prim_func main(A: T.Buffer((1,), "float32")):\n    A[0] = T.float32(0)\n'
    compile(script.parse(function, "warm-up"), cache=None)


def _run(job: Build | Call, limits: Limits, tell: int) -> NoReturn:
    answer(lambda: _build(job) if isinstance(job, Build) else _call(job), limits, tell)


def _build(job: Build) -> Outcome:
    module = script.parse(job.program, "module", job.tensors)
    compile(module, job.target, cache=None).export_library(job.path)
    return Outcome("ok")


def _call(job: Call) -> Outcome:
    executable = load_module(job.path, trust=True)
    sets = random_sets(job.arguments, job.alloc_repeat)
    return Outcome(
        "ok", seconds=time_calls(executable, sets, job.number, job.repeat, job.min_repeat_ms, job.is_flushed)
    )


def random_sets(arguments: Sequence[tuple[str, Sequence[int]]], count: int) -> list[list[Any]]:
    """Return `count` lists of random arrays of these dtypes and shapes."""
    random = np.random.default_rng(0)
    return [[random_array(shape, dtype, random) for dtype, shape in arguments] for _ in range(count)]


def time_calls(
    executable: Executable, sets: Sequence[Sequence[Any]], number: int, repeat: int, min_repeat_ms: float, is_flushed: bool
) -> tuple[float, ...]:  # fmt: skip
    """Return the seconds per call of each repetition, for all lists of arguments, of `main` or the first function; before each, the caches are
    emptied if they are to be flushed.
    """
    names = executable.entry_names
    other = np.zeros(_FLUSHED if is_flushed else 0, np.uint8)

    def prepare(*_: object) -> None:
        other.fill(1)

    function = executable[FUNCTION if FUNCTION in names else names[0]]
    evaluator = Evaluator(function, number, repeat, min_repeat_ms, prepare=prepare)
    return tuple([seconds for arguments in sets for seconds in evaluator(*arguments).results])
