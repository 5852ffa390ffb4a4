"""Report of the hardware and software that tvms finds, with instructions for what is missing."""

from __future__ import annotations

import ctypes.util
import platform
import shutil
import sys
from importlib.util import find_spec

from msgspec import Struct

from .artifact import version
from .gpu.ptxas import find_ptxas
from .library import COMPILERS
from .llvm.api import binding
from .runtime.threads import thread_count
from .target import get_target


class Finding(Struct, frozen=True):
    """A line of the report; `remedy` tells how to get a missing component, and its use."""

    name: str
    found: str
    remedy: str = ""


def examine() -> tuple[Finding, ...]:
    """Return the findings; nothing is started and nothing is changed."""
    target = get_target("llvm")
    triple, cpu, _ = target.words
    machine = target.processor
    vectors = f"vectors of {machine.vector_bytes * 8} bits, {machine.registers} registers"
    caches = f"{machine.l1_bytes >> 10} KiB and {machine.l2_bytes >> 10} KiB of cache per core"
    compiler = next(filter(None, map(shutil.which, COMPILERS)), "")
    driver = ctypes.util.find_library("cuda") or ""
    return (
        Finding("tvms", f"{version()}, Python {sys.version.split()[0]}, {platform.system()}"),
        Finding("processor", f"{cpu} ({triple}): {vectors}, {caches}"),
        Finding("LLVM", ".".join(map(str, binding.llvm_version_info))),
        Finding("threads", f"{thread_count()} (set TVMS_NUM_THREADS or OMP_NUM_THREADS to change it)"),
        Finding("C compiler", compiler, "install gcc or clang: --emit so needs one"),
        Finding("GPU driver", driver, "install the driver of an NVIDIA GPU: GPU kernels need it"),
        Finding("ptxas", find_ptxas() or "", "pip install nvidia-cuda-nvcc: it reports the resources of GPU kernels"),
        _module("pycuda", 'pip install "tvms-lang[cuda]": it launches GPU kernels'),
    )


def examine_gpu() -> tuple[Finding, ...]:
    """Return the requirements for running kernels on a GPU, in the order in which to install them."""
    from .gpu.driver import find_driver, why_missing

    library, compiler = ctypes.util.find_library("cuda") or "", shutil.which("nvcc") or ""
    missing = why_missing()
    there = "" if missing else f"{find_driver().name} ({find_driver().arch})"
    build = "with an nvcc installed: " + PYCUDA_BUILD
    return (
        Finding("emit", "PTX for sm_70 to sm_120; threads are simulated here: tvms run FILE --target cuda --simulate"),
        Finding("driver", library, "install the driver of an NVIDIA GPU: libcuda is missing"),
        Finding(
            "nvcc", compiler, "install the CUDA toolkit, or pip install nvidia-cuda-nvcc: building pycuda needs it"
        ),
        _module("pycuda", build),
        Finding("launch", there, missing),
        Finding("ptxas", find_ptxas() or "", "pip install nvidia-cuda-nvcc: it reports the resources of kernels"),
    )


PYCUDA_BUILD = "PYCUDA_DISABLE_CURAND=1 pip install pycuda"
"""pycuda is a source package and needs the headers of CUDA; without its random numbers it builds in a minute
or two.
"""


def _module(name: str, remedy: str) -> Finding:
    return Finding(name, "installed" if find_spec(name) is not None else "", remedy)
