"""What the tests of kernels share: a GPU on the processor, through each package that reaches CUDA's driver."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from gpu.fake_bindings import bindings
from gpu.fake_gpu import FakeGpu
from gpu.fake_pycuda import FakeLibrary, pycuda
from tvms.codegen.gpu.bindings_cuda import BindingsCuda
from tvms.codegen.gpu.driver import Driver, use_driver
from tvms.codegen.gpu.libcuda import use_library
from tvms.codegen.gpu.pycuda_cuda import PycudaCuda


def _open(package: str, gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch) -> Driver:
    if package == "pycuda":
        module = pycuda(gpu)
        monkeypatch.setitem(sys.modules, "pycuda", SimpleNamespace(driver=module))  # type: ignore[arg-type]
        monkeypatch.setitem(sys.modules, "pycuda.driver", module)
        return Driver(PycudaCuda())
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", bindings(gpu))
    return Driver(BindingsCuda())


@pytest.fixture
def open_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[FakeGpu, Driver]]]:
    """Let kernels run on GPUs of the processor, which are checked at the end."""
    gpus: list[FakeGpu] = []

    def make(package: str, memory_limit: int = 1 << 30) -> tuple[FakeGpu, Driver]:
        gpu = FakeGpu(memory_limit)
        driver = _open(package, gpu, monkeypatch)
        use_driver(driver)
        use_library(FakeLibrary(gpu))
        gpus.append(gpu)
        return gpu, driver

    yield make
    use_driver(None)
    use_library(None)
    for gpu in gpus:
        gpu.check_end()


@pytest.fixture
def driver(open_gpu: Callable[..., tuple[Any, Any]]) -> Any:
    """Let kernels run on a GPU of the processor, which this returns, through the default package."""
    gpu, gpu_driver = open_gpu("pycuda")
    gpu.driver = gpu_driver
    return gpu
