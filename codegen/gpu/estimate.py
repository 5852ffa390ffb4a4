"""Estimates of the time of kernels, for tuning where nothing can be measured.

The model is a roofline with a term for latency (Williams et al., 2009; Volkov, 2016). Each term is the time that one part of the GPU
needs for the whole kernel, if it works at its peak rate:

- memory: bytes of DRAM, divided by its bandwidth. Sectors that several blocks access at the same time are read once; so are all
  sectors of a buffer that fits into the L2 cache;
- L2 cache: bytes of the sectors that blocks access, divided by its bandwidth; the L1 cache serves the repeated ones of a block, if
  what a block accesses at a time fits into it;
- L1 cache and shared memory: 128 bytes per cycle and multiprocessor: a cycle for each transaction of a warp in shared memory, so that a
  bank conflict costs as much as the transactions that it causes, and for each line of 128 bytes of global memory. Spilled registers and
  stacks are accessed once in each iteration of the longest loop;
- arithmetic: operations of float32 and float64 and multiply-adds of tensor cores, divided by their rates;
- instructions: four of a warp per cycle and multiprocessor;
- latency: for each wave of blocks, the waits of a thread for memory, one for all loads of an iteration of a loop, and for barriers.

The grid is divided among the multiprocessors; the one with the most blocks counts, so that small grids and incomplete last waves cost
what they leave idle. Other work of a multiprocessor hides a term that is not the longest: with `w` active warps for each of its four
schedulers, 1/w of it is not hidden. The active warps follow from threads, registers and shared memory of a block (`architectures.occupancy`).
A launch takes 2 µs. The figures of the GPU are in `figures`. Nothing here is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod
from typing import TypeAlias

from msgspec import Struct

from ...ir import tir
from ...ir.analysis.evaluate import evaluate
from ...ir.dtype import element_bytes
from ...ir.visit import walk
from ..names import mangle
from ..target import Target
from .addresses import LINE_BYTES, Traffic
from .architectures import ARCHITECTURES, occupancy
from .dynamic_memory import dynamic_bytes
from .figures import LAUNCH, Figures, figures_of
from .kernel import Kernel
from .program import DeviceProgram
from .ptxas import Usage, assemble, find_ptxas
from .report import shared_bytes
from .work import Work, kernel_work, known_values

Memory: TypeAlias = Mapping[tir.Var, tuple[Sequence[tir.PrimExpr], int]]
"""The extents of buffers, and the bytes of an element."""
_GLOBAL_CYCLES, _SHARED_CYCLES, _BARRIER_CYCLES = 500, 30, 40
"""Latency of loads from global and from shared memory, and of a barrier, in cycles (Jia et al., 2018, rounded)."""
_SCHEDULERS = 4
_BYTES_OF_BLOCKS = 64
"""Bytes that a multiprocessor gets from the L2 cache in a cycle."""
_REGISTERS = 64
"""Registers of a thread if ptxas is missing, or does not know the architecture."""
_UNSUPPORTED = "is not defined for option 'gpu-name'"


class KernelEstimate(Struct, frozen=True):
    """The estimate for a kernel: its seconds, and the terms of the model by name."""

    name: str
    seconds: float
    terms: dict[str, float]
    occupancy: float
    usage: Usage | None

    @property
    def limit(self) -> str:
        """Return the name of the longest term; "launch" if that takes longer."""
        longest = max(self.terms, key=lambda name: self.terms[name])
        return longest if self.terms[longest] > LAUNCH else "launch"

    def __str__(self) -> str:
        known = "registers unknown" if self.usage is None else f"{self.usage.registers} registers"
        spilled = f", {self.usage.spill_bytes} B spilled" if self.usage is not None and self.usage.spill_bytes else ""
        return f"limited by {self.limit}; {known}{spilled}, occupancy {self.occupancy:.0%}"


class Estimate(Struct, frozen=True):
    """The estimate for a program: that of each kernel, or in `problem` why ptxas refuses its code."""

    kernels: tuple[KernelEstimate, ...]
    problem: str = ""

    @property
    def seconds(self) -> float:
        return sum(kernel.seconds for kernel in self.kernels)

    def __str__(self) -> str:
        longest = max(self.kernels, key=lambda kernel: kernel.seconds)
        return str(longest) if len(self.kernels) == 1 else f"{len(self.kernels)} kernels, '{longest.name}' {longest}"


def estimate(program: DeviceProgram, target: Target, sizes: Mapping[str, int] = {}) -> Estimate:
    """Return the estimate for a compiled program; `sizes` are the values of symbolic sizes by name.

    Without ptxas, or if it is too new or too old for the target, the registers of a thread are taken as 64. Raises E1104 if no figures of the target are known.
    """
    figures, tool = figures_of(target.arch), find_ptxas()
    made = assemble(program.ptx, target.arch, tool) if tool else None
    if made is not None and _UNSUPPORTED in made.problem:
        made = None
    elif made is not None and made.problem:
        return Estimate((), made.problem)
    usage = made.usage if made is not None else {}
    memory = _memory(program)
    kernels = [
        _estimated(kernel, figures, target, usage.get(mangle(name)), sizes, memory)
        for name, kernel in program.kernels.items()
    ]
    return Estimate(tuple(kernels))


def _memory(program: DeviceProgram) -> Memory:
    """Return the extents of the buffers in global memory, and the bytes of an element."""
    functions = [function for function in program.module.functions.values() if isinstance(function, tir.PrimFunc)]
    found = {
        buffer.data: (buffer.shape, element_bytes(buffer.dtype))
        for function in functions
        for buffer in function.buffer_map.values()
    }
    allocated = [node for host in program.hosts.values() for node in walk(host.body) if isinstance(node, tir.Allocate)]
    return found | {node.buffer_var: (node.extents, element_bytes(node.dtype)) for node in allocated}


def _estimated(
    kernel: Kernel, figures: Figures, target: Target, usage: Usage | None, sizes: Mapping[str, int], memory: Memory
) -> KernelEstimate:
    work, values = kernel_work(kernel, sizes), known_values(kernel, sizes)
    blocks = prod(max(evaluate(axis.extent, values) or 0, 0) for axis in kernel.blocks)
    if not blocks:
        return KernelEstimate(kernel.name, LAUNCH, {"launch": 0.0}, 0.0, usage)
    architecture = ARCHITECTURES[target.arch]
    shared = usage.shared_bytes + dynamic_bytes(kernel) if usage is not None else shared_bytes(kernel)
    part = occupancy(architecture, kernel.thread_count, usage.registers if usage else _REGISTERS, shared)
    warps = -(-kernel.thread_count // 32)
    fitting = max(round(part * architecture.warps) // warps, 1)
    busiest = ceil(blocks / figures.multiprocessors)
    resident = min(fitting, busiest)
    bytes_of = {data: _bytes(extents, size, values) for data, (extents, size) in memory.items()}
    terms = _Model(kernel, figures, work, usage, values, blocks, resident, bytes_of).terms(busiest, warps, shared)
    hidden = max(resident * warps / _SCHEDULERS, 1.0)
    longest = max(terms.values())
    seconds = LAUNCH + longest + (sum(terms.values()) - longest) / hidden
    return KernelEstimate(kernel.name, seconds, terms, part, usage)


def _bytes(extents: Sequence[tir.PrimExpr], size: int, values: Mapping[tir.Var, int]) -> float:
    """Return the bytes of a buffer; infinity if they are unknown."""
    known = [evaluate(extent, values) for extent in extents]
    return float("inf") if None in known else float(prod(known) * size)  # type: ignore[arg-type]


class _Model:
    def __init__(
        self, kernel: Kernel, figures: Figures, work: Work, usage: Usage | None, values: dict[tir.Var, int], blocks: int, resident: int,
        bytes_of: Mapping[tir.Var, float],
    ) -> None:  # fmt: skip
        self._kernel, self._figures, self._work, self._usage = kernel, figures, work, usage
        self._values, self._blocks, self._resident, self._bytes_of = values, blocks, resident, bytes_of

    def terms(self, busiest: int, warps: int, shared: int) -> dict[str, float]:
        """Return the terms in seconds; `busiest` is the largest number of blocks of a multiprocessor."""
        figures, work = self._figures, self._work
        cycle = 1e-9 / figures.clock
        traffic = Traffic(
            self._kernel, self._values, work.definitions, min(self._blocks, self._resident * figures.multiprocessors)
        )
        l2, dram, lines = 0.0, 0.0, work.lines * warps
        cache = figures.l1_size * 1024 - shared * self._resident
        footprints: dict[tir.Var, float] = {}
        for access in work.accesses:
            if access.place.is_shared:
                lines += access.count * access.times * warps
                continue
            addresses = traffic.addresses(access)
            of_block, share = traffic.of_block(access, addresses, warps, cache / self._resident)
            l2 += of_block
            lines += traffic.lines(access, addresses) * access.times * warps
            footprints[access.place.data] = footprints.get(access.place.data, 0.0) + of_block * share
        for data, of_block in footprints.items():
            size = self._bytes_of.get(data, float("inf"))
            total = of_block * self._blocks
            dram += min(total, size) if size <= figures.l2_size << 20 else total
        spilled = 2 * self._spilled() * work.trips * 32 * warps
        lines, l2 = lines + spilled / LINE_BYTES, l2 + spilled
        operations = work.operations
        arithmetic = (
            32 * warps * (operations.get(32, 0.0) / figures.float32 + operations.get(64, 0.0) / figures.float64)
        )
        arithmetic += warps * work.tensor / figures.tensor
        issued = warps * (sum(operations.values()) + work.other) / _SCHEDULERS
        waits = _GLOBAL_CYCLES * work.waits + _SHARED_CYCLES * work.shared_waits + _BARRIER_CYCLES * work.barriers
        return {
            "memory": dram / (figures.bandwidth * 1e9),
            "L2 cache": cycle * max(l2 * self._blocks / figures.l2_bandwidth, l2 * busiest / _BYTES_OF_BLOCKS),
            "L1 cache and shared memory": cycle * lines * busiest,
            "arithmetic": cycle * arithmetic * busiest,
            "instructions": cycle * issued * busiest,
            "latency": cycle * waits * ceil(busiest / self._resident),
        }

    def _spilled(self) -> int:
        return self._usage.spill_bytes + self._usage.stack_bytes if self._usage is not None else 0
