"""The driver by pycuda, with a pycuda that has the memory of the host: what is asked of it, and that it can take it."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tvms.codegen.gpu.driver import PycudaDriver
from tvms.ir.diagnostics import TvmsError


class _Memory:
    def __init__(self, size: int) -> None:
        if size > 1 << 20:
            raise _OutOfMemory
        self.bytes, self.is_free = (ctypes.c_uint8 * size)(), False

    def __int__(self) -> int:
        return ctypes.addressof(self.bytes)

    def free(self) -> None:
        assert not self.is_free
        self.is_free = True


class _Pool:
    def allocate(self, size: int) -> _Memory:
        return _Memory(size)


class _OutOfMemory(Exception):
    pass


class _Refused(Exception):
    pass


def _copy_in(address: int, source: Any, stream: Any) -> None:
    ctypes.memmove(address, bytes(memoryview(source)), memoryview(source).nbytes)


def _copy_out(target: Any, address: int, stream: Any) -> None:
    view = memoryview(target).cast("B")
    view[:] = ctypes.string_at(address, view.nbytes)


class _Stream:
    asked = 0

    def synchronize(self) -> None:
        type(self).asked += 1


class _Event:
    def record(self, stream: Any) -> None:
        self.is_recorded = True

    def synchronize(self) -> None:
        assert self.is_recorded

    def time_till(self, other: Any) -> float:
        return 1.5


class _Function:
    def __init__(self) -> None:
        self.attributes: dict[str, int] = {}
        self.calls: list[tuple[Any, ...]] = []

    def set_attribute(self, name: str, value: int) -> None:
        self.attributes[name] = value

    def __call__(self, *args: Any, grid: Any, block: Any, stream: Any, shared: int) -> None:
        self.calls.append((args, grid, block, stream, shared))


def _load(ptx: bytes) -> Any:
    assert ptx.endswith(b"\0")
    if b"bad" in ptx:
        raise _Refused("no kernel image")
    return SimpleNamespace(get_function=lambda name: _Function())


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> PycudaDriver:
    context = SimpleNamespace(push=lambda: None, waits=0)
    context.synchronize = lambda: setattr(context, "waits", context.waits + 1)
    device = SimpleNamespace(
        retain_primary_context=lambda: context, compute_capability=lambda: (9, 0), name=lambda: "a GPU"
    )
    cuda = SimpleNamespace(
        init=lambda: None, Device=lambda number: device, DeviceMemoryPool=_Pool, MemoryError=_OutOfMemory, Error=_Refused,
        memcpy_htod_async=_copy_in, memcpy_dtoh_async=_copy_out, module_from_buffer=_load, Stream=_Stream, Event=_Event,
        function_attribute=SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES="shared"),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace(driver=cuda))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "pycuda.driver", cuda)  # type: ignore[arg-type]
    return PycudaDriver()


def test_memory_is_free_at_once_but_beside_other_streams(driver: PycudaDriver) -> None:
    context: Any = driver._context
    kernel, stream = driver.function(driver.load(".entry main"), "main"), driver.stream()
    first, second, third = (driver.allocate(16) for _ in range(3))
    driver.launch(kernel, (1, 1, 1), (32, 1, 1), [np.uint64(first)])
    driver.free(first)
    assert context.waits == 0
    driver.launch(kernel, (1, 1, 1), (32, 1, 1), [np.uint64(second)], stream)
    driver.free(second)
    driver.free(third)
    assert context.waits == 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "int8", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)])
def test_arrays_of_all_dtypes_go_there_and_back(driver: PycudaDriver, dtype: Any, shape: tuple[int, ...]) -> None:
    source = np.ones(shape, dtype)
    address = driver.allocate(source.nbytes)
    driver.copy_in(address, source)
    driver.copy_out(found := np.zeros(shape, dtype), address, driver.stream())
    assert np.array_equal(found, source)
    driver.free(address)


def test_launches(driver: PycudaDriver) -> None:
    kernel = driver.function(driver.load(".entry main"), "main", shared=65536)
    driver.launch(kernel, (2, 1, 1), (32, 1, 1), [np.uint64(1)], stream=None, shared=65536)
    assert kernel.attributes == {"shared": 65536}
    assert kernel.calls == [((np.uint64(1),), (2, 1, 1), (32, 1, 1), None, 65536)]
    start, end = driver.event(), driver.event(driver.stream())
    assert driver.milliseconds(start, end) == 1.5
    assert (driver.name, driver.arch) == ("a GPU", "sm_90")


def test_what_the_driver_refuses(driver: PycudaDriver) -> None:
    with pytest.raises(TvmsError) as caught:
        driver.load("bad")
    assert str(caught.value) == (
        "error[E0608]: the driver of 'a GPU' rejects the kernels: no kernel image\n"
        "  = help: compile for this GPU: -arch=sm_90"
    )
    with pytest.raises(TvmsError) as caught:
        driver.allocate(1 << 21)
    assert str(caught.value) == (
        "error[E0717]: the GPU has less than 2097152 bytes of free memory\n  = help: free arrays, or use smaller ones"
    )
