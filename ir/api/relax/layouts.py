"""Layouts of the inputs of a loop function that follow from layouts of its outputs (TVM: `suggest_layout_transforms`)."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from ... import tir
from ...diagnostics import error
from ...equal import structural_equal
from ...schedule.analysis.index_maps import is_one_to_one
from ...visit import substitute, walk
from ..tir.index_maps import IndexMap

Suggestions = dict[tir.Block, dict[tir.Block | tir.Buffer, tir.IndexMap]]


def suggest_layout_transforms(
    func: tir.PrimFunc, write_buffer_transforms: Sequence[tir.IndexMap | Callable[..., Any]]
) -> Suggestions:
    """Return how to transform the blocks of `func` and the layouts of their buffers, if its outputs get new layouts.

    `write_buffer_transforms` are the maps of the outputs, which are the last parameters. For each block, the result
    has the map of its iterators, and those of the buffers that it accesses, as far as their layouts follow from it. It
    is empty if one of the blocks is nested, accesses its output by other indices than iterators, or cannot be
    transformed by a one-to-one map. Raise TvmsError if the maps do not fit the outputs.
    """
    outputs = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
    count = len(write_buffer_transforms)
    if count > len(outputs):
        reason = f"Incompatible PrimFunc and write_transformations: {count} maps for {len(outputs)} buffers"
        raise error("E0902", f"suggest_layout_transforms: {reason}", None, "give one map for each output")
    known = {
        buffer: _map(given, buffer)
        for buffer, given in zip(outputs[len(outputs) - count :], write_buffer_transforms, strict=True)
    }
    root = func.body.block if isinstance(func.body, tir.BlockRealize) else func.body
    blocks = [node for node in walk(root) if isinstance(node, tir.Block) and node is not root]
    found: Suggestions = {}
    for block in reversed(blocks):
        if any(isinstance(node, tir.Block) for node in walk(block.body)):
            return {}
        suggested = _for_block(block, known, {key for maps in found.values() for key in maps})
        if suggested is None:
            return {}
        found |= {block: suggested} if suggested else {}
    return dict(reversed(found.items()))


def _map(given: Any, buffer: tir.Buffer) -> tir.IndexMap:
    dtype = buffer.shape[0].dtype if buffer.shape else "int32"
    if not isinstance(given, tir.IndexMap):
        assert callable(given), f"a layout is an IndexMap or a function, not {given!r}"
        given = IndexMap.from_func(given, index_dtype=dtype)
    if len(given.initial_indices) != len(buffer.shape):
        reason = (
            f"Mismatch between output buffer shape and index map: '{buffer.name}' has {len(buffer.shape)} dimensions"
        )
        raise error("E0902", f"suggest_layout_transforms: {reason}, the map takes {len(given.initial_indices)}")
    return given


def _for_block(
    block: tir.Block, known: dict[tir.Buffer, tir.IndexMap], done: Container[tir.Buffer | tir.Block]
) -> dict[tir.Block | tir.Buffer, tir.IndexMap] | None:
    """Return the maps of a block and its buffers, none if its output keeps its layout; None if that is impossible.

    The maps of the buffers that it reads are added to `known`.
    """
    stores = [node for node in walk(block.body) if isinstance(node, tir.BufferStore) and node.buffer in known]
    if not stores:
        return {}
    written, indices = stores[0].buffer, list(stores[0].indices)
    if len(block.writes) != 1 or _layout(indices, block) != indices:
        return None
    finals = _iterators(block, indices, known[written])
    change = tir.IndexMap(tuple([axis.var for axis in block.iter_vars]), finals)
    domains = [axis.dom.extent for axis in block.iter_vars if axis.dom is not None]
    if len(domains) != len(block.iter_vars) or not is_one_to_one(change, tuple(domains)):
        return None
    suggested: dict[tir.Block | tir.Buffer, tir.IndexMap] = {block: change}
    if written not in done:
        suggested[written] = known[written]
    loads = [node for node in walk(block.body) if isinstance(node, tir.BufferLoad) and node.buffer is not written]
    for buffer in dict.fromkeys(load.buffer for load in loads):
        layouts = [_layout(load.indices, block) for load in loads if load.buffer is buffer]
        layout = layouts[0]
        if layout is None or any(other != layout for other in layouts) or not _in_order(layout, indices):
            continue
        change = _of_input(layout, finals)
        before = known.get(buffer)
        if before is not None and (change is None or not structural_equal(before, change)):
            return None
        if change is not None and before is None:
            suggested[buffer] = known[buffer] = change
    return suggested


def _in_order(layout: Sequence[tir.PrimExpr], written: Sequence[tir.PrimExpr]) -> bool:
    """Return whether the iterators of a buffer that is read occur in the order of the indices that are written."""
    places = [written.index(var) for var in layout if var in written]
    return places == sorted(places)


def _iterators(block: tir.Block, layout: Sequence[tir.PrimExpr], output: tir.IndexMap) -> tuple[tir.PrimExpr, ...]:
    """Return the new iterators: the new indices of the output where spatial ones were, the rest of them at the end."""
    values = dict(zip(output.initial_indices, layout, strict=True))
    new = [substitute(index, values) for index in output.final_indices]
    finals: list[tir.PrimExpr] = []
    for axis in block.iter_vars:
        if axis.var not in layout:
            finals.append(axis.var)
        elif new:
            finals.append(new.pop(0))
    return (*finals, *new)


def _layout(indices: Sequence[tir.PrimExpr], block: tir.Block) -> list[tir.PrimExpr] | None:
    """Return the iterator of each index, a spatial one if it has any; None if an index has none or several, or is not a sum."""
    kinds = {axis.var: axis.iter_type for axis in block.iter_vars}
    layout: list[tir.PrimExpr] = []
    for index in indices:
        used = dict.fromkeys(node for node in walk(index) if isinstance(node, tir.Var) and node in kinds)
        own = [var for var in used if kinds[var] is tir.IterVarType.DATA_PAR] or list(used)
        if len(own) != 1 or own[0] in layout or not _is_sum(index):
            return None
        layout.append(own[0])
    return layout


def _is_sum(index: tir.PrimExpr) -> bool:
    """Return whether an index is a sum of multiples of iterators and numbers."""
    match index:
        case tir.Var() | tir.IntImm():
            return True
        case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b):
            return _is_sum(a) and _is_sum(b)
        case tir.Mul(a=a, b=b):
            return isinstance(b, tir.IntImm) and _is_sum(a)
        case _:
            return False


def _of_input(layout: Sequence[tir.PrimExpr], finals: Sequence[tir.PrimExpr]) -> tir.IndexMap | None:
    """Return the map of a buffer that a block reads; None if its layout does not follow from the new iterators."""
    places = {var: tir.Var(var.dtype, f"i{at}") for at, var in enumerate(layout)}
    kept: list[tir.PrimExpr] = []
    for final in finals:
        used = [node for node in walk(final) if isinstance(node, tir.Var)]
        inside = [var for var in used if var in places]
        if inside and len(inside) != len(used):
            return None
        kept += [substitute(final, places)] if inside else []
    if {node for final in kept for node in walk(final) if isinstance(node, tir.Var)} != set(places.values()):
        return None
    return None if _is_identity(kept, list(places.values())) else tir.IndexMap(tuple(places.values()), tuple(kept))


def _is_identity(finals: Sequence[tir.PrimExpr], initials: Sequence[tir.PrimExpr]) -> bool:
    return len(finals) == len(initials) and all(a is b for a, b in zip(finals, initials, strict=True))
