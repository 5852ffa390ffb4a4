"""Checks of another executor by interpreting a random sample of iterations.

The allocated buffers of a function become parameters, so that the other executor exposes every intermediate result.
Each nest is then checked separately: some points of its parallel loops run in lockstep on the inputs that the other
executor computed, and must write the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ... import tir
from ...analysis.dependence import is_parallel
from ...base import IRModule
from ...dtype import is_float, is_vector
from ...numpy_dtype import numpy_dtype
from ...visit import walk
from ..buffers import compile_view
from ..expressions import compile_expr
from ..frame import Frame, World
from ..memory import Array, Memory, Pointer
from ..prim_func import bind_arguments
from .state import Conflict, Doubt, Lanes, Refused
from .statements import MAX_AXES, compile_lane_stmt, loop_extents

_NO_MODULE = IRModule({})


class Opened(Struct, frozen=True, eq=False):
    """A function whose last parameters are its intermediate buffers; `nests` are its statements in order."""

    func: tir.PrimFunc
    intermediates: tuple[tir.Buffer, ...]
    nests: tuple[tir.For, ...]


class Checked(Struct, frozen=True):
    """Result for one nest: the number of interpreted points, of all points, and the written values of both executors."""

    points: int
    total: int
    written: tuple[tuple[str, Array, Array], ...]
    """By buffer name: the values that the interpreter wrote, and the other executor's values of the same elements."""


def work_of(func: tir.PrimFunc) -> int:
    """Return the number of innermost iterations of `func`, as far as its sizes are known."""
    try:
        return loop_extents(func.body)
    except Refused:
        return 0


def open_function(func: tir.PrimFunc) -> Opened | None:
    """Return `func` with its intermediate buffers as parameters; None if its nests cannot be checked separately."""
    root = func.body.block if isinstance(func.body, tir.BlockRealize) and not func.body.iter_values else None
    if root is not None and (root.match_buffers or root.init is not None):
        return None
    body = func.body if root is None else root.body
    parts = body.seq if isinstance(body, tir.SeqStmt) else (body,)
    nests = tuple([part for part in parts if isinstance(part, tir.For)])
    buffers = () if root is None else root.alloc_buffers
    is_compact = not any(buffer.strides for buffer in (*buffers, *func.buffer_map.values()))
    if len(nests) != len(parts) or not is_compact:
        return None
    if not _is_written_once(nests) or not all(map(_parallel_loops, nests)):
        return None
    pointers = [tir.Var(dtype="handle", name=f"{buffer.name}_handle") for buffer in buffers]
    opened = body if root is None else replace(func.body, block=replace(root, alloc_buffers=()))
    buffer_map = {**func.buffer_map, **dict(zip(pointers, buffers, strict=True))}
    return Opened(replace(func, params=(*func.params, *pointers), buffer_map=buffer_map, body=opened), buffers, nests)


def _is_written_once(nests: Sequence[tir.For]) -> bool:
    """Whether each memory is written by only one nest, and only by stores."""
    owners: dict[tir.Var, tir.For] = {}
    for nest in nests:
        for node in walk(nest):
            if isinstance(node, tir.MatchBufferRegion | tir.DeclBuffer | tir.LetStmt):
                return False
            if isinstance(node, tir.BufferStore) and owners.setdefault(node.buffer.data, nest) is not nest:
                return False
    return True


def _parallel_loops(nest: tir.For) -> list[tir.For]:
    """Return the outermost loops of a nest whose iterations are independent."""
    loops: list[tir.For] = []
    stmt: tir.Stmt = nest
    while isinstance(stmt, tir.For) and stmt.thread_binding is None and is_parallel(stmt):
        loops.append(stmt)
        stmt = stmt.body
    return loops


def check_nests(
    opened: Opened, before: Sequence[Any], after: Sequence[Any], count: int, seed: int
) -> list[Checked] | None:
    """Interpret about `count` points of each nest; None if that is not possible.

    `before` are the arguments of the other executor before its run, `after` the same arguments after it.
    """
    random = np.random.default_rng(seed)
    found: list[Checked] = []
    for nest in opened.nests:
        try:
            found.append(_check_nest(opened.func, nest, before, after, random, count))
        except (Doubt, Refused):
            return None
    return found


