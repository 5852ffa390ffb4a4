"""Analyses of blocks, loops and functions for schedule rules (TVM: `tvm.dlight.analysis`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from ...ir import make, tir
from ...ir.analysis.iter_map import IterSumExpr, normalize_to_iter_sum
from ...ir.equal import structural_equal
from ...ir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from ...ir.visit import walk
from ..rules.build import constant

Extent: TypeAlias = "int | tir.PrimExpr"
"""A number if it is constant, otherwise an expression."""
_KINDS = {tir.IterVarType.DATA_PAR: "S", tir.IterVarType.COMM_REDUCE: "R"}


class IterInfo(Struct, frozen=True, eq=False):
    """An iterator of a block with its loop. `kind` is "S" (spatial), "R" (reduction) or "O" (other)."""

    kind: str
    var: tir.Var
    extent: tir.PrimExpr
    loop_rv: LoopRV

    @property
    def dom(self) -> Extent:
        """Return the number of values of the iterator."""
        return number_or(self.extent)

    def __repr__(self) -> str:
        return f'Iter("{self.kind}", {self.dom})'


class BlockInfo(Struct, frozen=True, eq=False):
    """A block with its iterators (TVM: `tvm.dlight.BlockInfo`)."""

    name: str
    iters: list[IterInfo]
    block_rv: BlockRV
    reduction_block: bool = False

    def dom(self) -> list[Extent]:
        """Return the extents of the iterators."""
        return [axis.dom for axis in self.iters]

    def dom_kind(self) -> str:
        """Return the kinds of the iterators, such as "SSR"."""
        return "".join([axis.kind for axis in self.iters])

    def is_injective(self) -> bool:
        """Return whether all iterators are spatial."""
        return set(self.dom_kind()) <= {"S"}

    def is_elementwise(self, sch: Schedule) -> bool:
        """Return whether the block computes each element from the element of one buffer at the same indices."""
        block = sch.get(self.block_rv)
        if not self.is_injective() or len(block.reads) != 1 or len(block.writes) != 1:
            return False
        variables = [axis.var for axis in block.iter_vars]
        regions = (block.reads[0].region, block.writes[0].region)
        return all(
            len(region) == len(variables)
            and all(axis.min is var and constant(axis.extent) == 1 for axis, var in zip(region, variables, strict=True))
            for region in regions
        )

    def is_reduction(self) -> bool:
        """Return whether the block is a reduction with an init."""
        return self.reduction_block

    def __repr__(self) -> str:
        return f'BlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'


def number_or(extent: tir.PrimExpr) -> Extent:
    """Return the value of a constant, other expressions as they are."""
    number = constant(extent)
    return extent if number is None else number


def block_info(sch: Schedule, block: BlockRV) -> BlockInfo:
    """Return the description of a block; its loops belong to its iterators in order."""
    node = sch.get(block)
    iters = [
        IterInfo(_KINDS.get(axis.iter_type, "O"), axis.var, axis.dom.extent, loop)
        for axis, loop in zip(node.iter_vars, sch.get_loops(block), strict=False)
    ]
    return BlockInfo(node.name_hint, iters, block, is_reduction_block(node))


def is_reduction_block(block: tir.Block) -> bool:
    """Return whether a block has an init, only spatial and reduction iterators, and writes independently of the latter."""
    if block.init is None or any(axis.iter_type not in _KINDS for axis in block.iter_vars):
        return False
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE}
    return not any(reduced & used_iters(block, region.region) for region in block.writes)


def normalize_prim_func(sch: Schedule) -> list[BlockInfo] | None:
    """Give each block of `main` a plain nest: a loop for each iterator, without iterators of extent 1.

    Return the blocks in order; None if the iterators of a block are not its loops (TVM: `normalize_prim_func`).
    """
    try:
        blocks = _leaves(sch, get_root_block(sch))
    except (ValueError, ScheduleError):
        return None
    if not all(_is_plain_nest(sch, block) for block in blocks):
        return None
    infos: list[BlockInfo] = []
    for block in blocks:
        with suppress(ScheduleError):  # a block that refuses keeps its iterators
            sch.transform_block_layout(block, _without_units(sch.get(block)))
        infos.append(block_info(sch, block))
    return infos


def _leaves(sch: Schedule, block: BlockRV) -> list[BlockRV]:
    inner = sch.get_child_blocks(block)
    return [leaf for child in inner for leaf in (_leaves(sch, child) or [child])]


def _is_plain_nest(sch: Schedule, block: BlockRV) -> bool:
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    values = _realize_of(sch, block).iter_values
    return not loops or (
        len(loops) == len(values)
        and all(value is loop.loop_var and constant(loop.min) == 0 for loop, value in zip(loops, values, strict=True))
    )


def _realize_of(sch: Schedule, block: BlockRV) -> tir.BlockRealize:
    node = sch.get(block)
    return next(
        stmt for stmt in walk(sch.mod.functions["main"]) if isinstance(stmt, tir.BlockRealize) and stmt.block is node
    )


def _without_units(block: tir.Block) -> tir.IndexMap:
    """Return the map that removes iterators of extent 1, and adds one if no spatial iterator is left."""
    variables = [tir.Var(axis.var.dtype, axis.var.name) for axis in block.iter_vars]
    kept = [
        (variable, axis)
        for variable, axis in zip(variables, block.iter_vars, strict=True)
        if axis.dom is None or constant(axis.dom.extent) != 1
    ]
    indices: list[tir.PrimExpr] = [variable for variable, _ in kept]
    if not any(axis.iter_type is tir.IterVarType.DATA_PAR for _, axis in kept):
        indices.insert(0, make.const(0, "int64"))
    return tir.IndexMap(tuple(variables), tuple(indices))


def get_root_block(sch: Schedule, func_name: str = "main") -> BlockRV:
    """Return the root block of a function. Raises ValueError if its body is not a block."""
    body = sch.mod.functions[func_name].body  # type: ignore[union-attr]
    if not isinstance(body, tir.BlockRealize):
        raise ValueError(f"the body of '{func_name}' is not a root block")
    return sch.get_block(body.block.name_hint, func_name)


def collect_vars_used_in_prim_expr(expr: tir.PrimExpr) -> set[tir.Var]:
    """Return the variables in an expression."""
    return {node for node in walk(expr) if isinstance(node, tir.Var)}


def used_iters(block: tir.Block, region: Iterable[tir.Range]) -> set[tir.Var]:
    """Return the iterators of a block in the first indices of a region."""
    own = {axis.var for axis in block.iter_vars}
    return own & {var for axis in region for var in collect_vars_used_in_prim_expr(axis.min)}


def collect_block_iter_vars_used_in_access_region(block: tir.Block, region: Sequence[tir.Range]) -> set[tir.Var]:
    """Return the iterators of a block in a region of single elements. Raises ValueError if the region is larger."""
    if any(constant(axis.extent) != 1 for axis in region):
        raise ValueError(f"block '{block.name_hint}' accesses more than one element at a time")
    return used_iters(block, region)


def detect_dominant_read(block: tir.Block, among: Collection[tir.Var] | None = None) -> tir.PrimExpr:
    """Return the linear index of the read that uses most iterators (of `among`), the first of several.

    Raises ValueError if the block reads nothing, or more than one element of a buffer at a time.
    """
    best: tir.BufferRegion | None = None
    most = -1
    for read in block.reads:
        used = collect_block_iter_vars_used_in_access_region(block, read.region)
        count = len(used if among is None else used.intersection(among))
        if count > most:
            best, most = read, count
    if best is None:
        raise ValueError(f"block '{block.name_hint}' reads no buffer")
    return linear_index(best.buffer, [axis.min for axis in best.region])


def linear_index(buffer: tir.Buffer, indices: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the position of an element in a buffer, in elements (TVM: `Buffer.offset_of`)."""
    total: tir.PrimExpr | None = None
    for at, index in enumerate(indices):
        if buffer.strides:
            term = make.mul(index, buffer.strides[at])
            total = term if total is None else make.add(total, term)
        else:
            total = index if total is None else make.add(make.mul(total, buffer.shape[at]), index)
    return make.const(0, "int32") if total is None else total


