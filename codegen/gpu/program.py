"""A module compiled for a GPU: PTX, and the host part of each function, which launches its kernels."""

from __future__ import annotations

import time

from msgspec import Struct

from ...ir import tir
from ...ir.base import IRModule, Source
from ...ir.visit import walk
from ..build import Settings, lower_module
from ..llvm.backend import optimize, to_assembly
from ..llvm.faults import Fault
from ..llvm.nvptx import emit_kernels
from ..lower import Safety
from ..rules import Decision
from ..target import Target
from .kernel import Kernel, Launch
from .launch import parameters


class DeviceProgram(Struct, frozen=True, eq=False):
    """`hosts` are the lowered functions with launches; `faults` gives the meaning of each status, which the
    kernels in `noting` may report; the other fields are as in `codegen.build.Built`.
    """

    module: IRModule
    hosts: dict[str, tir.PrimFunc]
    kernels: dict[str, Kernel]
    llvm: str
    ptx: str
    faults: tuple[Fault, ...]
    noting: frozenset[str]
    decisions: dict[str, tuple[Decision, ...]]
    safety: dict[str, Safety]
    stats: dict[str, float]


def build_program(module: IRModule, target: Target, settings: Settings, source: Source | None = None) -> DeviceProgram:
    """Compile a prepared module for a GPU; TvmsError with everything that cannot be compiled, from all functions. With
    `source`, instructions have the lines of statements in it.
    """
    hosts, decisions, safety, stats = lower_module(module, target, settings)
    start = time.perf_counter()
    kernels = {kernel.name: kernel for host in hosts.values() for kernel in kernels_of(host)}
    params = {name: parameters(kernel) for name, kernel in kernels.items()}
    emitted = emit_kernels(list(kernels.values()), params, target, source)
    optimized = optimize(emitted.text, target, settings.level)
    ptx = to_assembly(optimized, target)
    stats["emit"] = time.perf_counter() - start
    return DeviceProgram(
        module, hosts, kernels, str(optimized), ptx, emitted.faults, emitted.noting, decisions, safety, stats
    )  # fmt: skip


def kernels_of(host: tir.PrimFunc) -> list[Kernel]:
    """Return the kernels that a lowered function launches."""
    return [node.kernel for node in walk(host.body) if isinstance(node, Launch)]
