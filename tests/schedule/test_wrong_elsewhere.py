"""Schedules that Apache TVM 0.21 is known to accept and to get wrong: here they are refused, or right."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.dsl.testing.oracle import assert_equivalent
from tvms.ir.schedule import Schedule, ScheduleError


def natively(module: Any, entry: str) -> Any:
    return tvms.compile(module, target="llvm", schedule=False, level=0)[entry]


def check_results(before: Any, after: Any) -> None:
    """A scheduled program computes what it did: interpreted, and as machine code."""
    assert_equivalent(before, after)
    assert_equivalent(before, after, execute_after=natively)


CHAIN = """
T.prim_func chain(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] * 2.0
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = C[vi] * 3.0
"""


def test_a_producer_is_not_moved_behind_its_consumer() -> None:
    """`reverse_compute_at` of a producer under a loop of its consumer's consumer: C reads B before it is computed."""
    schedule = Schedule(tvms.parse(CHAIN), error_render_level="fast")
    with pytest.raises(ScheduleError) as caught:
        schedule.reverse_compute_at("B", schedule.get_loops("D")[0])
    assert str(caught.value) == (
        "error[E0517]: argument 1, 'block' to reverse_compute_at: under the loop, block 'B' would write what block 'C' "
        "has read\n  = help: compute the producers fully before they are read, and write each buffer once"
    )


SUMS = """
T.prim_func sums(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 16):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""


def test_a_block_made_of_a_reduction_starts_in_the_buffer_that_it_writes() -> None:
    """`blockize`, then `cache_write`: the init stays on the old buffer, and the sum starts from what is in the new."""
    before = tvms.parse(SUMS)
    schedule = Schedule(before)
    _, k = schedule.get_loops("B")
    _, inner = schedule.split(k, factors=[None, 4])
    block = schedule.blockize(inner)
    schedule.cache_write(block, 0, "local")
    check_results(before, schedule.mod)
    assert "B_local[vi_o] = T.float32(0)" in schedule.mod.script()


def test_a_block_inside_is_not_cached_without_what_starts_its_sum() -> None:
    """The same of the inner block: what starts its sum stands outside."""
    before = tvms.parse(SUMS)
    schedule = Schedule(before, error_render_level="fast")
    _, k = schedule.get_loops("B")
    _, inner = schedule.split(k, factors=[None, 4])
    schedule.blockize(inner)
    with pytest.raises(ScheduleError) as caught:
        schedule.cache_write("B", 0, "local")
    assert str(caught.value) == (
        "error[E0551]: argument 1, 'block' to cache_write: block 'B' reads earlier values of 'B'\n"
        "  = help: compute the buffer fully before it is read"
    )


PAIR = """
T.prim_func pair(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] * 2.0
"""


@pytest.mark.parametrize("kind", ["vectorize", "parallel", "unroll"])
def test_iterations_that_run_at_once_share_no_element(kind: str) -> None:
    """`compute_at`, then `vectorize`: the buffer between the blocks is made one element, which all lanes share."""
    before = tvms.parse(PAIR)
    schedule = Schedule(before)
    (i,) = schedule.get_loops("C")
    schedule.compute_at("B", i)
    getattr(schedule, kind)(i)
    check_results(before, schedule.mod)
