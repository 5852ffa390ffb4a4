"""Copies of buffers: selection of the buffer, position of the copy, and the copying statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...analysis.regions import lies_in
from ...base import Node
from ...buffers import data_pointer
from ...empty_reductions import axes_of_empty
from ...equal import structural_equal
from ...idioms import is_zero, sequence
from ...int_set import cover, eval_set, from_range, intersect
from ...simplify import simplify
from ...spelling import did_you_mean
from ...visit import walk
from ..conditions import Condition, name_of
from ..program import Program
from ..tree import walk_statements
from .bindings import domains_of, fixed_domains
from .loops import not_negative
from .pipeline import bindings_of, bound_region
from .removal import check_not_opaque, why_opaque
from .speculation import evaluable_box

ACCESSED = Condition(
    "E0547", "the block reads or writes the selected buffer", "give an index into T.reads or T.writes, from 0"
)
ONE_WRITER = Condition(
    "E0548", "at most one block of the scope writes the buffer", "merge the writers, or choose another buffer"
)
IN_BOUNDS = Condition(
    "E0549", "the copied region is known to lie in the buffer", "keep the condition on the access inside the block"
)


def accessed_buffer(
    block: tir.Block, index: int | str | tir.Buffer, writes: bool, argument: str | None = None
) -> tir.Buffer:
    """Return the buffer that `index`, the value of `argument`, selects among those that a block writes or reads. Refused if
    there is none (E0547).
    """
    regions, verb = (block.writes, "writes") if writes else (block.reads, "reads")
    argument = argument or f"{verb.removesuffix('s')}_buffer_index"
    if isinstance(index, int):
        if not 0 <= index < len(regions):
            reason = f"index {index} is out of range: {name_of(block)} {verb} {len(regions)} buffers"
            raise ACCESSED.refuse(reason, block, argument=argument)
        return regions[index].buffer
    found = [region.buffer for region in regions if region.buffer is index or region.buffer.name == index]
    if len(dict.fromkeys(found)) != 1:
        name = index if isinstance(index, str) else index.name
        help = did_you_mean(name, [region.buffer.name for region in regions])
        raise ACCESSED.refuse(f"{name_of(block)} {verb} no buffer '{name}'", block, argument=argument, help=help)
    return found[0]


_Stmt = TypeVar("_Stmt", bound=tir.Stmt)


class Spot(Struct, frozen=True):
    """Position for a new statement: in `place`, a loop or the scope, before statement `before` or after `after`."""

    place: tir.For | tir.Block
    before: tir.Stmt | None = None
    after: tir.Stmt | None = None


def spot_between(
    program: Program, scope: tir.Block, first: tir.Block, second: tir.Block | None, buffer: tir.Buffer
) -> Spot:
    """Return the position between two blocks right before the second; without a second, the end of the scope of `buffer`.

    TVM: `CacheLocDetector`.
    """
    if second is None:
        return Spot(scope, after=scope_body(scope, buffer))
    around = set(program.around(first))
    child: tir.Stmt = program.realize_of(second)
    for stmt in program.around(child):
        if stmt in around:
            break
        child = stmt
    place = next(stmt for stmt in program.around(child) if isinstance(stmt, tir.For | tir.Block))
    return Spot(place, before=child)


def scope_body(scope: tir.Block, buffer: tir.Buffer | None = None) -> tir.Stmt:
    """Return the body of a scope, below its declarations: if the scope declares `buffer`, the part in which it is visible."""
    declared = (
        stmt for stmt in walk_statements(scope.body) if isinstance(stmt, tir.DeclBuffer) and stmt.buffer is buffer
    )
    body = next(declared, scope.body)
    while isinstance(body, tir.AllocateConst | tir.DeclBuffer):
        body = body.body
    return body


def insert(program: Program, spot: Spot, statement: tir.Stmt) -> None:
    """Insert a statement at a position."""
    at = spot.before or spot.after
    assert at is not None
    pair = (statement, at) if spot.before is not None else (at, statement)
    around = program.statement_around(at)
    if isinstance(around, tir.SeqStmt):
        new = [stmt for old in around.seq for stmt in (pair if old is at else (old,))]
        program.replace(around, sequence(new))
    else:
        program.replace(at, sequence(pair))


def region_in(
    program: Program, block: tir.Block, region: tir.BufferRegion, place: tir.For | tir.Block
) -> tuple[tir.Range, ...]:
    """Return a bounding box of a block's accesses to a buffer in one iteration of `place`, clipped to the buffer."""
    loops = program.loops_of(block)
    inner = loops[loops.index(place) + 1 :] if isinstance(place, tir.For) else loops
    intervals = {variable: from_range(domain.min, domain.extent) for variable, domain in domains_of(inner).items()}
    bindings = bindings_of(program.realize_of(block))
    for axis in axes_of_empty(program.realize_of(block), loops):
        assert axis.dom is not None
        del bindings[axis.var]
        intervals[axis.var] = from_range(axis.dom.min, axis.dom.extent)
    bound = bound_region(region, bindings)
    spans = [eval_set(from_range(range_.min, range_.extent), intervals) for range_ in bound]
    shape = region.buffer.shape
    box = evaluable_box(program, place, [cover(span, size) for span, size in zip(spans, shape, strict=True)], shape)
    return clipped(box, shape, fixed_domains(program, block, inner))


