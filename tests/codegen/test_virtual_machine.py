"""The virtual machine: TVM's ways to run a compiled module give what the interpreter gives; what it refuses, it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax

MODULE = """
I.ir_module Module:
    T.prim_func add(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            C[i] = A[i] + B[i]

    R.function helper(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((n,), "float32"))
        return y

    R.function main(x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tuple(R.Tensor(("n",), "float32"), R.Shape(["n"]))):
        n = T.int64()
        y = Module.helper(x)
        z = R.call_tir(Module.add, (y, w), out_sinfo=R.Tensor((n,), "float32"))
        return (z, (y, R.shape([n])))

    R.function unpack(p: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"))) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        x = p[0]
        y = p[1]
        z = R.call_tir(Module.add, (x, y), out_sinfo=R.Tensor((n,), "float32"))
        return z

    R.function make_adder(w: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        closure = R.make_closure(Module.adder, (w,))
        return closure

    R.function adder(x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        z = R.call_tir(Module.add, (x, w), out_sinfo=R.Tensor((n,), "float32"))
        return z

    R.function outside(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        z = R.call_dps_packed("test_virtual_machine.double", (x,), out_sinfo=R.Tensor((4,), "float32"))
        return z
"""
X, W = np.arange(4, dtype="f4"), np.full(4, 0.5, "f4")


class Foreign:
    """An array of another library: all that is known of it is DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


@pytest.fixture(scope="module")
def module() -> tvms.IRModule:
    return tvms.parse(MODULE)


@pytest.fixture
def vm(module: tvms.IRModule) -> relax.VirtualMachine:
    return relax.VirtualMachine(tvms.compile(module), tvms.device("cpu", 0))


def assert_same(result: Any, expected: Any) -> None:
    """Equal bit by bit, and every array in it has TVM's methods."""
    if isinstance(expected, tuple):
        for one, other in zip(result, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert type(result.numpy()) is np.ndarray
        assert np.shares_memory(result, result.numpy())
        assert result.device == tvms.cpu()
        np.testing.assert_array_equal(result.numpy(), expected, strict=True)
    else:
        assert result == expected


@pytest.mark.parametrize("kind", [np.asarray, tvms.nd.array, Foreign, lambda x: x.view(np.memmap)])
def test_arrays_of_every_kind_give_what_the_interpreter_gives(
    module: tvms.IRModule, vm: relax.VirtualMachine, kind: Callable[[np.ndarray], Any]
) -> None:
    expected = tvms.interpret(module, "main", [X, W])
    for _ in range(4):  # from the third call on, plain arrays go another way
        assert_same(vm["main"](kind(X), kind(W)), expected)
    assert_same(vm["main"](w=kind(W), x=kind(X)), expected)
    assert_same(vm["unpack"]((kind(X), kind(W))), X + W)


@pytest.mark.parametrize("kind", [np.asarray, tvms.nd.from_dlpack, Foreign, lambda x: x.view(np.memmap)])
def test_a_loop_function_writes_into_the_memory_it_is_given(
    vm: relax.VirtualMachine, kind: Callable[[np.ndarray], Any]
) -> None:
    for _ in range(4):
        out = np.zeros(4, "f4")
        vm["add"](kind(X), kind(W), kind(out))
        np.testing.assert_array_equal(out, X + W)


def test_calls_in_stages(module: tvms.IRModule, vm: relax.VirtualMachine) -> None:
    vm.set_input("main", X, w=tvms.nd.array(W))
    for _ in range(2):
        vm.invoke_stateful("main")
        assert_same(vm.get_outputs("main"), tvms.interpret(module, "main", [X, W]))


def test_saved_functions_and_closures(vm: relax.VirtualMachine) -> None:
    vm.save_function("unpack", "sum", (tvms.nd.array(X), W))
    vm.save_function("unpack", "silent", (X, W), include_return=False)
    assert_same(vm["sum"](), X + W)
    assert vm["silent"]() is None
    assert_same(vm.invoke_closure(vm["make_adder"](W), tvms.nd.array(X)), X + W)


def test_timing(vm: relax.VirtualMachine) -> None:
    vm.save_function("main", "saved", X, W)
    vm.set_input("main", X, W)
    for name, args in (("main", (tvms.nd.array(X), W)), ("saved", ()), ("invoke_stateful", ("main",))):
        result = vm.time_evaluator(name, tvms.cpu(), number=3, repeat=5)(*args)
        assert len(result.results) == 5
        assert 0 < result.min <= result.median <= result.max
        assert result.min <= result.mean <= result.max


def test_timing_calls_as_often_as_it_takes(vm: relax.VirtualMachine) -> None:
    prepared: list[Any] = []
    calls: list[Any] = []
    tvms.register_func("test_virtual_machine.prepare", lambda *args: prepared.append(args), override=True)
    tvms.register_func("test_virtual_machine.double", lambda x, out: calls.append(x), override=True)
    timed = vm.time_evaluator(
        "outside", tvms.cpu(), number=1, repeat=2, min_repeat_ms=2, cooldown_interval_ms=1,
        f_preproc="test_virtual_machine.prepare",
    )(X)  # fmt: skip
    assert timed.min * len(calls) >= 2e-3
    assert len(prepared) == 2
    assert str(timed).splitlines()[2].startswith("min (ms)")


def test_a_profile_counts_each_kernel_and_function_of_python(vm: relax.VirtualMachine) -> None:
    tvms.register_func("test_virtual_machine.double", lambda x, out: np.add(x, x, out=out), override=True)
    for _ in range(2):  # a second profile starts at nothing
        report = vm.profile("main", tvms.nd.array(X), W)
        assert [(call.name, call.count) for call in report.calls] == [("add", 2)]
        assert 0 < report.calls[0].mean <= report.calls[0].total <= report.total
    lines = str(report).splitlines()
    assert [line.split()[0] for line in lines] == ["Name", "add", "(between", "Total"]
    assert len(set(map(len, lines))) == 1
    assert [call.name for call in vm.profile("outside", X).calls] == ["test_virtual_machine.double"]


def test_an_instrument_sees_all_calls_and_may_leave_some_out(vm: relax.VirtualMachine) -> None:
    seen: list[tuple[str, bool, list[float]]] = []

    def instrument(function: Any, name: str, before: bool, result: Any, *args: Any) -> int:
        seen.append((name, before, args[-1].numpy().tolist() if not before else []))
        return 0

    vm.set_instrument(instrument)
    vm["unpack"]((X, W))
    assert seen == [("add", True, []), ("add", False, (X + W).tolist())]
    vm.set_instrument(lambda function, name, before, *rest: int(before))
    assert vm["unpack"]((X, W)).shape == (4,)
    assert len(seen) == 2


def test_parameters_and_pipelines_of_build(module: tvms.IRModule) -> None:
    expected = tvms.interpret(module, "main", [X, W])
    for pipeline in ("default", "zero", None, relax.get_pipeline("zero")):
        executable = relax.build(module, "llvm", params={"w": tvms.nd.array(W)}, relax_pipeline=pipeline)
        assert_same(relax.VirtualMachine(executable, [tvms.cpu()])["main"](X), expected)


def test_arrays_with_the_methods_of_tvm() -> None:
    one = tvms.nd.array([[1, 2], [3, 4]])
    two = tvms.nd.empty((2, 2), "int64", tvms.cpu())
    assert one.copyto(two) is two
    assert two.copyto(tvms.cpu()).tolist() == one.tolist()
    assert tvms.nd.empty((2,), "bfloat16").copyfrom([1, 2]).tolist() == [1, 2]
    assert not np.shares_memory(one, tvms.nd.array(one))
    assert np.shares_memory(one, tvms.nd.from_dlpack(Foreign(one)))


def test_devices_are_values() -> None:
    assert tvms.device("cuda", 1) == tvms.cuda(1) == tvms.device(2, 1) == tvms.device("cuda -arch=sm_90", 1)
    assert tvms.device("llvm") == tvms.cpu(0)
    assert tvms.cpu() != tvms.cuda()
    assert (str(tvms.cuda(1)), tvms.cuda(1).exist, tvms.cpu().exist) == ("cuda(1)", False, True)
    assert len({tvms.cpu(), tvms.cpu(0), tvms.cpu(1)}) == 2


NOT_THERE = "compile for the target 'llvm' and use tvms.cpu()"
REFUSALS: dict[str, tuple[Callable[[relax.VirtualMachine, tvms.IRModule], Any], str, str]] = {
    "a device that is not there": (
        lambda vm, mod: relax.VirtualMachine(tvms.compile(mod), tvms.cuda(0)),
        "error[E0721]: argument 'device' of 'VirtualMachine': the device cuda(0) does not exist",
        NOT_THERE,
    ),
    "an array there": (
        lambda vm, mod: tvms.nd.array(X, tvms.cuda(1)),
        "error[E0721]: argument 'device' of 'nd.array': the device cuda(1) does not exist",
        NOT_THERE,
    ),
    "a clock there": (
        lambda vm, mod: vm.time_evaluator("main", tvms.cuda(0)),
        "error[E0721]: argument 'dev' of 'time_evaluator': the device cuda(0) does not exist",
        NOT_THERE,
    ),
    "a kind of device": (
        lambda vm, mod: tvms.device("abacus", 0),
        "error[E0721]: unknown kind of device 'abacus'",
        "use one of cpu, cuda",
    ),
    "no device": (
        lambda vm, mod: relax.VirtualMachine(tvms.compile(mod), "cpu"),
        "error[E0702]: argument 'device' of 'VirtualMachine': expected a device, got str",
        'pass tvms.cpu() or tvms.device("cpu", 0)',
    ),
    "a module that is not compiled": (
        lambda vm, mod: relax.VirtualMachine(mod, tvms.cpu()),
        "error[E0702]: argument 'rt_mod' of 'VirtualMachine': expected an executable, got IRModule",
        "compile it first: tvms.compile(mod)",
    ),
    "an unknown function": (
        lambda vm, mod: vm["mian"],
        "error[E0102]: the module has no function 'mian'",
        "functions are: add, helper, main, unpack, make_adder, adder, outside",
    ),
    "a call without inputs": (
        lambda vm, mod: vm.invoke_stateful("main"),
        "error[E0722]: the inputs of 'main' are not set",
        'call vm.set_input("main", ...) first',
    ),
    "outputs before the call": (
        lambda vm, mod: vm.get_outputs("main"),
        "error[E0722]: 'main' has no outputs yet",
        'call vm.invoke_stateful("main") first',
    ),
    "a name that is taken": (
        lambda vm, mod: vm.save_function("main", "helper", X, W),
        "error[E0104]: the module already has a function 'helper'",
        "save it under another name",
    ),
    "no closure": (
        lambda vm, mod: vm.invoke_closure(X),
        "error[E0702]: argument 'closure' of 'invoke_closure': expected a closure, got ndarray",
        "pass a closure that a function returned",
    ),
}


@pytest.mark.parametrize("refused", REFUSALS)
def test_refusals(refused: str, vm: relax.VirtualMachine, module: tvms.IRModule) -> None:
    call, message, help = REFUSALS[refused]
    with pytest.raises(tvms.TvmsError) as caught:
        call(vm, module)
    assert str(caught.value).splitlines() == [message, f"  = help: {help}"]


def test_functions_of_python_get_arrays_with_the_methods_of_tvm() -> None:
    @tvms.register_global_func("test_virtual_machine.scale", override=True)
    def scale(x: Any, y: Any) -> None:
        y.copyfrom(x.numpy() * 2)

    @tvms.register_global_func
    def test_virtual_machine_shift(x: Any) -> Any:
        return tvms.nd.array(x.numpy() + 1)

    module = tvms.parse("""
R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.call_dps_packed("test_virtual_machine.scale", (x,), out_sinfo=R.Tensor((4,), "float32"))
    z = R.call_pure_packed("test_virtual_machine_shift", y, sinfo_args=R.Tensor((4,), "float32"))
    w = R.add(z, x)
    return w
""")
    vm = relax.VirtualMachine(tvms.compile(module), tvms.cpu())
    np.testing.assert_array_equal(vm["main"](X), 3 * X + 1)
    assert "test_virtual_machine.scale" in vm.profile("main", X).table()
