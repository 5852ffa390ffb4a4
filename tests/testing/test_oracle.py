"""The oracle tells programs apart that differ in one element, and says where."""

from __future__ import annotations

import pytest
import tvms
from tvms.testing import assert_equivalent

TEXT = """
T.prim_func main(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 3):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""
GRAPH = """
R.function main(x: R.Tensor(("n", 3), "float32")) -> R.Tuple(R.Tensor(("n", 3), "float32"), R.Tensor((3,), "float32")):
    y = R.add(x, x)
    z = R.sum(x, axis=[0])
    return (y, z)
"""


def complaint(before: str, after: str, **options: object) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_equivalent(tvms.parse(before), tvms.parse(after), **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_equal_programs_are_equivalent() -> None:
    assert_equivalent(tvms.parse(TEXT), tvms.parse(TEXT.replace("A[vi, vj] * T.float32(2)", "A[vi, vj] + A[vi, vj]")))
    assert_equivalent(tvms.parse(GRAPH), tvms.parse(GRAPH.replace("R.add(x, x)", "R.multiply(x, R.const(2.0))")))


def test_the_first_difference_is_told() -> None:
    one_off = TEXT.replace(
        "A[vi, vj] * T.float32(2)", "T.if_then_else(vi == 2, T.float32(9), A[vi, vj] * T.float32(2))"
    )
    said = "B differs (seed 0): element [2, 0] is 9.0, not "
    assert complaint(TEXT, one_off).startswith(said)
    graph = GRAPH.replace("R.sum", "R.max")
    assert complaint(GRAPH, graph, sizes={"n": 2}).startswith("the result[1] differs (seed 0): element [")


def test_the_tolerance_may_be_given() -> None:
    nearly = TEXT.replace("T.float32(2)", "T.float32(2.001)")
    assert complaint(TEXT, nearly).startswith("B differs")
    assert_equivalent(tvms.parse(TEXT), tvms.parse(nearly), tolerance=0.01)


def test_a_failure_of_the_second_is_a_difference() -> None:
    outside = TEXT.replace("= A[vi, vj]", "= A[vi + 1, vj]")
    assert complaint(TEXT, outside) == (
        "the second program fails (seed 0): "
        "error[E0707]: A[4, 0] is outside the buffer: its dimension 0 has 4 elements\n"
        "  --> <string>:6:25\n"
        "   |\n"
        " 6 |             B[vi, vj] = A[vi + 1, vj] * T.float32(2)\n"
        "   |                         ^^^^^^^^^^^^^"
    )
