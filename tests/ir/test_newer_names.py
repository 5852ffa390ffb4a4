"""Names of the newest TVM that have another form here."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import ir, relax, tir
from tvms.relax.frontend import nn

INT64 = ir.PrimType("int64")


def test_kinds_of_expressions() -> None:
    n, x = ir.Var("n", INT64), ir.Var("x", relax.TensorType((4,), "float32"))
    assert isinstance(n, tir.Var)
    assert isinstance(x, relax.Var)
    assert isinstance(ir.Var("p", relax.PrimStructInfo("int32")), tir.Var)
    assert isinstance(n, ir.Var)
    assert isinstance(x, ir.Var)
    assert isinstance(relax.const(1.0), ir.Expr)
    scalar = relax.Var("s", relax.PrimStructInfo("int64"))
    assert [ir.is_prim_expr(value) for value in (n, n + 1, scalar, relax.PrimValue(n), x, relax.const(1.0), 1)] == [
        True, True, True, True, False, False, False,
    ]  # fmt: skip
    assert [ir.is_prim_var(value) for value in (n, n + 1, scalar, relax.PrimValue(n), x)] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_scalars() -> None:
    n = tir.Var("n", "int64")
    assert relax.prim_value(n) is n
    assert relax.prim_value(relax.PrimValue(n)) is n
    made = [relax.prim_value(value) for value in (3, np.int32(3), 2.0, np.float32(1.5), True)]
    assert [(value.value, value.dtype) for value in made] == [
        (3, "int64"), (3, "int64"), (2.0, "float64"), (1.5, "float64"), (True, "bool"),
    ]  # fmt: skip
    assert relax.prim_value(3, "int32").dtype == "int32"
    with pytest.raises(
        TypeError, match="Cannot convert Constant to a scalar: give a number or an expression of the loop level"
    ):
        relax.prim_value(relax.const(1.0))


def test_patterns_of_types() -> None:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    assert relax.dpl.wildcard().has_ty(relax.TensorType((4,), "float32")).match(x)
    assert not relax.dpl.wildcard().has_ty(relax.TensorType((5,), "float32")).match(x)


def test_operators_on_images_are_operators() -> None:
    assert relax.op.roi_align.operator == "vision.roi_align"
    with pytest.raises(AttributeError, match="roi_aling"):
        relax.op.roi_aling  # noqa: B018


def test_functions_of_tensors() -> None:
    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            steps = nn.op.arange(1, 5, dtype="float32")
            return nn.op.add(nn.op.log(x), nn.op.floor(nn.op.multiply(steps, x)))

    program, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor((4,), "float32")}})
    x = np.array([1.5, 2.5, 0.7, 3.0], np.float32)
    found = tvms.compile(program)["forward"](x)
    np.testing.assert_allclose(found, np.log(x) + np.floor(np.arange(1, 5, dtype=np.float32) * x), rtol=1e-6)


def test_calls_of_gpu_tests() -> None:
    assert tvms.testing.run_with_gpu_lock(lambda a, b: a - b, 5, b=3) == 2


def test_names_of_arguments() -> None:
    kind = relax.TensorType((4,), "float32")
    x = relax.Var(name="x", ty=kind)
    assert (x.name, relax.DataflowVar(name="y").name, ir.Var(name_hint="z").name) == ("x", "y", "z")
    with pytest.raises(TypeError, match="Specify either name or name_hint, not both"):
        relax.DataflowVar(name="a", name_hint="b")
    assert relax.extern("f", ty=relax.FuncType(params=[kind], ret=kind)).struct_info.ret == kind
    assert relax.MatchCast(x, x, ty=kind).struct_info == kind
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.match_cast(x, ty=kind))
    assert relax.analysis.tir_vars_in_type(ty=kind) == []
    assert relax.analysis.get_static_type(ty=kind) == relax.TensorType(ndim=1, dtype="float32")


def test_types_of_both_levels() -> None:
    assert isinstance(relax.TensorType((4,), "float32"), ir.Type)
    assert isinstance(INT64, ir.Type)
    assert isinstance(relax.PrimValue(3).ty, ir.PrimType)
    assert not isinstance(relax.TensorType((4,), "float32"), ir.PrimType)


def test_scalars_of_both_levels_are_equal() -> None:
    ir.assert_structural_equal(relax.PrimValue(3), tir.IntImm("int64", 3))
    assert not ir.structural_equal(relax.PrimValue(3), tir.IntImm("int64", 4))
    assert not ir.structural_equal(relax.PrimValue(3), tir.IntImm("int32", 3))
    assert ir.structural_equal(relax.PrimValue(3).ty, INT64)
    assert ir.structural_equal(relax.PrimValue(3).ty, relax.PrimStructInfo("int64"))
    assert not ir.structural_equal(relax.PrimValue(3).ty, ir.PrimType("int32"))


def test_operators_that_are_not_legalized() -> None:
    module = tvms.parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.exp(x)
        z = R.add(y, y)
        return z
""")
    kept = relax.transform.LegalizeOps(skip_ops=["relax.exp"])(module)
    operators = [binding.value.op.name for binding in kept["main"].body.blocks[0].bindings]
    assert operators == ["relax.exp", "relax.call_tir"]


