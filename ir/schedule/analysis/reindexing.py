"""Copies of a buffer in the layout of the iterators of one block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...analysis.iter_map import IterMapLevel, detect_iter_map
from ...analysis.proof import prove
from ...analysis.regions import lies_in
from ...base import Node
from ...buffers import data_pointer
from ...equal import structural_equal
from ...simplify import simplify
from ...variables import defined_variables
from ...visit import substitute, walk
from ..conditions import DISTINCT_WRITES, Condition, name_of
from ..layout_arguments import INJECTIVE
from ..program import Program
from .affine import check_affine, fills
from .bindings import domains_of, fixed_domains
from .blocks import DATA_PAR
from .caching import IN_BOUNDS, Spot, allocate, insert
from .index_maps import inverse
from .order import check_private_copy
from .removal import check_not_opaque
from .scope import Scope
from .written import ALL_WRITTEN, FRESH, check_starts_anew, check_written_before, surely_stores

ONE_POINT = Condition(
    "E0562", "the block contains no other block, and accesses the buffer at a single index", "cache_read or cache_write the buffer"
)  # fmt: skip


class Loops(Struct, frozen=True):
    """Loops around a copy: the domains of their variables, the bindings of its iterators, and its predicate."""

    domains: Mapping[tir.Var, tir.Range]
    values: tuple[tir.PrimExpr, ...]
    predicate: tir.PrimExpr


class Reindexing(Struct, frozen=True):
    """Replacement of element `indices` of `old` by element `places` of `new`, both in terms of the iterators `axes`."""

    block: tir.Block
    old: tir.Buffer
    indices: tuple[tir.PrimExpr, ...]
    new: tir.Buffer
    places: tuple[tir.PrimExpr, ...]
    axes: tuple[tir.IterVar, ...]
    writes: bool

    def apply(self, program: Program, scope: tir.Block, spot: Spot, loops: Loops, name: str) -> tir.Block:
        """Insert the copy, allocate the new buffer, and let the block use it; return the copying block."""
        nest, copied = self._copy(loops, name)
        insert(program, spot, nest)
        now = program.current(self.block)
        program.replace(now, program.rewrite(now, self._instead))
        allocate(program, program.current(scope), self.new)
        if not self.writes:
            check_private_copy(program, program.current(copied))
        inside = Scope(program.current(scope))
        for looked_up in copied.reads[1:]:
            for writer in inside.writers(looked_up.buffer):
                check_written_before(program, inside, writer, program.current(copied), looked_up.buffer)
        return copied

    def check(self, program: Program) -> None:
        """Refuse out-of-bounds reads (E0549), duplicate writes (E0553), and unwritten elements (E0551, E0552)."""
        domains = {axis.var: axis.dom for axis in self.axes if axis.dom is not None}
        if not _is_injective(self.places, self.axes):
            raise INJECTIVE.refuse(f"iterations of {name_of(self.block)} may get the same index", self.block)
        starts_anew = self.writes and self.block.init is not None
        others = self.block.reads if self.writes else self.block.writes
        if not starts_anew and any(region.buffer is self.old for region in others):
            raise FRESH.refuse(f"{name_of(self.block)} both reads and writes '{self.old.name}'", self.block)
        if self.writes:
            check_starts_anew(program, self.block, self.old)
            check_runs(program, self.block, self.axes)
            if not surely_stores(self.block.body, self.old):
                reason = f"{name_of(self.block)} may leave elements of '{self.old.name}' unwritten"
                raise ALL_WRITTEN.refuse(reason, self.block)
            if not _is_injective(self.indices, self.axes):
                reason = f"iterations of {name_of(self.block)} may write the same element of '{self.old.name}'"
                raise DISTINCT_WRITES.refuse(reason, self.block)
        else:
            whole = tuple([tir.Range(make.const(0, size.dtype), size) for size in self.old.shape])
            outer = fixed_domains(program, self.block)
            if not lies_in(_ranges(self.indices), whole, {**outer, **domains}).is_proven:
                reason = f"{name_of(self.block)} may access '{self.old.name}' out of bounds"
                raise IN_BOUNDS.refuse(reason, self.block)

    def _copy(self, loops: Loops, name: str) -> tuple[tir.Stmt, tir.Block]:
        axes = [replace(axis, iter_type=DATA_PAR) for axis in self.axes]
        there, here = (self.new, self.places), (self.old, self.indices)
        (source, read), (target, written) = (there, here) if self.writes else (here, there)
        store = tir.BufferStore(target, make.buffer_load(source, read), written)
        looked_up = [node for index in self.indices for node in walk(index) if isinstance(node, tir.BufferLoad)]
        block = tir.Block(
            tuple(axes),
            (
                tir.BufferRegion(source, _ranges(read)),
                *(tir.BufferRegion(load.buffer, _ranges(load.indices)) for load in looked_up),
            ),
            (tir.BufferRegion(target, _ranges(written)),),
            name,
            store,
        )
        nest: tir.Stmt = tir.BlockRealize(loops.values, loops.predicate, block)
        for variable, domain in reversed(list(loops.domains.items())):
            nest = tir.For(variable, domain.min, domain.extent, tir.ForKind.SERIAL, nest)
        own: dict[Any, Node] = {var: replace(var) for var in (*loops.domains, *[axis.var for axis in axes])}
        nest = substitute(nest, own)
        return nest, next(node for node in walk(nest) if isinstance(node, tir.Block))

    def _instead(self, node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() | tir.BufferStore() if node.buffer is self.old:
                return replace(node, buffer=self.new, indices=self.places)
            case tir.BufferRegion() if node.buffer is self.old:
                return tir.BufferRegion(self.new, _ranges(self.places))
            case _:
                return None


def access_indices(block: tir.Block, buffer: tir.Buffer) -> tuple[tir.PrimExpr, ...]:
    """Return the index at which a block accesses a buffer; refused if there are several (E0562, E0544)."""
    inside = (block.body,) if block.init is None else (block.init, block.body)
    found: list[tuple[tir.PrimExpr, ...]] = []
    for part in inside:
        check_not_opaque(part, buffer)
        for node in walk(part):
            if isinstance(node, tir.Block):
                raise ONE_POINT.refuse(f"{name_of(block)} contains {name_of(node)}", block)
            if isinstance(node, tir.BufferLoad | tir.BufferStore) and node.buffer is buffer:
                found.append(node.indices)
    check_not_opaque(block, buffer)
    if not found or not all(structural_equal(terms, found[0]) for terms in found):
        raise ONE_POINT.refuse(f"{name_of(block)} accesses '{buffer.name}' at {len(found)} indices", block)
    own = {variable for part in inside for node in walk(part) for variable in defined_variables(node)}
    varying = next((inner for index in found[0] for inner in walk(index) if inner in own), None)
    if isinstance(varying, tir.Var):
        reason = f"{name_of(block)} accesses '{buffer.name}' at an index that varies with '{varying.name}' inside of it"
        raise ONE_POINT.refuse(reason, block)
    return found[0]


def used_axes(block: tir.Block, indices: Sequence[tir.PrimExpr]) -> tuple[tir.IterVar, ...]:
    """Return the iterators of a block that occur in indices."""
    used = {node for index in indices for node in walk(index)}
    return tuple([axis for axis in block.iter_vars if axis.var in used])


def ends_of(axes: Sequence[tir.IterVar]) -> tuple[tir.PrimExpr, ...]:
    """Return the ends of the domains of iterators, which are the extents of a buffer indexed by them."""
    return tuple([simplify(make.add(axis.dom.min, axis.dom.extent)) for axis in axes if axis.dom is not None])


def renamed_buffer(buffer: tir.Buffer, name: str, shape: tuple[tir.PrimExpr, ...], scope: str) -> tir.Buffer:
    """Return a compact buffer with the same dtype and another name, shape and scope."""
    pointer = data_pointer(name, buffer.dtype, scope)
    return replace(buffer, data=pointer, shape=shape, name=name, scope=scope, strides=(), elem_offset=None, offset_factor=1, axis_separators=())  # fmt: skip


def _ranges(indices: Sequence[tir.PrimExpr]) -> tuple[tir.Range, ...]:
    return tuple([tir.Range(index, make.const(1, index.dtype)) for index in indices])


def check_covers(program: Program, block: tir.Block) -> None:
    """Refuse a block that may not execute for all values of its iterators (E0516, E0552)."""
    realize, domains = program.realize_of(block), domains_of(program.loops_of(block))
    found = detect_iter_map(realize.iter_values, domains, realize.predicate, IterMapLevel.SURJECTIVE)
    if not found.is_detected:
        check_affine(program, block)
    for axis, values in zip(block.iter_vars, found.indices, strict=True):
        if not fills(values, axis):
            raise ALL_WRITTEN.refuse(
                f"{name_of(block)} may not execute for all values of iterator '{axis.var.name}'", block
            )


def check_runs(program: Program, block: tir.Block, axes: Sequence[tir.IterVar]) -> None:
    """Refuse a block that may not execute for some values of `axes`, as a loop may be empty (E0552)."""
    bound = zip(block.iter_vars, program.realize_of(block).iter_values, strict=True)
    used = {node for axis, value in bound if axis in axes for node in walk(value)}
    for loop in program.loops_of(block):
        if loop.loop_var not in used and not prove(make.greater_equal(loop.extent, 1)).is_proven:
            raise ALL_WRITTEN.refuse(f"{name_of(loop)} around {name_of(block)} may be empty", block, loop)


def _is_injective(indices: Sequence[tir.PrimExpr], axes: Sequence[tir.IterVar]) -> bool:
    """Return whether different values of the iterators give different indices. Offsets of indices do not matter."""
    starts = {axis.var: make.const(0, axis.var.dtype) for axis in axes}
    shifted = [make.sub(index, substitute(index, starts)) for index in indices]
    return inverse(tir.IndexMap(tuple(starts), tuple(shifted)), ends_of(axes)) is not None
