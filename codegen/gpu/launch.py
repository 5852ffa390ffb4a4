"""The arguments of a launch."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import tir
from ...ir.dtype import element_bytes
from ...ir.visit import walk
from .kernel import Kernel


def parameters(kernel: Kernel) -> tuple[tir.Var, ...]:
    """Return the free variables of `kernel`: pointers, sizes, and variables of enclosing loops."""
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
    """Return the total size of `params` in bytes, each aligned to its size, followed by the address of the status."""
    total = 0
    for size in [8 if param.dtype == "handle" else element_bytes(param.dtype) for param in params] + [8]:
        total = -(-total // size) * size + size
    return total
