"""One trial, in a process of its own: compile a program, compare its results with those of the baseline, and time it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from ...ir import script, tir
from ...ir.diagnostics import TvmsError
from ...ir.interp.compare import difference, tolerance
from ...ir.interp.guarded import guarded
from ..machine import core_count
from ..runtime.executable import compile
from .estimating import estimated, is_estimated, simulated
from .inputs import make_inputs
from .protocol import Limits, Outcome, Workload, write_all
from .spaces import FUNCTION

READY = b"\x01"
"""What a trial says when it is compiled; it then waits for one byte."""
_REPETITION = 2e-3
"""Seconds that a repetition takes at least."""
_BUDGET = 40e-3
"""Seconds of repetitions of a trial, without those of the baseline."""
_LEAST, _MOST = 5, 40
"""Numbers of repetitions."""
_LONG = 5 * _REPETITION
"""Seconds of a first call from which further ones need not tell how many make a repetition."""
_SLOW = 1.25
"""Time relative to the best candidate from which `_FEW` repetitions suffice."""
_FEW = 3
"""Repetitions that tell whether a candidate is slow: each must, so that one that is disturbed does not decide."""
_VERY_SLOW = 2.0
"""Time relative to the baseline from which two repetitions suffice."""
_HOPELESS = 6.0
"""Time of a first call, relative to the baseline, from which that is the only one."""
_TOO_SLOW = 16
"""Processor time of a first call, relative to the time of the baseline, at which the call is ended."""
_ONE_CALL = 0.05
"""Seconds of such a call at least: shorter ones are mostly one-time work."""
TOO_SLOW = f"it took more than {_TOO_SLOW} times as long as the baseline"
"""What is said of a call that SIGPROF ended."""
_MEMORY = ("E0717",)
_DEATH_SIGNAL = 1

Call = Callable[..., Any]


class Prepared(Struct, frozen=True, eq=False):
    """A workload that is ready for trials: its compiled baseline, arguments, and the results that are expected."""

    workload: Workload
    call: Call
    arguments: list[Any]
    expected: list[Any]
    seconds: float
    """Seconds of a call of the baseline."""


def build(program: str, workload: Workload) -> Call:
    """Return the compiled function of a program. Raises the errors of reading, scheduling and compiling it."""
    module = script.parse(program, "candidate", workload.tensors)
    return compile(module, workload.target, threads=workload.threads, cache=None)[FUNCTION]


def arguments_of(workload: Workload) -> list[Any]:
    """Return the arguments of the calls of a workload."""
    module = script.parse(workload.baseline, "baseline", workload.tensors)
    function = module.functions[FUNCTION]
    assert isinstance(function, tir.PrimFunc)
    return make_inputs(function, workload.sizes, workload.seed)


def run_trial(program: str, prepared: Prepared, effort: float, best: float, go: int, tell: int) -> NoReturn:
    """Do a trial in this process, a fork of the worker, and exit: its outcome goes to the pipe `tell`, after READY.

    `best` is the time of the best candidate so far relative to the baseline. An estimate is written at once, without READY.
    """

    def trial() -> Outcome:
        if is_estimated(prepared.workload):
            outcome = estimated(program, prepared.workload, prepared.seconds)
            if effort > 1 and prepared.expected and outcome.status == "ok":
                results = results_of(simulated(program, prepared.workload), prepared.arguments)
                outcome = compared(results, prepared) or outcome
            return outcome
        call = build(program, prepared.workload)
        write_all(tell, READY)
        return measure(call, prepared, effort, best) if os.read(go, 1) else Outcome("crash", "the worker ended")

    answer(trial, prepared.workload.limits, tell)


def answer(work: Callable[[], Outcome], limits: Limits, tell: int) -> NoReturn:
    """Do some work under limits in this process, a fork of the worker, write its outcome to the pipe `tell`, and exit."""
    try:
        restrict(limits)
        outcome = work()
    except TvmsError as problem:
        outcome = failure(problem)
    except MemoryError:
        outcome = Outcome("out of memory", f"more than {limits.memory} MiB are needed")
    except BaseException as problem:  # whatever happens is the outcome
        outcome = Outcome("crash", f"{type(problem).__name__}: {problem}")
    write_all(tell, msgspec.msgpack.encode(outcome))
    os._exit(0)


def failure(problem: TvmsError) -> Outcome:
    """Return the outcome of a program that is refused."""
    first = problem.diagnostics[0]
    message = f"{first.code}: {first.message}"
    if first.code in _MEMORY:
        return Outcome("out of memory", message)
    status = {"E05": "refused", "E06": "compile error", "E07": "crash"}.get(first.code[:3], "refused")
    return Outcome(status, message)


def restrict(limits: Limits) -> None:
    """Limit this process: memory, processor time and core files; it ends with its parent, and writes no output."""
    memory, seconds = limits.memory << 20, int(limits.seconds * 2 * (os.cpu_count() or 1)) + 1
    for kind, most in (
        (resource.RLIMIT_AS, _used() + memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def _used() -> int:
    """Return the bytes of address space that this process has before the trial begins."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


