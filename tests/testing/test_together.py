"""Examples that are compiled and executed together fail and shrink individually."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import tvms
from hypothesis import strategies as st
from tvms.codegen.runtime.variants import compile_together
from tvms.dsl.testing import campaign
from tvms.dsl.testing.apart import Apart
from tvms.dsl.testing.laws.law import Law
from tvms.ir.diagnostics import TvmsError
from tvms.testing.campaign import run_batch

ADD = """
I.ir_module Module:
    T.prim_func main(A: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("add"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] + {}
        Module.more(A.data)

    T.prim_func(private=True) more(B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = B[i] * {}
"""


def test_functions_of_one_name_keep_apart() -> None:
    programs = [(tvms.parse(ADD.format(number, number + 2)), bounds) for number, bounds in ((1, "prove"), (5, "check"))]
    for number, ways in zip((1, 5), compile_together(programs), strict=True):
        assert isinstance(ways, dict)
        assert [*ways] == ["O0", "O3", "scheduled"]
        for entries in ways.values():
            values = np.arange(4, dtype="int32")
            entries["main"](values)
            assert values.tolist() == [(i + number) * (number + 2) for i in range(4)]


def test_faults_are_those_of_their_function() -> None:
    text = 'T.prim_func main(A: T.Buffer((4,), "int32"), k: T.int32):\n    A[k + {}] = 1\n'
    compiled = compile_together([(tvms.parse(text.format(number)), "check") for number in (2, 3)])
    for number, ways in zip((2, 3), compiled, strict=True):
        assert isinstance(ways, dict)
        for entries in ways.values():
            with pytest.raises(TvmsError, match=rf"A\[{number + 7}\] is outside the buffer"):
                entries["main"](np.zeros(4, "int32"), 7)


def test_what_does_not_compile_leaves_the_others() -> None:
    good = tvms.parse(ADD.format(1, 1)), "prove"
    before, wrong, after = compile_together([good, (tvms.parse(_LONG), "prove"), good])
    assert isinstance(before, dict)
    assert isinstance(wrong, TvmsError)
    assert isinstance(after, dict)


_LONG = """
T.prim_func main(A: T.Buffer((4,), "int32")):
    for i in T.parallel(4):
        if A[i] == 0:
            break
"""


def _law(wrong: int, alone: int) -> Law:
    """Return a law of numbers up to 999: from `wrong` on they fail with others, from `alone` on by themselves."""

    def check(example: int, execute: Any) -> None:
        assert example < alone, f"{example} is too great"

    def check_all(examples: Sequence[int], execute_all: Any) -> Iterator[None]:
        for example in examples:
            assert example < wrong, f"{example} is too great among others"
            yield

    return Law(lambda file: st.integers(0, 999), check, check_all, constructs=lambda example: [str(example)])


def test_a_failure_is_shrunk_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "find_law", lambda name: _law(500, 500))
    batch = run_batch("numbers", None, 1, 0, 60, lambda module, name: {})
    assert batch.failure
    assert batch.failure.text == "500"
    assert batch.failure.reason.startswith("AssertionError: 500 is too great")
    assert 0 <= batch.checked < batch.started == batch.checked + 1
    again = run_batch("numbers", None, 1, 0, 60, lambda module, name: {}, is_shrunk=False)
    assert again.checked == batch.checked
    assert again.failure
    assert int(again.failure.text) >= 500


def test_what_fails_only_with_others_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "find_law", lambda name: _law(500, 1000))
    batch = run_batch("numbers", None, 1, 0, 60, lambda module, name: {})
    assert batch.failure
    assert batch.failure.reason.startswith(f"AssertionError: {batch.failure.text} is too great among others")


def test_work_goes_on_after_a_process_has_ended() -> None:
    def killed() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def fails() -> None:
        raise ValueError("no")

    works = [lambda: [os.getpid()], killed, lambda: {"a": 1}, fails, lambda: [os.getpid()]]
    with Apart(works) as apart:
        first, *others, last = [apart.result(number) for number in range(len(works))]
    assert others == ["ended by SIGKILL", {"a": 1}, "ValueError: no"]
    assert first != last
    assert os.getpid() not in (*first, *last)
