"""The fallback schedule: one thread per element of the result, or per 16 bytes of elements if all accesses are
contiguous.

    for i, j, k in T.grid(64, 64, 128):           for bx in T.thread_binding(16, "blockIdx.x"):
        with T.block("matmul"):                       for tx in T.thread_binding(256, "threadIdx.x"):
            vi, vj, vk = …(i, j, k)          →            for k in range(128):
                                                              with T.block("matmul"):
                                                                  vi, vj, vk = …((bx * 256 + tx) // 64, …)

Code that is not a loop nest around one block runs in one thread. (TVM: `dlight.gpu.Fallback`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any, TypeGuard, TypeVar

from msgspec.structs import replace

from ....ir import make, tir
from ....ir.base import Node
from ....ir.dtype import parse_dtype
from ....ir.schedule.arguments import Block, Flag, Integer
from ....ir.schedule.conditions import KNOB, name_of
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.schedule.tree import walk_statements
from ....ir.software_pipeline import as_block, is_pipeline
from ....ir.visit import substitute, walk
from ...lower.rewriter import sequence
from ...rules.nest import Nest, block_of
from ...rules.rows import rows_of
from ...rules.site import APPLIES, Site, working_function
from ...rules.strides import step_along
from ..kernel import scope_of
from .grid import BLOCK_X, X, bound, unravel

_Part = TypeVar("_Part", tir.Stmt, tir.Block)

THREADS = 256
"""Threads of a block."""
VECTOR_BYTES = 16
TRUE = tir.IntImm("bool", 1)


def alone(stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` in a single thread, with its allocations in local memory."""
    inner = bound(X, 1, tir.Var("int32", "tx"), _with_own_memory(stmt))
    return bound(BLOCK_X, 1, tir.Var("int32", "bx"), inner)


