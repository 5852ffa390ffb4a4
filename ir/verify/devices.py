"""The law of devices: scopes exist, and kernels respect the limits of the target.

E0418: a storage scope that does not exist · E0425: more threads, blocks or shared memory than the target has.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from msgspec import Struct

from .. import tir
from ..base import Target
from ..dtype import parse_dtype
from ..spelling import did_you_mean
from .kernels import Kernel, Threads
from .report import written
from .subject import Subject

STORAGE_SCOPES = (
    "global", "shared", "warp", "local", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator", "texture", "amx.tmm",
    "m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC", "metal.simdgroup", "tmem",
)  # fmt: skip
"""Prefixes of storage scopes (TVM: `runtime::StorageScope`)."""

_SCOPE = re.compile(rf"(?:{'|'.join(map(re.escape, STORAGE_SCOPES))})(?:[^a-zA-Z0-9].*)?")
_REGISTERS = frozenset(("register", "registers", "private", "fragment"))
"""Names of the scope "local" in other languages."""
_SHARED_BY_ARCH = {
    "sm_70": 96, "sm_72": 96, "sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_87": 163, "sm_89": 99, "sm_90": 227,
    "sm_100": 227, "sm_103": 227, "sm_110": 227, "sm_120": 99, "sm_121": 99,
}  # fmt: skip
"""Maximum dynamic shared memory of a block in KiB (CUDA C++ Programming Guide, compute capabilities)."""


class Limits(Struct, frozen=True):
    """Limits of a thread block; the defaults are upper bounds for all GPUs."""

    threads: int = 1024
    shared: int = 227 * 1024
    """Maximum bytes in scope "shared"."""
    dynamic: int = 227 * 1024
    """Maximum bytes in scope "shared.dyn"."""
    target: str = "any GPU"


def limits(function: tir.PrimFunc) -> Limits:
    """Return the limits of the target of `function`."""
    target = function.attrs.get("target")
    attrs: dict[str, Any] = target.attrs if isinstance(target, Target) else {}
    kind = str(attrs.get("kind", ""))
    threads, shared = _number(attrs, "max_threads_per_block"), _number(attrs, "max_shared_memory_per_block")
    if kind not in ("cuda", "nvptx"):
        known = Limits(target=kind or Limits().target)
        return Limits(threads or known.threads, shared or known.shared, shared or known.dynamic, known.target)
    arch = str(attrs.get("arch") or attrs.get("mcpu") or "")
    dynamic = _SHARED_BY_ARCH.get(arch.removesuffix("a"), 227) * 1024
    return Limits(threads or 1024, shared or 48 * 1024, max(shared or 0, dynamic), f"{kind} {arch}".strip())


def _number(attrs: dict[str, Any], name: str) -> int | None:
    value = attrs.get(name)
    return value.value if isinstance(value, tir.IntImm) else value if isinstance(value, int) else None


_LARGEST = {"threadIdx.z": 64, "blockIdx.x": 2**31 - 1, "blockIdx.y": 65535, "blockIdx.z": 65535}
"""Maximum extents of a launch (CUDA C++ Programming Guide; other GPUs allow no more threads)."""


def is_scope(name: str) -> bool:
    """Return whether a storage scope exists; it may have a tag, as in "shared.dyn"."""
    return _SCOPE.fullmatch(name) is not None


def check_scopes(subject: Subject) -> None:
    """Check the storage scope of every allocated buffer."""
    blocks = subject.of_kinds(tir.Block)
    allocated = [buffer for block in blocks for buffer in block.alloc_buffers]
    for buffer in (*subject.function.buffer_map.values(), *allocated):
        if buffer.scope and not is_scope(buffer.scope):
            message = f"'{buffer.name}' has the storage scope '{buffer.scope}', which does not exist"
            help = did_you_mean(buffer.scope, STORAGE_SCOPES)
            help = help or ('use "local"' if buffer.scope in _REGISTERS else None)
            help = help or f"the name of a scope begins with {', '.join(STORAGE_SCOPES)}"
            subject.report.add("E0418", message, written(buffer, buffer.scope), help)


def check_limits(subject: Subject) -> None:
    """Check the threads and the shared memory of each kernel against its target.

    Buffers that blocks allocate are not counted: lowering shrinks them to the accessed region.
    """
    most = limits(subject.function)
    for kernel in subject.kernels:
        _check_threads(subject, kernel, most)
        _check_memory(subject, kernel, "shared", most.shared, most.target)
        _check_memory(subject, kernel, "shared.dyn", most.dynamic, most.target)


def _check_threads(subject: Subject, kernel: Kernel, most: Limits) -> None:
    total = 1
    first: dict[str, Threads] = {}
    for threads in kernel.threads:
        first.setdefault(threads.tag, threads)
    for tag, threads in first.items():
        extent = threads.extent.value if isinstance(threads.extent, tir.IntImm) else 1
        if extent > _LARGEST.get(tag, extent):
            message = f"{tag} has the extent {extent}, more than the {_LARGEST[tag]} that a launch can have"
            subject.report.add("E0425", message, threads.loop, "split the loop over another thread axis")
        total *= extent if tag.startswith("threadIdx") else 1
        if tag.startswith("threadIdx") and total > most.threads:
            message = f"a block has {total} threads here, more than the {most.threads} of {most.target}"
            subject.report.add("E0425", message, threads.loop, "bind smaller loops to threadIdx, the rest to blockIdx")
            return


def _check_memory(subject: Subject, kernel: Kernel, scope: str, most: int, target: str) -> None:
    total = 0
    for node in kernel.allocations:
        kind = node.buffer_var.type_annotation
        sizes = [extent.value for extent in node.extents if isinstance(extent, tir.IntImm)]
        if not isinstance(kind, tir.PointerType) or kind.storage_scope != scope or len(sizes) < len(node.extents):
            continue
        dtype = parse_dtype(node.dtype)
        total += prod(sizes) * dtype.bits * dtype.lanes // 8
        if total > most:
            message = f"a block has {total} bytes of scope '{scope}' here, more than the {most} of {target}"
            subject.report.add("E0425", message, node, "allocate less, or reuse what is allocated")
            return