def clipped(
    box: Sequence[tir.Range], shape: Sequence[tir.PrimExpr], domains: dict[tir.Var, tir.Range]
) -> tuple[tir.Range, ...]:
    """Return the intersection of a box with a buffer of `shape`."""
    found: list[tir.Range] = []
    for axis, extent in zip(map(_simplified, box), shape, strict=True):
        whole = tir.Range(make.const(0, extent.dtype), extent)
        if not lies_in((axis,), (whole,), domains).is_proven:
            inside = intersect(from_range(axis.min, axis.extent), from_range(whole.min, whole.extent))
            axis = _simplified(cover(inside, extent))
        found.append(tir.Range(axis.min, not_negative(axis.extent)))
    return tuple(found)


def is_compact(program: Program, spot: Spot, scope: tir.Block, region: tuple[tir.Range, ...]) -> bool:
    """Return whether a copy can be limited to a region of a buffer: it is made in the scope itself, once per execution.

    The region must not vary with loops outside of the scope, which a block can use only in its bindings.
    """
    outside = {stmt.loop_var for stmt in program.around(scope) if isinstance(stmt, tir.For)}
    return spot.place is scope and not any(node in outside for axis in region for node in walk(axis))


def check_in_bounds(program: Program, scope: tir.Block, region: tir.BufferRegion) -> None:
    """Refuse a region that may exceed its buffer (E0549), as a copy would access all of it."""
    whole = tuple([tir.Range(make.const(0, extent.dtype), extent) for extent in region.buffer.shape])
    domains = fixed_domains(program, scope) | {axis.var: axis.dom for axis in scope.iter_vars if axis.dom is not None}
    if not lies_in(region.region, whole, domains).is_proven:
        raise IN_BOUNDS.refuse(f"{name_of(scope)} may access '{region.buffer.name}' out of bounds", scope)


def _simplified(axis: tir.Range) -> tir.Range:
    return tir.Range(simplify(axis.min), simplify(axis.extent))


def name_of_copy(site: tir.Block, buffer: tir.Buffer, storage_scope: str) -> str:
    """Return the name of a block in `site` that copies a buffer from or to another storage scope.

    TVM keeps the dot of a scope such as "shared.dyn" in the names of buffers, and so in those of the blocks that copy the
    copy. Names of buffers have no dots here; the block that made the buffer tells them.
    """
    for block in walk_statements(site):
        if isinstance(block, tir.Block) and "." in block.name_hint:
            name = block.name_hint.removesuffix("_o")
            if name.replace(".", "_") == buffer.name and any(
                region.buffer is buffer for region in (*block.reads, *block.writes)
            ):
                return f"{name}_{storage_scope}"
    return f"{buffer.name}_{storage_scope}"


