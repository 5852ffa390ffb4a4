"""What of the machine and its programs tvms finds, and how to get what is missing."""

from __future__ import annotations

import ctypes.util
import platform
import shutil
import sys
from importlib.util import find_spec

from msgspec import Struct

from .aot import COMPILERS
from .artifact import version
from .gpu.ptxas import find_ptxas
from .llvm.api import binding
from .runtime.threads import find_openmp, thread_count
from .target import get_target


class Finding(Struct, frozen=True):
    """One line of the report; `remedy` says how to get what is not there, and what for."""

    name: str
    found: str
    remedy: str = ""


def examine() -> tuple[Finding, ...]:
    """Return what is there and what is not; nothing is started and nothing is changed."""
    target = get_target("llvm")
    triple, cpu, _ = target.words
    machine = target.processor
    vectors = f"vectors of {machine.vector_bytes * 8} bits, {machine.registers} registers"
    caches = f"{machine.l1_bytes >> 10} KiB and {machine.l2_bytes >> 10} KiB of cache a core"
    compiler = next(filter(None, map(shutil.which, COMPILERS)), "")
    openmp, driver = find_openmp() or "", ctypes.util.find_library("cuda") or ""
    return (
        Finding("tvms", f"{version()}, Python {sys.version.split()[0]}, {platform.system()}"),
        Finding("processor", f"{cpu} ({triple}): {vectors}, {caches}"),
        Finding("LLVM", ".".join(map(str, binding.llvm_version_info))),
        Finding("threads", f"{thread_count()} (TVMS_NUM_THREADS or OMP_NUM_THREADS say otherwise)"),
        Finding("OpenMP", openmp, "install libgomp: without it parallel loops start more slowly"),
        Finding("C compiler", compiler, "install gcc or clang: --emit so needs one"),
        Finding("GPU driver", driver, "install the driver of an NVIDIA GPU: kernels for GPUs cannot run here"),
        Finding("ptxas", find_ptxas() or "", "pip install nvidia-cuda-nvcc: it tells what GPU kernels use"),
        _module("pycuda", 'pip install "tvms-lang[cuda]": it launches GPU kernels'),
    )


def examine_gpu() -> tuple[Finding, ...]:
    """Return what it takes to run kernels here, in the order in which to get it."""
    from .gpu.driver import find_driver, why_missing

    library, compiler = ctypes.util.find_library("cuda") or "", shutil.which("nvcc") or ""
    missing = why_missing()
    there = "" if missing else f"{find_driver().name} ({find_driver().arch})"
    build = "where there is an nvcc: " + PYCUDA_BUILD
    return (
        Finding("emit", "PTX for sm_70 to sm_120; threads are simulated here: tvms run FILE --target cuda --simulate"),
        Finding("driver", library, "install the driver of an NVIDIA GPU: its libcuda is not here"),
        Finding("nvcc", compiler, "install the CUDA toolkit, or pip install nvidia-cuda-nvcc: pycuda is built with it"),
        _module("pycuda", build),
        Finding("launch", there, missing),
        Finding("ptxas", find_ptxas() or "", "pip install nvidia-cuda-nvcc: it tells what kernels use"),
    )


PYCUDA_BUILD = "PYCUDA_DISABLE_CURAND=1 pip install pycuda"
"""pycuda comes as source, and needs the headers of CUDA; without its random numbers it is built in a minute or two."""


def _module(name: str, remedy: str) -> Finding:
    return Finding(name, "installed" if find_spec(name) is not None else "", remedy)
