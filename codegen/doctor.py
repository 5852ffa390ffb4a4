"""Report of the hardware and software that tvms finds, with instructions for what is missing."""

from __future__ import annotations

import ctypes.util
import os
import platform
import shutil
import sys
from pathlib import Path

from msgspec import Struct

from .artifact import version
from .gpu.packages import BACKENDS, is_installed
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
        _launcher('pip install "tvms-lang[cuda]" or cuda-bindings: one of them launches GPU kernels'),
    )


def examine_gpu() -> tuple[Finding, ...]:
    """Return the requirements for running kernels on a GPU, in the order in which to install them."""
    from .gpu.driver import find_driver, why_missing

    library, missing = ctypes.util.find_library("cuda") or "", why_missing()
    there = "" if missing else f"{find_driver().name} ({find_driver().arch}), by {find_driver().backend}"
    return (
        Finding("emit", "PTX for sm_70 to sm_120; threads are simulated here: tvms run FILE --target cuda --simulate"),
        Finding("driver", library, "install the driver of an NVIDIA GPU: libcuda is missing"),
        _launcher(f"pip install cuda-bindings, which is prebuilt, or build pycuda: {PYCUDA_BUILD}"),
        Finding("cuda.h", _cuda_header(), "install the CUDA toolkit, or set CUDA_HOME: building pycuda needs it"),
        Finding("launch", there, missing),
        Finding("ptxas", find_ptxas() or "", "pip install nvidia-cuda-nvcc: it reports the resources of kernels"),
    )


PYCUDA_BUILD = "make pycuda CUDA_HOME=/usr/local/cuda"
"""pycuda is a source package. It needs the headers of CUDA, and its random numbers need those of cuRAND, unless
`CUDA_ENABLE_CURAND = False` is in its siteconf.py.
"""


def _launcher(remedy: str) -> Finding:
    """Return the packages that are installed to launch kernels; the first one that works is used."""
    return Finding("launcher", ", ".join(filter(is_installed, BACKENDS)), remedy)


def _cuda_header() -> str:
    """Return the path of cuda.h as the build of pycuda finds it; "" without one."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_ROOT")]
    compiler = shutil.which("nvcc")
    if compiler:
        roots += [str(Path(path).parents[1]) for path in (compiler, os.path.realpath(compiler))]
    headers = [Path(root, "include", "cuda.h") for root in (*filter(None, roots), "/usr/local/cuda")]
    return next((str(header) for header in headers if header.is_file()), "")