class Cache:
    """Buffer that holds a copy of a region of another one."""

    def __init__(
        self, site: tir.Block, original: tir.Buffer, region: tuple[tir.Range, ...], scope: str, is_compact: bool
    ) -> None:
        name = f"{original.name}_{scope}".replace(".", "_")
        shape = tuple([axis.extent for axis in region]) if is_compact else original.shape
        pointer = data_pointer(name, original.dtype, scope)
        self.buffer = replace(
            original, data=pointer, shape=shape, name=name, scope=scope, strides=(), elem_offset=None, offset_factor=1
        )
        self.block_name = name_of_copy(site, original, scope)
        self.original, self.region, self.is_compact = original, region, is_compact

    def use(self, program: Program, node: _Stmt) -> _Stmt:
        """Return `node` with the original buffer replaced by the copy; indices into a limited copy are simplified.

        Refused if the copy is partial and the node uses the address or a view of the original (E0544).
        """
        ends = zip(self.region, self.original.shape, strict=True)
        is_whole = all(is_zero(axis.min) and structural_equal(axis.extent, size) for axis, size in ends)
        if not self.is_compact or (is_whole and why_opaque(node, self.original) is not None):
            return program.substitute(node, {self.original: self.buffer, self.original.data: self.buffer.data})
        check_not_opaque(node, self.original)
        return program.rewrite(node, self._instead)

    def _instead(self, node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() if node.buffer is self.original:
                return replace(node, buffer=self.buffer, indices=self._places(node.indices))
            case tir.BufferStore() if node.buffer is self.original:
                return replace(node, buffer=self.buffer, indices=self._places(node.indices))
            case tir.BufferRegion() if node.buffer is self.original:
                mins = self._places(tuple([axis.min for axis in node.region]))
                axes = [tir.Range(least, axis.extent) for least, axis in zip(mins, node.region, strict=True)]
                return tir.BufferRegion(self.buffer, tuple(axes))
            case _:
                return None

    def _places(self, indices: tuple[tir.PrimExpr, ...]) -> tuple[tir.PrimExpr, ...]:
        places: list[tir.PrimExpr] = []
        for index, axis in zip(indices, self.region, strict=True):
            # Indices keep their dtype, which may differ from that of the shape.
            places.append(simplify(index if is_zero(axis.min) else make.sub(index, axis.min)))
        return tuple(places)

    def copy(self, is_read: bool) -> tuple[tir.Stmt, tir.Block]:
        """Return the loops and the block that copy from the original, or to it (TVM: `MakeCacheStage`)."""
        loops = [tir.Var(axis.extent.dtype, f"ax{at}") for at, axis in enumerate(self.region)]
        variables = [tir.Var(axis.extent.dtype, f"v{at}") for at, axis in enumerate(self.region)]
        extents = self.buffer.shape if self.is_compact else self.original.shape
        inside: tuple[tir.PrimExpr, ...] = tuple(variables)
        outside, values = (
            inside,
            tuple([make.add(axis.min, var) for axis, var in zip(self.region, loops, strict=True)]),
        )
        if self.is_compact:
            outside = tuple(
                [make.add(axis.min, variable) for axis, variable in zip(self.region, variables, strict=True)]
            )
            values = tuple(loops)
        source, target = (self.original, self.buffer) if is_read else (self.buffer, self.original)
        there, here = (outside, inside) if is_read else (inside, outside)
        axes = [
            tir.IterVar(tir.Range(make.const(0, extent.dtype), extent), variable, tir.IterVarType.DATA_PAR)
            for variable, extent in zip(variables, extents, strict=True)
        ]
        body = tir.BufferStore(target, make.buffer_load(source, there), here)
        block = tir.Block(tuple(axes), (point(source, there),), (point(target, here),), self.block_name, body)
        nest: tir.Stmt = tir.BlockRealize(values, make.const(True, "bool"), block)
        for loop, axis in reversed(list(zip(loops, self.region, strict=True))):
            nest = tir.For(loop, make.const(0, loop.dtype), axis.extent, tir.ForKind.SERIAL, nest)
        return nest, block


def point(buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tir.BufferRegion:
    return tir.BufferRegion(buffer, tuple([tir.Range(index, make.const(1, index.dtype)) for index in indices]))


def allocate(program: Program, scope: tir.Block, buffer: tir.Buffer) -> None:
    """Allocate a buffer in a scope, after the existing ones."""
    program.replace(scope, replace(scope, alloc_buffers=(*scope.alloc_buffers, buffer)))
