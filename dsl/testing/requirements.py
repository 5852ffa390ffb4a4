"""Requirements of tests under the names of `tvm.testing`: a test without them is skipped."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

_Test = TypeVar("_Test", bound=Callable[..., Any])


class Feature:
    """Requirement of a test, used as a decorator or as the list of its marks (TVM: `tvm.testing.Feature`)."""

    def __init__(self, name: str, is_met: Callable[[], bool]) -> None:
        self.name = name
        self._is_met = is_met

    def __call__(self, function: _Test) -> _Test:
        """Skip `function` if the requirement is not met."""
        for mark in self.marks():
            function = mark(function)
        return function

    def marks(self) -> list[Any]:
        """Return the marks of pytest that skip a test if the requirement is not met."""
        return [import_module("pytest").mark.skipif(not self._is_met(), reason=f"needs {self.name}")]


def _has_gpu() -> bool:
    return import_module("tvms").cuda().exist


def _never() -> bool:
    return False


def _other(name: str) -> Feature:
    """Return a requirement that tvms never meets: it has no backend for it."""
    return Feature(name, _never)


requires_gpu = Feature("a GPU", _has_gpu)
requires_cuda = requires_nvptx = requires_cublas = Feature("a CUDA device", _has_gpu)
requires_llvm = requires_x86 = Feature("LLVM", lambda: True)
requires_multi_gpu = _other("two GPUs")
requires_cudagraph = _other("CUDA graphs")
requires_cudnn, requires_cutlass, requires_nccl = _other("cuDNN"), _other("CUTLASS"), _other("NCCL")
requires_vulkan, requires_metal, requires_rocm = _other("Vulkan"), _other("Metal"), _other("ROCm")
requires_opencl, requires_openclml, requires_hipblas = _other("OpenCL"), _other("OpenCL ML"), _other("hipBLAS")
requires_hexagon, requires_rpc, requires_tensorrt = _other("Hexagon"), _other("RPC"), _other("TensorRT")


def requires_package(*packages: str) -> Feature:
    """Return the requirement that Python packages are installed (TVM: `tvm.testing.requires_package`)."""
    return Feature(" and ".join(packages), lambda: all(find_spec(package) is not None for package in packages))


def requires_cuda_compute_version(major_version: int, minor_version: int = 0, exact: bool = False) -> Feature:
    """Return the requirement of a CUDA device of a compute capability, at least or exactly."""

    def is_met() -> bool:
        if not _has_gpu():
            return False
        version = tuple(map(int, import_module("tvms").cuda().compute_version.split(".")))
        wanted = (major_version, minor_version)
        return version == wanted if exact else version >= wanted

    return Feature(f"a CUDA device of compute capability {major_version}.{minor_version}", is_met)
