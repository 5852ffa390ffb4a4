"""The resources that the kernels of a program use, for `tvms compile --report`."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from textwrap import wrap

from ...ir import tir
from ...ir.dtype import element_bytes
from ...ir.visit import walk
from ..names import mangle
from ..remarks import Remark, line_of
from ..runtime.sizes import size_text
from ..target import Target
from .architectures import ARCHITECTURES, occupancy
from .dynamic_memory import dynamic_bytes
from .kernel import Axis, Kernel, scope_of
from .program import DeviceProgram
from .ptxas import assemble, find_ptxas
from .transactions import barrier_count, wasteful

_HEAD = ("kernel", "blocks", "threads", "barriers", "registers", "shared", "stack", "spilled", "occupancy")


def report(program: DeviceProgram, target: Target, width: int | None = None) -> str:
    """Return a table of all kernels, or a line for each cell if the table is wider than `width` columns.

    Without ptxas, cells are unknown, and the last line says why.
    """
    tool = find_ptxas()
    made = assemble(program.ptx, target.arch, tool) if tool else None
    usage = made.usage if made else {}
    rows: list[tuple[str, ...]] = [_HEAD]
    for name, kernel in program.kernels.items():
        used = usage.get(mangle(name))
        count, is_exact = barrier_count(kernel.body)
        head = (name, _shape(kernel.blocks), _shape(kernel.threads), f"{count}{'' if is_exact else '+'}")
        if used is None:
            rows.append((*head, "?", _bytes(shared_bytes(kernel)), "?", "?", "?"))
            continue
        shared = used.shared_bytes + dynamic_bytes(kernel)
        part = occupancy(ARCHITECTURES[target.arch], kernel.thread_count, used.registers, shared)
        sizes = (_bytes(shared), _bytes(used.stack_bytes), _bytes(used.spill_bytes))
        rows.append((*head, str(used.registers), *sizes, f"{part:.0%}"))
    lines = list(_aligned(rows))
    if width is not None and max(map(len, lines)) > width:
        lines = list(_stacked(rows))
    if made is None:
        lines.append("registers and occupancy need ptxas: pip install nvidia-cuda-nvcc")
    elif made.problem:
        lines.append(f"ptxas for {target.arch}: {made.problem}")
    for name, kernel in program.kernels.items():
        remarks = [Remark(name, str(item), line_of(item.access.span)) for item in wasteful(kernel)]
        shown = [f"{name}, {remark}" for remark in remarks]
        lines += (
            shown if width is None else [part for text in shown for part in wrap(text, width, subsequent_indent="  ")]
        )
    return "\n".join([f"kernels for {target.arch}", *lines])


def shared_bytes(kernel: Kernel) -> int:
    """Return the bytes of shared memory that a block of a lowered kernel declares."""
    found = [node for node in walk(kernel.body) if isinstance(node, tir.Allocate)]
    shared = [stmt for stmt in found if scope_of(stmt.buffer_var).startswith("shared")]
    sizes = [prod(extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm)) for stmt in shared]
    return sum(size * element_bytes(stmt.dtype) for size, stmt in zip(sizes, shared, strict=True))


def _shape(axes: tuple[Axis, ...]) -> str:
    return " × ".join(size_text(axis.extent) for axis in reversed(axes)) or "1"


def _bytes(count: int) -> str:
    return f"{count} B" if count < 10240 else f"{count / 1024:.1f} KiB"


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _stacked(rows: list[tuple[str, ...]]) -> Iterator[str]:
    width = max(map(len, _HEAD))
    for name, *cells in rows[1:]:
        yield name
        yield from (f"  {head:{width}}  {cell}" for head, cell in zip(_HEAD[1:], cells, strict=True))
