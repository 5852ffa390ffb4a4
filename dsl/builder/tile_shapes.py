"""Shapes of the views that methods of the tile level make: `A.view(4, -1)`, `A.tile(…)[…]`, `A.rearrange(…)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

from msgspec import Struct

from ...ir import make, tir
from ...ir.base import Span
from ...ir.buffers import packed_size
from ...ir.diagnostics import TvmsError, count, error
from .convert import expression, is_tuple

Extents = tuple[tir.PrimExpr, ...]
_GROUP = re.compile(r"\(([^()]*)\)|(\S+)")


class Tiling(Struct, frozen=True, eq=False):
    """A buffer with split axes, `A.tile((0, (-1, 4)))`; the index that follows selects tiles."""

    kind: ClassVar[str] = "a buffer of tiles without an index"

    buffer: tir.Buffer
    specs: tuple[Any, ...]


def viewed(buffer: tir.Buffer, extents: Sequence[Any], span: Span) -> Extents:
    """Return the shape of `A.view(4, -1)`."""
    return _inferred(extents, packed_size(buffer), span)


def _inferred(extents: Sequence[Any], whole: tir.PrimExpr, span: Span) -> Extents:
    """Return extents whose product is `whole`; one of them may be -1."""
    values = [expression(extent, span) for extent in extents]
    unknown = [place for place, value in enumerate(values) if isinstance(value, tir.IntImm) and value.value == -1]
    if len(unknown) > 1:
        raise error("E0325", "more than one extent is -1", span, "give all extents but one")
    for place in unknown:
        others = [value for index, value in enumerate(values) if index != place]
        values[place] = reduce(make.floordiv, others, whole)
    return tuple(values)


def picked(tiling: Tiling, picks: Sequence[Any], span: Span) -> Extents:
    """Return the shape of `A.tile((0, (-1, 4, 2)))[:, w, :]`: an index takes its factor away, the others make one axis."""
    factors = _factors(tiling, span)
    total = sum(len(parts) for parts in factors.values())
    if len(picks) != total:
        message = f"the axes are split into {count(total, 'factor')}, but {count(len(picks), 'index')} given"
        raise error("E0325", message, span, "give an index for each factor; ':' keeps it")
    if any(isinstance(pick, slice) and pick != slice(None) for pick in picks):
        raise error("E0325", "a factor is kept whole or picked", span, "write ':' or an index")
    rest, shape = iter(picks), dict[int, tir.PrimExpr]()
    for axis, parts in factors.items():
        kept = [part for part in parts if isinstance(next(rest), slice)]
        if kept:
            shape[axis] = reduce(make.mul, kept)
    extents = enumerate(tiling.buffer.shape)
    return tuple([shape.get(axis, extent) for axis, extent in extents if axis in shape or axis not in factors])


def _factors(tiling: Tiling, span: Span) -> dict[int, Extents]:
    """Return the factors of each axis that is split."""
    shape, specs = tiling.buffer.shape, tiling.specs
    specs = (specs,) if specs and isinstance(specs[0], int) else specs
    factors: dict[int, Extents] = {}
    for spec in specs:
        if not (is_tuple(spec) and len(spec) == 2 and isinstance(spec[0], int) and is_tuple(spec[1]) and spec[1]):
            raise error("E0325", "expected an axis and its factors", span, "write A.tile((0, (-1, 4)))[:, i]")
        axis = spec[0] + len(shape) if spec[0] < 0 else spec[0]
        if not 0 <= axis < len(shape):
            raise error("E0325", f"axis {spec[0]} does not exist in {count(len(shape), 'axis')}", span)
        if axis in factors:
            raise error("E0325", f"axis {spec[0]} is split twice", span, "give all its factors at once")
        factors[axis] = _inferred(spec[1], shape[axis], span)
    return factors


def rearranged(buffer: tir.Buffer, pattern: str, sizes: Mapping[str, Any], span: Span) -> Extents:
    """Return the shape of `A.rearrange("(o i) t -> o t i", o=2)`."""
    before, arrow, after = pattern.partition("->")
    sides = [[group.split() if group else [name] for group, name in _GROUP.findall(side)] for side in (before, after)]
    names, others = (sorted(name for group in side for name in group) for side in sides)
    if not arrow or names != others or len(set(names)) != len(names):
        raise _bad_pattern(f"the pattern '{pattern}' does not have the same names on both sides of '->'", span)
    if len(sides[0]) != len(buffer.shape):
        message = f"the pattern has {count(len(sides[0]), 'axis')}, but '{buffer.name}' {len(buffer.shape)}"
        raise _bad_pattern(message, span)
    known: dict[str, tir.PrimExpr] = {}
    for group, extent in zip(sides[0], buffer.shape, strict=True):
        extents = _inferred([sizes.get(name, -1) for name in group], extent, span)
        known.update(zip(group, extents, strict=True))
    return tuple([reduce(make.mul, [known[name] for name in group]) for group in sides[1]])


def _bad_pattern(message: str, span: Span) -> TvmsError:
    return error(
        "E0325", message, span, 'name each axis once on both sides, as in "(outer inner) tail -> outer tail inner"'
    )