# --- Results and times ------------------------------------------------------------------------------------------


def results_of(call: Call, arguments: Sequence[Any], at_end: bool = True) -> tuple[list[Any], bool]:
    """Call a function with copies of the arguments between guard pages; return these after it, and whether the memory
    beside them is unchanged.
    """
    passed, arrays = guarded(arguments, at_end)
    result = call(*passed)
    values = [value.copy() if hasattr(value, "copy") else value for value in passed]
    if result is not None:
        values.append(result)
    return values, all(array.is_kept() for array in arrays)


def measure(call: Call, prepared: Prepared, effort: float, best: float) -> Outcome:
    """Check the results of a compiled trial, then time it; one call suffices if that is slow. A call that takes too long ends the process
    with SIGPROF.
    """
    _limit_processor_time(prepared)
    start = time.perf_counter()
    results = results_of(call, prepared.arguments)
    once = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_PROF, 0)
    problem = compared(results, prepared)
    if problem is not None:
        return problem
    if once > _ONE_CALL and once > _HOPELESS * prepared.seconds:
        return Outcome("ok", "", (once,), (prepared.seconds,))
    return Outcome("ok", "", *timed(call, prepared.call, prepared.arguments, effort, best, once, prepared.seconds))


def compared(results: tuple[list[Any], bool], prepared: Prepared) -> Outcome | None:
    """Return the outcome of a trial with these results (`results_of`) if they are wrong."""
    values, is_kept = results
    if not is_kept:
        return Outcome("wrong", "it writes beside its arguments")
    for position, (value, expected) in enumerate(zip(values, prepared.expected, strict=True)):
        largest = difference(value, expected)
        if largest > 100 * tolerance(expected):
            return Outcome("wrong", f"argument {position + 1} differs by {largest:.2g} from that of the baseline")
    return None


def _limit_processor_time(prepared: Prepared) -> None:
    """Let SIGPROF end this process when the threads of a call have used too much time. Other work on the machine does not count."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    threads = prepared.workload.threads or core_count()
    signal.setitimer(signal.ITIMER_PROF, (_ONE_CALL + _TOO_SLOW * prepared.seconds) * threads)


def timed(
    call: Call, reference: Call, arguments: Sequence[Any], effort: float, best: float = 1.0, once: float = 0.0, known: float = 0.0
) -> tuple[tuple[float, ...], tuple[float, ...]]:  # fmt: skip
    """Return the seconds per call of a function and of a reference, in repetitions that alternate.

    `once` are the seconds of a call that was already made, `known` those of a call of the reference; 0 if they are unknown. There are
    few repetitions if they show that the function is slower than `best`, a time relative to the reference.
    """
    own, other = [value.copy() if hasattr(value, "copy") else value for value in arguments], list(arguments)
    counts = [1 if once > _LONG else _calls(call, own), _calls(reference, other, known)]
    times: tuple[list[float], list[float]] = ([], [])
    spent = 0.0
    while len(times[0]) < _LEAST or (spent < _BUDGET * effort and len(times[0]) < _MOST * effort):
        times[0].append(_repetition(call, own, counts[0]))
        times[1].append(_repetition(reference, other, counts[1]))
        spent += times[0][-1] * counts[0]
        least = min(own / other for own, other in zip(*times, strict=True))
        if (len(times[0]) >= 2 and least > _VERY_SLOW) or (len(times[0]) >= _FEW and least > _SLOW * best):
            break
    return tuple(times[0]), tuple(times[1])


def _calls(call: Call, arguments: Sequence[Any], known: float = 0.0) -> int:
    """Return the number of calls of a repetition; the first calls, which do one-time work, are not counted."""
    call(*arguments)
    once = known or min(_repetition(call, arguments, 1) for _ in range(2))
    return max(1, int(_REPETITION / max(once, 1e-7)))


def _repetition(call: Call, arguments: Sequence[Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call(*arguments)
    return (time.perf_counter() - start) / count
