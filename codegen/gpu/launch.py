"""What a launch passes to a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import tir
from ...ir.visit import walk
from ..llvm.types import element_bytes
from .kernel import Kernel


def parameters(kernel: Kernel) -> tuple[tir.Var, ...]:
    """Return the variables that `kernel` uses and does not define: pointers, sizes, variables of loops around it."""
    defined: set[tir.Var] = {axis.var for axis in kernel.axes}
    used: dict[tir.Var, None] = {}
    for node in walk(kernel.body):
        match node:
            case tir.For():
                defined.add(node.loop_var)
            case tir.LetStmt() | tir.Let():
                defined.add(node.var)
            case tir.Allocate() | tir.AllocateConst():
                defined.add(node.buffer_var)
            case tir.Var():
                used[node] = None
            case _:
                pass
    return tuple(var for var in used if var not in defined)


def parameter_bytes(params: Sequence[tir.Var]) -> int:
    """Return what `params` take together, each at a multiple of its size, with the address of the status after them."""
    total = 0
    for size in [8 if param.dtype == "handle" else element_bytes(param.dtype) for param in params] + [8]:
        total = -(-total // size) * size + size
    return total
