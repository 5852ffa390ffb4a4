"""Cost of scheduling: the time of a matrix product tiled in 40 steps, and the memory of 200 undo levels.

python bench/schedules.py
"""

from __future__ import annotations

import gc
import time
import tracemalloc

import tvms
from tvms.ir.schedule import Schedule

MATMUL = """
T.prim_func matmul(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
    for i, j, k in T.grid(1024, 1024, 1024):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tile(schedule: Schedule) -> None:
    """Tile the three loops in three levels, fuse, reorder and annotate them: 40 steps."""
    block = schedule.get_block("matmul")
    i, j, k = schedule.get_loops(block)
    i0, i1 = schedule.split(i, factors=[None, 64])
    i1, i2 = schedule.split(i1, factors=[None, 16])
    i2, i3 = schedule.split(i2, factors=[None, 4])
    j0, j1 = schedule.split(j, factors=[None, 256])
    j1, j2 = schedule.split(j1, factors=[None, 64])
    j2, j3 = schedule.split(j2, factors=[None, 16])
    k0, k1 = schedule.split(k, factors=[None, 64])
    k1, k2 = schedule.split(k1, factors=[None, 4])
    schedule.reorder(i0, j0, k0, i1, j1, k1, i2, j2, k2, i3, j3)
    schedule.reorder(i2, k1)
    schedule.reorder(k1, i2)
    outer = schedule.fuse(i0, j0)
    outer0, outer1 = schedule.split(outer, factors=[None, 8])
    outer = schedule.fuse(outer0, outer1)
    middle = schedule.fuse(i1, j1)
    middle0, middle1 = schedule.split(middle, factors=[None, 4])
    middle = schedule.fuse(middle0, middle1)
    inner0, inner1 = schedule.split(i3, factors=[2, 2])
    i3 = schedule.fuse(inner0, inner1)
    schedule.annotate(block, "tiling", "SSRSRS")
    schedule.unannotate(block, "tiling")
    for step, loop in enumerate((outer, middle, i2, j2)):
        schedule.annotate(loop, "step", step)
        schedule.unannotate(loop, "step")
    schedule.parallel(outer)
    schedule.vectorize(j3)
    schedule.unroll(k2)
    schedule.unroll(i3)
    unit = schedule.add_unit_loop(block)
    schedule.annotate(unit, "innermost", 1)
    schedule.unannotate(unit, "innermost")
    schedule.annotate(unit, "innermost", 2)
    schedule.get_loops(block)


def main() -> None:
    """Print the time of 40 steps and the memory of 200."""
    module = tvms.parse(MATMUL)
    tile(Schedule(module))
    times: list[float] = []
    for _ in range(5):
        schedule = Schedule(module)
        start = time.process_time()
        tile(schedule)
        times.append(time.process_time() - start)
    steps = len(schedule.trace.insts)
    print(f"{steps} steps: {min(times) * 1e3:.1f} ms (best of 5; {min(times) / steps * 1e3:.2f} ms a step)")
    gc.collect()
    tracemalloc.start()
    schedule = Schedule(module)
    loop = schedule.get_loops(schedule.get_block("matmul"))[0]
    for _ in range(66):
        outer, inner = schedule.split(loop, factors=[None, 16])
        loop = schedule.fuse(outer, inner)
        schedule.annotate(loop, f"step {_}", 1)
        schedule.unannotate(loop, f"step {_}")
    levels = len(schedule.trace.insts)
    gc.collect()
    print(f"{levels} undo levels: {tracemalloc.get_traced_memory()[0] / 2**20:.1f} MiB")
    schedule.undo(levels)
    assert schedule.mod is module


if __name__ == "__main__":
    main()
