"""The thread pool of parallel loops, in LLVM IR over POSIX threads.

A loop is a job. Its iterations are divided into one slot of consecutive iterations per thread, and each slot into pieces. The
calling thread starts with the first slot, a worker with the slot of its number; whoever has finished a slot takes pieces of the
others. The caller waits only for workers that are executing a piece: a worker that comes late, because another program or
another library's thread occupies its core, finds nothing left to do and delays nobody.

A worker that is stopped in the middle of a piece does delay its caller. If that takes long, the machine has no core to spare:
for four times as long as it waited, loops run on their calling threads alone; after further long delays for up to 64 times.

Workers are started when a loop first needs them. An idle worker spins for some microseconds, so that the next loop of a network
finds it awake, and then sleeps. Jobs of several threads, and of loops inside of parallel loops, share the workers. After a fork,
the child starts workers of its own.

Linux may queue a worker on the CPU of its caller, where the two cannot run at once. A caller therefore removes its
CPU from the CPU mask of a worker that went to sleep there, and the worker restores the mask once it is awake (`placement.ll`).
A worker that did not sleep compares its CPU with that of the caller before each piece, and moves in the same way. A worker
whose mask has no other CPU executes nothing.
"""

from __future__ import annotations

from pathlib import Path
from string import Template

from ..llvm.parallel import PARALLEL

THREADS = "tvms_thread_count"
"""Symbol of the default number of threads, an i32; if it is 0, the environment and then the number of cores decide."""

_NUMBERS = {"PIECES": 8, "SPINS": 2_000, "LEAST_ALONE": 4, "MOST_ALONE": 64, "LONG": 50_000}
"""Constants of the pool:

- `PIECES` of a slot. More balance the load better, but cost an atomic operation each.
- `SPINS`: checks of an idle worker for a new job before it sleeps, and of a caller for the end of the last pieces.
- `LEAST_ALONE`, `MOST_ALONE`: after a long wait, loops run on one thread for a multiple of its time. Each long wait doubles this
  factor and adds the former constant; each other loop lowers it by a sixteenth and one.
- `LONG`: nanoseconds that a caller may always wait for the last pieces; beyond, half of the time of its own pieces is long.
"""
_PAUSES = {
    **dict.fromkeys(("x86_64", "i386", "i686"), ("llvm.x86.sse2.pause()", "llvm.x86.sse2.pause()")),
    **dict.fromkeys(("aarch64", "arm64"), ("llvm.aarch64.hint(i32)", "llvm.aarch64.hint(i32 1)")),
}
"""The instruction of a spinning thread by architecture, as the declaration and the call of LLVM's intrinsic."""
_NO_PLACEMENT = """
declare i64 @sysconf(i32)
declare i64 @llvm.smax.i64(i64, i64)

define internal i32 @tvms_cpu_count() {
  %online = call i64 @sysconf(i32 $PROCESSORS)
  %positive = call i64 @llvm.smax.i64(i64 %online, i64 1)
  %count = trunc i64 %positive to i32
  ret i32 %count
}

define internal i32 @tvms_cpu() { ret i32 -1 }
define internal i1 @tvms_keep_away(ptr %worker, i32 %cpu, i32 %here) { ret i1 true }
define internal void @tvms_restore(ptr %worker) { ret void }
"""
"""The functions of `placement.ll` for systems where a program does not choose the CPUs of its threads."""


def pool_text(triple: str) -> str:
    """Return the runtime for the machine of `triple` as LLVM IR: it defines `PARALLEL` and `THREADS`."""
    processors, clock = (58, 6) if "apple" in triple else (84, 1)  # _SC_NPROCESSORS_ONLN, CLOCK_MONOTONIC
    architecture, _, system = triple.partition("-")
    declared, called = _PAUSES.get(architecture, ("", ""))
    is_placed = "linux" in system and "android" not in system and "64" in architecture  # masks have words of 64 bits
    placement = _read("placement.ll") if is_placed else Template(_NO_PLACEMENT).substitute(PROCESSORS=processors)
    return Template(_read("pool.ll")).substitute(
        _NUMBERS, PARALLEL=PARALLEL, THREADS=THREADS, CLOCK=clock, PLACEMENT=placement,
        PAUSE=f"declare void @{declared}" if declared else "", PAUSE_CALL=f"call void @{called}" if called else "",
    )  # fmt: skip


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text()
