"""Loop-level programs made of nodes in Python, as programs for TVM make them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import te, tir
from tvms.ir import Range, assert_structural_equal, load_json, save_json, structural_equal
from tvms.tir import analysis, stmt_functor
from tvms.tir.function import PrimFunc

TEXT = """\
T.prim_func double(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in T.vectorized(8):
            if i < 4:
                B[i, j] = A[i, j] * T.float32(2)
            else:
                B[i, j] = T.exp(A[i, j])
"""


def _double() -> Any:
    a, b = tir.decl_buffer((8, 8), "float32", name="A"), tir.decl_buffer((8, 8), name="B")
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    branch = tir.IfThenElse(i < 4, tir.BufferStore(b, a[i, j] * 2.0, [i, j]), b.vstore([i, j], tir.exp(a[i, j])))
    inner = tir.For(j, 0, 8, tir.ForKind.VECTORIZED, branch)
    return PrimFunc([a, b], tir.For(i, 0, 8, tir.ForKind.SERIAL, inner)).with_attr("global_symbol", "double")


def test_a_function_of_nodes_is_the_one_of_the_text() -> None:
    assert_structural_equal(_double(), tvms.parse(TEXT)["double"])


def test_a_block_of_nodes_is_the_one_of_the_text() -> None:
    text = """\
T.prim_func f(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            T.where(i < 4)
            T.reads(A[vi])
            T.writes(A[0:8])
            A[vi] = A[vi] + T.float32(1)
"""
    buffer, i, vi = tir.decl_buffer((8,), name="A"), tir.Var("i"), tir.Var("vi")
    block = tir.Block(
        [tir.IterVar((0, 8), vi, tir.IterVar.DataPar)], [tir.BufferRegion(buffer, [Range.from_min_extent(vi, 1)])], [buffer[0:8]], "A",
        tir.BufferStore(buffer, buffer[vi] + 1.0, [vi]),
    )  # fmt: skip
    loop = tir.For(i, 0, 8, 0, tir.BlockRealize([i], i < 4, block))
    root = tir.BlockRealize([], True, tir.Block([], [], [], "root", loop))
    assert_structural_equal(PrimFunc([buffer], root, attrs={"global_symbol": "f"}), tvms.parse(text)["f"])


def test_a_call_passes_buffers_as_tensors_as_that_of_the_text() -> None:
    text = """\
T.prim_func f(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
    B_1 = T.Buffer((4,), data=B.data, strides=(2,), elem_offset=1)
    T.call_packed("g", A, B_1, A.data, 3)
    T.call_cpacked("g", A)
"""
    a, b = tir.decl_buffer((8, 4), name="A"), tir.decl_buffer((8,), name="B")
    part = tir.decl_buffer((4,), name="B_1", data=b.data, strides=(2,), elem_offset=1)
    calls = tir.call_packed("g", a, part, a.data, 3), tir.call_cpacked("g", a)
    body = tir.SeqStmt([tir.Evaluate(call) for call in calls])
    assert_structural_equal(PrimFunc([a, b], body).with_attr("global_symbol", "f"), tvms.parse(text)["f"])


def test_dimensions_and_elements_of_nodes_are_computed_with() -> None:
    n = tir.Var("n", "int64")
    buffer = tir.decl_buffer((n, 4), name="A")
    assert str(buffer.shape[0] * 2 + buffer.shape[1]) == "n * 2 + 4"
    assert str(buffer[0, 1] + 1.0) == "A[0, 1] + 1.0"
    assert str(buffer.vload([0, 0], "float32x4")) == "A[0, 0:4]"
    assert isinstance(buffer.shape[0] < 4, tir.LT)
    assert {n: "n"}[buffer.shape[0]] == "n"


def test_every_intrinsic_is_a_function() -> None:
    x, n = tir.Var("x", "float32"), tir.Var("n", "int32")
    said = {
        tir.max(x, 1.0, x): "T.max(T.max(x, T.float32(1)), x)",
        tir.call_extern("int32", "f", x, 1): 'T.call_extern("int32", "f", x, 1)',
        tir.ceildiv(n, 4): "(n + 4 - 1) // 4",
        tir.reinterpret("int32", x): 'T.reinterpret("int32", x)',
        tir.infinity("float32"): 'T.float32("inf")',
        tir.likely(n < 3): "T.likely(n < 3)",
        tir.call_intrin("int32", "tir.clz", n): "T.clz(n)",
        tir.Broadcast(x, 4): "T.Broadcast(x, 4)",
        tir.Let(n, 1, n + 1): "T.Let(n + 1, where={n: 1})",
    }
    assert [str(item) for item in said] == list(said.values())
    with pytest.raises(AttributeError, match=r"^there is no 'tir\.expp'; did you mean 'tir\.exp'\?$"):
        tir.expp(x)


def test_ranges_are_given_by_their_ends() -> None:
    assert str(Range(2, 10)) == str(Range.from_min_extent(2, 8))
    assert str(Range(5)) == "T.Range(0, 5)"
    assert isinstance(Range(5), Range)


def test_statements_are_visited_and_changed() -> None:
    function = _double()
    stores: list[Any] = []
    stmt_functor.post_order_visit(function.body, lambda node: stores.append(isinstance(node, tir.BufferStore)))
    assert sum(stores) == 2
    seen: list[Any] = []
    stmt_functor.pre_order_visit(function.body, lambda node: seen.append(node) or not isinstance(node, tir.IfThenElse))
    assert not any(isinstance(node, tir.BufferStore) for node in seen)
    emptied = stmt_functor.ir_transform(
        function.body, None, lambda node: tir.Evaluate(0) if isinstance(node, tir.BufferStore) else None
    )
    assert "B[" not in str(emptied)
    i = function.body.loop_var
    assert "T.LT(3, 4)" in str(stmt_functor.substitute(function.body.body, {i: 3}))
    renewed = stmt_functor.renew_defs(function)
    assert structural_equal(renewed, function)
    assert renewed.body.loop_var is not i


def test_questions_about_functions() -> None:
    function = _double()
    assert analysis.verify_ssa(function)
    assert analysis.verify_well_formed(function)
    assert analysis.undefined_vars(function.body, [function.body.loop_var])[0].name == "B"
    assert analysis.expr_deep_equal(te.var("i") + 1, 1 + te.var("i")) is False


def test_equal_let_expressions_may_define_a_variable_repeatedly() -> None:
    x = te.var("x")
    one, two = tir.Let(x, 1, x + 1), tir.Let(x, 2, x + 1)
    for value, is_single in ((one + one, True), (one + tir.Let(x, 1, x), True), (one + two, False)):
        assert analysis.verify_ssa(tir.PrimFunc([], tir.Evaluate(value))) is is_single
    let = tir.LetStmt(x, 1, tir.Evaluate(x))
    assert not analysis.verify_ssa(tir.PrimFunc([], tir.SeqStmt([let, let])))


def test_programs_are_json_and_back() -> None:
    module = tvms.parse(TEXT)
    assert_structural_equal(load_json(save_json(module)), module)
    n = tir.Var("n", "int64")
    twice = load_json(save_json([n, n + 1]))
    assert twice[1].a is twice[0]
    assert_structural_equal(twice[1], n + 1, map_free_vars=True)
    with pytest.raises(tvms.TvmsError) as caught:
        load_json("{}")
    assert str(caught.value) == (
        "error[E0018]: this is not a program in JSON: KeyError: 'nodes'\n"
        "  = help: pass the result of tvms.ir.save_json; TVM's JSON has another schema: print the module in TVM and parse its text"
    )


def test_computed_tensors_are_json_and_back() -> None:
    n = te.size_var("n")
    x, y = te.placeholder((n, 16), name="x"), te.placeholder((16, 4), name="y")
    k = te.reduce_axis((0, 16), "k")
    with te.tag_scope(tag="gemm"):
        z = te.compute((n, 4), lambda i, j: te.sum(x[i, k] * y[k, j], k), "z", attrs={"layers": [1, 2]})
    doubled = te.extern((n, 4), [z], lambda ins, outs: tir.call_packed("double", ins[0], outs[0]), name="doubled")
    loaded = load_json(save_json([x, y, z, doubled]))
    assert loaded[2].op.tag == "gemm"
    assert loaded[2].op.attrs == {"layers": (1, 2)}
    assert loaded[2].op.input_tensors == loaded[:2]
    expected = te.create_prim_func([x, y, z, doubled])
    assert_structural_equal(te.create_prim_func(loaded), expected, map_free_vars=True)


def test_a_module_takes_functions_and_leaves_others_alone() -> None:
    module = tvms.parse(TEXT)
    other = module.with_attr("version", 1)
    module["twice"] = module["double"]
    module.update_func(module.get_global_var("double"), module["double"].with_attr("seen", True))
    copy = module.clone()
    copy.update({"third": module["double"]})
    assert list(other.functions) == ["double"]
    assert list(module.functions) == ["double", "twice"]
    assert list(copy.functions) == ["double", "twice", "third"]
    assert module["double"].attrs["seen"]
    assert "seen" not in other["double"].attrs


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "bool"),
        (2**31 - 1, "int32"),
        (2**31, "int64"),
        (-(2**31) - 1, "int64"),
        (1.5, "float32"),
        (float("inf"), "float32"),
        (3.402e39, "float64"),
        (np.uint8(1), "uint8"),
        (np.int64(1), "int64"),
        (np.float16(1), "float16"),
        (np.float64(1), "float64"),
        (np.bool_(True), "bool"),
    ],
)
def test_the_default_dtype_of_a_constant_holds_it(value: float, dtype: str) -> None:
    assert tir.const(value).dtype == dtype
    assert tir.const(value, "float64").dtype == "float64"


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: tir.FloatImm("int32", 1.0), tvms.TvmsError, "a FloatImm has a floating-point dtype, not int32"),
        (lambda: tir.IntImm("float32", 1), tvms.TvmsError, "an IntImm has an integer dtype or bool, not float32"),
        (lambda: tir.Let(tir.Var("x", "int8"), tir.Var("y", "int16"), 0), tvms.TvmsError, "'x' is int8, but its value is int16"),
        (
            lambda: tir.LetStmt(tir.Var("x", "float32"), tir.Var("y", "int32"), tir.Evaluate(0)),
            tvms.TvmsError, "'x' is float32, but its value is int32",
        ),
        (lambda: tir.Var(1, "int32"), TypeError, "expected the name of a variable, got 1"),  # type: ignore[arg-type]
        (
            lambda: tir.decl_buffer((4,), axis_separators=[1, 2], name="A"), ValueError,
            "axis_separators [1, 2] of buffer 'A' are not increasing numbers from 0 to 1",
        ),
        (
            lambda: tir.decl_buffer((4, 4), axis_separators=[2, 1], name="A"), ValueError,
            "axis_separators [2, 1] of buffer 'A' are not increasing numbers from 0 to 2",
        ),
    ],
)  # fmt: skip
def test_constructors_refuse_arguments_that_do_not_fit(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert (
        caught.value.diagnostics[0].message if isinstance(caught.value, tvms.TvmsError) else str(caught.value)
    ) == message


@pytest.mark.parametrize(("written", "dtype"), [("int", "int32"), ("uint", "uint32"), ("float", "float32")])
def test_python_programs_may_omit_the_width_of_a_dtype(written: str, dtype: str) -> None:
    assert (
        te.var("x", written).dtype == tir.const(1, written).dtype == te.var("y", "int8").astype(written).dtype == dtype
    )


def test_roundings_of_constants_are_folded() -> None:
    for function, value in ((te.floor, -3), (te.ceil, -2), (te.trunc, -2), (te.round, -2)):
        folded = function(te.const(-2.5, "float32"))
        assert (type(folded), folded.dtype, folded.value) == (tvms.ir.tir.FloatImm, "float32", value)
    assert str(te.ceil(te.var("x", "float32"))) == "T.ceil(x)"


def test_operators_are_the_same_if_their_names_are() -> None:
    call = tir.call_extern("int32", "f", 1)
    assert call.op.same_as(tvms.ir.Op.get("tir.call_extern"))
    assert not call.op.same_as(tvms.ir.Op.get("tir.tvm_call_packed"))
    assert not call.op.same_as("tir.call_extern")


def test_llvm_has_a_version() -> None:
    from tvms.target.codegen import llvm_version_major

    assert llvm_version_major() >= 18
