"""Programs of instructions, and the functions of the virtual machine that lowered programs call."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tvms
import tvms.relax.testing.vm  # registers functions
from tvms import relax
from tvms.relax.testing.runtime_builtin import MakeShapeCode, MatchShapeCode


def machine(builder: Any) -> Any:
    return relax.VirtualMachine(builder.get(), tvms.cpu())


def sums(far: int, further: int) -> Any:
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=2):
        builder.emit_call("test.vm.add", [builder.r(0), builder.r(1)], dst=builder.r(far))
        builder.emit_call("test.vm.mul", [builder.r(far), builder.r(1)], dst=builder.r(further))
        builder.emit_ret(builder.r(further))
    return builder


def test_registers_are_numbered_by_their_first_values() -> None:
    a, b = np.float32([1, 2]), np.float32([3, 4])
    np.testing.assert_array_equal(machine(sums(100, 50))["main"](a, b), [12, 24])
    assert sums(100, 50).get().as_text() == sums(2, 3).get().as_text()
    assert sums(2, 3).get().as_text() == (
        "main(r0: p0, r1: p1):\n    r2 = call test.vm.add(r0, r1)\n    r3 = call test.vm.mul(r2, r1)\n    ret r3\n"
    )
    assert sums(2, 3).get().stats() == "1 functions, 0 constants, 3 instructions"


@pytest.mark.parametrize(("cond", "result"), [(0, 12), (1, 7)])
def test_branches_and_jumps(cond: int, result: int) -> None:
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=3):
        builder.emit_if(builder.r(0), 3)
        builder.emit_call("test.vm.add", [builder.r(1), builder.r(2)], dst=builder.r(3))
        builder.emit_goto(2)
        builder.emit_call("test.vm.mul", [builder.r(1), builder.r(2)], dst=builder.r(3))
        builder.emit_ret(builder.r(3))
    assert machine(builder)["main"](cond, 3, 4) == result


def test_functions_of_the_program_are_values() -> None:
    builder = relax.ExecBuilder()
    with builder.function("sum", num_inputs=2):
        builder.emit_call("test.vm.add", [builder.r(0), builder.r(1)], dst=builder.r(2))
        builder.emit_ret(builder.r(2))
    with builder.function("main", num_inputs=1):
        builder.emit_call("vm.builtin.make_closure", [builder.f("sum"), builder.r(0)], dst=builder.r(1))
        builder.emit_ret(builder.r(1))
    vm = machine(builder)
    assert vm.invoke_closure(vm["main"](3), 4) == 7


def test_constants_are_stored_once() -> None:
    builder = relax.ExecBuilder()
    assert builder.convert_constant("a") == builder.convert_constant("a") != builder.convert_constant("b")
    assert builder.convert_constant((1, 2)) == builder.convert_constant([1, 2])
    arrays = [np.int32([1, 2]), np.int32([1, 2]), np.int64([1, 2])]
    first, second, third = map(builder.convert_constant, arrays)
    assert first == second != third


def test_a_register_without_a_value_is_refused() -> None:
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=1):
        builder.emit_call("test.vm.add", [builder.r(0), builder.r(7)], dst=builder.r(7))
        builder.emit_ret(builder.r(7))
    with pytest.raises(tvms.TvmsError, match=r"E0709.*register 7 of function 'main' has no value"):
        builder.get()
    with pytest.raises(RuntimeError, match="no function is being built"):
        builder.emit_ret(builder.r(0))


def test_storage_is_checked() -> None:
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=1):
        builder.emit_call(
            "vm.builtin.alloc_storage", [builder.vm_state(), (24,), 0, "uint8", "global"], dst=builder.r(1)
        )
        builder.emit_call("vm.builtin.alloc_tensor", [builder.r(1), builder.r(0), (2, 2), "float32"], dst=builder.r(2))
        builder.emit_ret(builder.r(2))
    assert machine(builder)["main"](8).shape == (2, 2)
    with pytest.raises(ValueError, match="bytes 12 to 28 are not in 24 bytes of memory"):
        machine(builder)["main"](12)


def test_lowered_shapes_run_compiled() -> None:
    store, load, number = MatchShapeCode.STORE_TO_HEAP, MakeShapeCode.LOAD_SHAPE, MakeShapeCode.USE_IMM
    module = tvms.parse(f"""
R.function(pure=False) main(x: R.Tensor(("n", "m"), "float32")) -> R.Shape(ndim=3):
    heap = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", [R.prim_value(2)], sinfo_args=[R.Tensor(ndim=1, dtype="int64")])
    _ = R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), "", sinfo_args=[R.Tuple()])
    _ = R.call_packed("vm.builtin.match_shape", x, heap, 2, {store:d}, 0, {store:d}, 1, "", sinfo_args=[R.Tuple()])
    s = R.call_packed("vm.builtin.make_shape", heap, 3, {load:d}, 1, {load:d}, 0, {number:d}, 7, sinfo_args=[R.Shape(ndim=3)])
    return s
