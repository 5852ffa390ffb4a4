"""`deep`: recursion deeper than Python's limit, with nothing left changed behind it."""

import sys
import threading

import pytest
from tvms.ir import tir
from tvms.ir.deep import deep
from tvms.ir.diagnostics import TvmsError


@deep
def count_down(n: int) -> int:
    return 0 if n == 0 else 1 + count_down(n - 1)


@deep
def fail_at_the_bottom(n: int) -> int:
    if n == 0:
        raise KeyError("bottom")
    return fail_at_the_bottom(n - 1)


@pytest.mark.parametrize("depth", [0, 10, 30_000])
def test_any_depth_gives_the_value_and_restores_the_limits(depth: int) -> None:
    before = sys.getrecursionlimit(), threading.stack_size(), threading.active_count()
    assert count_down(depth) == depth
    assert (sys.getrecursionlimit(), threading.stack_size(), threading.active_count()) == before


def test_shallow_calls_start_no_thread() -> None:
    assert deep(threading.current_thread)() is threading.main_thread()


def test_an_error_at_depth_reaches_the_caller() -> None:
    with pytest.raises(KeyError, match="bottom"):
        fail_at_the_bottom(30_000)


def test_recursion_without_end_says_that_it_is_too_deep() -> None:
    @deep
    def forever() -> None:
        forever()

    with pytest.raises(TvmsError, match="E0010"):
        forever()


def test_what_nests_deep_is_freed_without_a_deep_stack() -> None:
    node: tir.PrimExpr = tir.IntImm("bool", 1)
    for _ in range(300_000):
        node = tir.Not("bool", node)
    del node
