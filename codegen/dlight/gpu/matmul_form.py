"""Products of matrices in normal form: `C[S, I, J] += A[S, I, K] * B[S, J, K]`."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import make, tir
from ....ir.schedule import BlockRV, Schedule, ScheduleError
from ...rules.build import constant
from ..analysis import get_root_block, used_iters

_SPATIAL, _REDUCED = tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE


def main_reduction(sch: Schedule) -> BlockRV | None:
    """Return the only block with reductions; None if there are several, none, or blocks with other iterators."""
    try:
        blocks = sch.get_child_blocks(get_root_block(sch))
    except (ValueError, ScheduleError):
        return None
    kinds = [{axis.iter_type for axis in sch.get(block).iter_vars} for block in blocks]
    if any(kind not in ({_SPATIAL}, {_SPATIAL, _REDUCED}) for kind in kinds):
        return None
    found = [block for block, kind in zip(blocks, kinds, strict=True) if _REDUCED in kind]
    return found[0] if len(found) == 1 else None


def matmul_maps(block: tir.Block) -> list[tir.IndexMap] | None:
    """Return the maps of the iterators of a block, and of those of A, B and C, to S, I, J and K.

    Iterators of one kind are fused in order, those of extent 1 are dropped. None if the block is not a product.
    """
    if len(block.reads) != 2 or len(block.writes) != 1:
        return None
    regions = [region.region for region in (*block.reads, *block.writes)]
    if any(constant(axis.extent) != 1 for region in regions for axis in region):
        return None
    used = [used_iters(block, region) for region in regions]
    kinds = [_kind(axis, tuple([axis.var in names for names in used])) for axis in block.iter_vars]
    if "" in kinds or not {"I", "J", "K"} <= set(kinds):
        return None
    axes = list(zip(block.iter_vars, kinds, strict=True))
    maps = [_fusion(axes, "SIJK")]
    for names, order in zip(used, ("SIK", "SJK", "SIJ"), strict=True):
        maps.append(_fusion([(axis, kind) for axis, kind in axes if axis.var in names], order))
    return maps


_KINDS: dict[tuple[tir.IterVarType, tuple[bool, ...]], str] = {
    (_SPATIAL, (True, True, True)): "S",
    (_SPATIAL, (True, False, True)): "I",
    (_SPATIAL, (False, True, True)): "J",
    (_REDUCED, (True, True, False)): "K",
}


def _kind(axis: tir.IterVar, used: tuple[bool, ...]) -> str:
    """Return the kind of an iterator by the operands that use it: A, B and C; "1" for extent 1, "" for none."""
    if axis.dom is not None and constant(axis.dom.extent) == 1:
        return "1"
    return _KINDS.get((axis.iter_type, used), "")


def _fusion(axes: Sequence[tuple[tir.IterVar, str]], order: str) -> tir.IndexMap:
    variables: list[tir.Var] = []
    fused: dict[str, tir.PrimExpr] = {}
    for at, (axis, kind) in enumerate(axes):
        assert axis.dom is not None
        variable = tir.Var(axis.dom.extent.dtype, f"i{at}")
        variables.append(variable)
        fused[kind] = make.add(make.mul(fused[kind], axis.dom.extent), variable) if kind in fused else variable
    dtype = variables[0].dtype
    return tir.IndexMap(tuple(variables), tuple([fused.get(kind, make.const(0, dtype)) for kind in order]))


def normalize_matmul(sch: Schedule, main: BlockRV) -> None:
    """Copy the operands and the result of a product to buffers in normal form, and give it the loops S, I, J, K."""
    copies = [sch.reindex(main, place) for place in (("read", 0), ("read", 1), ("write", 0))]
    maps = matmul_maps(sch.get(main))
    assert maps is not None
    whole, *of_buffers = maps
    for copy, side, index_map in zip(copies, ("write", "write", "read"), of_buffers, strict=True):
        sch.transform_layout(copy, (side, 0), index_map)
    sch.transform_block_layout(main, whole)
