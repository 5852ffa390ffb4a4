"""Conversion of the indices of a function to int64, for intrinsics in programs with int64 indices."""

from __future__ import annotations

from msgspec.structs import replace

from ... import make, tir
from ...base import Node
from ...index_dtype import IndexDtype
from ...visit import rewrite, walk

_WIDE = "int64"


def with_wide_indices(function: tir.PrimFunc) -> tir.PrimFunc:
    """Return a function with int64 loops, iterators, shapes, strides and offsets (TVM: `IndexDataTypeNormalizer`)."""
    variables: dict[tir.Var, tir.Var] = {}
    for node in walk(function):
        found = (node.loop_var,) if isinstance(node, tir.For) else (node.var,) if isinstance(node, tir.IterVar) else ()
        if isinstance(node, tir.Buffer):
            found = tuple(
                [expr for expr in (*node.shape, *node.strides, node.elem_offset) if isinstance(expr, tir.Var)]
            )
        variables.update({term: replace(term, dtype=_WIDE) for term in found if term not in variables})
    fit = IndexDtype(_WIDE, {}).fit

    def wide(node: Node) -> Node | None:
        match node:
            case tir.Var():
                return variables.get(node)
            case tir.For() | tir.Range():
                return replace(node, min=make.cast(node.min, _WIDE), extent=make.cast(node.extent, _WIDE))
            case tir.Buffer(elem_offset=offset):
                shape, strides = ([make.cast(size, _WIDE) for size in sizes] for sizes in (node.shape, node.strides))
                offset = None if offset is None else make.cast(offset, _WIDE)
                return replace(node, shape=tuple(shape), strides=tuple(strides), elem_offset=offset)
            case _:
                return fit(node)

    return rewrite(function, wide)
