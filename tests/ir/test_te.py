"""Tensor expressions become the TensorIR that TVM makes of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import tir as api
from tvms.ir import te, tir
from tvms.ir.diagnostics import TvmsError
from tvms.ir.interp import run


def _matmul(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    k = te.reduce_axis((0, a.shape[1]), name="k")

    def value(i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        return te.sum(a[i, k] * b[k, j], axis=k)

    return te.compute((a.shape[0], b.shape[1]), value, name="matmul")


MATMUL_RELU = """\
# from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), relu: T.Buffer((128, 128), "float32")):
    T.func_attr({"tir.noalias": True})
    # with T.block("root"):
    matmul = T.alloc_buffer((128, 128))
    for i, j, k in T.grid(128, 128, 128):
        with T.block("matmul"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            T.reads(A[v_i, v_k], B[v_k, v_j])
            T.writes(matmul[v_i, v_j])
            with T.init():
                matmul[v_i, v_j] = T.float32(0.0)
            matmul[v_i, v_j] = matmul[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
    for i0, i1 in T.grid(128, 128):
        with T.block("relu"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(matmul[v_i0, v_i1])
            T.writes(relu[v_i0, v_i1])
            relu[v_i0, v_i1] = T.max(matmul[v_i0, v_i1], T.float32(0.0))"""


def test_a_composed_computation_allocates_what_is_between() -> None:
    a, b = te.placeholder((128, 128), name="A"), te.placeholder((128, 128), name="B")
    product = _matmul(a, b)
    relu = te.compute(product.shape, lambda *i: te.max(product(*i), 0), name="relu")
    assert te.create_prim_func([a, b, relu]).script("tvm-0.21").strip() == MATMUL_RELU


def test_symbolic_shapes_are_matched_and_free_variables_are_parameters() -> None:
    n, m = tir.Var("int64", "n"), tir.Var("int64", "m")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a(i) + te.cast(m, "float32"), name="B")
    function = te.create_prim_func([a, b, m])
    assert [param.name for param in function.params] == ["var_A", "var_B", "m"]
    assert "A = T.match_buffer(var_A, (n,))" in function.script("tvm-0.21")


def test_several_values_are_reduced_together() -> None:
    import numpy as np
    from tvms.ir.base import IRModule

    a = te.placeholder((3, 5), name="A")
    k = te.reduce_axis((0, 5), "k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.maximum(x[1], y[1])),
        lambda s, t: (te.const(0, s), te.min_value(t)),  # type: ignore[reportUnknownLambdaType]
    )
    total, greatest = te.compute((3,), lambda i: both((a(i, k), a(i, k)), axis=k), name="both")
    module = IRModule({"main": te.create_prim_func([a, total, greatest])})
    x = np.random.default_rng(0).random((3, 5), "float32")
    sums, maxima = np.empty(3, "float32"), np.empty(3, "float32")
    run(module, "main", [x, sums, maxima])
    np.testing.assert_allclose(sums, x.sum(1), 1e-6)
    np.testing.assert_array_equal(maxima, x.max(1))


def test_a_scalar_computation_gets_an_iterator() -> None:
    a = te.placeholder((), name="A")
    b = te.compute((), lambda: a() + 1, name="B")
    text = te.create_prim_func([a, b]).script("tvm-0.21")
    assert "vi = T.axis.spatial(1, 0)" in text
    text = te.create_prim_func([a, b], "int64").script("tvm-0.21")
    assert "vi = T.axis.spatial(1, T.int64(0))" in text


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("tril(x, 1)", "v_{j} <= v_{i} + 1"), ("tril(x, 0)", "v_{j} <= v_{i}"), ("tril(x, -1)", "v_{j} < v_{i}"),
        ("tril(x, -2)", "v_{j} + 2 <= v_{i}"), ("triu(x, 1)", "v_{i} < v_{j}"), ("triu(x, 2)", "v_{i} + 2 <= v_{j}"),
        ("triu(x, 0)", "v_{i} <= v_{j}"), ("triu(x, -2)", "v_{i} <= v_{j} + 2"),
    ],
)  # fmt: skip
def test_conditions_of_triangles_are_in_tvm_s_form(call: str, condition: str) -> None:
    text = f'R.function main(x: R.Tensor((3, 4), "int8")) -> R.Tensor((3, 4), "int8"):\n    return R.{call}\n'
    body = tvms.relax.transform.LegalizeOps()(tvms.parse(text)).script()
    i, j = re.findall(r"for (\w+), (\w+) in T.grid", body)[0]
    assert f"T.Select({condition.format(i=i, j=j)}, " in body


def test_block_names_are_unique() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a(i) + 1, name="T_add")
    c = te.compute((4,), lambda i: b(i) + 1, name="T_add")
    d = te.compute((4,), lambda i: c(i) + 1, name="T_add")
    text = te.create_prim_func([a, d]).script("tvm-0.21")
    assert [f'T.block("T_add{suffix}")' in text for suffix in ("", "_1", "_2")] == [True] * 3


def test_misuse_is_refused() -> None:
    a = te.placeholder((4, 4), name="A")
    with pytest.raises(TypeError, match="tensor 'A' has 2 dimensions, but is indexed with 1"):
        a(0)
    with pytest.raises(TypeError, match="TensorSlice"):
        a[0] + 1
    with pytest.raises(TypeError, match="the function takes 1 indices, but the tensor has 2 dimensions"):
        te.compute((4, 4), lambda i: a(i, i))
    with pytest.raises(ValueError, match=r"^an expression has no truth value; choose with te\.if_then_else, "):
        bool(a(0, 0) < 1)
    with pytest.raises(ValueError, match="placeholder 'A' is not among the arguments of the function"):
        te.create_prim_func([te.compute((4, 4), lambda i, j: a(i, j))])


def shifted_rows(inputs: Any, outputs: Any) -> Any:
    """A statement that writes each row of its output from the one before it."""
    i = api.Var("i", "int32")
    store = api.BufferStore(outputs[0], inputs[0][api.floormod(i + 7, 8), 0] + inputs[1][i, 3], [i])
    return api.For(i, 0, 8, api.ForKind.SERIAL, store)


def test_a_statement_computes_a_tensor_as_a_whole() -> None:
    source = te.placeholder((8, 4), name="A")
    doubled = te.compute((8, 4), lambda i, j: source[i, j] * 2.0, name="B")
    rows = te.extern((8,), [source, doubled], shifted_rows, name="C")
    result = te.compute((8,), lambda i: rows[i] + 1.0, name="D")
    module = tvms.IRModule({"main": te.create_prim_func([source, result])})
    assert not tvms.verify(module)
    assert tvms.structural_equal(tvms.parse(module.script()), module)
    a, wanted = np.random.default_rng(0).random((8, 4), "float32"), np.empty(8, "float32")
    for call in (tvms.compile(module)["main"], lambda *args: tvms.interpret(module, "main", args)):
        call(a, wanted)
        np.testing.assert_allclose(wanted, np.roll(a[:, 0], 1) + 2 * a[:, 3] + 1, rtol=1e-6)


def test_a_call_computes_several_tensors() -> None:
    source = te.placeholder((8, 4), name="A")
    first, second = te.extern(
        [(8, 4), (4,)],
        [source],
        lambda inputs, outputs: api.call_extern("int32", "f", inputs[0].data, *[output.data for output in outputs]),
        dtype=["float32", "int32"],
    )
    assert (first.name, second.name, second.dtype, second.value_index) == ("extern_v0", "extern_v1", "int32", 1)
    function = te.create_prim_func([source, first, second])
    assert 'T.call_extern("int32", "f", A.data, extern_v0.data, extern_v1.data)' in str(function)
    assert "T.writes(extern_v0[0:8, 0:4], extern_v1[0:4])" in str(function)


def test_a_tensor_computed_as_a_whole_has_a_known_dtype() -> None:
    with pytest.raises(ValueError, match=r"^te.extern: the inputs have 0 dtypes; give the dtype of the outputs$"):
        te.extern((8,), [], lambda inputs, outputs: 0)
    with pytest.raises(TypeError, match=r"^te.extern: the function returned 0, not a statement or a call$"):
        te.extern((8,), [], lambda inputs, outputs: 0, dtype="float32")


def test_a_slice_takes_its_other_indices_later() -> None:
    a = te.placeholder((2, 3, 4), name="A")
    assert isinstance(a[0][1], te.TensorSlice)
    for element in (a[1][2][3], a[1, 2][3], a[1][2, 3]):
        assert str(element) == "A[1, 2, 3]"
        assert element.astype("float16").dtype == "float16"
    with pytest.raises(TypeError, match="tensor 'A' has 3 dimensions, but is indexed with 4"):
        a[0][0, 0, 0]


def test_outputs_of_an_operation_are_equal() -> None:
    first, second = te.compute((4,), lambda i: (i, i + 1), name="pair")
    assert first.op.output(0) == first != second
    assert {first.op.output(1): 1}[second] == 1


def test_the_identity_and_the_combiner_of_a_reducer_may_use_axes_and_tensors() -> None:
    a, start = te.placeholder((3, 5), name="A"), te.placeholder((3,), name="S")
    k = te.reduce_axis((0, 5), name="k")

    def total(i: tir.PrimExpr) -> Any:
        scaled_sum = te.comm_reducer(lambda x, y: x + y * te.cast(i, "float32"), lambda dtype: start[i])
        return scaled_sum(a[i, k], axis=k)

    function = te.create_prim_func([a, start, te.compute((3,), total, name="total")])
    assert not tvms.verify(function)
    values, starts = np.arange(15, dtype="float32").reshape(3, 5), np.float32([7, 8, 9])
    result = np.zeros(3, "float32")
    run(tvms.IRModule({"main": function}), "main", [values, starts, result])
    np.testing.assert_array_equal(result, starts + np.arange(3) * values.sum(axis=1))


@pytest.mark.parametrize("override", [None, "int32", "int64"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda i: api.clz(i), [32, 31, 30, 30]),
        (lambda i: api.popcount(i - 3) + i, [31, 32, 34, 3]),
        (lambda i: api.popcount(i.astype("int64") - 3).astype("int32"), [63, 63, 64, 0]),
        (lambda i: (i & 1) + (i << 2) + (i >> 1) + ~i, [-1, 3, 6, 10]),
        (lambda i: te.if_then_else(i < 2, api.clz(i + 1), i), [31, 30, 2, 3]),
    ],
)
def test_the_dtype_of_indices_changes_no_bit_count(override: str | None, value: Any, expected: list[int]) -> None:
    x = te.placeholder((4,), "int32", "x")
    func = te.create_prim_func([x, te.compute((4,), lambda i: x[i] + value(i), "y")], index_dtype_override=override)
    module = tvms.IRModule({"main": func})
    assert tvms.verify(module) == ()
    assert "reinterpret" not in str(func)
    result = np.zeros(4, "int32")
    tvms.interpret(module, "main", [np.zeros(4, "int32"), result])
    np.testing.assert_array_equal(result, expected)


def _triangle(n: Any, first: Any, last: Any, start: float) -> tuple[te.Tensor, te.Tensor]:
    """Return A and the sums of `A[i, k]` over `first(i) <= k < last(i)`, plus a value that the identity would show."""
    a = te.placeholder((n, n), name="A")

    def row(i: tir.PrimExpr) -> tir.PrimExpr:
        k = te.reduce_axis((first(i), last(i)), name="k")
        combine = te.comm_reducer(lambda x, y: te.maximum(x, y), lambda dtype: te.const(start, dtype))
        return combine(a[i, k], axis=k)

    return a, te.compute((n,), row, name="C")


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (lambda i: 0, lambda i: i),
        (lambda i: i, lambda i: 6),
        (lambda i: te.maximum(i - 2, 0), lambda i: te.minimum(i + 2, 6)),
        (lambda i: i // 2, lambda i: i // 2 + 3),
        (lambda i: i % 3, lambda i: i % 2 + 2),
    ],
)
@pytest.mark.parametrize("is_symbolic", [False, True])
def test_ranges_of_reductions_may_depend_on_axes(first: Any, last: Any, is_symbolic: bool) -> None:
    n = te.var("n") if is_symbolic else 6
    function = te.create_prim_func([*_triangle(n, first, last, -1.0)])
    values = np.random.default_rng(3).random((6, 6), dtype="float32")
    found = np.zeros(6, "float32")
    ends = [[int(te.operand(end(tir.IntImm("int32", i)))) for end in (first, last)] for i in range(6)]
    expected = [values[i, begin:end].max(initial=-1.0) for i, (begin, end) in enumerate(ends)]
    run(tvms.IRModule({"main": function}), "main", [values, found])
    np.testing.assert_array_equal(found, np.array(expected, "float32"))


def test_a_range_may_depend_on_another_axis_of_the_reduction() -> None:
    x = te.placeholder((5, 5, 5), name="x")

    def value(i: tir.PrimExpr) -> tir.PrimExpr:
        outer = te.reduce_axis((0, i), name="outer")
        inner = te.reduce_axis((0, outer.var), name="inner")
        return te.sum(x[i, outer, inner], axis=[inner, outer])

    function = te.create_prim_func([x, te.compute((5,), value, name="C")])
    assert "for i, inner, outer in T.grid(5, 3, 4):" in str(function)
    assert "T.if_then_else(v_outer < v_i and v_inner < v_outer, x[v_i, v_outer, v_inner], T.float32(0))" in str(
        function
    )
    values = np.random.default_rng(4).integers(0, 9, (5, 5, 5)).astype("float32")
    found = np.ones(5, "float32")
    run(tvms.IRModule({"main": function}), "main", [values, found])
    assert found.tolist() == [sum(values[i, a, b] for a in range(i) for b in range(a)) for i in range(5)]


def test_a_range_without_an_upper_bound_is_refused() -> None:
    x, m = te.placeholder((5,), name="x"), te.placeholder((5,), "int32", name="m")
    c = te.compute(
        (5,), lambda i: te.sum(x[te.reduce_axis((0, m[i]), "k")], axis=te.reduce_axis((0, m[i] + i), "k")), name="C"
    )
    with pytest.raises(TvmsError) as caught:
        te.create_prim_func([x, m, c])
    assert str(caught.value) == (
        "error[E0233]: axis 'k' of 'C' has no upper bound\n  = help: bound its extent, for example with te.min"
    )


def test_a_scan_is_built_and_refused_when_it_is_lowered() -> None:
    x, state = te.placeholder((8, 4), name="x"), te.placeholder((8, 4), name="state")
    first = te.compute((1, 4), lambda t, i: x[t, i])
    total = te.scan(first, te.compute((8, 4), lambda t, i: state[t - 1, i] + x[t, i]), state, inputs=[x], name="total")
    assert isinstance(total, te.Tensor)
    assert (total.name, [int(dim) for dim in total.dims], total.dtype) == ("total", [8, 4], "float32")
    assert isinstance(total.op, te.ScanOp)
    several = te.scan([first, first], [total, total], [state, state])
    assert [tensor.value_index for tensor in several] == [0, 1]
    with pytest.raises(TypeError) as caught:
        te.create_prim_func([x, te.compute((8, 4), lambda i, j: total[i, j] + 1)])
    assert str(caught.value) == (
        "error[E0702]: Unsupported Operation: te.ScanOp. The scan 'total' cannot be expressed as a block\n"
        "  = help: write the loop as a loop function, and call it with te.extern_primfunc"
    )
    with pytest.raises(TypeError) as caught:
        te.scan([first, first], total, state)
    assert str(caught.value) == (
        "error[E0702]: te.scan takes as many init, update and state_placeholder tensors, got 2, 1, 1\n"
        "  = help: give one of each for an output, of the same rank and dtype"
    )
    with pytest.raises(TypeError, match="differ: float32 of rank 2, float32 of rank 2, float32 of rank 1"):
        te.scan(first, total, te.placeholder((8,)))
