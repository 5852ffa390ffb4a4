"""Analyses of graph functions under TVM's names (`tvms.relax.analysis`)."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from hypothesis import given
from hypothesis import strategies as st
from tvms import relax, tir
from tvms.ir.base import StructInfo, VDevice
from tvms.relax.analysis import (
    BaseCheckResult,
    collect_non_negative_expressions,
    computable_at_compile_time,
    contains_impure_call,
    derive_call_ret_struct_info,
    detect_recursion,
    erase_to_well_defined,
    get_static_type,
    post_order_visit,
    remove_all_unused,
    struct_info_base_check,
    struct_info_lca,
)
from tvms.script import relax as R

n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
L0, L1, L2, PASS = BaseCheckResult


@pytest.mark.parametrize(
    ("base", "derived", "result"),
    [
        (R.Object(), R.Tensor((2,), "float32"), PASS),
        (R.Tensor((2,), "float32"), R.Object(), L1),
        (R.Tensor((2,), "float32"), R.Shape([2]), L0),
        (R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), PASS),
        (R.Tensor((2,), "float32"), R.Tensor((3,), "float32"), L0),
        (R.Tensor((2,), "float32"), R.Tensor((n,), "float32"), L2),
        (R.Tensor((n + m,), "float32"), R.Tensor((m + n,), "float32"), PASS),
        (R.Tensor((n,), "float32"), R.Tensor((n + 1,), "float32"), L2),
        (R.Tensor((2,), "float32"), R.Tensor(ndim=1, dtype="float32"), L2),
        (R.Tensor((2,), "float32"), R.Tensor(dtype="float32"), L1),
        (R.Tensor((2,), "float32"), R.Tensor((2,)), L1),
        (R.Tensor((2,)), R.Tensor((2,), "float32"), PASS),
        (R.Tensor((2,), "float32"), R.Tensor((2,), "float16"), L0),
        (R.Tensor((2,), "float32", VDevice("llvm")), R.Tensor((2,), "float32"), L1),
        (R.Tensor((2,), "float32", VDevice("llvm")), R.Tensor((2,), "float32", VDevice("cuda")), L0),
        (R.Shape([1, n]), R.Shape([1, n]), PASS),
        (R.Shape([1, n]), R.Shape(ndim=2), L2),
        (R.Shape(ndim=2), R.Shape([1, n]), PASS),
        (R.Shape(ndim=2), R.Shape(), L1),
        (R.Prim("int64"), R.Prim("int32"), L0),
        (R.Prim("int64"), R.Prim(value=n), PASS),
        (R.Prim(value=n), R.Prim("int64"), L2),
        (R.Tuple(R.Object, R.Object), R.Tuple(R.Prim("int64"), R.Shape()), PASS),
        (R.Tuple(R.Object, R.Shape([2])), R.Tuple(R.Object, R.Shape([3])), L0),
        (R.Tuple(R.Object), R.Tuple(R.Object, R.Object), L0),
        (R.Callable((R.Object,), R.Object), relax.FuncStructInfo.opaque_func(purity=True), L2),
        (relax.FuncStructInfo.opaque_func(), relax.FuncStructInfo([R.Object()], R.Shape([2])), PASS),
        (relax.FuncStructInfo([R.Object()], R.Object()), relax.FuncStructInfo([R.Object()], R.Object(), False), L0),
        (relax.FuncStructInfo([R.Prim("int64")], R.Object()), relax.FuncStructInfo([R.Object()], R.Object()), L2),
    ],
)  # fmt: skip
def test_struct_info_subsumes_another(base: StructInfo, derived: StructInfo, result: BaseCheckResult) -> None:
    assert struct_info_base_check(base, derived) is result


DIMS = st.sampled_from((1, 2, n, m, n + 1))
PLAIN = st.one_of(
    st.just(R.Object()),
    st.sampled_from(("int64", "float32")).map(R.Prim),
    st.lists(DIMS, max_size=2).map(R.Shape),
    st.sampled_from((-1, 1, 2)).map(lambda rank: R.Shape(ndim=rank)),
    st.builds(R.Tensor, st.lists(DIMS, max_size=2).map(tuple), st.sampled_from(("float32", "int32", "void"))),
    st.builds(lambda rank, dtype: R.Tensor(ndim=rank, dtype=dtype), st.sampled_from((-1, 1, 2)), st.just("float32")),
)
INFOS = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=2).map(lambda fields: R.Tuple(fields)), max_leaves=3)


@given(INFOS, INFOS)
def test_the_least_common_struct_info_subsumes_both(one: StructInfo, two: StructInfo) -> None:
    both = struct_info_lca(one, two)
    assert struct_info_base_check(one, one) is PASS
    assert struct_info_base_check(both, one) is struct_info_base_check(both, two) is PASS
    assert struct_info_base_check(get_static_type(one), one) is PASS
    if struct_info_base_check(one, two) is PASS:
        assert both == one


MODULE = tvms.parse("""
I.ir_module Module:
    R.function main(a: R.Tensor((16,), "int32"), b: R.Tensor((16,), "int32"), c: R.Tensor(("k",), "int32")) -> R.Object:
        k = T.int64()
        R.func_attr({"num_input": 1})
        d = R.add(b, b)
        e = R.add(a, d)
        with R.dataflow():
            f = R.add(d, d)
            g = R.add(f, e)
            h = R.zeros(R.shape([k]), "int32")
            R.output(g, h)
        return g

    R.function loop(x: R.Object) -> R.Object:
        cls = Module
        y = cls.loop(x)
        return y

    R.function even(x: R.Object) -> R.Object:
        cls = Module
        y = cls.odd(x)
        return y

    R.function odd(x: R.Object) -> R.Object:
        cls = Module
        z = cls.loop(x)
        y = cls.even(z)
        return y
