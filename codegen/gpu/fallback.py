"""The schedule of functions that nobody scheduled for threads: one thread for each element of a result; a warp, where an
element is reduced from neighbours in memory, which its threads then read together.

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

from ...ir import make, tir
from ...ir.base import Node
from ...ir.visit import substitute, walk
from ..lower.rewriter import sequence
from ..rules import Decision
from ..rules.nest import Declined, Nest, read_nest
from .architectures import WARP

THREADS = 256
"""Threads of a block."""
WARPS = 8
"""Warps of a block, where each reduces one element."""
TRUE = tir.IntImm("bool", 1)


def bind_threads(func: tir.PrimFunc) -> tuple[tir.PrimFunc, tuple[Decision, ...]]:
    """Return `func`, none of whose loops is bound to threads, with all that it does in threads, and what was decided."""
    root = func.body
    if not isinstance(root, tir.BlockRealize) or root.block.iter_vars:
        return replace(func, body=_alone(root)), (Decision("root", "one thread", ()),)
    body, decisions = root.block.body, list[Decision]()
    if any(buffer.scope != "global" for buffer in root.block.alloc_buffers):
        whole = replace(root.block, body=_alone(body))
        return replace(func, body=replace(root, block=whole)), (Decision("root", "one thread", ()),)
    parts: list[tir.Stmt] = []
    for part in body.seq if isinstance(body, tir.SeqStmt) else (body,):
        try:
            nest = read_nest(part)
            by_warps = _is_of_neighbours(nest)
            parts.append(_spread(nest, by_warps))
            decisions.append(Decision(nest.name, f"a {'warp' if by_warps else 'thread'} for each element", ()))
        except Declined as reason:
            parts.append(_alone(part))
            decisions.append(Decision("?", "one thread", (("a thread for each element", str(reason)),)))
    block = replace(root.block, body=sequence(parts))
    return replace(func, body=replace(root, block=block)), tuple(decisions)


def _bound(tag: str, extent: tir.PrimExpr, body: tir.Stmt, var: tir.Var) -> tir.Stmt:
    axis = tir.IterVar(None, tir.Var(var.dtype, ""), tir.IterVarType.THREAD_INDEX, tag)
    return tir.For(var, make.const(0, var.dtype), extent, tir.ForKind.THREAD_BINDING, body, axis)


def _alone(stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` in one thread, with the memory that it allocates."""
    one = tir.IntImm("int32", 1)
    inner = _bound("threadIdx.x", one, _with_own_memory(stmt), tir.Var("int32", "tx"))
    return _bound("blockIdx.x", one, inner, tir.Var("int32", "bx"))


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


def _is_of_neighbours(nest: Nest) -> bool:
    """Whether elements are sums, products or extrema over rows of memory, of whole warps of elements."""
    value = nest.store.value
    if not nest.reduced or nest.init is None or not isinstance(value, tir.Add | tir.Mul | tir.Min | tir.Max):
        return False
    last = nest.reduced[-1]
    if last.size is None or last.size < 2 * WARP or last.size % WARP:
        return False
    if not isinstance(value.a, tir.BufferLoad) or value.a.buffer is not nest.store.buffer:
        return False
    loads = [each for each in nest.loads() if any(last.var in walk(index) for index in each.indices)]
    return bool(loads) and all(each.indices[-1] is last.var for each in loads)


def _spread(nest: Nest, by_warps: bool) -> tir.Stmt:
    """Return the loops of `nest` with its results dealt out to threads or warps, the last axis running fastest."""
    count = reduce(make.mul, (make.cast(axis.extent, "int64") for axis in nest.spatial), tir.IntImm("int64", 1))
    most = WARPS if by_warps else THREADS
    together = most if not isinstance(count, tir.IntImm) else max(min(most, count.value), 1)
    size = tir.IntImm("int64", together)
    bx, own = tir.Var("int64", "bx"), tir.Var("int64", "ty" if by_warps else "tx")
    index: tir.PrimExpr = make.add(make.mul(bx, size), own)
    is_ragged = not isinstance(count, tir.IntImm) or count.value % together != 0
    predicate = make.less(index, count) if is_ragged else TRUE
    values: dict[tir.Var, tir.PrimExpr] = {}
    for axis in reversed(nest.spatial):
        extent = make.cast(axis.extent, "int64")
        values[axis.var] = make.cast(make.floormod(index, extent), axis.var.dtype)
        index = make.floordiv(index, extent)
    loops = {axis.var: (tir.Var(axis.var.dtype, axis.var.name), axis.extent) for axis in nest.reduced}
    values |= {var: loop for var, (loop, _) in loops.items()}
    lane = tir.Var("int64", "tx")
    if by_warps:
        last = nest.reduced[-1]
        step, warp = loops[last.var][0], tir.IntImm(last.var.dtype, WARP)
        loops[last.var] = step, make.floordiv(last.extent, make.cast(warp, last.extent.dtype))
        values[last.var] = make.add(make.mul(step, warp), make.cast(lane, step.dtype))
    bindings = tuple([values[axis.var] for axis in nest.axes])
    stmt: tir.Stmt = tir.BlockRealize(bindings, predicate, _block(nest), trivia=nest.trivia)
    if by_warps:
        stmt = _bound("threadIdx.x", tir.IntImm("int64", WARP), stmt, lane)
    for loop, extent in reversed(list(loops.values())):
        stmt = tir.For(loop, make.const(0, loop.dtype), extent, tir.ForKind.SERIAL, stmt)
    grid = make.floordiv(make.add(count, tir.IntImm("int64", together - 1)), size)
    tag = "threadIdx.y" if by_warps else "threadIdx.x"
    return _bound("blockIdx.x", grid, _bound(tag, size, stmt, own), bx)


def _block(nest: Nest) -> tir.Block:
    kinds = {True: tir.IterVarType.COMM_REDUCE, False: tir.IterVarType.DATA_PAR}
    axes = tuple(
        tir.IterVar(tir.Range(make.const(0, axis.var.dtype), axis.extent), axis.var, kinds[axis.is_reduced])
        for axis in nest.axes
    )
    init = None if nest.init is None else replace(nest.store, value=nest.init)
    return tir.Block(axes, (), (), nest.name, nest.store, init)
