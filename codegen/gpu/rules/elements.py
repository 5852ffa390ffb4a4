"""The schedule of what no other rule takes: one thread for each element of a result.

    for i, j, k in T.grid(64, 64, 128):           for bx in T.thread_binding(16, "blockIdx.x"):
        with T.block("matmul"):                       for tx in T.thread_binding(256, "threadIdx.x"):
            vi, vj, vk = …(i, j, k)          →            for k in range(128):
                                                              with T.block("matmul"):
                                                                  vi, vj, vk = …((bx * 256 + tx) // 64, …)

What is no nest of loops around one block runs in one thread, as does what has memory of threads or blocks already. (TVM: `dlight.gpu.Fallback`.)
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ....ir import make, tir
from ....ir.base import Node
from ....ir.visit import substitute, walk
from ...rules.nest import Nest
from .grid import BLOCK_X, X, bound, unravel

THREADS = 256
"""Threads of a block."""
TRUE = tir.IntImm("bool", 1)


def alone(stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` in one thread, with the memory that it allocates."""
    inner = bound(X, 1, tir.Var("int32", "tx"), _with_own_memory(stmt))
    return bound(BLOCK_X, 1, tir.Var("int32", "bx"), inner)


def _with_own_memory(stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` with buffers that its blocks allocate in global memory as memory of the thread."""
    moved: dict[Node, Node] = {}
    for node in walk(stmt):
        for buffer in node.alloc_buffers if isinstance(node, tir.Block) else ():
            if buffer.scope == "global":
                kind = tir.PointerType(tir.PrimType(buffer.dtype), "local")
                data = moved[buffer.data] = tir.Var("handle", buffer.data.name, kind)
                moved[buffer] = replace(buffer, data=data, scope="local")
    return substitute(stmt, moved)


def spread(nest: Nest) -> tuple[str, tir.Stmt]:
    """Return the loops of `nest` with its results dealt out to threads, the last axis running fastest, and how that is."""
    count = reduce(make.mul, (make.cast(axis.extent, "int64") for axis in nest.spatial), tir.IntImm("int64", 1))
    together = THREADS if not isinstance(count, tir.IntImm) else max(min(THREADS, count.value), 1)
    size = tir.IntImm("int64", together)
    bx, tx = tir.Var("int64", "bx"), tir.Var("int64", "tx")
    index: tir.PrimExpr = make.add(make.mul(bx, size), tx)
    is_ragged = not isinstance(count, tir.IntImm) or count.value % together != 0
    predicate = make.less(index, count) if is_ragged else TRUE
    loops = {axis.var: tir.Var(axis.var.dtype, axis.var.name) for axis in nest.reduced}
    values = {**unravel(index, nest.spatial), **loops}
    bindings = tuple([values[axis.var] for axis in nest.axes])
    stmt: tir.Stmt = tir.BlockRealize(bindings, predicate, _block(nest), trivia=nest.trivia)
    for axis in reversed(nest.reduced):
        stmt = tir.For(loops[axis.var], make.const(0, axis.var.dtype), axis.extent, tir.ForKind.SERIAL, stmt)
    grid = make.floordiv(make.add(count, tir.IntImm("int64", together - 1)), size)
    return "a thread for each element", bound(BLOCK_X, grid, bx, bound(X, together, tx, stmt))


def _block(nest: Nest) -> tir.Block:
    kinds = {True: tir.IterVarType.COMM_REDUCE, False: tir.IterVarType.DATA_PAR}
    axes = tuple(
        tir.IterVar(tir.Range(make.const(0, axis.var.dtype), axis.extent), axis.var, kinds[axis.is_reduced])
        for axis in nest.axes
    )
    init = None if nest.init is None else replace(nest.store, value=nest.init)
    return tir.Block(axes, (), (), nest.name, nest.store, init)
