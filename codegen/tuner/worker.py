"""The process that measures for a tuner. It forks a process for each trial, and never runs a kernel itself.

A batch is compiled first, several trials at a time; then its kernels run one after the other. A trial that crashes, hangs
or needs too much memory ends alone.
"""

from __future__ import annotations

import fcntl
import gc
import os
import select
import sys
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...ir import interp, script, tir
from ...ir.deep import deep
from ...ir.diagnostics import TvmsError
from ...ir.interp.compare import difference, tolerance
from ...ir.interp.lanes.sample import work_of
from ..machine import core_count
from ..runtime.executable import compile
from ..runtime.prim_entry import PrimEntry
from .estimating import SIMULATED, estimated, is_estimated
from .forks import forked, read_until
from .jobs import run_jobs
from .protocol import Batch, Jobs, Limits, Outcome, Workload, receive, send, typical, write_all
from .spaces import FUNCTION
from .trial import READY, TOO_SLOW, Prepared, arguments_of, build, failure, restrict, results_of, run_trial, timed

_INTERPRETED = 1 << 17
"""Largest number of innermost iterations whose results the interpreter gives."""
_UNSCHEDULED = 1 << 28
"""Largest number whose results the unscheduled function gives; those of larger ones come from the baseline."""
_KEPT = 1 << 30
"""Bytes of arguments of workloads that are ready."""
_TURN = 60.0
"""Seconds to wait for other measurements on this machine."""


class Opened(Struct, frozen=True):
    """The answer to a workload: the times of its baseline, or why it cannot be tuned."""

    outcome: Outcome
    expected: tuple[bytes, ...] = ()


def serve() -> None:
    """Answer the requests on standard input, on standard output, until the input ends or nobody reads the answers."""
    with suppress(BrokenPipeError):
        _serve()


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    known: dict[str, Workload] = {}
    prepared: dict[str, Prepared] = {}
    while True:
        request = receive(sys.stdin.buffer, Workload | Batch | Jobs)
        match request:
            case Workload():
                known[request.key] = request
                outcome, ready = open_workload(request)
                _keep(prepared, request.key, ready)
                send(answers, outcome)
            case Batch():
                if request.key not in prepared:
                    _keep(prepared, request.key, open_workload(known[request.key])[1])
                if request.key not in prepared:
                    return  # the baseline ran before, but does not now
                for number, outcome in run_batch(request, prepared[request.key]):
                    send(answers, (number, outcome))
            case Jobs():
                for number, outcome in run_jobs(request):
                    send(answers, (number, outcome))
            case _:
                return


def _keep(prepared: dict[str, Prepared], key: str, ready: Prepared | None) -> None:
    """Keep a workload ready, and forget the oldest ones if the arguments of all need much memory."""
    prepared.pop(key, None)
    if ready is not None:
        prepared[key] = ready
    while len(prepared) > 1 and sum(map(_bytes_of, prepared.values())) > _KEPT:
        del prepared[next(iter(prepared))]


def _bytes_of(ready: Prepared) -> int:
    return sum(getattr(value, "nbytes", 0) for value in (*ready.arguments, *ready.expected))


# --- Workloads --------------------------------------------------------------------------------------------------


def open_workload(workload: Workload) -> tuple[Outcome, Prepared | None]:
    """Return the outcome of the baseline of a workload, and what its trials need if that ran."""
    handle, child = forked(partial(_probe, workload))
    data, ended = read_until(handle, child, time.monotonic() + 4 * workload.limits.seconds)
    if not data:
        return ended or Outcome("crash", "the process of the baseline failed"), None
    opened = msgspec.msgpack.decode(data, type=Opened)
    if opened.outcome.status != "ok":
        return opened.outcome, None
    is_checked = bool(opened.expected) or not is_estimated(workload)
    arguments = arguments_of(workload) if is_checked else []
    expected = [_like(value, data) for value, data in zip(arguments, opened.expected, strict=False)]
    if is_estimated(workload):
        return opened.outcome, Prepared(workload, _not_called, arguments, expected, typical(opened.outcome.seconds))
    call = build(workload.baseline, workload)
    if isinstance(call, PrimEntry):
        call.prepare()  # once for all trials
    gc.collect()
    gc.freeze()  # else each trial copies the pages of all objects when it looks for garbage
    return opened.outcome, Prepared(workload, call, arguments, expected, typical(opened.outcome.seconds))


def _not_called(*_: object) -> None:
    """Stand for the baseline of a GPU, which is not called."""


def _probe(workload: Workload, tell: int) -> None:
    """Run the baseline in this process, a fork of the worker, and write `Opened` to the pipe."""
    restrict(replace(workload.limits, seconds=4 * workload.limits.seconds))
    try:
        if is_estimated(workload):
            write_all(tell, msgspec.msgpack.encode(_opened_by_estimate(workload)))
            return
        arguments = arguments_of(workload)
        call = build(workload.baseline, workload)
        expected = _expected(workload, arguments)
        values, is_kept = results_of(call, arguments)
        worst = max(
            (difference(value, right) / 100 - tolerance(right) for value, right in zip(values, expected, strict=True)),
            default=0,
        )
        if worst > 0 or not is_kept:
            opened = Opened(Outcome("wrong", "the schedule without tuning gives other results than the function"))
        else:
            with _alone():
                outcome = Outcome("ok", "", *timed(call, call, arguments, 1.0))
            opened = Opened(outcome, tuple([np.asarray(value).tobytes() for value in expected]))
    except TvmsError as problem:
        opened = Opened(failure(problem))
    except MemoryError:
        opened = Opened(Outcome("out of memory", f"more than {workload.limits.memory} MiB are needed"))
    write_all(tell, msgspec.msgpack.encode(opened))


