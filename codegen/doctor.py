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
        Finding("ptxas", shutil.which("ptxas") or "", "pip install nvidia-cuda-nvcc: it tells what GPU kernels use"),
        *(_module(name, remedy) for name, remedy in _MODULES),
    )


_MODULES = (
    ("pycuda", 'pip install "tvms-lang[cuda]": it launches GPU kernels'),
    ("torch", 'pip install "tvms-lang[torch]": it imports PyTorch models'),
    ("onnx", 'pip install "tvms-lang[onnx]": it imports ONNX models'),
    ("pygls", 'pip install "tvms-lang[lsp]": it serves editors'),
)


def _module(name: str, remedy: str) -> Finding:
    return Finding(name, "installed" if find_spec(name) is not None else "", remedy)
