"""Names and arguments of TVM 0.27 for what 0.21 calls struct info."""

from __future__ import annotations

import subprocess
import sys
from ast import literal_eval
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import ir, relax, tir
from tvms.access_path import AccessPath
from tvms.ir.base import get_first_structural_mismatch
from tvms.relax.analysis import used_vars
from tvms.relax.expr import make_shape
from tvms.relax.frontend.common import autopad
from tvms.runtime import ObjectPath
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
    function: Any = tvms.parse("@R.function\ndef f(x: R.Any, y: R.Tuple(R.Any)) -> R.Any:\n    return x\n")["f"]
    assert function.params[0].struct_info == function.ret_struct_info == relax.AnyType()
    assert R.Tuple(R.Any, R.Prim("int64")) == relax.TupleType([relax.AnyType(), ir.PrimType("int64")])
    assert R.Any.as_ty() == R.Object.as_struct_info() == relax.ObjectStructInfo()


def test_a_shape_is_made_of_a_sequence() -> None:
    assert str(make_shape([1, 2])) == "R.shape([1, 2])"
    with pytest.raises(TypeError, match=r"^make_shape expects a list or tuple of sizes, but received type int$"):
        make_shape(3)


def test_used_variables_are_not_those_that_are_only_defined() -> None:
    function: Any = tvms.parse(
        "#tvms 1\n\n"
        'R.function f(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
        "    z = R.add(x, x)\n"
        "    unused = R.add(y, z)\n"
        "    return z\n"
    )["f"]
    assert [variable.name_hint for variable in used_vars(function)] == ["x", "y", "z"]
    value = function.body.blocks[0].bindings[0].value
    assert used_vars(value) == [function.params[0]]
    alone = relax.Function(function.params[1:], function.params[1])
    assert used_vars(alone) == [function.params[1]]
    constant = relax.Function(function.params[1:], relax.const(1.0))
    assert used_vars(constant) == []


def test_a_call_is_also_a_node_of_tvm_ir() -> None:
    assert ir.Call is relax.Call


def test_containers_of_nodes_are_those_of_python() -> None:
    assert isinstance(relax.Tuple([]).fields, import_module("tvms").Array)
    assert issubclass(import_module("tvms").Map, dict)


def test_helpers_of_compilers_and_folders_are_below_support() -> None:
    support = import_module("tvms.support")
    assert support.cc is import_module("tvms.contrib.cc")
    assert support.utils.tempdir().listdir() == []
    program = "from tvms.support import nvcc, popen_pool; popen_pool.PopenWorker"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert shown.stderr.endswith("has no attribute 'PopenWorker': start processes with concurrent.futures\n")
    with pytest.raises(AttributeError, match=r"describes the installation"):
        _ = support.describe
    assert not import_module("tvms.contrib.thrust").can_use_thrust(tvms.target.Target("llvm"), "sort")


