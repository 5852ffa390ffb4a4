"""Normalization of axes: remove unit axes, and split axes that operands divide."""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Node
from ...ir.visit import rewrite, substitute, walk
from .build import constant, plus, times
from .nest import Axis, Nest


def without_units(nest: Nest) -> Nest:
    """Return `nest` without axes of extent 1."""
    units = {axis.var: tir.IntImm(axis.var.dtype, 0) for axis in nest.axes if axis.size == 1}
    if not units:
        return nest
    init = None if nest.init is None else substitute(nest.init, units)
    axes = tuple(axis for axis in nest.axes if axis.var not in units)
    after = tuple([substitute(store, units) for store in nest.after])
    return replace(nest, axes=axes, store=substitute(nest.store, units), init=init, after=after)


def split_quotients(nest: Nest) -> Nest:
    """Return `nest` with each divided axis split in two: `A[f // 8 * 4 + k]` reads `A[g * 4 + k]`, `f = g * 8 +
    i`.

    Grouped convolutions have such axes.
    """
    axes: list[Axis] = []
    for axis in nest.axes:
        divisor = _divisor(nest, axis)
        if divisor is None:
            axes.append(axis)
            continue
        assert axis.size is not None
        dtype = axis.var.dtype
        outer, inner = tir.Var(dtype, f"{axis.var.name}_outer"), tir.Var(dtype, f"{axis.var.name}_inner")
        after = tuple([_split(store, axis.var, divisor, outer, inner) for store in nest.after])
        nest = replace(nest, store=_split(nest.store, axis.var, divisor, outer, inner), after=after)
        sizes = (axis.size // divisor, divisor)
        for var, size in zip((outer, inner), sizes, strict=True):
            axes.append(Axis(var, tir.IntImm(dtype, size), axis.is_reduced))
    return replace(nest, axes=tuple(axes))


def _divisor(nest: Nest, axis: Axis) -> int | None:
    """Return the divisor of `axis`, if it is unique and divides the extent."""
    found = {
        node.b.value
        for node in walk(nest.store)
        if isinstance(node, tir.FloorDiv | tir.FloorMod) and node.a is axis.var and isinstance(node.b, tir.IntImm)
    }
    divisor = found.pop() if len(found) == 1 else 0
    return divisor if divisor > 0 and axis.size is not None and axis.size % divisor == 0 else None


def _split(store: tir.BufferStore, var: tir.Var, divisor: int, outer: tir.Var, inner: tir.Var) -> tir.BufferStore:
    """Return `store` with `var` replaced by `outer * divisor + inner`, and its quotient and remainder
    simplified.
    """
    whole = plus(times(outer, divisor), inner)

    def part(node: Node) -> Node | None:
        if node is var:
            return whole
        if isinstance(node, tir.FloorDiv | tir.FloorMod) and node.a is whole and constant(node.b) == divisor:
            return outer if isinstance(node, tir.FloorDiv) else inner
        return None

    return rewrite(store, part)
