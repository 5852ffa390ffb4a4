"""CUDA graphs: calls of graph functions that are recorded, and repeated for other arrays of the same sizes."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from gpu.fake_gpu import Failed, FakeGpu
from gpu.test_gpu_graphs import CHAIN, KERNELS, doubling
from tvms import relax
from tvms.codegen.gpu.driver import Driver, find_driver
from tvms.codegen.gpu.recording import MOST_RECORDINGS

Open = Callable[..., tuple[FakeGpu, Driver]]
PACKAGES = ["pycuda", "cuda-bindings"]
X, W = np.arange(8, dtype="f4"), np.full(8, 0.5, "f4")


@pytest.fixture(params=PACKAGES)
def gpu(request: pytest.FixtureRequest, open_gpu: Open) -> FakeGpu:
    return open_gpu(request.param)[0]


def recorded(text: str, gpu: FakeGpu, target: str = "cuda -arch=sm_80") -> Any:
    """Return the executable of a program whose graph functions are to be recorded."""
    with tvms.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        executable = tvms.compile(tvms.parse(text), target=target)
    gpu.show(executable)
    return executable


def there(*arrays: Any) -> list[Any]:
    return [tvms.nd.array(array, tvms.cuda()) for array in arrays]


def asked(gpu: FakeGpu) -> list[str]:
    """Return what the GPU was asked for since the last time, without allocations."""
    found = [name for name, *_ in gpu.asked if name != "allocate"]
    gpu.asked.clear()
    return found


def reports(main: Any) -> list[str]:
    return list(map(str, main.cuda_graphs))


# --- What is repeated -------------------------------------------------------------------------------------------------


def test_the_third_call_repeats_the_second_one(gpu: FakeGpu) -> None:
    main, (w,), results = recorded(CHAIN, gpu)["main"], there(W), []
    for number in range(6):
        (x,) = there(X + number)
        asked(gpu)
        results.append((main(x, w), x))
        if number == 0:
            assert asked(gpu) == ["load", "copy in", *["launch"] * 4]
            assert reports(main) == []
        elif number == 1:
            assert asked(gpu) == [*["launch"] * 4, "capture"]
        else:
            assert asked(gpu) == ["launch", "launch graph", "launch"], "x changes, and the result is new"
    assert reports(main) == ["2 of 4 kernels in 1 CUDA graph"]
    for number, (result, _) in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), 6 * (X + number + W))


def test_arguments_that_stay_are_read_by_graphs(gpu: FakeGpu) -> None:
    main = recorded(CHAIN, gpu)["main"]
    (x, w), (y, v) = there(X, W), there(X + 1, W + 1)
    for _ in range(3):
        main(x, w)
    asked(gpu)
    np.testing.assert_array_equal(main(x, w).numpy(), 6 * (X + W))
    assert asked(gpu) == ["launch graph", "launch", "copy out"]
    x.copyfrom(X + 5)
    np.testing.assert_array_equal(main(x, w).numpy(), 6 * (X + 5 + W))
    assert reports(main) == ["3 of 4 kernels in 1 CUDA graph"]
    asked(gpu)
    np.testing.assert_array_equal(main(y, w).numpy(), 6 * (X + 1 + W))
    assert asked(gpu) == ["capture", "launch", "launch graph", "launch", "copy out"], "x does not stay"
    np.testing.assert_array_equal(main(y, v).numpy(), 6 * (X + W + 2))
    assert asked(gpu) == ["capture", "launch", "launch graph", "launch", "copy out"]
    np.testing.assert_array_equal(main(x, w).numpy(), 6 * (X + 5 + W))
    assert asked(gpu) == ["launch", "launch graph", "launch", "copy out"]


def test_arrays_of_the_host_are_copied_before(gpu: FakeGpu) -> None:
    main = recorded(CHAIN, gpu)["main"]
    for number in range(5):
        asked(gpu)
        np.testing.assert_array_equal(main(X + number, W), 6 * (X + number + W))
    assert [what for what in asked(gpu) if what != "launch"] == ["copy in", "copy in", "launch graph", "copy out"]


def test_each_size_is_recorded(gpu: FakeGpu) -> None:
    main = recorded(CHAIN, gpu)["main"]
    for number in range(4):
        for size in (8, 5, 3):
            np.testing.assert_array_equal(main(X[:size] + number, W[:size]), 6 * (X + number + W)[:size])
    assert len(reports(main)) == 3


def test_intermediate_tensors_share_a_workspace(gpu: FakeGpu) -> None:
    main = recorded(doubling("n"), gpu)["main"]
    (x,) = there(np.zeros(1000, "f4"))
    for _ in range(3):
        main(x)
    assert gpu.asked.count(("allocate", 8192)) == 1, "two tensors of 4000 bytes take turns"
    before = len(gpu.memory)
    kept = [main(x) for _ in range(10)]
    assert len({result.address for result in kept}) == 10
    assert len(gpu.memory) <= before + 10, "calls allocate their results only"


def test_results_keep_their_elements(gpu: FakeGpu) -> None:
    main, (w,) = recorded(CHAIN, gpu)["main"], there(W)
    kept = [main(there(X + number)[0], w) for number in range(8)]
    for number, result in enumerate(kept):
        np.testing.assert_array_equal(result.numpy(), 6 * (X + number + W))


VALUES = (
    KERNELS
    + """
    R.function main(x: R.Tensor((8,), "float32"), k: R.Prim("int64"), s: R.Shape(["m"])):
        m = T.int64()
        c = R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "float32")
        y = R.call_tir(Module.add, (x, c), out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir(Module.add, (y, y), out_sinfo=R.Tensor((8,), "float32"))
        half = R.memory.view(z, R.shape([4]), R.dtype("float32"), R.prim_value(16))
        t = (x, (y, half), c, k, R.shape([m, 2]), y)
        return t
"""
)


def test_values_of_all_kinds(gpu: FakeGpu) -> None:
    main = recorded(VALUES, gpu)["main"]
    c = np.arange(1, 9, dtype="f4")
    for number in range(5):
        (x,) = there(X + number)
        same, (y, half), constant, k, shape, again = main(x, 7, (3,))
        assert (same.address, k, tuple(shape)) == (x.address, 7, (3, 2))
        np.testing.assert_array_equal(constant.numpy(), c)
        np.testing.assert_array_equal(y.numpy(), X + number + c)
        np.testing.assert_array_equal(half.numpy(), 2 * (X + number + c)[4:])
        assert again.address == y.address
    assert main(x, 8, (3,))[3] == 8
    assert tuple(main(x, 7, (4,))[4]) == (4, 2)


def test_views_of_arguments(gpu: FakeGpu) -> None:
    text = (
        KERNELS
        + """
    R.function main(x: R.Tensor((8,), "float32"), w: R.Tensor((8,), "float32")):
        half = R.memory.view(x, R.shape([4]), R.dtype("float32"), R.prim_value(16))
        y = R.call_tir(Module.add, (x, w), out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir(Module.add, (y, y), out_sinfo=R.Tensor((8,), "float32"))
        t = (half, x, z, w)
        return t
"""
    )
    main = recorded(text, gpu)["main"]
    for number in range(5):
        (whole,) = there(np.arange(16, dtype="f4") + number)
        a, b = whole.part(0, (8,), whole.dtype), whole.part(32, (8,), whole.dtype)
        half, x, z, w = main(a, b)
        assert (half.address, x.address, w.address) == (a.address + 16, a.address, b.address)
        np.testing.assert_array_equal(z.numpy(), 2 * (a.numpy() + b.numpy()))


SCALED = """
I.ir_module Module:
    T.prim_func(private=True) scale(A: T.Buffer((8,), "float32"), s: T.float32, B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("scale"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] / s

    R.function main(x: R.Tensor((8,), "float32"), s: R.Prim("float32")):
        y = R.call_tir(Module.scale, (x, s), out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir(Module.scale, (y, R.prim_value(T.float32(1))), out_sinfo=R.Tensor((8,), "float32"))
        return z
"""


def test_numbers_are_told_apart_by_their_bits(gpu: FakeGpu) -> None:
    main, (x,) = recorded(SCALED, gpu)["main"], there(X + 1)
    for number in (0.0, -0.0, np.float32(-0.0), 1, 1.0, 2.0, 0.0, -0.0):
        for _ in range(3):
            with np.errstate(divide="ignore"):
                np.testing.assert_array_equal(main(x, number).numpy(), (X + 1) / np.float32(number))
    assert len(reports(main)) == 4
    for _ in range(4):
        assert np.isnan(main(x, float("nan")).numpy()).all()
    assert len(reports(main)) == 5


def test_constants_as_arguments(gpu: FakeGpu) -> None:
    """What reads a constant reads it, whatever is passed where the constant was passed before."""
    text = (
        KERNELS
        + """
    R.function main(x: R.Tensor((8,), "float32")):
        c = R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "float32")
        d = R.const([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], "float32")
        y = R.call_tir(Module.add, (x, c), out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir(Module.add, (y, c), out_sinfo=R.Tensor((8,), "float32"))
        t = (z, c, d)
        return t
"""
    )
    main, (x,) = recorded(text, gpu)["main"], there(X)
    _, c, d = main(x)
    for argument in (c, c, c, d, d, x, x, x, c, d):
        np.testing.assert_array_equal(main(argument)[0].numpy(), argument.numpy() + 2 * c.numpy())
    assert reports(main) == ["0 of 2 kernels in 0 CUDA graphs"]


IN_PLACE = (
    KERNELS
    + """
    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir_inplace(Module.increment, (x,), inplace_indices=[0], out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir_inplace(Module.increment, (y,), inplace_indices=[0], out_sinfo=R.Tensor((8,), "float32"))
        return z
"""
)


def test_arguments_that_are_written(gpu: FakeGpu) -> None:
    main, (x,) = recorded(IN_PLACE, gpu)["main"], there(X)
    for _ in range(4):
        assert main(x).address == x.address
    np.testing.assert_array_equal(x.numpy(), X + 8)
    assert reports(main) == ["2 of 2 kernels in 1 CUDA graph"]
    own = X.copy()
    for _ in range(4):
        main(own)
    np.testing.assert_array_equal(own, X + 8)
    assert reports(main)[1:] == ["not recorded: the host reads an array"]
    fixed = X.copy()
    fixed.flags.writeable = False
    with pytest.raises(tvms.TvmsError, match="the function writes it, but it is read-only"):
        main(fixed)


def test_functions_that_call_others(gpu: FakeGpu) -> None:
    text = (
        KERNELS
        + """
    R.function twice(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((8,), "float32"))
        return y

    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        a = Module.twice(x)
        R.function local(z: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
            u = R.call_tir(Module.add, (a, z), out_sinfo=R.Tensor((8,), "float32"))
            return u
        b = local(a)
        c = local(b)
        d = Module.twice(c)
        return d
"""
    )
    executable = recorded(text, gpu)
    for number in range(4):
        (x,) = there(X + number)
        np.testing.assert_array_equal(executable["main"](x).numpy(), 12 * (X + number))
    assert reports(executable["main"]) == ["2 of 4 kernels in 1 CUDA graph"]
    assert reports(executable["twice"]) == []


# --- What is not repeated ---------------------------------------------------------------------------------------------

ON_HOST = """
    R.function(pure=False) main(x: R.Tensor((8,), "float32"), p: R.Tensor((), "bool")):
        a = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((8,), "float32"))
        {}
        return b
"""
OBSTACLES = {
    "a print": ('_ = R.print(R.prim_value(1), format="{}")\n        b = a', "a part of it runs on the processor"),
    "a branch": ("if p:\n            b = a\n        else:\n            b = x", "a part of it runs on the processor"),
    "an operator of the host": ("b = R.unique(a, sorted=True)", "a part of it runs on the processor"),
    "a closure": ("b = R.make_closure(Module.add, (a,))", "it returns a function"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_programs_that_need_the_processor_are_executed(open_gpu: Open, name: str) -> None:
    gpu, _ = open_gpu("pycuda")
    lines, reason = OBSTACLES[name]
    main = recorded(KERNELS + ON_HOST.format(lines), gpu)["main"]
    for number in range(4):
        x, p = there(X + number, np.array(True))
        asked(gpu)
        found = main(x, p)
        assert "launch" in asked(gpu)
        if not callable(found):
            np.testing.assert_array_equal(found.numpy(), 2 * (X + number))
    assert reports(main) == [f"not recorded: {reason}"]
    assert gpu.count("capture") == 0


def test_arguments_that_share_memory_are_not_repeated(gpu: FakeGpu) -> None:
    main = recorded(CHAIN, gpu)["main"]
    x, w = there(X, W)
    for _ in range(4):
        np.testing.assert_array_equal(main(x, x).numpy(), 12 * X)
    assert gpu.count("capture") == 0
    for _ in range(3):
        np.testing.assert_array_equal(main(x, w).numpy(), 6 * (X + W))
    np.testing.assert_array_equal(main(x, x).numpy(), 12 * X)
    assert gpu.count("capture") == 1


def test_arrays_without_elements_own_no_memory(gpu: FakeGpu) -> None:
    """The empty part of `w` has the address of `w`, which must be found for `w` itself."""
    head = 'w: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):'
    main = recorded(CHAIN.replace(head, head.replace(")) ->", '), e: R.Tensor((0,), "float32")) ->')), gpu)["main"]
    for number in range(5):
        x, w = there(X, W + number)
        np.testing.assert_array_equal(main(x, w, w.part(0, (0,), w.dtype)).numpy(), 6 * (X + number + W))
    assert gpu.count("launch graph") == 3


def test_single_launches_are_no_graph(gpu: FakeGpu) -> None:
    text = (
        KERNELS
        + """
    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir(Module.add, (x, x), out_sinfo=R.Tensor((8,), "float32"))
        return y
"""
    )
    main, (x,) = recorded(text, gpu)["main"], there(X)
    for _ in range(4):
        np.testing.assert_array_equal(main(x).numpy(), 2 * X)
    assert reports(main) == ["0 of 1 kernels in 0 CUDA graphs"]


def test_nothing_is_recorded_unless_it_is_asked_for(gpu: FakeGpu) -> None:
    executable = tvms.compile(tvms.parse(CHAIN), target="cuda -arch=sm_80")
    gpu.show(executable)
    x, w = there(X, W)
    for _ in range(4):
        executable["main"](x, w)
    assert gpu.count("capture") == 0
    assert executable["main"].cuda_graphs == []


def test_the_attribute_in_a_text_asks_for_it(gpu: FakeGpu) -> None:
    head = '-> R.Tensor(("n",), "float32"):\n'
    attribute = '        R.func_attr({"relax.backend.use_cuda_graph": True})\n'
    executable = tvms.compile(tvms.parse(CHAIN.replace(head, head + attribute)), target="cuda -arch=sm_80")
    gpu.show(executable)
    x, w = there(X, W)
    for _ in range(3):
        executable["main"](x, w)
    assert gpu.count("launch graph") == 1


def test_profiles_show_each_kernel(gpu: FakeGpu) -> None:
    machine = relax.VirtualMachine(recorded(CHAIN, gpu), tvms.cuda())
    x, w = there(X, W)
    for _ in range(4):
        np.testing.assert_array_equal(machine["main"](x, w).numpy(), 6 * (X + W))
    assert gpu.count("launch graph") > 0
    assert [(call.name, call.count) for call in machine.profile("main", x, w).calls] == [("add", 4)]


# --- Memory, streams, threads -----------------------------------------------------------------------------------------


def test_recordings_and_their_graphs_end_with_the_function(gpu: FakeGpu) -> None:
    from tvms.codegen.gpu import libcuda

    main, (x, w) = recorded(CHAIN, gpu)["main"], there(X, W)
    for _ in range(3):
        main(x, w)
    assert libcuda._libraries[0].live_graphs == 1
    del main
    gc.collect()
    find_driver().synchronize()
    assert libcuda._libraries[0].live_graphs == 0


def test_the_latest_sizes_are_kept(gpu: FakeGpu) -> None:
    main = recorded(CHAIN, gpu)["main"]
    for size in range(1, MOST_RECORDINGS + 9):
        for _ in range(2):
            main(*there(np.ones(size, "f4"), np.ones(size, "f4")))
    assert len(main.cuda_graphs) == MOST_RECORDINGS
    captured = gpu.count("capture")
    np.testing.assert_array_equal(main(X[:1], W[:1]), 6 * (X + W)[:1])
    assert gpu.count("capture") == captured, "size 1 is forgotten"


def test_without_memory_functions_are_executed(open_gpu: Open) -> None:
    gpu, _ = open_gpu("pycuda", memory_limit=1 << 20)
    main, (x,) = recorded(doubling("n"), gpu)["main"], there(np.ones(40_000, "f4"))
    kept = [main(x), *there(*[np.ones(40_000, "f4")] * 2)]
    for _ in range(3):
        np.testing.assert_array_equal(main(x).numpy(), np.full(40_000, 256, "f4"))
    assert reports(main) == ["not recorded: the GPU does not have enough memory"]
    assert len(kept) == 3


def test_recordings_end_when_memory_is_exhausted(open_gpu: Open) -> None:
    gpu, driver = open_gpu("pycuda", memory_limit=1 << 20)
    main, sizes = recorded(doubling("n"), gpu)["main"], (20_000, 18_000, 16_000)
    for size in sizes:
        for _ in range(3):
            main(there(np.ones(size, "f4"))[0])
    assert [report.graphs for report in main.cuda_graphs] == [1, 1, 1]
    address = driver.allocate(900_000)
    assert reports(main) == ["not recorded: the GPU does not have enough memory"] * 3
    driver.free(address)
    np.testing.assert_array_equal(main(np.ones(20_000, "f4")), np.full(20_000, 256, "f4"))


@pytest.mark.parametrize("is_blocking", [True, False])
def test_streams_take_turns(gpu: FakeGpu, is_blocking: bool) -> None:
    main, (w,), kept = recorded(CHAIN, gpu)["main"], there(W), []
    streams = [None, gpu.new_stream(is_blocking), gpu.new_stream(is_blocking)]
    for number in range(12):
        (x,) = there(X + number)
        kept.append((main(x, w, stream=streams[number * 7 % 3]), x))
    find_driver().synchronize()
    for number, (result, _) in enumerate(kept):
        np.testing.assert_array_equal(result.numpy(), 6 * (X + number + W))
    assert gpu.count("launch graph") == 10


def test_default_streams_of_threads_take_turns(gpu: FakeGpu) -> None:
    main, (x, w) = recorded(CHAIN, gpu)["main"], there(X, W)
    for _ in range(3):
        main(x, w)
    find_driver().synchronize()

    kept: list[Any] = []

    def work() -> None:
        kept.append(main(x, w, stream=2))

    def computed(result: Any) -> bool:
        return bool((np.ctypeslib.as_array((ctypes.c_float * 8).from_address(result.address)) == 6 * (X + W)).all())

    with find_driver().using(2):
        for _ in range(2):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        assert not any(map(computed, kept))
        np.testing.assert_array_equal(main(x, w).numpy(), 6 * (X + W))
    assert all(map(computed, kept)), "all calls use the same workspace"


def test_sizes_are_forgotten_while_their_work_is_pending(gpu: FakeGpu) -> None:
    main, streams = recorded(CHAIN, gpu)["main"], [gpu.new_stream(is_blocking=False) for _ in range(3)]
    kept: list[Any] = []
    for size in [*range(1, MOST_RECORDINGS + 9), 1, 2]:
        x, w = there(np.arange(size, dtype="f4"), np.full(size, size, "f4"))
        kept += [(main(x, w, stream=streams[(size + step) % 3]), x, w) for step in range(4)]
    for result, x, w in kept:
        np.testing.assert_array_equal(result.numpy(), 6 * (x.numpy() + w.numpy()))


def test_threads_take_turns(gpu: FakeGpu) -> None:
    main, (w,), results = recorded(CHAIN, gpu)["main"], there(W), {}

    def work(number: int) -> None:
        for step in range(6):
            (x,) = there(X + 10 * number + step)
            results[number, step] = main(x, w).numpy()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 24
    for (number, step), result in results.items():
        np.testing.assert_array_equal(result, 6 * (X + 10 * number + step + W))


# --- Errors -----------------------------------------------------------------------------------------------------------


def test_faults_in_graphs_are_reported(gpu: FakeGpu) -> None:
    text = (
        KERNELS
        + """
    R.function main(x: R.Tensor((8,), "float32"), i: R.Tensor((8,), "int32")) -> R.Tensor((8,), "float32"):
        y = R.call_tir(Module.pick, (x, i), out_sinfo=R.Tensor((8,), "float32"))
        z = R.call_tir(Module.add, (y, y), out_sinfo=R.Tensor((8,), "float32"))
        u = R.call_tir(Module.add, (z, z), out_sinfo=R.Tensor((8,), "float32"))
        return u
"""
    )
    main, (x, i) = recorded(text, gpu)["main"], there(X, np.arange(8, dtype="i4"))
    for _ in range(3):
        main(x, i)
    assert reports(main) == ["2 of 3 kernels in 1 CUDA graph"]
    i.copyfrom(np.arange(1, 9, dtype="i4"))
    with pytest.raises(tvms.TvmsError, match="an index of 'A' is outside the buffer"):
        main(x, i)
    i.copyfrom(np.arange(8, dtype="i4"))
    np.testing.assert_array_equal(main(x, i).numpy(), 4 * X)


def test_a_failure_in_a_graph_names_its_kernels(open_gpu: Open) -> None:
    gpu, _ = open_gpu("pycuda")
    main, (x, w) = recorded(CHAIN, gpu)["main"], there(X, W)
    for _ in range(3):
        main(x, w)
    find_driver().synchronize()
    gpu.failing.add("tvms_add")
    with pytest.raises(tvms.TvmsError) as caught:
        main(x, w).numpy()
    assert caught.value.diagnostics[0].message == (
        "kernel 'add' failed on 'no GPU': an illegal memory access was encountered"
    )


def test_a_driver_that_cannot_record(gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(stream: int) -> None:
        raise Failed("INVALID_VALUE")

    main, (x, w) = recorded(CHAIN, gpu)["main"], there(X, W)
    monkeypatch.setattr(gpu, "begin_capture", refuse)
    for _ in range(3):
        np.testing.assert_array_equal(main(x, w).numpy(), 6 * (X + W))
    assert reports(main) == [
        "not recorded: 'no GPU' cannot record a graph: cuStreamBeginCapture failed: invalid argument"
    ]


def test_a_driver_that_cannot_record_again(gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(stream: int) -> None:
        raise Failed("OUT_OF_MEMORY")

    main, (x, w, y) = recorded(CHAIN, gpu)["main"], there(X, W, X + 1)
    for _ in range(3):
        main(x, w)
    assert reports(main) == ["3 of 4 kernels in 1 CUDA graph"]
    monkeypatch.setattr(gpu, "begin_capture", refuse)
    for _ in range(2):
        np.testing.assert_array_equal(main(y, w).numpy(), 6 * (X + 1 + W))
    assert reports(main) == ["not recorded: 'no GPU' cannot record a graph: cuStreamBeginCapture failed: out of memory"]


@pytest.mark.parametrize("number", range(12))
def test_memory_that_is_exhausted_once(gpu: FakeGpu, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allocations fail, one after the other: a call fails, or returns the same as ever."""
    allocate, count = gpu.allocate, -1

    def sometimes(size: int) -> int:
        nonlocal count
        count += 1
        if count in (number, number + 1):  # the driver releases unused memory, then tries once more
            raise Failed("OUT_OF_MEMORY")
        return allocate(size)

    main, (w,) = recorded(CHAIN, gpu)["main"], there(W)
    monkeypatch.setattr(gpu, "allocate", sometimes)
    kept, failures = list[Any](), list[str]()
    for step in range(6):
        try:
            (x,) = there(X + step)
            kept.append(main(x, w))
        except tvms.TvmsError as problem:
            failures += [problem.diagnostics[0].code]
            continue
        np.testing.assert_array_equal(kept[-1].numpy(), 6 * (X + step + W))
    assert len(kept) >= 5
    assert failures in ([], ["E0717"])
