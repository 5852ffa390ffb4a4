"""`Reduction`: sums along rows or columns (TVM: `tvm.dlight.gpu.Reduction`)."""

from __future__ import annotations

from msgspec import Struct

from ....ir import tir
from ....ir.schedule import BlockRV, LoopRV, Schedule
from ...current_target import Target
from ...rules.build import constant
from ..analysis import (
    BlockInfo,
    access_of,
    detect_dominant_read,
    get_reduction_expr,
    is_broadcast_epilogue,
    normalize_prim_func,
)
from ..base import split_bind, suggest_threads_per_block, try_inline_contiguous_spatial, unroll_up_to
from .base import GPUScheduleRule

_TILE = 16
"""Threads along the results and along the reduction, for sums along columns."""


class _Form(Struct):
    """Normalized reduction: whether the innermost dimension is reduced, and how its spatial loops became one.

    `order` gives for each spatial iterator its position in the fused loop; `packed` is the number of elements of the
    iterator at `packed_at` that a thread computes together, if it is split.
    """

    is_inner: bool
    order: list[int]
    packed: int | None
    packed_at: int | None


class Reduction(GPUScheduleRule):
    """Reduce each row, or a tile of columns, by the threads of a block, and combine their partial sums.

    A spatial block after the sum, its epilogue, is computed by the same threads.
    """

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None if the function is not a sum with an optional epilogue."""
        sch = Schedule(func)
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos or len(infos) > 2 or not all(info.is_injective() for info in infos[1:]):
            return None
        info, epilogue = infos[0], infos[1].block_rv if infos[1:] else None
        block = sch.get(info.block_rv)
        if not info.is_reduction() or "R" not in info.dom_kind() or len(block.writes) != 1:
            return None
        if get_reduction_expr(block) is None:
            return None
        form = _normalize(sch, info)
        if form is None:
            return None
        if form.is_inner:
            _reduce_rows(sch, target, info.block_rv, form, epilogue)
        else:
            _reduce_columns(sch, info, form, epilogue)
        return sch


def _normalize(sch: Schedule, info: BlockInfo) -> _Form | None:
    """Fuse the spatial and the reduction loops, in the order of the largest operand; None if a loop does not index it."""
    block = sch.get(info.block_rv)
    access = access_of(block, detect_dominant_read(block))
    if constant(access.base) != 0:
        return None
    left = {axis.var: axis for axis in info.iters}
    spatial: list[LoopRV] = []
    reduced: list[LoopRV] = []
    parts: list[LoopRV] = []
    order: dict[tir.Var, int] = {}
    form = _Form(False, [], None, None)
    for split in access.args:
        variable = split.source.source
        axis = left.pop(variable, None) if isinstance(variable, tir.Var) else None
        if axis is None:
            return None
        loop, factor, form.is_inner = axis.loop_rv, constant(split.lower_factor), axis.kind == "R"
        if factor != 1:
            if parts or factor is None:
                return None
            form.packed_at = len(spatial)
            form.packed = None if form.is_inner else factor
            loop, part = sch.split(loop, factors=[None, factor])
            parts.append(part)
        if not form.is_inner:
            order[axis.var] = len(spatial)
        (reduced if form.is_inner else spatial).append(loop)
    for axis in left.values():
        if axis.kind != "S" or axis.dom != 1:
            return None
        order[axis.var] = len(spatial)
        spatial.append(axis.loop_rv)
    own = [axis.var for axis in info.iters if axis.kind == "S"]
    if not spatial or not reduced or len(spatial) != len(own):
        return None
    parts = parts or [sch.add_unit_loop(info.block_rv)]
    sch.reorder(*spatial, *reduced, *parts)
    sch.fuse(*spatial)
    sch.fuse(*reduced)
    form.order = [order[variable] for variable in own]
    return form


def _reduce_rows(sch: Schedule, target: Target, block: BlockRV, form: _Form, epilogue: BlockRV | None) -> None:
    _, r, _ = sch.get_loops(block)
    (threads,) = suggest_threads_per_block(target, [sch.get(r)])
    _, tx = sch.split(r, factors=[None, threads])
    partial = sch.rfactor(tx, 0)
    bx, r, tx, _ = sch.get_loops(partial)
    sch.reorder(bx, tx, r)
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    unroll_up_to(sch, tx, 256)
    sch.decompose_reduction(partial, r)
    sch.reverse_compute_at(block, bx, preserve_unit_loops=True)
    _, tx, *spatial = sch.get_loops(block)
    rows, packed = _fused(sch, spatial, form)
    sch.reorder(rows, tx, *packed)
    sch.bind(tx, "threadIdx.x")
    sch.set_scope(partial, 0, "local")
    if epilogue is None:
        return
    is_broadcast = _moves_epilogue(sch, block, epilogue, bx)
    if is_broadcast:
        _, *spatial = sch.get_loops(epilogue)
        split_bind(sch, sch.fuse(*spatial), [None, threads], [None, "threadIdx.x"])
    sch.set_scope(block, 0, "shared" if is_broadcast else "local")


def _reduce_columns(sch: Schedule, info: BlockInfo, form: _Form, epilogue: BlockRV | None) -> None:
    block = info.block_rv
    s, r, _ = sch.get_loops(block)
    extent = [axis.dom for axis in info.iters if axis.kind == "S"][-1]
    threads = max(n for n in range(1, _TILE + 1) if n == 1 or (isinstance(extent, int) and extent % n == 0))
    sch.split(s, factors=[None, threads])
    _, ty = sch.split(r, factors=[None, _TILE])
    partial = sch.rfactor(ty, 0)
    bx, tx, r, ty, _ = sch.get_loops(partial)
    sch.reorder(bx, tx, ty, r)
    sch.bind(tx, "threadIdx.x")
    sch.bind(ty, "threadIdx.y")
    sch.bind(bx, "blockIdx.x")
    sch.decompose_reduction(partial, r)
    sch.reverse_compute_at(block, bx, preserve_unit_loops=True)
    _, r, *spatial = sch.get_loops(block)
    columns, packed = _fused(sch, spatial, form)
    sch.reorder(columns, *packed, r)
    sch.bind(columns, "threadIdx.x")
    sch.bind(r, "threadIdx.y")
    sch.set_scope(partial, 0, "local")
    if epilogue is None:
        return
    is_broadcast = _moves_epilogue(sch, block, epilogue, bx)
    _, *spatial = sch.get_loops(epilogue)
    fused = sch.fuse(*spatial)
    if is_broadcast:
        split_bind(sch, fused, [None, threads, _TILE], [None, "threadIdx.x", "threadIdx.y"])
    else:
        split_bind(sch, fused, [threads, None], ["threadIdx.x", None])
    sch.set_scope(block, 0, "shared" if is_broadcast else "local")


def _moves_epilogue(sch: Schedule, block: BlockRV, epilogue: BlockRV, bx: LoopRV) -> bool:
    """Move the epilogue of a sum into its block of threads; return whether several iterations of it read one sum."""
    sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
    return is_broadcast_epilogue(sch, block, epilogue)


def _fused(sch: Schedule, spatial: list[LoopRV], form: _Form) -> tuple[LoopRV, list[LoopRV]]:
    """Fuse spatial loops; if elements are packed, in the order of the operand and without the elements of a word."""
    if form.packed is None or form.packed_at is None:
        return sch.fuse(*spatial), []
    loops = [spatial[at] for at in form.order]
    sch.reorder(*loops)
    loops[form.packed_at], packed = sch.split(loops[form.packed_at], factors=[None, form.packed])
    sch.reorder(*loops, packed)
    return sch.fuse(*loops), [packed]
