"""Requirements of tests under the names of `tvm.testing`: a test without them is skipped."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

_Test = TypeVar("_Test", bound=Callable[..., Any])


class Feature:
    """Requirement of a test, used as a decorator or as the list of its marks (TVM: `tvm.testing.Feature`)."""

    def __init__(self, name: str, is_met: Callable[[], bool]) -> None:
        self.name = name
        self.is_met = is_met

    def __call__(self, function: Any = None) -> Any:
        """Skip `function` if the requirement is not met; without a function, return the decorator."""
        if function is None:
            return self
        for mark in self.marks():
            function = mark(function)
        return function

    def marks(self) -> list[Any]:
        """Return the marks of pytest that skip a test if the requirement is not met."""
        return [import_module("pytest").mark.skipif(not self.is_met(), reason=f"needs {self.name}")]


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
requires_matrixcore, requires_nnapi, requires_micro = _other("AMD matrix cores"), _other("NNAPI"), _other("microTVM")
requires_aarch64_sve = requires_aarch64_sme = requires_arm_dot = _other("an Arm processor")


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


def requires_nvcc_version(major_version: int, minor_version: int = 0, release_version: int = 0) -> Feature:
    """Return the requirement of nvcc, which tvms does not need: that of a CUDA device."""
    return requires_cuda


def requires_llvm_minimum_version(major_version: int) -> Feature:
    """Return the requirement of a version of LLVM (TVM: `tvm.testing.requires_llvm_minimum_version`)."""

    def is_met() -> bool:
        return import_module("llvmlite.binding").llvm_version_info[0] >= major_version

    return Feature(f"LLVM {major_version}", is_met)


def device_enabled(target: Any) -> bool:
    """Return whether this machine has a device for a target (TVM: `tvm.testing.device_enabled`)."""
    return device_for(target) is not None


def device_for(target: Any) -> Any:
    """Return the device of a target; None if this machine has none."""
    kind = str(target["kind"] if isinstance(target, dict) else target).split()[0]  # type: ignore[reportUnknownArgumentType]
    tvms = import_module("tvms")
    try:
        dev = tvms.device(kind)
    except tvms.TvmsError:
        return None
    return dev if dev.exist else None


def skip_if_32bit(reason: str) -> Callable[[_Test], _Test]:
    """Skip a test on a machine with 32-bit pointers (TVM: `tvm.testing.skip_if_32bit`)."""
    return import_module("pytest").mark.skipif(sys.maxsize < 2**32, reason=reason)


def skip_if_wheel_test(function: _Test) -> _Test:
    """Return the test: everything is in the wheel."""
    return function


def uses_gpu(*functions: Any) -> Any:
    """Mark a test as one that can use a GPU; it runs without one (TVM: `tvm.testing.uses_gpu`)."""
    return functions[0] if functions else uses_gpu


def run_with_gpu_lock(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that uses a GPU, and return its result (TVM: `tvm.testing.run_with_gpu_lock`).

    Calls of several processes are not put in order: the driver of a GPU does that.
    """
    return func(*args, **kwargs)


def is_ampere_or_newer() -> bool:
    """Return whether this machine has a CUDA device of compute capability 8.0 or more."""
    return _has_gpu() and tuple(map(int, import_module("tvms").cuda().compute_version.split("."))) >= (8, 0)


def strtobool(val: str) -> bool:
    """Return the truth value that a text means, such as "yes" or "0"; ValueError for other texts."""
    if val.lower() in ("y", "yes", "t", "true", "on", "1"):
        return True
    if val.lower() in ("n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"expected a truth value, such as 'yes' or '0', got '{val}'")
