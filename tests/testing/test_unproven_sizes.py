"""Graphs whose sizes no proof shows to be equal: the law compares results or codes, and notices a check that is missing."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.dsl.testing.laws.graph import LAW
from tvms.dsl.testing.oracle import interpreted
from tvms.dsl.testing.unproven_sizes import SIZES

TEXT = """
I.ir_module Module:
    I.module_attrs({{"sizes": {{"n": {n}, "m": {m}}}}})

    R.function main(x: R.Tensor((2, "n"), "float32"), y: R.Tensor(("m", 3), "float32")):
        z = R.matmul(x, y)
        return z
"""


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 3), (0, 0), (0, 1)])
def test_all_executors_report_the_same(n: int, m: int) -> None:
    LAW.check((tvms.parse(TEXT.format(n=n, m=m)), 0), lambda module, name: tvms.compile(module)[name])


def _unchecked(*args: Any) -> int:
    return 0


def test_a_missing_check_is_a_difference() -> None:
    module = tvms.parse(TEXT.format(n=2, m=3))
    assert module.attrs[SIZES] == {"n": 2, "m": 3}
    with pytest.raises(AssertionError) as caught:
        LAW.check((module, 0), lambda module, name: _unchecked)
    assert str(caught.value) == "compiled: no error, not E0705 (sizes {'n': 2, 'm': 3}, seed 0)"
    LAW.check((module, 0), interpreted)
