"""Scalable vectors: every operator keeps `vscale`, whether it is written as text, built, simplified or lowered."""

import numpy as np
import pytest
import tvms
from tvms.ir import make, tir
from tvms.ir.dtype import is_vector, same_lanes, with_lanes_of
from tvms.ir.equal import structural_equal
from tvms.ir.simplify import simplify
from tvms.ir.visit import walk

WIDTH = "T.vscale() * 4"
"""One vector of 4 lanes times the factor of the machine, which is 1 in the interpreter."""

LANES = f"T.ramp(0, 1, {WIDTH})"
CONDITIONS = [
    "x < y",
    "x >= 3",
    "T.EQ(x, y)",
    "T.And(x < y, x > 0)",
    "T.Or(x < y, x > 0)",
    "x < y and x != 2",
    "not x < y",
    "T.Not(x < y)",
]
VALUES = [
    "x + y", "T.max(x, 2)", "-x", "T.abs(x)", "T.Select(x < y, x, y)", "T.Cast(\"int32xvscalex4\", T.Cast(\"float32xvscalex4\", x))",
    "T.Cast(\"int32xvscalex4\", T.isnan(T.Cast(\"float32xvscalex4\", x)))", "T.bitwise_and(x, 1)",
    "T.reinterpret(\"int32xvscalex4\", T.Cast(\"float32xvscalex4\", x))",
]  # fmt: skip


def program(value: str) -> str:
    return f"""T.prim_func main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    x: T.int32xvscalex4 = A[{LANES}]
    y: T.int32xvscalex4 = B[{LANES}]
    C[{LANES}] = {value}
"""


def fixed(text: str) -> str:
    return text.replace("xvscalex4", "x4").replace(WIDTH, "4")


@pytest.mark.parametrize("value", [*VALUES, *(f'T.Cast("int32xvscalex4", {condition})' for condition in CONDITIONS)])
def test_every_operator_keeps_the_scalability(value: str) -> None:
    module = tvms.parse(program(value))
    assert tvms.verify(module) == ()
    assert structural_equal(tvms.parse(module.script()), module)
    dtypes = {
        node.dtype for node in walk(module["main"].body) if isinstance(node, tir.PrimExpr) and is_vector(node.dtype)
    }
    assert all("xvscalex4" in dtype for dtype in dtypes)
    a, b = np.array([0, 3, -2, 7], "int32"), np.array([1, 3, 5, -7], "int32")
    results = []
    for text in (program(value), fixed(program(value))):
        c = np.zeros(4, "int32")
        tvms.interpret(tvms.parse(text), "main", [a, b, c])
        results.append(c)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("shape", ["", "x4", "xvscalex4", "xvscalex1"])
def test_dtypes_of_results_have_the_lanes_of_operands(shape: str) -> None:
    x, y = tir.Var(f"int32{shape}", "x"), tir.Var(f"int32{shape}", "y")
    less = make.less(x, y)
    assert less.dtype == with_lanes_of("bool", x.dtype) == f"bool{shape}"
    assert make.logical_not(less).dtype == make.logical_and(less, less).dtype == f"bool{shape}"
    assert simplify(make.logical_not(less)).dtype == f"bool{shape}"
    assert is_vector(x.dtype) == bool(shape)
    assert same_lanes(x.dtype, f"float32{shape}")
    assert not same_lanes(x.dtype, "int32x8")


def test_simplification_treats_scalable_conditions_as_vectors() -> None:
    x, y = tir.Var("int32xvscalex4", "x"), tir.Var("int32xvscalex4", "y")
    both = make.logical_and(make.less(x, y), make.less(y, x))
    for expr in (both, make.logical_not(both), tir.Select(x.dtype, both, x, y)):
        assert simplify(expr).dtype == expr.dtype


def test_a_mask_is_as_scalable_as_its_access() -> None:
    text = f"""T.prim_func main(A: T.Buffer((4,), "int32")):
    A.vstore([{LANES}], T.broadcast(1, {WIDTH}), T.broadcast(T.bool(True), 4))
"""
    message = "the predicate of an access to 'A' has 4 lanes, its index vscale * 4"
    assert [(found.code, found.message) for found in tvms.verify(tvms.parse(text))] == [("E0406", message)]
