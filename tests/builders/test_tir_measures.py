"""Measures of loop functions under TVM's names, and helpers of tensor expressions."""

from __future__ import annotations

import pytest
import tvms
from tvms import te, tir, topi
from tvms.tir import analysis
from tvms.topi import utils
from tvms.topi.math import exp
from tvms.topi.nn.pooling import pool2d

PEAKS = """
T.prim_func peaks(A: T.Buffer((8,), "float32")):
    B = T.allocate([8], "float32", "global")
    with T.allocate([16], "float16", "shared") as C:
        T.evaluate(C)
    with T.allocate([4], "float16", "shared") as D:
        E = T.allocate([10], "int8", "shared")
        T.evaluate(E)
    T.evaluate(B)
"""


def test_peak_of_allocated_memory() -> None:
    module = tvms.parse(PEAKS)
    assert analysis.calculate_allocated_bytes(module["peaks"]) == {"main": {"global": 32, "shared": 32}}
    assert analysis.calculate_allocated_bytes(module) == {"peaks": {"global": 32, "shared": 32}}


@pytest.mark.parametrize(
    ("body", "is_pure"),
    [
        ("T.evaluate(A[0] + 1.0)", True),
        ("B = T.alloc_buffer((1,))\n    B[0] = A[0]", True),
        ("A[0] = 1.0", False),
        ('T.evaluate(T.call_extern("int32", "print"))', False),
    ],
)
def test_purity(body: str, is_pure: bool) -> None:
    func = tvms.parse(f'T.prim_func f(A: T.Buffer((8,), "float32")):\n    {body}\n')["f"]
    assert analysis.is_pure_function(func) is is_pure
    if is_pure:
        assert analysis.assert_pure_function(func)
    else:
        with pytest.raises(AssertionError, match="the function is not pure: "):
            analysis.assert_pure_function(func)


def test_number_of_operations() -> None:
    x, y = te.placeholder((8, 16)), te.placeholder((16, 4))
    k = te.reduce_axis(tvms.ir.Range(0, 16), "k")
    product = te.create_prim_func([x, y, te.compute((8, 4), lambda i, j: te.sum(x[i, k] * y[k, j], k))])
    assert analysis.estimate_tir_flops(tvms.IRModule({"main": product})) == 2 * 8 * 4 * 16
    text = """
T.prim_func f(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(8):
        if i < 4:
            A[i] = T.exp(A[i]) + 1.0
        else:
            A[i] = A[i] * A[i + 1 - 1] * 2.0 + 1.0
"""
    branches = tvms.parse(text)["f"]
    assert analysis.estimate_tir_flops(branches.body) == 8 * 3
    text = """
T.prim_func f(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(8):
        for j in range(i + 1):
            if T.min(i, n) < j and A[j] * 2.0 > 1.0:
                A[j] = T.Select(A[i] > 0.0, A[i] * A[i], A[i] + 1.0 - A[j])
"""
    triangle = tvms.parse(text)["f"]
    assert analysis.estimate_tir_flops(triangle) == 8 * 8 * 2
    assert analysis.estimate_tir_flops(triangle.with_attr("estimated_flops", 72)) == 72
    unknown = tvms.parse(
        'T.prim_func f(A: T.Buffer((8,), "float32"), n: T.int32):\n    for i in range(n):\n        A[i] = 1.0\n'
    )
    with pytest.raises(ValueError, match="the extent n of the loop over 'i' has no upper bound"):
        analysis.estimate_tir_flops(unknown)


def test_modules_with_accesses_out_of_bounds_are_refused() -> None:
    text = 'T.prim_func f(A: T.Buffer((8,), "float32")):\n    for i in range({}):\n        A[i] = 1.0\n'
    module = tvms.parse(text.format(8))
    assert analysis.OOBChecker()(module) is module
    with pytest.raises(tvms.TvmsError, match="E0414"):
        analysis.OOBChecker()(tvms.parse(text.format(9)))