def access_of(block: tir.Block, index: tir.PrimExpr) -> IterSumExpr:
    """Return an index as a sum of splits of the iterators of a block."""
    return normalize_to_iter_sum(index, {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None})


def is_broadcast_epilogue(sch: Schedule, block: BlockRV, epilogue: BlockRV) -> bool:
    """Return whether the epilogue reads an element that `block` writes in more than one of its iterations."""
    written = {region.buffer for region in sch.get(block).writes}
    after = sch.get(epilogue)
    return any(
        len(collect_block_iter_vars_used_in_access_region(after, read.region)) < len(after.iter_vars)
        for read in after.reads
        if read.buffer in written
    )


# --- Matrix-vector products --------------------------------------------------------------------------------------


def get_reduction_expr(block: tir.Block) -> tir.PrimExpr | None:
    """Return `y` of a block `x[...] = x[...] + y`; None if it is not of this form."""
    match block.body:
        case tir.BufferStore(buffer=buffer, indices=indices, value=tir.Add(a=a, b=b)):
            return b if structural_equal(a, tir.BufferLoad(buffer.dtype, buffer, indices), map_free_vars=True) else None
        case _:
            return None


def vector_reads(block: tir.Block, among: Collection[tir.Var]) -> list[tir.Buffer] | None:
    """Return the buffers that are read with some but not all iterators of `among`.

    None if the block is not a sum of products into one buffer, or if all or none of its reads are such vectors.
    """
    if not is_reduction_block(block) or len(block.reads) < 2 or len(block.writes) != 1:
        return None
    if get_reduction_expr(block) is None:
        return None
    if not collect_block_iter_vars_used_in_access_region(block, block.writes[0].region):
        return None
    found = [
        read.buffer
        for read in block.reads
        if 0 < len(collect_block_iter_vars_used_in_access_region(block, read.region).intersection(among)) < len(among)
    ]
    return found if 0 < len(found) < len(block.reads) else None


