"""The threads of parallel loops: an OpenMP runtime if one is installed, otherwise a small thread pool.

Both split a loop into one range of consecutive iterations per thread, always the same ranges.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from ..llvm.parallel import PARALLEL
from ..machine import core_count

OPENMP = f"""
%task = type {{ ptr, ptr, i64, i32 }}

declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare i32 @omp_get_max_threads()
declare i32 @omp_in_parallel()

define internal void @{PARALLEL}_worker(ptr %task) {{
  %number = call i32 @omp_get_thread_num()
  %count = call i32 @omp_get_num_threads()
  %body = load ptr, ptr %task
  %closure.at = getelementptr %task, ptr %task, i32 0, i32 1
  %closure = load ptr, ptr %closure.at
  %extent.at = getelementptr %task, ptr %task, i32 0, i32 2
  %extent = load i64, ptr %extent.at
  %me = zext i32 %number to i64
  %all = zext i32 %count to i64
  %next = add i64 %me, 1
  %low = mul i64 %extent, %me
  %high = mul i64 %extent, %next
  %begin = sdiv i64 %low, %all
  %end = sdiv i64 %high, %all
  %status = call i32 %body(ptr %closure, i64 %begin, i64 %end)
  %status.at = getelementptr %task, ptr %task, i32 0, i32 3
  %before = atomicrmw umax ptr %status.at, i32 %status monotonic
  ret void
}}

define i32 @{PARALLEL}(ptr %body, ptr %closure, i64 %extent, i32 %threads) {{
  %is.default = icmp eq i32 %threads, 0
  %most = call i32 @omp_get_max_threads()
  %wanted = select i1 %is.default, i32 %most, i32 %threads
  %wide = zext i32 %wanted to i64
  %is.short = icmp slt i64 %extent, %wide
  %least = select i1 %is.short, i64 %extent, i64 %wide
  %inside = call i32 @omp_in_parallel()
  %is.inside = icmp ne i32 %inside, 0
  %is.one = icmp slt i64 %least, 2
  %is.alone = or i1 %is.inside, %is.one
  br i1 %is.alone, label %alone, label %together

alone:
  %own = call i32 %body(ptr %closure, i64 0, i64 %extent)
  ret i32 %own

together:
  %task = alloca %task
  store ptr %body, ptr %task
  %closure.at = getelementptr %task, ptr %task, i32 0, i32 1
  store ptr %closure, ptr %closure.at
  %extent.at = getelementptr %task, ptr %task, i32 0, i32 2
  store i64 %extent, ptr %extent.at
  %status.at = getelementptr %task, ptr %task, i32 0, i32 3
  store i32 0, ptr %status.at
  %count = trunc i64 %least to i32
  call void @GOMP_parallel(ptr @{PARALLEL}_worker, ptr %task, i32 %count, i32 0)
  %status = load i32, ptr %status.at
  ret i32 %status
}}
"""
"""The runtime over libgomp (https://gcc.gnu.org/onlinedocs/libgomp/Implementing-PARALLEL-construct.html)."""

SERIAL = f"""
define i32 @{PARALLEL}(ptr %body, ptr %closure, i64 %extent, i32 %threads) {{
  %status = call i32 %body(ptr %closure, i64 0, i64 %extent)
  ret i32 %status
}}
"""
"""The runtime of a library linked without OpenMP."""


def thread_count() -> int:
    """Return the number of threads of a parallel loop: from the environment, or one per core."""
    for name in ("TVMS_NUM_THREADS", "OMP_NUM_THREADS"):
        first = os.environ.get(name, "").partition(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return int(first)
    return core_count()


@cache
def find_openmp() -> str | None:
    """Return the name of the OpenMP runtime library; None if there is none."""
    return ctypes.util.find_library("gomp")


class ThreadPool:
    """Python threads that run machine code without the GIL; the entry at `address` is the runtime without OpenMP."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=max(1, thread_count()), thread_name_prefix="tvms")
        self._body = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        kind = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint32)
        self._callback = kind(self._run)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _run(self, body: int, closure: int, extent: int, threads: int) -> int:
        call: Callable[..., int] = self._body(body)
        count = min(threads or thread_count(), extent)
        ranges = [(extent * number // count, extent * (number + 1) // count) for number in range(count)]
        others = [self._executor.submit(call, closure, begin, end) for begin, end in ranges[1:]]
        own = call(closure, *ranges[0]) if ranges else 0
        return max([own, *(other.result() for other in others)])
