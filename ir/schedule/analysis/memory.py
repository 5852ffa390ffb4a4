"""Memory of views: which elements of a declared buffer exist.

A view may be declared larger than its memory, as long as no statement accesses an element outside. A copy accesses all elements
of a region, and so needs a proof that they exist.
"""

from __future__ import annotations

from ... import make, tir
from ...analysis.proof import prove
from ...base import IRModule, Node
from ...buffers import strides_of
from ...dtype import element_bytes
from ...simplify import simplify
from ...visit import children
from ..conditions import VISIBLE
from ..program import Program
from ..tree import walk_statements
from .bindings import Domains, domains_of, fixed_domains
from .caching import IN_BOUNDS

_HELP = "declare the view with no more elements than its memory has"


def check_declared(program: Program, before: IRModule, name: str) -> None:
    """Refuse a changed function that uses a buffer outside of the statement that declares it (E0538)."""
    function = program.module.functions.get(name)
    if function is before.functions.get(name) or not isinstance(function, tir.PrimFunc):
        return
    declared = {stmt.buffer for stmt in walk_statements(function.body) if isinstance(stmt, tir.DeclBuffer)}
    waiting: list[tuple[Node, frozenset[tir.Buffer]]] = [(function.body, frozenset())]
    seen = set[tuple[Node, frozenset[tir.Buffer]]]()
    while waiting:
        node, visible = waiting.pop()
        if (node, visible) in seen:
            continue
        seen.add((node, visible))
        if isinstance(node, tir.DeclBuffer):
            visible |= {node.buffer}
        elif isinstance(node, tir.Buffer):
            if node in declared and node not in visible:
                raise VISIBLE.refuse(f"'{node.name}' would be used outside of its declaration")
            continue
        waiting.extend([(child, visible) for child in children(node)])


def check_in_memory(program: Program, place: tir.For | tir.Block, region: tir.BufferRegion) -> None:
    """Refuse a region of a view that may exceed the memory of the view (E0549), as a copy in `place` would access all of it."""
    buffer, function = region.buffer, program.prim_func_of(place)
    views = {stmt.buffer for stmt in walk_statements(function.body) if isinstance(stmt, tir.DeclBuffer)}
    if buffer not in views or buffer.data in function.params:
        return
    size = _size_of(function, buffer.data)
    own = domains_of((place,)) if isinstance(place, tir.For) else _domains_of_axes(place)
    if size is None or not _ends_within(region, size, {**fixed_domains(program, place), **own}):
        blocks = [stmt for stmt in (place,) if isinstance(stmt, tir.Block)]
        reason = f"'{buffer.name}' may be larger than its memory, and the copy would access all of its elements"
        raise IN_BOUNDS.refuse(reason, *blocks, help=_HELP)


def _domains_of_axes(block: tir.Block) -> dict[tir.Var, tir.Range]:
    return {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}


def _size_of(function: tir.PrimFunc, data: tir.Var) -> tir.PrimExpr | None:
    """Return the size in bytes of the memory that a pointer owns; None if it is unknown."""
    owners = list(function.buffer_map.values())
    for stmt in walk_statements(function.body):
        match stmt:
            case tir.Block():
                owners += [*stmt.alloc_buffers, *[match.buffer for match in stmt.match_buffers]]
            case tir.Allocate(buffer_var=variable) | tir.AllocateConst(buffer_var=variable) if variable is data:
                return _bytes(stmt.extents, stmt.dtype)
            case _:
                pass
    found = [owner for owner in owners if owner.data is data]
    return _bytes(found[0].shape, found[0].dtype) if found and not found[0].strides else None


def _bytes(shape: tuple[tir.PrimExpr, ...], dtype: str) -> tir.PrimExpr:
    size: tir.PrimExpr = make.const(element_bytes(dtype), "int64")
    for extent in shape:
        size = make.mul(size, make.cast(extent, "int64"))
    return size


def _ends_within(region: tir.BufferRegion, size: tir.PrimExpr, domains: Domains) -> bool:
    """Return whether the last element of a region, which is at the end of each axis, is known to end within `size` bytes."""
    buffer = region.buffer
    offset = buffer.elem_offset
    end: tir.PrimExpr = make.const(1, "int64") if offset is None else make.add(make.cast(offset, "int64"), 1)
    for axis, stride in zip(region.region, strides_of(buffer), strict=True):
        if not prove(make.greater_equal(stride, make.const(0, stride.dtype)), domains).is_proven:
            return False
        last = make.sub(make.add(axis.min, axis.extent), 1)
        end = make.add(end, make.mul(make.cast(last, "int64"), stride))
    fits = make.less_equal(make.mul(end, make.const(element_bytes(buffer.dtype), "int64")), size)
    return prove(simplify(fits, domains), domains).is_proven