def test_statements_of_a_sequence_by_index() -> None:
    func = tvms.parse('T.prim_func f(A: T.Buffer((8,), "float32")):\n    A[0] = 1.0\n    A[1] = 2.0\n')["f"]
    assert len(func.body) == 2
    assert func.body[-1] is func.body.seq[1]
    assert list(func.body) == list(func.body.seq)


def test_reductions_are_whole_values_of_a_computation() -> None:
    x = te.placeholder((8, 16))
    k, other = te.reduce_axis((0, 16), "k"), te.reduce_axis((0, 8), "other")
    with pytest.raises(tvms.TvmsError, match="'y' uses a reduction as part of an expression"):
        te.compute((8,), lambda i: te.sum(x[i, k], k) + 1.0, name="y")
    for value in (lambda i: (te.sum(x[i, k], k), x[i, 0]), lambda i: (te.sum(x[i, k], k), te.sum(x[i, other], other))):
        with pytest.raises(tvms.TvmsError, match="'y' computes values with different reductions together"):
            te.compute((8,), value, name="y")


def test_operations_know_their_tensors() -> None:
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: (x[i] + x[i], x[i] * 2.0), name="y")
    z = te.compute((8,), lambda i: y[0][i] + y[1][i] + x[i], name="z")
    assert (y[0].op.num_outputs, z.op.num_outputs) == (2, 1)
    assert [(tensor.op.name, tensor.value_index) for tensor in z.op.input_tensors] == [("y", 0), ("y", 1), ("x", 0)]
    assert [operation.name for operation in z.op.inputs] == ["y", "x"]
    assert (y[0].op.output(1).name, y[0].op.output(1).value_index) == (y[1].name, 1)
    call = te.extern((8,), [x], lambda given, made: tir.call_extern("int32", "f", given[0].data, made[0].data))
    assert (call.op.input_tensors, call.op.output(0).dims) == ((x,), call.dims)


def test_tags_are_not_nested() -> None:
    with te.tag_scope("outer"), pytest.raises(ValueError, match="is inside"), te.tag_scope("inner"):
        pass


def test_computed_tensors_with_a_free_layout_are_annotated() -> None:
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] * 2.0, name="y")
    z = te.compute((8,), lambda i: y[i] + x[i], name="z", attrs={"layout_free_placeholders": [x, y]})
    func = te.create_prim_func([x, z])
    assert func.attrs["layout_free_buffers"] == (0,)
    block = func.body.block.body[1].body.block
    assert [buffer.name for buffer in block.annotations["layout_free_placeholders"]] == ["y"]


def test_helpers_of_shapes() -> None:
    n = te.var("n")
    assert utils.get_const_tuple((n, tir.IntImm("int32", 2) * 3, 4)) == (n, 6, 4)
    assert utils.get_const_int(n - n + 3) == 3
    assert utils.get_const_float(tir.FloatImm("float32", 0.5)) == 0.5
    assert utils.get_float_tuple((1, 0.25)) == (1.0, 0.25)
    for convert in (utils.get_const_int, utils.get_const_float):
        with pytest.raises(ValueError, match="expected a constant, got n"):
            convert(n)
    assert utils.equal_const_int(n - n, 0)
    assert not utils.equal_const_int(n, 0)
    assert (utils.prod([2, 3]), utils.prod([])) == (6, 1)
    assert utils.ravel_index((1, 2), (4, 5)) == 7
    assert [part.value for part in utils.unravel_index(13, (4, 5))] == [2, 3]
    assert utils.ceil_div(7, 2).value == 4
    assert (utils.is_dynamic_shape((2, n)), utils.is_dynamic_shape((2, 3))) == (True, False)
    assert (utils.is_empty_shape((2, 0)), utils.is_empty_shape((2, n))) == (True, False)
    assert utils.swap((1, 2, 3), 0) == (3, 2, 1)
    assert (utils.get_max_power2_factor(48), utils.get_max_power2_factor(48, 8)) == (16, 8)
    assert utils.simplify(4) == 4


def test_modules_that_topi_re_exports() -> None:
    assert exp(te.placeholder((4,))).dims[0].value == 4
    assert topi.math is topi
    assert pool2d is topi.nn.pool2d