def _check_nest(
    func: tir.PrimFunc,
    nest: tir.For,
    before: Sequence[Any],
    after: Sequence[Any],
    random: np.random.Generator,
    count: int,
) -> Checked:
    stored = {node.buffer.data for node in walk(nest) if isinstance(node, tir.BufferStore)}
    loops, sequential = _parallel_loops(nest), set[tir.For]()
    body = compile_lane_stmt(loops[-1].body, len(loops))
    while True:
        args = [
            old.copy() if param in func.buffer_map and func.buffer_map[param].data in stored else new
            for param, old, new in zip(func.params, before, after, strict=True)
        ]
        frame = Frame(World(_NO_MODULE))
        bind_arguments(frame, func, args, "the function")
        own = {buffer: _tracked(frame, buffer) for buffer in func.buffer_map.values() if buffer.data in stored}
        lanes = Lanes(frame, MAX_AXES, set(own.values()), sequential)
        extents = [int(compile_expr(loop.extent)(frame)) for loop in loops]
        points = _points(random, extents, count)
        lanes.grid[0] = len(points)
        for loop, column in zip(loops, points.T, strict=True):
            first = compile_expr(loop.min)(frame)
            values = (column + first).astype(loop.loop_var.dtype)
            lanes[loop.loop_var] = values.reshape(-1, *[1] * (MAX_AXES - 1))
        try:
            if len(points):
                body(lanes)
        except Conflict as conflict:
            sequential.add(conflict.loop)
            continue
        left = {
            buffer: new for param, new in zip(func.params, after, strict=True) if (buffer := func.buffer_map.get(param))
        }
        return Checked(len(points), int(np.prod(extents)), tuple([_written(b, m, left[b]) for b, m in own.items()]))


def _tracked(frame: Frame, buffer: tir.Buffer) -> Memory:
    """Let the memory of `buffer` record which of its bytes are written, and return it."""
    pointer: Pointer = frame[buffer.data]
    memory = Memory(pointer.memory.data, pointer.memory.scope, np.zeros(len(pointer.memory.data), np.bool_))
    frame[buffer.data] = Pointer(memory, pointer.offset)
    frame[buffer] = compile_view(buffer)(frame)
    return memory


def _points(random: np.random.Generator, extents: Sequence[int], count: int) -> Array:
    """Return points of a grid, one per row: all if it is small; else half of them uniform, half of them often at the borders."""
    total = int(np.prod(extents))
    if total <= count:
        return np.stack(np.unravel_index(np.arange(total), extents), axis=1)
    uniform = random.integers(0, extents, (count // 2, len(extents)))
    rim = random.integers(0, extents, (count - count // 2, len(extents)))
    side = random.integers(0, 6, rim.shape)
    rim = np.where(side == 0, 0, np.where(side == 1, np.asarray(extents) - 1, rim))
    return np.unique(np.concatenate([uniform, rim]), axis=0)


def _written(buffer: tir.Buffer, memory: Memory, left: Array) -> tuple[str, Array, Array]:
    """Return the values written to `buffer`, and the other executor's values of the same elements."""
    assert memory.written is not None
    flat = left.reshape(-1)
    mask = memory.written.reshape(-1, flat.itemsize).all(axis=1)
    return buffer.name, memory.data.view(flat.dtype)[mask], flat[mask]


def allocate_intermediates(opened: Opened, args: Sequence[Any]) -> list[Array] | None:
    """Return memory for the intermediate results of a call, filled with NaN or ones; None if a size is unknown."""
    frame = Frame(World(_NO_MODULE))
    count = len(opened.func.params) - len(opened.intermediates)
    original = replace(opened.func, params=opened.func.params[:count])
    kept = {param: buffer for param, buffer in opened.func.buffer_map.items() if param in original.params}
    bind_arguments(frame, replace(original, buffer_map=kept), args, "the function")
    arrays: list[Array] = []
    for buffer in opened.intermediates:
        shape = [int(compile_expr(size)(frame)) for size in buffer.shape]
        kind = numpy_dtype(buffer.dtype)
        if min(shape, default=0) < 0 or is_vector(buffer.dtype):
            return None
        arrays.append(np.full(shape, np.nan if is_float(buffer.dtype) else 1, kind))
    return arrays