def is_gemv(sch: Schedule, block_info: BlockInfo) -> list[tir.Buffer] | None:
    """Return the vectors of a matrix-vector product; None if the block is not one (TVM: `is_gemv`)."""
    block = sch.get(block_info.block_rv)
    return vector_reads(block, {axis.var for axis in block.iter_vars})


def normalize(sch: Schedule, block_info: BlockInfo) -> bool | None:
    """Give a matrix-vector product four loops: batch, spatial, reduction, and elements that are packed in a word.

    Return whether the innermost dimension of the matrix is reduced; None if the block does not have this form.
    """
    block = sch.get(block_info.block_rv)
    access = access_of(block, detect_dominant_read(block))
    own = {axis.var: axis for axis in block_info.iters}
    if own.keys() & collect_vars_used_in_prim_expr(access.base) or not access.args:
        return None
    used = [used_iters(block, region.region) for region in (*block.writes, *block.reads)]
    loops: dict[str, list[LoopRV]] = {"batch": [], "S": [], "R": [], "packed": []}
    for split in access.args:
        variable = split.source.source
        if not isinstance(variable, tir.Var):
            return None
        axis, factor = own[variable], constant(split.lower_factor)
        loop = axis.loop_rv
        if factor != 1:
            if loops["packed"] or axis.kind != "R":
                return None
            loop, inner = sch.split(loop, factors=[None, factor])
            loops["packed"].append(inner)
        shared = axis.kind != "R" and all(variable in names for names in used)
        loops["batch" if shared else "R" if axis.kind == "R" else "S"].append(loop)
    if not loops["S"] or not loops["R"]:
        return None
    for name in ("packed", "batch"):
        loops[name] = loops[name] or [sch.add_unit_loop(block_info.block_rv)]
    sch.reorder(*loops["batch"], *loops["S"], *loops["R"], *loops["packed"])
    for name in ("batch", "S", "R"):
        sch.fuse(*loops[name])
    return own[access.args[-1].source.source].kind == "R"  # type: ignore[index]