def _opened_by_estimate(workload: Workload) -> Opened:
    """Return the estimate of a baseline, with the expected results if its function is small enough to be simulated."""
    module = script.parse(workload.baseline, "baseline", workload.tensors)
    function = module.functions[FUNCTION]
    assert isinstance(function, tir.PrimFunc)
    is_small = not workload.sizes and work_of(function) <= SIMULATED
    expected = _expected(replace(workload, target="llvm"), arguments_of(workload)) if is_small else []
    return Opened(estimated(workload.baseline, workload), tuple([np.asarray(value).tobytes() for value in expected]))


@deep
def _expected(workload: Workload, arguments: list[Any]) -> list[Any]:
    """Return the arguments after a call, by the slowest executor that is fast enough."""
    module = script.parse(workload.baseline, "baseline", workload.tensors)
    plain = replace(module, schedules={})
    function = plain.functions[FUNCTION]
    assert isinstance(function, tir.PrimFunc)
    work = work_of(function)
    if work <= _INTERPRETED:
        copies = [value.copy() if hasattr(value, "copy") else value for value in arguments]
        result = interp.run(plain, FUNCTION, copies)
        return copies if result is None else [*copies, result]
    if work <= _UNSCHEDULED:
        call = compile(plain, workload.target, schedule=False, threads=workload.threads)[FUNCTION]
        return results_of(call, arguments)[0]
    return results_of(build(workload.baseline, workload), arguments)[0]


def _like(value: Any, data: bytes) -> Any:
    if hasattr(value, "dtype"):
        return np.frombuffer(data, value.dtype).reshape(value.shape)
    return np.frombuffer(data, np.asarray(value).dtype)[0]


# --- Batches ----------------------------------------------------------------------------------------------------


class _Running(Struct, eq=False):
    """A trial that is being compiled or waits to run: its process, the pipe of its answer, and that which lets it run."""

    number: int
    child: int
    tell: int
    go: int
    deadline: float


def run_batch(batch: Batch, prepared: Prepared) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of each program of a batch, with its position."""
    limits = prepared.workload.limits
    waiting, building, ready = deque(enumerate(batch.programs)), list[_Running](), list[_Running]()
    while waiting or building:
        while waiting and len(building) < core_count():
            number, program = waiting.popleft()
            building.append(_start(number, program, prepared, batch))
        left = max(min(trial.deadline for trial in building) - time.monotonic(), 0)
        readable, _, _ = select.select([trial.tell for trial in building], [], [], left)
        for trial in [trial for trial in building if trial.tell in readable or trial.deadline <= time.monotonic()]:
            building.remove(trial)
            first = os.read(trial.tell, 1) if trial.tell in readable else None
            if first == READY:
                ready.append(trial)
            else:
                yield trial.number, _finish(trial, first, limits)
    for trial in sorted(ready, key=lambda trial: trial.number):
        with _alone():
            os.write(trial.go, b"\x01")
            trial.deadline = time.monotonic() + limits.seconds * max(batch.effort, 1)
            outcome = _finish(trial, b"", limits)
        yield trial.number, outcome


def _start(number: int, program: str, prepared: Prepared, batch: Batch) -> _Running:
    wait, go = os.pipe()
    tell, child = forked(partial(_begin, program, prepared, batch, wait, go))
    os.close(wait)
    return _Running(number, child, tell, go, time.monotonic() + prepared.workload.limits.seconds)


def _begin(program: str, prepared: Prepared, batch: Batch, wait: int, go: int, tell: int) -> NoReturn:
    os.close(go)
    run_trial(program, prepared, batch.effort, batch.best, wait, tell)


def _finish(trial: _Running, first: bytes | None, limits: Limits) -> Outcome:
    """Return the outcome of a trial: `first` are the bytes of it that were read, None if its time is up."""
    deadline = 0.0 if first is None else trial.deadline
    data, ended = read_until(trial.tell, trial.child, deadline)
    os.close(trial.go)
    if ended is not None and ended.status == "timeout" and ended.message != TOO_SLOW:
        return Outcome("timeout", f"it took more than {limits.seconds:g} s")
    try:
        return msgspec.msgpack.decode((first or b"") + data, type=Outcome)
    except msgspec.DecodeError:
        return ended or Outcome("crash", "the process of the trial failed")


@contextmanager
def _alone() -> Generator[None]:
    """Keep other workers of this user from measuring on this machine; one that keeps the turn for too long is not waited for."""
    with open(Path(tempfile.gettempdir()) / f"tvms-measuring-{os.getuid()}.lock", "a") as turn:
        deadline = time.monotonic() + _TURN
        while time.monotonic() < deadline:
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(1e-3)
        yield
