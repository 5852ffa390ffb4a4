"""Names and arguments of TVM 0.27 for what 0.21 calls struct info."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import ir, relax, tir
from tvms.script import relax as R
from tvms.testing import env

DOUBLE = """
R.function double(x: R.Tensor(("n", 4), "float32")):
    n = T.int64()
    y = R.match_cast(x, R.Tensor((n, 4), "float32"))
    z = R.call_pure_packed("double", y, sinfo_args=R.Tensor((n, 4), "float32"))
    return z
"""
double: relax.Function = tvms.parse(DOUBLE)["double"]  # type: ignore[assignment]


def test_types_of_values() -> None:
    match_cast, call = double.body.blocks[0].bindings
    assert match_cast.ty == match_cast.struct_info
    assert isinstance(match_cast.ty, relax.TensorType)
    assert isinstance(match_cast.ty, relax.Type)
    assert call.value.ty_args == call.value.sinfo_args != ()
    assert double.ret_ty == double.ret_struct_info
    assert call.var.name == "z"


def test_values_are_made_with_types() -> None:
    tensor = relax.TensorType((2, 3), "float32")
    x = relax.Var("x", ty=tensor)
    y = relax.DataflowVar("y", ty=tensor)
    assert x.ty == y.ty == tensor
    function = relax.Function([x], x, ret_ty=relax.TensorType(ndim=2, dtype="float32"))
    assert function.ret_ty == tensor
    call = relax.Call(relax.extern("f"), [x], ty_args=[tensor])
    assert call.ty_args == (tensor,)


def test_variables_of_the_loop_level_have_types() -> None:
    assert tir.Var("m", ty="int64").dtype == tir.Var("m", ty=ir.PrimType("int64")).dtype == "int64"
    assert tir.SizeVar("m", ty="int64").dtype == "int64"


def test_buffers_are_told_from_variables() -> None:
    buffer = tir.decl_buffer((4,), "float32")
    assert tir.is_buffer_var(buffer)
    assert not tir.is_buffer_var(buffer.data)


def test_checks_take_their_newer_arguments() -> None:
    assert relax.analysis.well_formed(double, check_ty=False)
    assert relax.analysis.check_well_formed(double)


def test_primitive_types_are_types_of_values() -> None:
    number = relax.PrimStructInfo("int64")
    assert relax.Var("n", ir.PrimType("int64")).ty == number
    assert relax.TupleType([ir.PrimType("int64")]).fields == (number,)
    callable_type = relax.FuncType([ir.PrimType("int64")], ir.PrimType("int64"))
    assert (callable_type.params, callable_type.ret) == ((number,), number)
    ir.assert_structural_equal(number, ir.PrimType("int64"))
    with pytest.raises(ValueError, match="the programs differ"):
        ir.assert_structural_equal(number, ir.PrimType("int32"))
    with pytest.raises(tvms.TvmsError, match="E0315"):
        relax.TupleType(["int64"])


def test_kinds_form_unions() -> None:
    def take(value: relax.Function | ir.IRModule | None) -> relax.Var | relax.Constant:
        return value  # type: ignore[return-value]

    kinds: Any = relax.Function | ir.IRModule | None
    assert all(isinstance(value, kinds) for value in (double, ir.IRModule({}), None))
    assert not isinstance(relax.Var("x"), kinds)
    assert isinstance(relax.Var("x"), int | relax.Var)
    with pytest.raises(TypeError):
        relax.Function | 1
    assert take(double) is double


def test_layouts_by_a_function_of_the_call() -> None:
    module = tvms.parse(CONVOLUTION)
    seen: list[str] = []

    def layouts(call: relax.Call) -> dict[str, list[str]]:
        seen.append(call.op.name)
        return {"relax.nn.conv2d": ["NHWC", "OHWI"]} if call.attrs["strides"] == (1, 1) else {}

    converted = relax.transform.ConvertLayout({}, layouts)(module)["main"]
    calls = [b.value for b in converted.body.blocks[0].bindings if b.value.op.name == "relax.nn.conv2d"]
    assert [call.attrs["data_layout"] for call in calls] == ["NHWC", "NCHW"]
    assert seen == ["relax.nn.conv2d"] * 2


CONVOLUTION = """
R.function main(x: R.Tensor((1, 4, 8, 8), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")):
    with R.dataflow():
        y = R.nn.conv2d(x, w)
        z = R.nn.conv2d(y, w, strides=[2, 2])
        R.output(z)
    return z
"""


def test_probes_of_this_machine() -> None:
    assert env.has_llvm()
    assert env.has_llvm_min_version(3)
    assert not env.has_llvm_min_version(10_000)
    assert env.has_gpu() == env.has_cuda() == tvms.cuda().exist
    assert not any(probe() for probe in (env.has_metal, env.has_hexagon, env.has_nvshmem, env.has_rocm))
    assert env.build_flag_enabled("USE_LLVM")
    assert not env.build_flag_enabled("USE_HEXAGON")
    assert not env.has_multi_gpu(1000)
    assert env.has_cuda_compute(3) == tvms.cuda().exist
    assert env.has_cpu_feature([])
    assert not env.has_cpu_feature("no such feature")


def test_any_value() -> None:
    function = tvms.parse("@R.function\ndef f(x: R.Any, y: R.Tuple(R.Any)) -> R.Any:\n    return x\n")["f"]
    assert function.params[0].struct_info == function.ret_struct_info == relax.AnyType()
    assert R.Tuple(R.Any, R.Prim("int64")) == relax.TupleType([relax.AnyType(), ir.PrimType("int64")])
    assert R.Any.as_ty() == R.Object.as_struct_info() == relax.ObjectStructInfo()
