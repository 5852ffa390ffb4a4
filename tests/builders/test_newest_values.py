"""Values in Python as programs for the newest TVM use them."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.script import ir as I
from tvms.script import relax as R
from tvms.script import tirx as T


def test_contents_of_constants_and_parameters_have_the_method_numpy() -> None:
    for values in (np.arange(3, dtype="float32"), np.ones((2, 2), "int8"), np.array(2.0)):
        data = relax.const(values).data
        assert type(data.numpy()) is np.ndarray
        assert np.shares_memory(data, data.numpy())
        np.testing.assert_array_equal(data.numpy(), values)
    parsed = tvms.parse(
        'R.function main(x: R.Tensor((2,), "float32")):\n    return R.add(x, R.const([1, 2], "float32"))'
    )
    call = parsed["main"].body.blocks[0].bindings[0].value
    assert call.args[1].data.numpy().tolist() == [1, 2]
    weight = relax.frontend.nn.Parameter((3,), "float32")
    weight.data = np.arange(3, dtype="float32")
    assert weight.data.numpy().tolist() == [0, 1, 2]
    array = tvms.runtime.tensor(np.zeros(2))
    assert type(array.numpy()) is np.ndarray


def test_the_type_of_a_scalar_does_not_know_its_value() -> None:
    @R.function
    def main(x: R.Tensor(["N"], "float32")) -> R.Tensor(["N"], "float32"):
        N = T.int64()
        if R.prim_value(N % 16 == 0):  # noqa: SIM108
            y = R.add(x, x)
        else:
            y = R.multiply(x, x)
        return y

    condition = main.body.blocks[0].bindings[0].value.cond
    assert condition.ty == R.Prim("bool")
    assert condition.struct_info.value is not None
    assert condition.struct_info != R.Prim("bool")
    assert relax.Var("n", R.Prim("int64")).ty == R.Prim("int64")


def test_devices_that_are_not_here_are_devices_of_the_program() -> None:
    for device, kind, number in [(R.opencl(2), "opencl", 2), (R.device(4, 2), "opencl", 2), (R.metal(), "metal", 0)]:
        assert (device.target["kind"], device.vdevice_id) == (kind, number)
    assert R.device(2, 1) == R.cuda(1) == tvms.cuda(1)
    x = relax.Var("x", R.Tensor((2,), "float32"))
    call = relax.op.hint_on_device(x, R.opencl(2), "global.texture")
    assert str(call) == 'R.hint_on_device(x, dst_vdevice=R.device(4, 2), memory_scope="global.texture")'


def test_names_for_values_are_one_object() -> None:
    assert I.meta_var is T.meta_var

    @R.function(private=True)
    def main(x: R.Tensor(["N"], "float32")) -> R.Tensor(ndim=2, dtype="float32"):
        N = T.int64()
        first = I.meta_var(N)
        second = T.meta_var(first)
        return R.reshape(x, R.shape([second, 1]))

    (binding,) = main.body.blocks[0].bindings
    assert str(binding.value) == "R.reshape(x, R.shape([N, 1]))"


def test_a_primitive_type_needs_the_name_of_a_dtype() -> None:
    assert tvms.ir.PrimType("float32").dtype == "float32"
    with pytest.raises(TypeError, match=r"^expected the name of a dtype, got \[1\]$"):
        tvms.ir.PrimType([1])  # type: ignore[arg-type]


def test_a_builder_returns_one_module_until_it_changes() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2,), "float32"))
    with builder.function("first", [x]):
        builder.emit_func_output(x)
    module = builder.get()
    module.update_global_info("vdevice", [I.vdevice("llvm")])
    assert builder.get() is module
    with builder.function("second", [x]):
        builder.emit_func_output(x)
    later = builder.get()
    assert list(module.functions) == ["first"]
    assert list(later.functions) == ["first", "second"]
    assert later.global_infos == module.global_infos


@pytest.mark.parametrize(
    ("name", "expected"), [("dynamic_strided_slice", True), ("nonzero", True), ("strided_slice", None), ("add", None)]
)
def test_operators_whose_shapes_depend_on_data(name: str, expected: bool | None) -> None:
    assert tvms.ir.Op.get(f"relax.{name}").get_attr("FDataDependent") is expected


def test_the_default_device_of_memory_need_not_be_written() -> None:
    text = """
R.function(pure=False) main() -> R.Tensor((2,), "float32"):
    storage = R.memory.alloc_storage(R.shape([8]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
    x = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([2]), R.dtype("float32"){more})
    return x
"""
    plain, given, other = (
        tvms.parse(text.format(more=more)) for more in ("", ", R.prim_value(0)", ", R.prim_value(1)")
    )
    assert tvms.structural_equal(plain, given)
    assert not tvms.structural_equal(plain, other)
