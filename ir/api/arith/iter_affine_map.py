"""Iterator maps (TVM: `tvm.arith.iter_affine_map`): indices as splits and fusions of iterators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ... import tir
from ...analysis import iter_map, iter_map_use
from ...analysis.iter_map import IterMapExpr, IterMapLevel, IterMapResult
from ...te.expr import Value, operand
from ..constructor import constructor
from .values import Domain, condition_of, ranges_of, variable_of

__all__ = ["IterMapExpr", "IterMapLevel"]


@constructor(iter_map.IterMark)
def IterMark(source: Value | IterMapExpr, extent: Value) -> iter_map.IterMark:
    """An iterator from 0 to `extent`."""
    return iter_map.IterMark(source if isinstance(source, IterMapExpr) else operand(source), operand(extent))


@constructor(iter_map.IterSplitExpr)
def IterSplitExpr(
    source: iter_map.IterMark, lower_factor: Value = 1, extent: Value | None = None, scale: Value = 1
) -> iter_map.IterSplitExpr:
    """`source // lower_factor % extent * scale`; without an extent, the whole iterator."""
    dtype = source.extent.dtype
    end = source.extent if extent is None else operand(extent, dtype)
    return iter_map.IterSplitExpr(source, operand(lower_factor, dtype), end, operand(scale, dtype))


@constructor(iter_map.IterSumExpr)
def IterSumExpr(args: Sequence[iter_map.IterSplitExpr], base: Value) -> iter_map.IterSumExpr:
    """`base` plus the sum of `args`."""
    return iter_map.IterSumExpr(tuple(args), operand(base, args[0].scale.dtype if args else "int32"))


def _level(level: IterMapLevel | str | None) -> IterMapLevel:
    return IterMapLevel.NO_CHECK if level is None else IterMapLevel(level.lower() if isinstance(level, str) else level)


def detect_iter_map(
    indices: Sequence[Value],
    input_iters: Mapping[tir.PrimExpr, Domain],
    predicate: Value | None = None,
    check_level: IterMapLevel | str | None = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Return indices as sums of splits of iterators (see `tvms.ir.analysis.iter_map`); empty if one is not such a sum.

    Iterators of extent 1 are replaced by their value, unless `simplify_trivial_iterators` is False.
    """
    return iter_map.detect_iter_map(
        [operand(index) for index in indices],
        ranges_of(input_iters),
        condition_of(predicate),
        _level(check_level),
        simplify_trivial_iterators,
    )


def iter_map_simplify(
    indices: Sequence[Value],
    input_iters: Mapping[tir.PrimExpr, Domain],
    predicate: Value | None = None,
    check_level: IterMapLevel | str | None = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> list[tir.PrimExpr]:
    """Return simplified indices: as sums of splits if they are iterator maps."""
    found = detect_iter_map(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
    if found.is_detected:
        return [normalize_iter_map_to_expr(index) for index in found.indices]
    nodes = [operand(index) for index in indices]
    return list(iter_map_use.iter_map_simplify(nodes, ranges_of(input_iters), condition_of(predicate)))


def normalize_iter_map_to_expr(expr: IterMapExpr | Value) -> tir.PrimExpr:
    """Return a map as a plain expression in normal form."""
    return iter_map_use.normalize_iter_map_to_expr(expr if isinstance(expr, IterMapExpr) else operand(expr))


def normalize_to_iter_sum(index: Value, input_iters: Mapping[tir.PrimExpr, Domain]) -> iter_map.IterSumExpr:
    """Return an index as a sum of unfused splits, the greatest scale first; what is not a split is in its base."""
    return iter_map.normalize_to_iter_sum(operand(index), ranges_of(input_iters))


def inverse_affine_iter_map(
    iter_map: Sequence[iter_map.IterSumExpr], outputs: Sequence[Value]
) -> dict[tir.PrimExpr, tir.PrimExpr]:
    """Return the iterators in terms of `outputs`, the values of a bijective map."""
    found = iter_map_use.inverse_affine_iter_map(iter_map, [operand(output) for output in outputs])
    return dict(found.items())


def subspace_divide(
    bindings: Sequence[Value],
    input_iters: Mapping[tir.PrimExpr, Domain],
    sub_iters: Sequence[tir.PrimExpr],
    predicate: Value | None = None,
    check_level: IterMapLevel | str | None = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> list[tuple[iter_map.IterMark, iter_map.IterMark]]:
    """Divide bindings into the contributions of the iterators outside and inside `sub_iters`: pairs of an outer and an inner
    mark such that the binding is `outer * inner.extent + inner`. The extents of the last pair are the predicates of both.

    [] if a binding mixes them.
    """
    found = iter_map_use.subspace_divide(
        [operand(binding) for binding in bindings],
        ranges_of(input_iters),
        [variable_of(name) for name in sub_iters],
        condition_of(predicate),
        _level(check_level),
        simplify_trivial_iterators,
    )
    if found is None:
        return []
    pairs = [
        (
            iter_map.IterMark(division.outer, division.outer_extent),
            iter_map.IterMark(division.inner, division.inner_extent),
        )
        for division in found.divisions
    ]
    zero = tir.IntImm("int32", 0)
    return [*pairs, (iter_map.IterMark(zero, found.outer_predicate), iter_map.IterMark(zero, found.inner_predicate))]