def test_depths_of_encodings() -> None:
    indices = relax.Var("i", relax.TensorType((2,), "int32"))
    one, zero = relax.PrimValue(1.0), relax.PrimValue(0.0)
    assert relax.op.one_hot(indices, one, zero, 0).ty == relax.TensorType((2, 0), "float64")
    with pytest.raises(TypeError, match="needs a 'depth' of 0 or more, but it is -1"):
        relax.op.one_hot(indices, one, zero, -1)


def test_other_names_of_members() -> None:
    module = tvms.IRModule({}).with_attr("key", 4)
    assert (module.get_attr("key"), module.get_attr("other")) == (4, None)
    pattern = relax.dpl.is_op("relax.add")(relax.dpl.wildcard(), relax.dpl.wildcard())
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    assert pattern.dup() is not pattern
    assert pattern.dup().match(relax.op.add(x, x))
    types = relax.transform.UpdateParamType(ty_func=lambda param: relax.TensorType((8,), "float32"))
    function = relax.Function([x], x).with_attr("global_symbol", "main")
    assert types(tvms.IRModule({"main": function}))["main"].params[0].ty == relax.TensorType((8,), "float32")
    assert tir.is_buffer_var(value=tir.decl_buffer((4,), "float32"))
    assert tir.is_buffer_var(tir.Var("p", "handle"))
    assert not tir.is_buffer_var(tir.Var("n", "int64"))
    assert "R.prim_value" in relax.PrimValue(3).script(extra_config={"tirx.prefix": "T"})


def test_types_that_are_not_known_yet() -> None:
    assert relax.Var("x").struct_info is None
    assert isinstance(relax.Var("x").ty, ir.Type)
    assert relax.Var("x").ty.is_missing()
    assert not relax.Var("x", relax.TensorType((4,), "float32")).ty.is_missing()


def test_types_of_scalars_and_tuples() -> None:
    assert ir.PrimType("int64") == INT64
    assert hash(ir.PrimType("int64")) == hash(INT64)
    assert ir.PrimType("int32") != INT64
    assert INT64.is_base_of(relax.PrimStructInfo("int64"))
    assert not INT64.is_base_of(ir.PrimType("int32"))
    assert relax.AnyType().is_base_of(INT64)
    nested = ir.TupleType([INT64, ir.TupleType([relax.ShapeType(ndim=1)])])
    assert str(relax.Var("x", nested).struct_info) == 'R.Tuple(R.Prim("int64"), R.Tuple(R.Shape(ndim=1)))'
    assert relax.op.arange(0, 4, 1, ir.PrimType("float32")).struct_info.dtype == "float32"


def test_operands_of_the_wrong_kind_or_dtype_are_both_kinds_of_errors() -> None:
    x = relax.Var("x", relax.TensorType((2, 2), "float32"))
    for kind in (TypeError, ValueError, tvms.TvmsError):
        with pytest.raises(kind, match="E0324"):
            relax.op.reverse_sequence(x, relax.Var("lengths", relax.TensorType((2,), "float32")))
        with pytest.raises(kind, match=r"R\.concat needs at least one tensor"):
            relax.op.concat([])
    with pytest.raises(ValueError, match=r"R\.nn\.batch_flatten needs at least two dimensions, but 'v' has 1"):
        relax.op.nn.batch_flatten(relax.Var("v", relax.TensorType((3,), "float32")))
    with pytest.raises(ValueError, match="E0322") as caught:
        relax.Call(None, [])
    assert str(caught.value) == "error[E0322]: a call needs a defined operator or a function, not None"


def test_a_compiled_module_is_loaded() -> None:
    built = tvms.compile(
        tvms.parse('#tvms 1\n\nR.function main(x: R.Tensor((2,), "float32")):\n    return R.add(x, x)\n')
    )
    assert built.jit() is built


@pytest.mark.parametrize("name", ["quantize", "dequantize"])
def test_data_without_axes_are_quantized_by_one_scale(name: str) -> None:
    given, made = ("float32", "uint8") if name == "quantize" else ("uint8", "float32")
    x = relax.Var("x", relax.TensorType((), given))
    scale, zero = (relax.Var(hint, relax.TensorType((2,), dtype)) for hint, dtype in (("s", "float32"), ("z", "uint8")))
    with pytest.raises(
        ValueError, match="needs scalar or singleton tensors for data without axes, but 'scale' has 2 values"
    ):
        getattr(relax.op, name)(x, scale, zero, 0, made)


def test_arguments_of_dlpack() -> None:
    array = np.zeros((2, 3), "int32").T
    assert tvms.nd.from_dlpack(array, require_alignment=4, require_contiguous=False).shape == (3, 2)


def test_sizes_are_written_in_the_order_of_axes() -> None:
    n, h = tir.Var("n", "int64"), tir.Var("h", "int64")
    x = relax.Var("x", relax.TensorType((4, n, h, 1, 8), "float32"))
    assert str(relax.op.nn.batch_flatten(x).struct_info) == 'R.Tensor((4, n * h * 8), "float32")'
    y = relax.Var("y", relax.TensorType((4, 2, 8), "float32"))
    assert str(relax.op.nn.batch_flatten(y).struct_info) == 'R.Tensor((4, 16), "float32")'
