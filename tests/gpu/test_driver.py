"""The GPU through each package: contexts, threads, lifetimes, streams, arguments and errors."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from gpu.fake_gpu import FakeGpu
from tvms.codegen.gpu.driver import Driver, find_driver
from tvms.codegen.gpu.pool import rounded_size
from tvms.codegen.gpu.streams import stream_number

Open = Callable[..., tuple[FakeGpu, Driver]]
PACKAGES = ["pycuda", "cuda-bindings"]
DOUBLE = """T.prim_func main(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    for i in T.thread_binding({n}, "threadIdx.x"):
        B[i] = A[i] * 2.0
"""
OTHER = DOUBLE.replace("main", "other").replace("A[i] * 2.0", "A[i] + 1.0")
X = np.arange(32, dtype=np.float32)


@pytest.fixture(params=PACKAGES)
def package(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def compiled(gpu: FakeGpu, text: str = DOUBLE.format(n=32)) -> Any:
    """Return the executable of a program, which the GPU knows."""
    executable = tvms.compile(tvms.parse(text), target="cuda -arch=sm_80")
    gpu.show(executable)
    return executable


def on_gpu(*arrays: Any) -> list[Any]:
    """Return copies of arrays on the GPU."""
    return [tvms.nd.array(array, tvms.cuda()) for array in arrays]


def message(call: Callable[[], object]) -> str:
    """Return the text of the error that a call raises."""
    with pytest.raises(tvms.TvmsError) as caught:
        call()
    return str(caught.value)


# --- Contexts and threads ---------------------------------------------------------------------------------------------


def test_the_context_is_current_only_during_calls(open_gpu: Open, package: str) -> None:
    gpu, _ = open_gpu(package)
    main = compiled(gpu)["main"]
    a, b = on_gpu(X, X)
    main(a, b)
    assert not gpu.stack
    np.testing.assert_array_equal(b.numpy(), 2 * X)
    assert not gpu.stack


def test_kernels_run_from_every_thread(open_gpu: Open, package: str) -> None:
    gpu, _ = open_gpu(package)
    main, results = compiled(gpu)["main"], {}

    def work(number: int) -> None:
        a, b = on_gpu(X + number, X)
        main(a, b)
        results[number] = b.numpy()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        np.testing.assert_array_equal(results[number], 2 * (X + number))


def test_what_another_thread_drops_is_destroyed_in_the_context(open_gpu: Open, package: str) -> None:
    gpu, driver = open_gpu(package)
    held = [compiled(gpu)["main"], driver.stream(), driver.event()]
    held[0](*on_gpu(X, X))
    thread = threading.Thread(target=lambda: (held.clear(), gc.collect()))
    thread.start()
    thread.join()
    driver.synchronize()
    assert not gpu.complaints


# --- Memory -----------------------------------------------------------------------------------------------------------


def test_freeing_memory_calls_nothing(open_gpu: Open, package: str) -> None:
    gpu, driver = open_gpu(package)
    main = compiled(gpu)["main"]
    a, b = on_gpu(X, X)
    main(a, b, stream=driver.stream())
    gpu.asked.clear()
    del a, b
    gc.collect()
    assert gpu.asked == []
    assert gpu.pending() > 0


def test_memory_of_the_default_stream_is_used_again_at_once(open_gpu: Open, package: str) -> None:
    gpu, driver = open_gpu(package)
    main = compiled(gpu)["main"]
    a, b = on_gpu(X, X)
    main(a, b)
    address = b.address
    del b
    assert gpu.pending() > 0
    assert driver.allocate(128) == address


@pytest.mark.parametrize("is_blocking", [True, False])
def test_memory_of_other_streams_is_used_again_when_they_are_done(
    open_gpu: Open, package: str, is_blocking: bool
) -> None:
    gpu, driver = open_gpu(package)
    main = compiled(gpu)["main"]
    a, b, kept = on_gpu(X, X, X)
    main(a, kept, stream=(stream := gpu.new_stream(is_blocking)))
    address = a.address
    del a
    assert driver.allocate(128) != address
    driver.synchronize(stream)
    np.testing.assert_array_equal(kept.numpy(), 2 * X)
    assert address in {driver.allocate(128) for _ in range(2)}
    assert b.address != address


def test_memory_that_is_kept_is_released_before_it_is_exhausted(open_gpu: Open, package: str) -> None:
    gpu, driver = open_gpu(package, memory_limit=1 << 20)
    for size in (100_000, 300_000, 500_000, 900_000):
        driver.free(driver.allocate(size))
    assert message(lambda: driver.allocate(1 << 21)) == (
        "error[E0717]: the GPU has less than 2097152 bytes of free memory\n  = help: free arrays, or use smaller ones"
    )
    assert not gpu.stack


def test_sizes_of_allocations() -> None:
    assert [rounded_size(size) for size in (0, 1, 512, 513, 8192, 8193, 9000)] == [
        512,
        512,
        512,
        1024,
        8192,
        9216,
        9216,
    ]
    for size in range(1, 100_000, 97):
        assert size <= rounded_size(size) <= max(size * 9 / 8 + 512, 512)


@pytest.mark.parametrize("is_in_stream", [False, True])
def test_a_host_array_may_be_changed_after_its_copy(open_gpu: Open, package: str, is_in_stream: bool) -> None:
    _, driver = open_gpu(package)
    source, address = X.copy(), driver.allocate(128)
    with driver.using(driver.stream() if is_in_stream else None):
        driver.copy_in(address, source)
        source[:] = -1
        driver.copy_out(found := np.zeros_like(X), address)
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "int8", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)])
def test_arrays_of_all_dtypes_are_copied(open_gpu: Open, package: str, dtype: Any, shape: tuple[int, ...]) -> None:
    open_gpu(package)
    source = np.ones(shape, dtype)
    (array,) = on_gpu(source)
    np.testing.assert_array_equal(array.numpy(), source)


# --- Arguments --------------------------------------------------------------------------------------------------------

SCALARS = {
    "bool": True, "int8": -3, "uint8": 200, "int16": -300, "int32": -70000, "int64": -(2**40), "uint32": 2**31 + 5, "float16": 1.5, "bfloat16": -2.5,
    "float8_e4m3fn": 1.75, "float8_e5m2": -3.0, "float32": 0.1, "float64": 0.1,
}  # fmt: skip


@pytest.mark.parametrize("dtype", SCALARS)
def test_scalars_of_all_dtypes(open_gpu: Open, package: str, dtype: str) -> None:
    gpu, _ = open_gpu(package)
    text = f"""T.prim_func main(A: T.Buffer((32,), "float64"), flag: T.bool, x: T.{dtype}, last: T.int16):
    for i in T.thread_binding(32, "threadIdx.x"):
        A[i] = T.Select(flag, T.cast(x, "float64"), T.float64(0)) + T.cast(last, "float64")
"""
    found = np.zeros(32)
    compiled(gpu, text)["main"](found, True, SCALARS[dtype], 7)
    expected = float(np.float32(SCALARS[dtype])) if dtype == "float32" else float(SCALARS[dtype])
    np.testing.assert_array_equal(found, expected + 7)


def test_launches_request_memory(open_gpu: Open, package: str) -> None:
    gpu, driver = open_gpu(package)
    module = driver.load(compiled(gpu)["main"]._loaded.program.ptx)
    function = driver.function(module, "tvms_main", "main", shared=65536)
    driver.launch(function, (1, 1, 1), (32, 1, 1), bytes(24)[:24])
    assert ("function", "tvms_main", 65536) in gpu.asked
    assert gpu.asked[-1] == ("launch", "tvms_main", (1, 1, 1), (32, 1, 1), 65536)
    gpu._streams[0].clear()


# --- Streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_blocking", [True, False])
@pytest.mark.parametrize("kind", ["own", "number", "protocol", "torch", "pycuda"])
def test_streams_of_all_libraries(open_gpu: Open, package: str, kind: str, is_blocking: bool) -> None:
    gpu, driver = open_gpu(package)
    main, number = compiled(gpu)["main"], gpu.new_stream(is_blocking)
    stream: Any = {
        "own": driver.stream(), "number": number, "protocol": SimpleNamespace(__cuda_stream__=lambda: (0, number)),
        "torch": SimpleNamespace(cuda_stream=number), "pycuda": SimpleNamespace(handle=number),
    }[kind]  # fmt: skip
    a, b, c = on_gpu(X, X, X)
    main(a, b)
    main(b, c, stream=stream)
    main(c, a, stream=stream)
    driver.synchronize(stream)
    assert gpu.pending() == 0 or kind != "own"
    np.testing.assert_array_equal(a.numpy(), 8 * X)


def test_work_of_other_libraries_in_a_stream_precedes_and_follows(open_gpu: Open, package: str) -> None:
    gpu, _ = open_gpu(package)
    main, number = compiled(gpu)["main"], gpu.new_stream(is_blocking=False)
    a, b = on_gpu(X, X)
    seen: list[Any] = []
    memory = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * 32).from_address(a.address))
    result = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * 32).from_address(b.address))
    gpu.enqueue(number, lambda: memory.fill(5))
    main(a, b, stream=number)
    gpu.enqueue(number, lambda: seen.append(result.copy()))
    gpu.wait(gpu._streams[number][-1])
    np.testing.assert_array_equal(seen[0], np.full(32, 10, np.float32))


def test_graph_functions_run_in_a_stream(open_gpu: Open, package: str) -> None:
    gpu, driver = open_gpu(package)
    text = f"""I.ir_module Module:
    {DOUBLE.format(n=32).replace(chr(10), chr(10) + "    ")}
    R.function twice(x: R.Tensor((32,), "float32")) -> R.Tensor((32,), "float32"):
        y = R.call_tir(Module.main, (x,), out_sinfo=R.Tensor((32,), "float32"))
        z = R.call_tir(Module.main, (y,), out_sinfo=R.Tensor((32,), "float32"))
        return z
"""
    twice = compiled(gpu, text)["twice"]
    (x,) = on_gpu(X)
    stream = driver.stream()
    twice(x, stream=stream)
    driver.synchronize()
    gpu.asked.clear()
    result = twice(x, stream=stream)
    assert gpu.count("synchronize") == 0
    assert sum(not work.is_done for work in gpu._streams[stream.number]) >= 2
    np.testing.assert_array_equal(result.numpy(), 4 * X)
    np.testing.assert_array_equal(twice(X, stream=stream), 4 * X)


@pytest.mark.parametrize(
    "stream",
    ["7", 1.5, True, -1, object(), SimpleNamespace(__cuda_stream__=lambda: (1, 2)), SimpleNamespace(handle="x")],
)
def test_other_values_are_not_streams(open_gpu: Open, stream: Any) -> None:
    gpu, _ = open_gpu("pycuda")
    said = message(lambda: compiled(gpu)["main"](*on_gpu(X, X), stream=stream))
    assert said.startswith("error[E0702]: stream: expected a stream, got ")
    assert said.endswith("pass a number, or an object with __cuda_stream__, such as tvms.cuda().create_raw_stream()")


def test_numbers_of_default_streams() -> None:
    assert [stream_number(stream) for stream in (None, 0, 1, 2)] == [0, 0, 0, 2]


def test_events(open_gpu: Open, package: str) -> None:
    _, driver = open_gpu(package)
    start, end = driver.event(), driver.event(driver.stream())
    assert driver.milliseconds(start, end) == 1.5
    assert (driver.name, driver.arch, driver.backend) == ("no GPU", "sm_80", package)


# --- Errors -----------------------------------------------------------------------------------------------------------


def test_a_failure_of_a_kernel_names_it_and_its_line(open_gpu: Open, package: str) -> None:
    gpu, _ = open_gpu(package)
    main = compiled(gpu)["main"]
    a, b = on_gpu(X, X)
    gpu.failing.add("tvms_main")
    main(a, b)
    said = message(b.numpy)
    assert "error[E0727]: kernel 'main' failed on 'no GPU': an illegal memory access was encountered" in said
    assert "B[i] = A[i] * 2.0" in said
    assert "= help: restart the process, whose GPU memory is lost" in said
    assert message(b.numpy).startswith("error[E0727]: kernel 'main"), "later calls fail as well"
    assert not gpu.stack


def test_a_failure_after_several_kernels_names_them(open_gpu: Open, package: str) -> None:
    gpu, _ = open_gpu(package)
    main = compiled(gpu)["main"]
    other = compiled(gpu, OTHER.format(n=32))["other"]
    a, b = on_gpu(X, X)
    main(a, b)
    other(a, b)
    b.numpy()
    gpu.failing.add("tvms_main")
    main(a, b)
    other(a, b)
    said = message(find_driver().synchronize)
    assert "kernel 'other', or one that was launched before it, failed on 'no GPU'" in said
    assert "note: kernel 'main' was launched before" in said
    assert "set CUDA_LAUNCH_BLOCKING=1 to learn which one" in said


def test_launches_that_are_refused(open_gpu: Open, package: str) -> None:
    gpu, driver = open_gpu(package)
    ptx = compiled(gpu)["main"]._loaded.program.ptx
    function = driver.function(driver.load(ptx), "tvms_main", "main")
    refused = {
        "a parameter too few": lambda: driver.launch(function, (1, 1, 1), (32, 1, 1), bytes(16)),
        "too many threads": lambda: driver.launch(function, (1, 1, 1), (2048, 1, 1), bytes(24)),
        "too many blocks": lambda: driver.launch(function, (1, 70_000, 1), (32, 1, 1), bytes(24)),
    }
    for call in refused.values():
        assert message(call) == (
            "error[E0727]: 'no GPU' cannot launch kernel 'main': cuLaunchKernel failed: invalid argument"
        )


def test_kernels_that_are_rejected(open_gpu: Open, package: str) -> None:
    _, driver = open_gpu(package)
    assert message(lambda: driver.load("bad")) == (
        "error[E0608]: the driver of 'no GPU' rejects the kernels: cuModuleLoadDataEx failed: a PTX JIT compilation failed - "
        "ptxas fatal   : no kernels\n  = help: compile for this GPU: -arch=sm_80"
    )


def test_copies_outside_of_memory(open_gpu: Open, package: str) -> None:
    _, driver = open_gpu(package)
    assert "cannot copy an array to the GPU: cuMemcpyHtoD failed: invalid argument" in message(
        lambda: driver.copy_in(driver.allocate(64) + 1000, X)
    )
    assert "cannot copy an array on the GPU: cuMemcpyDtoDAsync failed: invalid argument" in message(
        lambda: driver.copy(0, 0, 64)
    )


# --- Arrays of other libraries ----------------------------------------------------------------------------------------


class Tensor:
    """An array as torch has it, on GPU `device`."""

    def __init__(self, gpu: FakeGpu, array: Any, device: int = 0, requires_grad: bool = False) -> None:
        self.array, self.device, self.requires_grad = array, device, requires_grad
        self.streams: list[Any] = []
        gpu.foreign[array.ctypes.data] = array.nbytes, device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")
        typestr = "|V2" if self.array.dtype == ml_dtypes.bfloat16 else self.array.dtype.str
        return {"shape": self.array.shape, "typestr": typestr, "data": (self.array.ctypes.data, False), "version": 2}

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device

    def __dlpack__(self, stream: Any = None) -> Any:
        from tvms.codegen.runtime.dlpack import capsule_of

        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        self.streams.append(stream)
        return capsule_of(self.array.ctypes.data, self.array.shape, self.array.dtype, 2, self.array)


def aligned(source: Any) -> Any:
    """Return a copy that starts at a multiple of 16 bytes."""
    memory = np.zeros(source.nbytes + 16, np.uint8)
    start = -memory.ctypes.data % 16
    result = memory[start : start + source.nbytes].view(source.dtype)
    result[:] = source
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_tensors_are_used_in_place(open_gpu: Open, package: str, dtype: Any) -> None:
    gpu, driver = open_gpu(package)
    main = compiled(gpu, DOUBLE.format(n=32).replace("float32", np.dtype(dtype).name).replace(
        "2.0", f'T.cast(2.0, "{np.dtype(dtype).name}")'))["main"]  # fmt: skip
    a, b = Tensor(gpu, aligned(X.astype(dtype))), Tensor(gpu, aligned(X.astype(dtype)))
    main(a, b)
    main(a, b, stream=(stream := driver.stream()))
    driver.synchronize()
    np.testing.assert_array_equal(b.array, (2 * X).astype(dtype))
    assert a.streams == [1, stream.number], "the library orders its work before"


def test_tensors_with_gradients(open_gpu: Open) -> None:
    gpu, _ = open_gpu("pycuda")
    tensor = Tensor(gpu, aligned(X), requires_grad=True)
    said = message(lambda: compiled(gpu)["main"](tensor, on_gpu(X)[0]))
    assert "error[E0702]: argument 'A' of 'main': it requires a gradient" in said
    assert "= help: pass a.detach()" in said


@pytest.mark.parametrize("has_dlpack", [True, False])
def test_tensors_on_another_gpu(open_gpu: Open, package: str, has_dlpack: bool) -> None:
    gpu, _ = open_gpu(package)
    tensor: Any = Tensor(gpu, aligned(X), device=1)
    if not has_dlpack:
        tensor = SimpleNamespace(__cuda_array_interface__=tensor.__cuda_array_interface__)
    said = message(lambda: compiled(gpu)["main"](tensor, on_gpu(X)[0]))
    assert "error[E0718]: argument 'A' of 'main': it is on GPU 1; kernels run on GPU 0" in said
    assert "= help: copy it to that GPU" in said


def test_only_one_gpu_is_used(open_gpu: Open) -> None:
    open_gpu("pycuda")
    assert not tvms.cuda(1).exist
    assert message(lambda: tvms.cuda(1).sync()) == (
        "error[E0721]: the device cuda(1) is not used: kernels run on GPU 0\n"
        "  = help: set CUDA_VISIBLE_DEVICES to select a GPU"
    )


# --- What random programs found on a GPU ------------------------------------------------------------------------------


def test_offsets_that_no_argument_determines_are_0(open_gpu: Open, package: str) -> None:
    gpu, _ = open_gpu(package)
    text = """T.prim_func main(A_handle: T.handle, B: T.Buffer((32,), "float32")):
    A = T.match_buffer(A_handle, (32,), offset_factor=OFFSET)
    for i in T.thread_binding(32, "threadIdx.x"):
        B[i] = A[i] * 2.0
"""
    for factor in ("1", "4"):
        a, b = on_gpu(X, np.zeros_like(X))
        compiled(gpu, text.replace("OFFSET", factor))["main"](a, b)
        assert (b.numpy() == X * 2).all()
    start = text.replace("offset_factor=OFFSET", "elem_offset=start").replace(
        "B: T.Buffer", "start: T.int32, B: T.Buffer"
    )
    program = compiled(gpu, start)["main"]
    program(*on_gpu(X), 0, *on_gpu(X))
    assert message(lambda: program(*on_gpu(X), 1, *on_gpu(X))).splitlines()[0] == (
        "error[E0706]: argument 'A' of 'main': it starts at element 0, but its buffer declares another elem_offset"
    )


def test_several_results_without_dimensions_compile() -> None:
    text = """T.prim_func main(A: T.Buffer((6,), "int8"), B: T.Buffer((2, 5), "int16")):
    P = T.alloc_buffer((), "int8")
    P_1 = T.alloc_buffer((), "int8")
    for k in range(6):
        with T.block("greatest"):
            vk = T.axis.reduce(6, k)
            T.reads(A[vk])
            T.writes(P[()], P_1[()])
            with T.init():
                P[()] = T.int8(-1)
                P_1[()] = T.int8(-128)
            t: T.int8 = T.Select(P_1[()] >= A[vk], P[()], T.Cast("int8", vk))
            t_1: T.int8 = T.Select(P_1[()] >= A[vk], P_1[()], A[vk])
            P[()] = t
            P_1[()] = t_1
    for i, j in T.grid(2, 5):
        with T.block("map"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(B[vi, vj])
            B[vi, vj] = T.Cast("int16", vi)
"""
    assert "st.global" in str(tvms.emit(tvms.parse(text), "ptx", "cuda -arch=sm_90"))