def _with_own_memory(stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` with the global memory that it allocates in local memory."""
    memory = list[tir.Var]()
    for node in walk(stmt):
        if isinstance(node, tir.Block):
            memory += [buffer.data for buffer in node.alloc_buffers]
        elif isinstance(node, tir.Allocate):
            memory.append(node.buffer_var)
    return in_scope(stmt, [data for data in memory if scope_of(data) == "global"], "local")


def with_own_buffers(root: tir.Block) -> tir.Block:
    """Return `root` with the buffers that only one software pipeline uses allocated around that pipeline, whose steps need
    memory of their own.
    """
    parts = root.body.seq if isinstance(root.body, tir.SeqStmt) else (root.body,)
    users = [{node for node in walk(part) if isinstance(node, tir.Buffer)} for part in parts]
    body, kept = list[tir.Stmt](), list(root.alloc_buffers)
    for part, used in zip(parts, users, strict=True):
        own = [buffer for buffer in kept if buffer in used and sum(buffer in other for other in users) == 1]
        if own and any(isinstance(node, tir.For) and is_pipeline(node) for node in walk(part)):
            kept = [buffer for buffer in kept if buffer not in own]
            part = _allocating(part, own)
        body.append(part)
    return replace(root, body=sequence(body), alloc_buffers=tuple(kept))


def _allocating(stmt: tir.Stmt, buffers: Sequence[tir.Buffer]) -> tir.Stmt:
    """Return `stmt` in a block that allocates `buffers`; buffers of other memory that it declares are declared around the block."""
    memory = {buffer.data for buffer in buffers}
    if isinstance(stmt, tir.DeclBuffer) and stmt.buffer.data not in memory:
        return replace(stmt, body=_allocating(stmt.body, buffers))
    block = as_block(stmt)
    reads, writes = (
        tuple([region for region in regions if region.buffer.data not in memory])
        for regions in (block.reads, block.writes)
    )
    block = replace(block, reads=reads, writes=writes, alloc_buffers=(*block.alloc_buffers, *buffers))
    return tir.BlockRealize((), TRUE, block)


def in_scope(stmt: _Part, memory: Sequence[tir.Var], scope: str) -> _Part:
    """Return `stmt` with `memory`, pointers that it allocates, in another scope."""
    moved: dict[Node, Node] = {}
    for data in memory:
        assert isinstance(data.type_annotation, tir.PointerType)
        moved[data] = replace(data, type_annotation=replace(data.type_annotation, storage_scope=scope))
    for node in walk(stmt) if moved else ():
        if isinstance(node, tir.Buffer) and node.data in moved:
            moved[node] = replace(node, data=moved[node.data], scope=scope)
    return substitute(stmt, moved)


@composite()
def single_thread(program: Program, *, together: Flag = False) -> None:
    """Run every statement of the function that runs in no thread yet in a kernel of one thread, or all `together` in one kernel.

    The buffers that its blocks allocate are local.

    Preserves: the result, bit for bit.
    """
    name, func = working_function(program)
    root = func.body
    if not is_root(root):
        program.replace_function(name, replace(func, body=alone(root)))
        return
    body = root.block.body
    parts = body.seq if isinstance(body, tir.SeqStmt) and not together else (body,)
    new = sequence([part if _has_threads(part) else alone(part) for part in parts])
    program.replace(root.block, replace(root.block, body=new))


def is_root(stmt: tir.Stmt) -> TypeGuard[tir.BlockRealize]:
    """Return whether a statement is the root block of a function."""
    return isinstance(stmt, tir.BlockRealize) and not stmt.block.iter_vars


def _has_threads(stmt: tir.Stmt) -> bool:
    return any(isinstance(node, tir.For) and node.thread_binding is not None for node in walk_statements(stmt))


@composite()
def own_memory(program: Program) -> None:
    """Let steps choose the scopes of buffers: the root block allocates its buffers in global memory.

    A buffer that only one software pipeline uses is allocated around the pipeline instead.

    Preserves: the result, bit for bit.
    """
    _, func = working_function(program)
    if is_root(func.body):
        program.replace(func.body.block, with_global_buffers(func.body.block))


def needs_own_memory(root: tir.Block) -> bool:
    """Return whether `own_memory` changes a function."""
    has_pipeline = root.alloc_buffers and any(
        isinstance(node, tir.For) and is_pipeline(node) for node in walk_statements(root)
    )
    return bool(has_pipeline) or any(buffer.scope != "global" for buffer in root.alloc_buffers)


def with_global_buffers(root: tir.Block) -> tir.Block:
    """Return `root` with its buffers in global memory or around the pipelines that use them."""
    return with_own_buffers(
        in_scope(root, [buffer.data for buffer in root.alloc_buffers if buffer.scope != "global"], "global")
    )


def choose_elements(nest: Nest) -> dict[str, Any]:
    """Return the knobs of `thread_elements`."""
    width = _width(nest)
    count = prod(THREADS if axis.size is None else axis.size for axis in nest.spatial) // width
    return {"threads": max(min(THREADS, count), 1), **({"width": width} if width > 1 else {})}


@composite(
    requires=(APPLIES,),
    knobs={
        "threads": Knob("the number of threads of a block", 1, 1024),
        "width": Knob("the number of contiguous elements of a thread, at most 16 bytes", 1, 16, is_power=True),
    },
)
def thread_elements(program: Program, block: Block, *, threads: Integer, width: Integer = 1) -> None:
    """Compute every element in a thread of its own, or `width` contiguous elements as a vector.

    `for i, j: b[i, j] = f(a[i, j])` becomes a kernel whose thread `n` computes the elements from `n * width` on, of all spatial loops
    fused; a thread sums its reduction in order.

    Preserves: the result, bit for bit.
    """
    site = Site(program, [block])
    (nest,), _ = rows_of(site, 0)
    if width > 1 and _width(nest) % width:
        raise KNOB.refuse(
            f"{name_of(block)} can compute {_width(nest)} elements in a thread, got {width}", argument="width"
        )
    site.replace(spread(nest, threads, width))


def spread(nest: Nest, together: int, width: int) -> tir.Stmt:
    """Return the loops of `nest` with a thread per `width` results; the last axis varies fastest."""
    axes = list(nest.spatial)
    dtype = axes[-1].var.dtype if axes else "int32"
    lane, lanes = tir.Var(dtype, "v"), make.const(width, dtype)
    if width > 1:
        axes[-1] = replace(axes[-1], extent=make.floordiv(axes[-1].extent, lanes))
    count = reduce(make.mul, (make.cast(axis.extent, "int64") for axis in axes), tir.IntImm("int64", 1))
    size = tir.IntImm("int64", together)
    bx, tx = tir.Var("int64", "bx"), tir.Var("int64", "tx")
    index: tir.PrimExpr = make.add(make.mul(bx, size), tx)
    is_ragged = not isinstance(count, tir.IntImm) or count.value % together != 0
    predicate = make.less(index, count) if is_ragged else TRUE
    loops = {axis.var: tir.Var(axis.var.dtype, axis.var.name) for axis in nest.reduced}
    values = {**unravel(index, axes), **loops}
    if width > 1:
        last = axes[-1].var
        values[last] = make.add(make.mul(values[last], lanes), lane)
    bindings = tuple([values[axis.var] for axis in nest.axes])
    stmt: tir.Stmt = tir.BlockRealize(bindings, predicate, block_of(nest), trivia=nest.trivia)
    for axis in reversed(nest.reduced):
        stmt = tir.For(loops[axis.var], make.const(0, axis.var.dtype), axis.extent, tir.ForKind.SERIAL, stmt)
    if width > 1:
        stmt = tir.For(lane, make.const(0, dtype), lanes, tir.ForKind.VECTORIZED, stmt)
    grid = make.floordiv(make.add(count, tir.IntImm("int64", together - 1)), size)
    return bound(BLOCK_X, grid, bx, bound(X, together, tx, stmt))


def _width(nest: Nest) -> int:
    """Return how many elements a thread computes."""
    accesses = (nest.store, *nest.loads())
    width = VECTOR_BYTES // max(parse_dtype(access.buffer.dtype).bytes for access in accesses)
    sizes = [axis.size or 0 for axis in nest.spatial]
    if nest.reduced or not sizes or sizes[-1] % width or prod(sizes) < THREADS * width:
        return 1
    steps = {step_along(access, nest.spatial[-1].var) for access in accesses}
    return width if steps <= {0, 1} and step_along(nest.store, nest.spatial[-1].var) == 1 else 1