""")


def test_variables_that_only_weights_determine() -> None:
    main = MODULE["main"]
    assert isinstance(main, tvms.Function)
    assert [var.name_hint for var in computable_at_compile_time(main)] == ["b", "c", "d", "f", "h"]
    assert computable_at_compile_time(MODULE["loop"]) == []


def test_cycles_of_functions() -> None:
    names = [{var.name_hint for var in group} for group in detect_recursion(MODULE)]
    assert sorted(map(sorted, names)) == [["even", "odd"], ["loop"]]


IMPURE = """
I.ir_module Module:
    R.function(pure=False) main() -> R.Tuple:
        a = R.print(format="said")
        return a

    R.function outer() -> R.Tensor((), "int32"):
        R.function(pure=False) inner() -> R.Tuple:
            a = R.print(format="said")
            return a
        b = R.const(0, "int32")
        return b
"""


def test_calls_with_side_effects() -> None:
    module = tvms.parse(IMPURE)
    outer = module["outer"]
    assert isinstance(outer, tvms.Function)
    assert contains_impure_call(module["main"])
    assert not contains_impure_call(outer)
    assert contains_impure_call(outer.body.blocks[0].bindings[0].value)
    again = relax.Var("again", relax.FuncStructInfo([], R.Object(), False))
    call = relax.Call(again, [])
    assert contains_impure_call(call)
    assert not contains_impure_call(call, again)


def test_sizes_are_not_negative() -> None:
    info = R.Tuple(R.Tensor((n, 4, n - m), "float32"), R.Shape([m, n]), R.Callable((R.Shape([m + 7]),), R.Object))
    assert list(map(str, collect_non_negative_expressions(info))) == ["n", "n - m", "m", "m + 7"]


def test_static_types_have_no_sizes() -> None:
    info = R.Tuple(R.Tensor((n, 4), "float32", VDevice("llvm")), R.Shape([m]), R.Prim(value=n))
    assert get_static_type(info) == R.Tuple(R.Tensor(ndim=2, dtype="float32"), R.Shape(ndim=1), R.Prim("int64"))
    function = relax.FuncStructInfo([R.Shape([n])], R.Tensor((n,), "int32"), False)
    assert get_static_type(function) == relax.FuncStructInfo([R.Shape(ndim=1)], R.Tensor(ndim=1, dtype="int32"), False)


def test_what_a_call_returns() -> None:
    function = relax.FuncStructInfo([R.Tensor((n, m), "float32")], R.Tensor((m + 1, n), "float32"))
    callee = relax.Var("callee", R.Object())
    x, y = relax.Var("x", R.Tensor((10, 11), "float32")), relax.Var("y", R.Tensor(ndim=2, dtype="float32"))
    assert derive_call_ret_struct_info(function, relax.Call(callee, [x])) == R.Tensor((12, 10), "float32")
    assert derive_call_ret_struct_info(function, relax.Call(callee, [y])) == R.Tensor(ndim=2, dtype="float32")
    with pytest.raises(tvms.TvmsError, match=r"E0105\]: the function takes 1 arguments, but 2 are given"):
        derive_call_ret_struct_info(function, relax.Call(callee, [x, y]))
    o = relax.Var("o", R.Object())
    with pytest.raises(
        tvms.TvmsError, match=r"E0328\]: argument 0 of the function does not fit its parameter: it needs R"
    ):
        derive_call_ret_struct_info(function, relax.Call(callee, [o]))
    opaque = relax.FuncStructInfo.opaque_func(ret=R.Shape([3]))
    assert derive_call_ret_struct_info(opaque, relax.Call(callee, [o, o])) == R.Shape([3])


INLINE = """
I.ir_module Module:
    R.function main(a: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
        cls = Module
        b = R.multiply(a, a)
        c = cls.twice(b)
        d = cls.other(c)
        return d

    R.function twice(x: R.Tensor(("k",), "int32")) -> R.Tensor(("k",), "int32"):
        k = T.int64()
        y = R.add(x, x)
        return y

    R.function other(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
        y = R.negative(x)
        return y
"""


@pytest.mark.parametrize("by_name", [True, False])
def test_functions_are_inlined_into_one(by_name: bool) -> None:
    module = tvms.parse(INLINE)
    main, twice = module["main"], module["twice"]
    assert isinstance(main, tvms.Function)
    assert isinstance(twice, tvms.Function)
    key = "twice" if by_name else module.get_global_var("twice")
    inlined = main.inline_functions({key: twice})
    assert inlined.attrs == main.attrs
    assert "y = R.add(b, b)" in inlined.script().replace(': R.Tensor((4,), "int32")', "")
    whole = tvms.IRModule({**module.functions, "main": inlined})
    assert not tvms.verify(whole)
    assert main.inline_functions({}) == main or tvms.structural_equal(main.inline_functions({}), main)


def test_a_function_that_calls_itself_is_not_inlined() -> None:
    module = tvms.parse("""
I.ir_module Module:
    R.function main(x: R.Object) -> R.Object:
        return Module.again(x)

    R.function again(x: R.Object) -> R.Object:
        return Module.again(x)
""")
    main, again = module["main"], module["again"]
    assert isinstance(main, tvms.Function)
    assert isinstance(again, tvms.Function)
    with pytest.raises(ValueError, match=r"^function 'again' calls itself, so it cannot be inlined$"):
        main.inline_functions({"again": again})


def test_what_tvm_calls_ill_formed() -> None:
    good = tvms.parse(INLINE)
    assert relax.analysis.well_formed(good)
    assert not relax.analysis.well_formed(tvms.IRModule({"other": good["twice"]}))
    x = relax.Var("x", relax.TensorStructInfo((), "bool"))
    y = relax.Var("y", relax.TensorStructInfo((), "bool"))
    block = relax.DataflowBlock([relax.VarBinding(y, relax.If(x, x, x))])
    branches = relax.Function([x], relax.SeqExpr([block], y))
    assert not relax.analysis.well_formed(branches)
    forced = relax.Function([x], x, is_pure=False).with_attr("relax.force_pure", True)
    assert not relax.analysis.well_formed(forced)
    n = tvms.tir.Var("n", "int64")
    functions = [relax.Function([v], v) for v in (relax.Var(name, relax.TensorStructInfo((n,))) for name in "ab")]
    assert not relax.analysis.well_formed(tvms.IRModule({"f": functions[0], "g": functions[1]}))
    assert relax.analysis.well_formed(tvms.IRModule({"f": functions[0]}))


def test_functions_are_found_and_removed_by_reference() -> None:
    module = tvms.parse(INLINE)
    reference = module.get_global_var("twice")
    assert module.functions[reference] is module["twice"]
    assert reference in module.functions
    copy = module.clone()
    del copy[reference]
    assert "twice" not in copy
    assert "twice" in module
    with pytest.raises(KeyError):
        del copy["twice"]
    assert tvms.IRModule({reference: module["twice"]}).functions.keys() == {"twice"}
    assert not tvms.IRModule().functions


def test_symbolic_dimensions_are_replaced_once() -> None:
    sizes = [tvms.tir.Var("n", "int64") for _ in range(2)]
    x, y = (relax.Var(name, relax.TensorStructInfo((size,))) for name, size in zip("xy", sizes, strict=True))
    function = relax.Function([x, y], x)
    with pytest.raises(tvms.TvmsError, match="has 2 symbolic dimensions named 'n'"):
        function.bind_symbolic_vars({"n": 4})
    assert str(function.bind_symbolic_vars({sizes[0]: 4}).params[0].struct_info) == 'R.Tensor((4,), "float32")'
    alone = relax.Function([x], x)
    with pytest.raises(tvms.TvmsError, match="the dimension 'n' is given twice"):
        alone.bind_symbolic_vars({sizes[0]: 4, "n": 4})
    other = tvms.tir.Var("m", "int64")
    with pytest.raises(tvms.TvmsError, match="no argument of the function determines the dimension 'm'"):
        alone.bind_symbolic_vars({"n": other * 2})
    assert alone.bind_symbolic_vars({"n": other}).params[0].struct_info.shape.values == (other,)


def test_unused_bindings_are_removed_from_a_body_alone() -> None:
    text = """
R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    unused = R.exp(x)
    y = R.nn.relu(x)
    return y
"""
    function = tvms.parse(text)["main"]
    assert isinstance(function, tvms.Function)
    used = tvms.parse(text.replace("    unused = R.exp(x)\n", ""))["main"]
    assert isinstance(used, tvms.Function)
    tvms.ir.assert_structural_equal(remove_all_unused(function.body), used.body, map_free_vars=True)


def test_struct_info_of_one_of_two_functions() -> None:
    def function(size: int) -> relax.StructInfo:
        return R.Callable((R.Tensor((size, n), "float32"), R.Tensor((3,), "int32")), R.Tensor((n,), "float32"))

    unknown = R.Callable((R.Tensor("float32", ndim=2), R.Tensor((3,), "int32")), R.Tensor("float32", ndim=1))
    assert struct_info_lca(function(1), function(2)) == unknown
    assert struct_info_lca(function(1), function(1)) == function(1)
    fewer = R.Callable((), R.Tensor((n,), "float32"))
    assert struct_info_lca(function(1), fewer) == relax.FuncStructInfo.opaque_func(
        ret=R.Tensor("float32", ndim=1), purity=True
    )


def test_the_shape_of_a_tensor_may_be_held_by_a_known_variable() -> None:
    held = relax.Var("s", R.Shape(ndim=2))
    info = relax.TensorStructInfo(held, "float32")
    assert erase_to_well_defined(info) == R.Tensor("float32", ndim=2)
    assert erase_to_well_defined(info, None, {held: held}) == info
    assert erase_to_well_defined(info, None, {held: relax.ShapeExpr([1, 2])}) == R.Tensor((1, 2), "float32")


def test_a_type_is_base_of_more_precise_ones() -> None:
    assert R.Object().is_base_of(R.Tensor((n,), "float32"))
    assert R.Tensor("float32", ndim=1).is_base_of(R.Tensor((n,), "float32"))
    assert not R.Tensor((n,), "float32").is_base_of(R.Tensor("float32", ndim=1))


def test_a_call_that_does_not_fit_is_refused_by_the_verifier() -> None:
    x = relax.Var("x", R.Tensor((n,), "float32"))
    call = relax.Call(tvms.ir.Op.get("relax.call_tir"), [relax.GlobalVar("f"), relax.Tuple([x])])
    assert call.struct_info is None
    block = relax.BindingBlock([relax.VarBinding(relax.Var("y", R.Tensor((n,), "float32")), call)])
    function = relax.Function([x], relax.SeqExpr([block], x))
    assert "E0105" in [diagnostic.code for diagnostic in tvms.verify(tvms.IRModule({"main": function}))]


def test_a_call_of_variables_without_types_has_none() -> None:
    assert relax.op.add(relax.Var("x"), relax.Var("y")).struct_info is None


def test_calls_of_external_functions_are_values_in_python() -> None:
    x = relax.Var("x", R.Tensor((n,), "float32"))
    call = R.call_packed("scaled", x, factor=2, sinfo_args=R.Tensor((n,), "float32"))
    assert isinstance(call, relax.Call)
    assert call.op.global_symbol == "scaled"
    assert call.attrs == {"factor": 2}
    assert call.struct_info == R.Tensor((n,), "float32")


def test_every_node_is_visited_once() -> None:
    x = relax.Var("x", R.Tensor((n,), "float32"))
    y = relax.Var("y", R.Tensor((n,), "float32"))
    block = relax.BindingBlock([relax.VarBinding(y, relax.op.add(x, x))])
    seen: list[str] = []
    post_order_visit(
        relax.Function([x], relax.SeqExpr([block], y)), lambda node: seen.append(getattr(node, "name_hint", ""))
    )
    assert [name for name in seen if name in ("x", "y")] == ["x", "y"]


def test_a_filled_tensor_is_on_the_device_of_its_value() -> None:
    place = VDevice("llvm")
    value = relax.Var("value", relax.TensorStructInfo((), "float32", place))
    assert relax.op.full((2, 3), value).struct_info == relax.TensorStructInfo((2, 3), "float32", place)


def test_parameters_are_detached_as_they_are() -> None:
    x = relax.Var("x", R.Tensor((n,), "float32"))
    array = tvms.nd.array(np.ones(3, "float32"))
    function = relax.Function([x], x)
    mod, arrays = relax.frontend.detach_params(
        tvms.IRModule({"f": function.with_attr("params", [array, relax.const(2.0)])})
    )
    tvms.ir.assert_structural_equal(mod, tvms.IRModule({"f": function}))
    np.testing.assert_array_equal(arrays["f"][0].numpy(), array.numpy())
    assert float(arrays["f"][1]) == 2
