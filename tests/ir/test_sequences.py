"""Operators on sequences: compiled programs compute what the interpreter computes; positions are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.interp import run

PROGRAM = Path(__file__).parents[1] / "cases/forms/sequences.tvms"
X = np.arange(12, dtype="float32").reshape(3, 4)


def called(position: int, sizes: list[int], compiled: bool) -> Any:
    module = tvms.parse(PROGRAM.read_text(encoding="utf-8"))
    inputs = [X, np.array(position), np.array(sizes)]
    return tvms.compile(module)["main"](*inputs) if compiled else run(module, "main", inputs)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("position", [0, 1, -1, -2])
def test_sequences(position: int, compiled: bool) -> None:
    count, first, whole, absent, present = called(position, [1, 2], compiled)
    parts = [X[:1], X[1:], X]
    del parts[position]
    assert (int(count), bool(absent)) == (2, False)
    np.testing.assert_array_equal(first, parts[position])
    np.testing.assert_array_equal(present, parts[position])
    np.testing.assert_array_equal(whole, np.concatenate([X, X]))


BAD = {
    "position": (3, [1, 2], "error[E0707]: position 3 is outside a sequence of 3"),
    "sizes": (0, [1, 1], "error[E0705]: parts of the sizes [1, 1] do not cover a dimension of 3"),
    "negative size": (0, [-1, 4], "error[E0705]: parts of the sizes [-1, 4] do not cover a dimension of 3"),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_an_error(case: str, compiled: bool) -> None:
    position, sizes, message = BAD[case]
    with pytest.raises(tvms.TvmsError) as problem:
        called(position, sizes, compiled)
    assert str(problem.value).splitlines()[0] == message