def test_stages_of_pipelines_build_a_program_for_the_virtual_machine() -> None:
    pipeline = import_module("tvms.relax.pipeline")
    module = tvms.parse(
        "#tvms 1\n\n"
        "I.ir_module M:\n"
        '    R.function main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):\n'
        "        with R.dataflow():\n"
        "            y = R.add(x, x)\n"
        "            z = R.nn.relu(y)\n"
        "            R.output(z)\n"
        "        return z\n"
    )
    target = tvms.target.Target("llvm")
    stages = ("library_dispatch", "legalize", "dataflow_lower", "finalize")
    passes = [step for stage in stages for step in getattr(pipeline, f"{stage}_passes")(target)]
    lowered = tvms.transform.Sequential(passes)(module)
    assert "R.memory.alloc_storage" in str(lowered) or "R.vm.alloc_storage" in str(lowered)
    value = np.arange(-3, 3, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(tvms.compile(lowered)["main"](value), np.maximum(value + value, 0))


@pytest.mark.parametrize(
    ("size", "stride", "kernel", "dilation", "mode", "deconv", "expected"),
    [
        (4, 2, 3, 1, "SAME_UPPER", False, (0, 1)),
        (4, 2, 3, 1, "SAME_LOWER", False, (1, 0)),
        (5, 2, 3, 1, "SAME_UPPER", False, (1, 1)),
        (5, 1, 3, 2, "SAME_UPPER", False, (2, 2)),
        (4, 4, 2, 1, "SAME_UPPER", False, (0, 0)),
        (4, 2, 3, 1, "SAME_UPPER", True, (0, 1)),
    ],
)
@pytest.mark.parametrize("is_symbolic", [False, True])
def test_a_convolution_is_padded_to_size_by_stride(
    size: int,
    stride: int,
    kernel: int,
    dilation: int,
    mode: str,
    deconv: bool,
    expected: tuple[int, int],
    is_symbolic: bool,
) -> None:
    n = tir.Var("n", "int64")
    data = relax.Var("x", relax.TensorStructInfo((1, 1, n if is_symbolic else size), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        padded = autopad(builder, data, [stride], [kernel], [dilation], "edge", deconv, mode)
        builder.emit_func_output(padded)
    value = np.arange(size, dtype="float32").reshape(1, 1, size)
    result = tvms.compile(builder.get())["main"](value)
    np.testing.assert_array_equal(result, np.pad(value, [(0, 0), (0, 0), expected], "edge"))


def test_other_kinds_of_padding_are_refused() -> None:
    data = relax.Var("x", relax.TensorStructInfo((1, 1, 4), "float32"))
    with pytest.raises(ValueError, match=r"^autopad: pad_type is 'wrap'; choose one of constant, edge, reflect$"):
        autopad(relax.BlockBuilder(), data, [1], [3], [1], "wrap")
    unknown = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=3))
    with pytest.raises(ValueError, match=r"^autopad: the shape of the data is not known"):
        autopad(relax.BlockBuilder(), unknown, [1], [3], [1])


def test_arrays_share_memory_with_any_strides() -> None:
    source = np.arange(6, dtype="int32").reshape(2, 3).T
    array = tvms.nd.from_dlpack(source, required_alignment=4, required_contiguous=False)
    assert (array.shape, array.strides) == ((3, 2), source.strides)
    source[0, 0] = 7
    assert int(np.asarray(array)[0, 0]) == 7


def test_a_device_has_the_names_of_dlpack() -> None:
    device = tvms.cuda(1)
    assert (device.dlpack_device_type(), device.index) == (2, 1)


def paths_between(left: str, right: str) -> Any:
    texts = (
        f"#tvms 1\n\nT.prim_func f({params}):\n    T.evaluate({body})\n"
        for params, body in map(literal_eval, (left, right))
    )
    found = get_first_structural_mismatch(*(tvms.parse(text)["f"] for text in texts))
    return None if found is None else tuple(map(str, found))


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ("('x: T.int32, y: T.int32', 'x')", None),
        ("('x: T.int32, y: T.int32', 'y')", ("<root>.body.value", "<root>.body.value")),
        ("('x: T.int32, y: T.float32', 'x')", ("<root>.params[1].dtype", "<root>.params[1].dtype")),
        ("('x: T.int32', 'x')", ("<root>.params[1]", "<root>.params[<missing 1>]")),
    ],
)
def test_the_first_difference_has_a_path_in_each_program(right: str, expected: tuple[str, str] | None) -> None:
    left = "('x: T.int32, y: T.int32', 'x')"
    assert paths_between(left, right) == expected
    assert paths_between(right, left) == (None if expected is None else expected[::-1])


def test_the_first_difference_of_maps_is_a_key() -> None:
    left, right = ({"a": 1}, {"a": 1, "b": 2})
    assert get_first_structural_mismatch(left, right) == (
        AccessPath.root().map_item_missing("b"),
        AccessPath.root().map_item("b"),
    )
    assert get_first_structural_mismatch({"a": 1}, {"a": 2}) == (AccessPath.root().map_item("a"),) * 2


def test_paths_have_parents_and_prefixes() -> None:
    path = AccessPath.root().attr("params").array_item(1)
    assert path.parent == AccessPath.root().attr("params")
    assert AccessPath.root().parent is None
    assert path.parent.is_prefix_of(path)
    assert not path.is_prefix_of(path.parent)
    assert path == ObjectPath.root().attr("params").array_index(1)


def test_options_of_printing_are_a_value() -> None:
    printer = import_module("tvms.runtime.script_printer")
    printed = printer._script(double, printer.PrinterConfig(name="twice"))
    assert printed == double.script(dialect="tvm-0.27", name="twice")
    with pytest.raises(TypeError, match=r"unknown printing option 'path_to_underline'"):
        printer._script(double, printer.PrinterConfig(path_to_underline=[]))
