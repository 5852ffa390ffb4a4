"""`tvms run --sandbox`: run an untrusted file in a restricted child process.

The child has limits of memory, processor time, wall clock and file size. If Linux offers seccomp, the kernel also
denies it the network, other processes and every change to files. It can still read what its user can read.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable
from errno import ENOSYS, EPERM

from msgspec import Struct

from ...ir.diagnostics import TvmsError, error
from ...ir.sanitize import say
from .reporting import UsageError, report

CODE = "E0726"
_MIB = 1 << 20
_FILE_BYTES = 64 * _MIB
_DEATHS = {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS}
"""Signals that end a process whose allocation fails unexpectedly."""


class Limits(Struct, frozen=True):
    """Resource limits of a sandboxed run."""

    memory: int
    """MiB of address space."""
    seconds: int
    """Limit of the wall clock, and of processor time per core."""


def run_inside(limits: Limits, run: Callable[[], int]) -> int:
    """Return the exit code of `run` in a sandbox; raise E0726 if it hits a limit."""
    if not hasattr(os, "fork"):
        raise UsageError("--sandbox needs an operating system with fork and setrlimit")
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os._exit(_run_in_child(limits, run))
    try:
        status, seconds, is_late = _wait(child, limits.seconds)
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    raise _explain(limits, signal.Signals(os.WTERMSIG(status)), seconds, is_late)


def _wait(child: int, seconds: float) -> tuple[int, float, bool]:
    """Return the child's wait status, its processor time, and whether it was killed because its time was up."""
    end, is_late = time.monotonic() + seconds, False
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return status, usage.ru_utime + usage.ru_stime, is_late
        if time.monotonic() >= end and not is_late:
            is_late = True
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def _explain(limits: Limits, ended_by: signal.Signals, seconds: float, is_late: bool) -> TvmsError:
    cores = os.cpu_count() or 1
    if is_late:
        return error(CODE, f"the sandboxed run took more than {limits.seconds} s", None, "allow more with --timeout S")
    if ended_by is signal.SIGXCPU or seconds >= limits.seconds * cores:
        said = f"the sandboxed run took more than {limits.seconds * cores} s of processor time"
        return error(CODE, said, None, "allow more with --timeout S")
    if ended_by in _DEATHS:
        said = f"the sandboxed run was killed by {ended_by.name}: {limits.memory} MiB of memory may be too little"
        return error(CODE, said, None, "allow more with --memory MIB; if that does not help, report the file")
    return error(
        CODE, f"the sandboxed run was killed by {ended_by.name}", None, "see what sent this signal, and run it again"
    )


def _run_in_child(limits: Limits, run: Callable[[], int]) -> int:
    """Restrict this process, and return the exit code of `run`."""
    try:
        _set_limits(limits)
        if not deny_system_calls():
            say("note: seccomp is not available: the sandbox limits resources, but denies no system calls", sys.stderr)
        code = run()
    except MemoryError:
        said = f"the sandboxed run needs more than {limits.memory} MiB of memory"
        report(error(CODE, said, None, "allow more with --memory MIB").diagnostics)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _set_limits(limits: Limits) -> None:
    import resource

    cpu = limits.seconds * (os.cpu_count() or 1)
    wanted = {
        resource.RLIMIT_AS: (limits.memory * _MIB, limits.memory * _MIB),
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_FSIZE: (_FILE_BYTES, _FILE_BYTES),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, (soft, hard) in wanted.items():
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))


# --- Seccomp --------------------------------------------------------------------------------------------------


class _Machine(Struct, frozen=True):
    """Numbers of system calls on an architecture."""

    audit: int
    denied: tuple[int, ...]
    """Network, programs, other processes, changes to files except writes to open ones, and whatever undoes this."""
    unknown: tuple[int, ...]
    """`clone3` and `openat2`, whose arguments a filter cannot inspect: callers fall back to the older calls."""
    clone: int
    opens: tuple[tuple[int, int], ...]
    """Calls that open files, with the position of the argument that holds the flags."""
    ioctl: int


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        (
            *range(41, 51), 53, *range(57, 60), 62, 76, 77, *range(82, 89), *range(90, 95), 101, 132, 133, 155, 161, 165, 166, 188, 189,
            190, 200, 235, *range(248, 251), *range(258, 262), *range(263, 267), 268, 272, 280, 288, 298, 299, 307, 308,
            310, 311, 316, 321, 322, 323, 425, 434, 438, 452,
        ),
        (435, 437), 56, ((2, 1), (257, 2)), 16,
    ),
    "aarch64": _Machine(
        0xC00000B7,
        (
            5, 6, 7, *range(33, 42), 45, 46, 51, 52, 53, 54, 55, 88, 97, 117, 129, 130, *range(198, 213), *range(217, 220),
            221, 241, 242, 243, 268, 269, 270, 271, 276, 280, 281, 282, 425, 434, 438, 452,
        ),
        (435, 437), 220, ((56, 2),), 29,
    ),
}  # fmt: skip
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD = 0x10000
_X32 = 0x40000000
_TIOCSTI = 0x5412
"""Request that injects input into the terminal."""

_Step = tuple[int, int, int, int]
"""An instruction of the filter: operation, jump offset if the test holds, jump offset if not, constant."""


def seccomp_program(machine: _Machine) -> list[_Step]:
    """Return the filter, which denies system calls by number and argument."""
    refuse: _Step = (_RETURN, 0, 0, _ERROR | EPERM)
    steps: list[_Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    steps += [(_AT_LEAST, 0, 1, _X32), refuse] if machine.audit == _MACHINES["x86_64"].audit else []
    for number in machine.denied:
        steps += [(_EQUAL, 0, 1, number), refuse]
    for number in machine.unknown:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | ENOSYS)]
    allow: _Step = (_RETURN, 0, 0, _ALLOW)
    steps += [(_EQUAL, 0, 4, machine.clone), _argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), refuse, allow]
    for number, place in machine.opens:
        steps += [(_EQUAL, 0, 4, number), _argument(place), (_ANY_BIT, 0, 1, _WRITING), refuse, allow]
    steps += [(_EQUAL, 0, 4, machine.ioctl), _argument(1), (_EQUAL, 0, 1, _TIOCSTI), refuse, allow]
    return [*steps, allow]


def _argument(place: int) -> _Step:
    """Return an instruction that loads the low half of an argument."""
    return (_LOAD, 0, 0, 16 + 8 * place)


def deny_system_calls() -> bool:
    """Deny this process and its children the calls of `seccomp_program`; return whether the kernel supports it."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return False
    filter_steps = _pack(seccomp_program(machine))
    buffer = ctypes.create_string_buffer(filter_steps, len(filter_steps))
    header = struct.pack("HxxxxxxP", len(filter_steps) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    set_no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(set_no_new_privileges, 1, 0, 0, 0) != 0:
        return False
    program = ctypes.create_string_buffer(header, len(header))
    return libc.prctl(set_seccomp, filter_mode, ctypes.addressof(program), 0, 0) == 0


def _pack(steps: Iterable[_Step]) -> bytes:
    return b"".join(struct.pack("HBBI", *step) for step in steps)
