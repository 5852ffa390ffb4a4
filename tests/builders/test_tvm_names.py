"""Names of TVM's Python API on values, struct info and functions: what they give."""

from __future__ import annotations

import pytest
import tvms
from tvms import relax, te, tir, topi
from tvms.relax import analysis
from tvms.script import relax as R

n, m = tir.Var("n", "int64"), tir.Var("m", "int64")


def test_nodes_of_two_operands_are_not_folded() -> None:
    assert str(tir.Add(tir.IntImm("int64", 1), 2)) == "T.Add(T.int64(1), T.int64(2))"
    assert isinstance(n + 1, tir.Add)
    assert not isinstance(n - 1, tir.Add)
    assert str(tir.Not(n > m)) == "not n > m"
    assert str(tir.truncdiv(n, 2)) == "T.Div(n, T.int64(2))"
    assert tir.EQ(n, m).dtype == "bool"


def test_struct_info_compares_by_structure() -> None:
    info = relax.TensorStructInfo((n, 4), "float32")
    assert info == R.Tensor((n, 4), "float32")
    assert {info: 1}[R.Tensor((n, 4), "float32")] == 1
    assert info != R.Tensor((n, 5), "float32")
    assert info != relax.ObjectStructInfo()


def test_the_same_node_is_the_same() -> None:
    x = relax.Var("x")
    assert relax.Tuple([x]).fields[0].same_as(x)
    assert relax.PrimValue(n).value.same_as(n)
    assert n.same_as(n)
    assert x.struct_info_ is None


def test_questions_about_struct_info() -> None:
    shape = relax.ShapeStructInfo([1, n + 1, m])
    unknown = relax.ShapeStructInfo(ndim=3)
    assert analysis.tir_vars_in_struct_info(shape) == [n, m]
    assert analysis.definable_tir_vars_in_struct_info(shape) == [m]
    assert analysis.struct_info_lca(shape, unknown) == unknown
    assert analysis.erase_to_well_defined(shape) == unknown
    assert analysis.erase_to_well_defined(shape, {n: n, m: m}) == shape
    assert analysis.erase_to_well_defined(shape, {n: 2, m: m + 1}) == relax.ShapeStructInfo([1, 3, m + 1])


def test_what_two_functions_have_in_common() -> None:
    one = relax.FuncStructInfo([relax.ObjectStructInfo()], relax.ObjectStructInfo())
    two = relax.FuncStructInfo([], relax.ObjectStructInfo())
    assert analysis.struct_info_lca(one, one) == one
    common = analysis.struct_info_lca(one, two)
    assert isinstance(common, relax.FuncStructInfo)
    assert common.params is None


def test_values_take_the_place_of_parameters_and_dimensions() -> None:
    shape = [n, 4]

    @R.function(private=True)
    def f(x: R.Tensor(shape, "float32"), y: R.Tensor((n,), "float32")) -> R.Tensor(shape, "float32"):
        return x

    assert f.bind_symbolic_vars({n: 16}).params[0].struct_info == R.Tensor((16, 4), "float32")
    bound = f.bind_params({"x": relax.const([[1.0, 2.0, 3.0, 4.0]])})
    assert [param.struct_info for param in bound.params] == [R.Tensor((1,), "float32")]
    with pytest.raises(tvms.TVMError, match="the function has no parameter 'z'"):
        f.bind_params({"z": 1})
    with pytest.raises(tvms.TVMError, match="the function has no symbolic dimension 'k'"):
        f.bind_symbolic_vars({"k": 1})


def test_the_shape_of_a_value() -> None:
    assert str(relax.get_shape_of(relax.Var("x", relax.TensorStructInfo((n, 4), "float32")))) == "R.shape([n, 4])"
    assert str(relax.get_shape_of(relax.Var("x", relax.TensorStructInfo(ndim=2)))) == "R.shape_of(x)"


def test_operators_on_tensors_are_those_of_topi() -> None:
    x, y = te.placeholder((n, 4), "float32", "x"), te.placeholder((4,), "float32", "y")
    sums = [te.create_prim_func([x, y, total]) for total in (x + y, topi.add(x, y))]
    assert tvms.structural_equal(*sums)
    scaled = te.create_prim_func([y, 1 - y * 2])
    assert "= 1.0 - T_multiply[v_ax0]" in str(scaled)


