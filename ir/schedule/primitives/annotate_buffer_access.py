"""`annotate_buffer_access` and `unsafe_hide_buffer_access`: set the regions that a block declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...analysis.proof import prove
from ...base import Node, Op
from ...simplify import simplify
from ...spelling import did_you_mean
from ...visit import children
from ..analysis.bindings import fixed_domains
from ..analysis.caching import ACCESSED
from ..analysis.index_maps import map_indices
from ..analysis.pipeline import EXPLICIT
from ..arguments import Block, Integer, Integers, Text
from ..conditions import ARGUMENT, Condition, name_of
from ..declaration import primitive
from ..layout_arguments import IndexMap, Layout
from ..program import Program

DECLARED = Condition(
    "E0567", "no access is known to lie outside of the declared region", "declare a region around all accesses"
)


@primitive(requires=(ACCESSED, DECLARED))
def annotate_buffer_access(
    program: Program, block: Block, buffer_index: Integer, buf_type: Text, gen_new_ranges: IndexMap
) -> None:
    """Declare the region of a buffer that a block reads or writes, if it cannot be derived. Later passes rely on it.
    `buffer_index` is the index of the buffer among the regions that the block reads (`buf_type="read"`) or writes
    ("write"). `gen_new_ranges` maps the iterators to an index, or a pair of begin and end, for each dimension. In text,
    it is a map to the list of all begins and ends.

    Preserves: everything that executes. Comments stay.
    """
    regions = _regions(block, buf_type)
    if not 0 <= buffer_index < len(regions):
        reason = f"index {buffer_index} is out of range: {name_of(block)} {buf_type}s {len(regions)} buffers"
        raise ACCESSED.refuse(reason, block, argument="buffer_index")
    buffer = regions[buffer_index].buffer
    region = tir.BufferRegion(buffer, _ranges(program, block, gen_new_ranges, len(buffer.shape)))
    _check_inside(program, block, region, writes=buf_type == "write")
    key = EXPLICIT[buf_type]
    number = make.const(buffer_index)
    numbers = tuple(block.annotations.get(key, ()))
    if all(item.value != buffer_index for item in numbers):
        numbers = (*numbers, number)
    new = tuple([region if at == buffer_index else access for at, access in enumerate(regions)])
    declared = {f"{buf_type}s": new}
    program.replace(block, replace(block, annotations={**block.annotations, key: numbers}, **declared))


@primitive(requires=(ACCESSED,))
def unsafe_hide_buffer_access(program: Program, block: Block, buf_type: Text, buf_index_array: Integers) -> None:
    """Remove buffers from the regions that a block declares to read (`buf_type="read"`) or write ("write");
    `buf_index_array` lists their indices. Later primitives and passes rely on the declaration and may miscompile a
    block that still accesses these buffers.

    Preserves: everything that executes; later primitives and passes may not. Comments stay.
    """
    regions = _regions(block, buf_type)
    for index in buf_index_array:
        if not 0 <= index < len(regions):
            reason = f"index {index} is out of range: {name_of(block)} {buf_type}s {len(regions)} buffers"
            raise ACCESSED.refuse(reason, block, argument="buf_index_array")
    kept = tuple([region for at, region in enumerate(regions) if at not in buf_index_array])
    declared = {f"{buf_type}s": kept}
    program.replace(block, replace(block, **declared))


def _regions(block: tir.Block, which: str) -> tuple[tir.BufferRegion, ...]:
    if which not in EXPLICIT:
        help = did_you_mean(which, EXPLICIT) or 'give "read" or "write"'
        raise ARGUMENT.refuse(f"expected 'read' or 'write', got '{which}'", argument="buf_type", help=help)
    return block.reads if which == "read" else block.writes


def _ranges(program: Program, block: tir.Block, given: Layout, dimensions: int) -> tuple[tir.Range, ...]:
    variables = tuple([axis.var for axis in block.iter_vars])
    dtype = variables[0].dtype if variables else "int32"
    if not isinstance(given.given, tir.IndexMap):
        given = Layout(_in_a_row(given.given, dimensions), given.reading)
    change, _ = given.of(program, "gen_new_ranges", len(variables), dtype)
    ends = map_indices(change, variables)
    if len(ends) != 2 * dimensions:
        reason = f"got {len(ends)} begins and ends for {dimensions} dimensions"
        raise ARGUMENT.refuse(reason, argument="gen_new_ranges", help="give a begin and an end for each dimension")
    pairs = zip(ends[::2], ends[1::2], strict=True)
    return tuple([tir.Range(begin, simplify(make.sub(end, begin))) for begin, end in pairs])


def _in_a_row(function: Callable[..., Any], dimensions: int) -> Callable[..., Any]:
    """Return a function that lists all begins and ends, for one that gives an index or a pair for each dimension."""

    @wraps(function)
    def ends(*args: Any, **named: Any) -> list[Any]:
        given = list(function(*args, **named))
        if len(given) != dimensions:
            return given
        return [end for item in given for end in (item if isinstance(item, list | tuple) else (item, item + 1))]  # type: ignore[reportUnknownVariableType]

    return ends


def _check_inside(program: Program, block: tir.Block, region: tir.BufferRegion, writes: bool) -> None:
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None} | fixed_domains(program, block)
    for access in _accesses(block.body, _Path(domains, ())):
        node = access.node
        if node.buffer is not region.buffer or isinstance(node, tir.BufferStore) != writes:
            continue
        for index, axis in zip(node.indices, region.region, strict=True):
            end = simplify(make.add(axis.min, axis.extent))
            inside = make.logical_and(make.less_equal(axis.min, index), make.less(index, end))
            if prove(inside, access.path.domains, access.path.conditions).is_refuted:
                reason = f"{name_of(block)} accesses '{node.buffer.name}' at {index}, outside of {axis.min} to {end}"
                raise DECLARED.refuse(reason, block, argument="gen_new_ranges")


class _Path(Struct, frozen=True):
    """Domains of variables and conditions that hold at a point of a block."""

    domains: Mapping[tir.Var, tir.Range]
    conditions: tuple[tir.PrimExpr, ...]

    def where(self, condition: tir.PrimExpr, holds: bool = True) -> _Path:
        return _Path(self.domains, (*self.conditions, condition if holds else make.logical_not(condition)))

    def inside(self, realize: tir.BlockRealize) -> _Path:
        axes = realize.block.iter_vars
        bound = [make.equal(axis.var, value) for axis, value in zip(axes, realize.iter_values, strict=True)]
        domains = {axis.var: axis.dom for axis in axes if axis.dom is not None}
        return _Path({**self.domains, **domains}, (*self.conditions, realize.predicate, *bound))


class _Access(Struct, frozen=True):
    node: tir.BufferLoad | tir.BufferStore
    path: _Path


def _accesses(node: Node, path: _Path) -> Iterator[_Access]:
    """Yield the loads and stores in a statement or an expression."""
    match node:
        case tir.For():
            path = _Path({**path.domains, node.loop_var: tir.Range(node.min, node.extent)}, path.conditions)
        case tir.BufferLoad() | tir.BufferStore():
            yield _Access(node, path)
        case tir.IfThenElse(condition, then_case, else_case):
            yield from _accesses(condition, path)
            yield from _accesses(then_case, path.where(condition))
            if else_case is not None:
                yield from _accesses(else_case, path.where(condition, holds=False))
            return
        case tir.Call(op=op, args=(condition, then, otherwise)) if op == Op("tir.if_then_else"):
            assert isinstance(condition, tir.PrimExpr)
            yield from _accesses(condition, path)
            yield from _accesses(then, path.where(condition))
            yield from _accesses(otherwise, path.where(condition, holds=False))
            return
        case tir.BlockRealize():
            path = path.inside(node)
        case tir.BufferRegion():
            return
        case _:
            pass
    for child in children(node):
        yield from _accesses(child, path)