""")
    assert tvms.compile(module)["main"](np.zeros((2, 3), np.float32)) == (3, 2, 7)


def test_dimensions_are_compared() -> None:
    heap = tvms.get_global_func("vm.builtin.alloc_shape_heap")(1)
    match = tvms.get_global_func("vm.builtin.match_shape")
    match(np.zeros((3, 3)), heap, 2, MatchShapeCode.STORE_TO_HEAP, 0, MatchShapeCode.ASSERT_EQUAL_TO_LOAD, 0, "x")
    with pytest.raises(RuntimeError, match="x: expected dimension 1 to be 3, got 4"):
        match((3, 4), heap, 2, MatchShapeCode.ASSERT_EQUAL_TO_IMM, 3, MatchShapeCode.ASSERT_EQUAL_TO_LOAD, 0, "x")
    check = tvms.get_global_func("vm.builtin.check_tensor_info")
    with pytest.raises(ValueError, match="expected dtype float32, got int32"):
        check(np.zeros(2, np.int32), 1, "float32", "")
    with pytest.raises(TypeError, match="expected a tensor, got tuple"):
        check((), 1, "float32", "")


def test_a_view_of_an_array_tells_its_offset() -> None:
    module = tvms.parse("R.function main(x: R.Tensor(ndim=2)):\n    return R.inspect.tensor_elem_offset(x)\n")
    memory: Any = tvms.nd.empty((8, 8), "float32")
    view = memory._create_view((4, 4), "float32", relative_byte_offset=64)
    view[...] = 5
    assert memory.reshape(-1)[16] == 5
    assert tvms.compile(module)["main"](view) == 16
    with pytest.raises(ValueError, match="the bytes from 250 to 314 are not in an array of 256 bytes"):
        memory._create_view((4, 4), "float32", relative_byte_offset=250)
    with pytest.raises(ValueError, match="contiguous"):
        memory[:, ::2]._create_view((4,), "float32")


def test_a_window_is_overwritten_after_its_sinks() -> None:
    create, view = (tvms.get_global_func(f"vm.builtin.attention_kv_cache_{name}") for name in ("create", "view"))
    override = tvms.get_global_func("vm.builtin.attention_kv_cache_window_override")
    with_sinks = tvms.get_global_func("vm.builtin.attention_kv_cache_window_override_with_sinks")
    cache = create(tvms.nd.array(np.zeros((2, 1), np.int32)), (2, 1), 0)
    for start in range(0, 12, 3):  # the room of the cache grows to that of the window
        cache = override(cache, np.arange(start, start + 3, dtype=np.int32)[:, None], 5)
    assert view(cache, (5, 1)).numpy().ravel().tolist() == [10, 11, 7, 8, 9]
    cache = create(np.zeros((5, 1), np.int32), (5, 1), 0)
    for value in range(9):
        cache = with_sinks(cache, np.int32([[value]]), 5, 2)
    assert view(cache, (5, 1)).ravel().tolist() == [0, 1, 8, 6, 7]
    cache = with_sinks(cache, np.arange(20, 30, dtype=np.int32)[:, None], 5, 2)
    assert sorted(view(cache, (5, 1)).ravel().tolist()) == [0, 1, 27, 28, 29]
    with pytest.raises(ValueError, match="expected fewer sinks than the 5 positions of the window, got 5"):
        with_sinks(cache, np.int32([[0]]), 5, 5)


def test_uniform_samples_select_classes() -> None:
    draw = tvms.get_global_func("vm.builtin.multinomial_from_uniform")
    prob = np.float32([[0.25, 0.25, 0.5]] * 4)
    assert draw(prob, np.float32([[0], [0.25], [0.75], [1]])).tolist() == [[0], [1], [2], [2]]


def test_the_functions_of_the_virtual_machine_are_registered() -> None:
    code = "import tvms; print(tvms.get_global_func('vm.builtin.make_shape')(None, 1, 0, 7))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "(7,)\n"


@pytest.mark.parametrize("evaluate", [tvms.interpret, lambda module, name, x: tvms.compile(module)[name](x)])
@pytest.mark.parametrize(
    ("space", "memory"),
    [
        ('R.shape([4]), R.prim_value(0), R.dtype("float32"), R.str("global")', "vm"),
        ('R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32")', "memory"),
    ],
)
def test_storage_has_a_size_in_bytes_or_a_shape(evaluate: Any, space: str, memory: str) -> None:
    module = tvms.parse(f"""
I.ir_module Module:
    T.prim_func double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    R.function(pure=False) main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        storage = R.{memory}.alloc_storage({space})
        alloc = R.{memory}.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        Module.double(x, alloc)
        return alloc
""")
    x = np.arange(4, dtype=np.float32)
    result = evaluate(module, "main", [x]) if evaluate is tvms.interpret else evaluate(module, "main", x)
    np.testing.assert_array_equal(result, 2 * x)