def test_functions_are_made_of_nodes() -> None:
    info = R.Tensor((4,), "float32")
    x, y = relax.Var("x", info), relax.Var("y", info)
    block = relax.BindingBlock([relax.VarBinding(y, relax.op.add(x, x))])
    function = relax.Function([x], relax.SeqExpr([block], y), attrs={"global_symbol": "f"})
    assert function.ret_struct_info == info
    assert isinstance(function, relax.Function)
    assert relax.analysis.well_formed(function)
    renewed = relax.utils.copy_with_new_vars(function)
    assert tvms.structural_equal(renewed, function)
    assert renewed.params[0] is not x
    assert str(relax.op.call_dps_packed("f", x, info)) == str(relax.op.call_dps_packed("f", (x,), info))


def test_struct_info_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^give the dtype of a scalar or its value: relax\.PrimStructInfo"):
        relax.PrimStructInfo()
    for make in (relax.ShapeStructInfo, relax.TensorStructInfo):
        with pytest.raises(ValueError, match=r"^2 dimensions are given, and also ndim=3; leave ndim out$"):
            make([1, 2], ndim=3)
    assert relax.FuncStructInfo.opaque_func(ret=relax.ObjectStructInfo()).params is None


def test_what_two_scalars_have_in_common_is_their_value() -> None:
    half = relax.PrimStructInfo(value=tir.const(0.5, "float16"))
    assert analysis.struct_info_lca(half, relax.PrimStructInfo(value=tir.const(0.5, "float16"))) == half
    assert analysis.struct_info_lca(half, relax.PrimStructInfo("float16")) == relax.PrimStructInfo("float16")


def test_a_rewrite_may_give_an_operator_that_stands_for_several() -> None:
    text = """\
R.function main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor((4, 8), "float32"):
    with R.dataflow():
        y = R.nn.relu(x)
        z = R.multiply(y, y)
        R.output(z)
    return z
"""
    inner = relax.dpl.wildcard()
    pattern = relax.dpl.is_op("relax.nn.relu")(inner)
    main = tvms.parse(text)["main"]
    weight = main.params[1]
    rewritten = relax.dpl.rewrite_call(pattern, lambda _, found: relax.op.linear(found[inner], weight), main)
    assert relax.analysis.well_formed(rewritten)
    assert "permute_dims(w)" in str(rewritten)
    assert "R.matmul(x, R." not in str(rewritten)


def test_a_class_with_methods_is_an_instrument() -> None:
    seen: list[str] = []

    @tvms.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod: tvms.IRModule, info: object) -> None:
            seen.append(info.name)

    with tvms.transform.PassContext(instruments=[Names()]):
        relax.transform.LegalizeOps()(tvms.IRModule({}))
    assert seen == ["LegalizeOps"]


def test_operators_are_found_by_name() -> None:
    assert tvms.ir.Op.get("relax.add") == relax.op.add(relax.const(1.0), relax.const(2.0)).op
    assert tvms.ir.Op.get("tir.exp") == tir.exp(tir.const(1.0)).op
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.ir.Op.get("relax.ad")
    assert str(caught.value) == "error[E0301]: there is no operator 'relax.ad'\n  = help: did you mean 'relax.add'?"


def test_te_has_the_functions_of_expressions() -> None:
    assert str(te.floordiv(n, 2)) == "n // 2"
    assert str(te.logaddexp(te.const(1.0), 2.0)).startswith("T.")
    first = te.comm_reducer(lambda x, y: x, lambda dtype: te.const(0, dtype), name="first")
    axis = te.reduce_axis((0, 4), "k")
    assert isinstance(first(axis + 1, axis=axis), tvms.ir.tir.Reduce)


def test_the_newest_names_stand_for_the_older_ones() -> None:
    info = relax.TensorType((2, 3), "float32")
    assert info == relax.TensorStructInfo((2, 3), "float32")
    assert isinstance(info, relax.TensorType)
    assert relax.TupleType([info, relax.ShapeType(ndim=2)]).fields[0] is info
    x = relax.Var("x", info)
    assert x.ty is info
    assert relax.op.call_dps_packed("f", (x,), out_ty=info).ty == info
    named = relax.transform.UpdateParamType(lambda var: None)
    assert named.info.name == "UpdateParamStructInfo"
    assert isinstance(tvms.runtime.tensor([1, 2]), tvms.runtime.Tensor)


def test_devices_of_python_name_devices_of_the_module() -> None:
    from tvms.script import ir as I
    from tvms.script import relax as R

    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            y = R.hint_on_device(x, tvms.cpu())
            return R.hint_on_device(y, tvms.cuda(0))

    (block,) = Module["main"].body.blocks
    kinds = [binding.value.attrs["dst_vdevice"].target["kind"] for binding in block.bindings]
    assert kinds == ["llvm", "cuda"]
