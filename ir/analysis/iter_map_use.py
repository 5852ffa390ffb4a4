"""Uses of iterator maps: conversion to expressions, inversion, and subspace division."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from msgspec import Struct

from .. import make, tir
from ..deep import deep
from ..idioms import is_one, is_zero
from ..intern import joined
from ..simplify import Simplifier, simplify
from ..visit import walk
from .iter_map import Detector, IterMapLevel, detect
from .iter_marks import IterMapExpr, IterMark, IterSplitExpr, IterSumExpr, NotIterMap


def normalize_iter_map_to_expr(value: IterMapExpr | tir.PrimExpr) -> tir.PrimExpr:
    """Return a map as a plain expression in normal form (TVM: `NormalizeIterMapToExpr`)."""
    return simplify(_expr(value))


def _expr(value: IterMapExpr | tir.PrimExpr) -> tir.PrimExpr:
    match value:
        case IterSumExpr(args=args, base=base):
            result = base
            for part in reversed(args):
                result = tir.Add(base.dtype, _expr(part), result)
            return result
        case IterSplitExpr(source=mark, lower_factor=lower, extent=extent, scale=scale):
            dtype = scale.dtype
            part = _expr(mark.source)
            if not _is_whole(value):
                upper = simplify(tir.Mul(dtype, lower, extent))
                part = (
                    tir.FloorDiv(dtype, tir.FloorMod(dtype, part, upper), lower)
                    if _is_cut(value)
                    else tir.FloorDiv(dtype, part, lower)
                )
            return tir.Mul(dtype, part, scale)
        case _:
            assert isinstance(value, tir.PrimExpr)
            return value


def _is_whole(split: IterSplitExpr) -> bool:
    return isinstance(split.lower_factor, tir.IntImm) and split.lower_factor.value == 1 and not _is_cut(split)


def _is_cut(split: IterSplitExpr) -> bool:
    """Whether the mark has a part above the split."""
    dtype, parts = split.extent.dtype, (split.lower_factor, split.extent, split.source.extent)
    numbers = [part.value for part in parts if isinstance(part, tir.IntImm)]
    if len(numbers) == len(parts):
        return numbers[0] * numbers[1] < numbers[2]
    top = tir.Mul(dtype, split.lower_factor, split.extent)
    below = simplify(tir.LT("bool", top, split.source.extent))
    return not (isinstance(below, tir.IntImm) and not below.value)


def _as_fused(value: IterMapExpr | tir.PrimExpr) -> tir.PrimExpr:
    """Return a map as an expression in which a quotient or remainder of a fused iterator stays whole."""
    match value:
        case IterSumExpr(args=args, base=base):
            return make.add(reduce(make.add, [_as_fused(part) for part in args], make.const(0, base.dtype)), base)
        case IterSplitExpr(source=mark, lower_factor=lower, extent=extent, scale=scale):
            part = _as_fused(mark.source)
            if not _is_whole(value):
                part = make.floormod(part, make.mul(lower, extent)) if _is_cut(value) else part
                part = make.floordiv(part, lower)
            return make.mul(part, scale)
        case _:
            assert isinstance(value, tir.PrimExpr)
            return value


def iter_map_simplify(
    indices: Sequence[tir.PrimExpr],
    input_iters: Mapping[tir.Var, tir.Range],
    predicate: tir.PrimExpr | None = None,
    check_level: IterMapLevel = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> list[tir.PrimExpr]:
    """Return indices as sums of splits if they are an iterator map, else simplified (TVM: `IterMapSimplify`).

    If `predicate` is not a bound of a sum of iterators, or never holds, it is not used. Iterators of extent 1 stay, unless
    `simplify_trivial_iterators`.
    """
    convert = _as_fused if all(is_zero(domain.min) for domain in input_iters.values()) else normalize_iter_map_to_expr
    for condition in dict.fromkeys((predicate, None)):
        keeps_trivial = not simplify_trivial_iterators
        try:
            detector = Detector(input_iters, condition, check_level, keeps_trivial=keeps_trivial, as_written=True)
            return [convert(index) for index in detector.detect(indices)]
        except NotIterMap:
            pass
    known = {
        variable: domain
        for variable, domain in input_iters.items()
        if simplify_trivial_iterators or not is_one(domain.extent)
    }
    simplifier = Simplifier(known, () if predicate is None else (predicate,))
    return [simplifier.visit(index) for index in indices]


@deep
def inverse_affine_iter_map(
    iter_map: Sequence[IterSumExpr], outputs: Sequence[tir.PrimExpr]
) -> dict[tir.Var, tir.PrimExpr]:
    """Return the input iterators in terms of `outputs`, the values of a bijective map (TVM: `InverseAffineIterMap`).

    As in TVM, the results are not in normal form: contributions of later outputs come first.
    """
    values: dict[IterMark, tir.PrimExpr] = {}
    for sum_, output in reversed(list(zip(iter_map, outputs, strict=True))):
        for split in sum_.args:
            _flow_back(split, make.sub(output, sum_.base), values, is_alone=True)
    found: dict[tir.Var, tir.PrimExpr] = {}
    for mark in _outer_first(values, iter_map):
        if mark.variable is not None:
            found[mark.variable] = (
                make.add(values[mark], mark.source.b) if isinstance(mark.source, tir.Sub) else values[mark]
            )
        elif isinstance(mark.source, IterSumExpr):
            rest = make.sub(values[mark], mark.source.base)
            for split in reversed(mark.source.args):
                _flow_back(split, rest, values, is_alone=split is mark.source.args[0])
    return found


def _flow_back(split: IterSplitExpr, value: tir.PrimExpr, values: dict[IterMark, tir.PrimExpr], is_alone: bool) -> None:
    """Add the contribution of a split, computed from the value of its sum, to the value of the split's mark."""
    part = make.floordiv(value, split.scale)
    if not is_alone:
        part = make.floormod(part, split.extent)
    part = make.mul(part, split.lower_factor)
    known = values.get(split.source)
    values[split.source] = part if known is None else make.add(known, part)


def _outer_first(values: dict[IterMark, tir.PrimExpr], iter_map: Sequence[IterSumExpr]) -> Iterable[IterMark]:
    """Yield each mark before the marks that it fuses."""
    order: dict[IterMark, None] = {}

    def visit(mark: IterMark) -> None:
        if mark not in order:
            if isinstance(mark.source, IterSumExpr):
                for split in mark.source.args:
                    visit(split.source)
            order[mark] = None

    for sum_ in iter_map:
        for split in sum_.args:
            visit(split.source)
    return reversed(list(order))


class Division(Struct, frozen=True):
    """A binding as `outer * inner_extent + inner`, assuming the predicates of both parts. `outer` ranges from 0 to
    `outer_extent`, and `inner` from `inner_start` to `inner_start + inner_extent`.
    """

    outer: tir.PrimExpr
    outer_extent: tir.PrimExpr
    inner: tir.PrimExpr
    inner_extent: tir.PrimExpr
    inner_start: tir.PrimExpr


class Subspaces(Struct, frozen=True):
    """Bindings divided between outer and inner iterators, and the predicates of both."""

    divisions: tuple[Division, ...]
    outer_predicate: tir.PrimExpr
    inner_predicate: tir.PrimExpr


@deep
def subspace_divide(
    bindings: Sequence[tir.PrimExpr],
    input_iters: Mapping[tir.Var, tir.Range],
    sub_iters: Sequence[tir.Var],
    predicate: tir.PrimExpr | None = None,
    check_level: IterMapLevel | str = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> Subspaces | None:
    """Divide bindings into the contributions of the iterators outside and inside `sub_iters` (TVM: `SubspaceDivide`).

    None if a binding mixes them: a part depends on both, or an inner part has a greater scale than an outer one.
    """
    try:
        level = IterMapLevel(check_level)
        fused, detector = detect(bindings, input_iters, predicate, level, not simplify_trivial_iterators)
        inner_iters = frozenset(sub_iters)
        outer, inner = _divide_predicate(predicate, input_iters, inner_iters)
        divisions = tuple([_divide(detector, sum_, input_iters.keys() - inner_iters, inner_iters) for sum_ in fused])
        return Subspaces(divisions, outer, inner)
    except NotIterMap:
        return None


def _divide(
    detector: Detector, whole: IterSumExpr, outer_iters: Iterable[tir.Var], inner_iters: frozenset[tir.Var]
) -> Division:
    """Divide a fused binding: its parts by ascending scale must be inner ones and then outer ones."""
    f = detector.factors
    one = f.number(1, whole.base)
    if not whole.args:
        return Division(f.number(0, one), one, normalize_iter_map_to_expr(whole), one, simplify(whole.base))
    (top,) = whole.args
    if not is_one(top.scale):
        raise NotIterMap("a binding steps over values, or runs backwards")
    outside = frozenset(outer_iters)
    if not _uses(top, outside):
        inner = normalize_iter_map_to_expr(whole)
        return Division(f.number(0, one), one, inner, top.extent, simplify(whole.base))
    if not _uses(top, inner_iters):
        zero = IterSumExpr(whole.args, f.number(0, one))
        start = simplify(whole.base)
        return Division(normalize_iter_map_to_expr(zero), top.extent, start, one, start)
    source = top.source.source
    is_overlapping = top.source in detector.overlapping
    if not isinstance(source, IterSumExpr) or is_overlapping or not _is_whole(top):
        raise NotIterMap("a part depends on iterators of both spaces")
    inner = [split for split in source.args if not _uses(split, outside)]
    outer = [split for split in source.args if split not in inner]
    if any(_uses(split, inner_iters) for split in outer) or list(source.args) != [*outer, *inner]:
        raise NotIterMap(
            "a part depends on iterators of both spaces, or an inner part has a greater scale than an outer one"
        )
    extent = one
    for split in inner:
        extent = f.times(extent, split.extent)
    scaled = [IterSplitExpr(s.source, s.lower_factor, s.extent, f.quotient(s.scale, extent)) for s in outer]
    outer_extent = one
    for split in reversed(outer):  # not simplified, as in TVM: `8 * ((n + 15) // 16)`
        outer_extent = make.mul(outer_extent, split.extent)
    base = f.plus(whole.base, source.base)
    return Division(
        normalize_iter_map_to_expr(IterSumExpr(tuple(scaled), f.number(0, one))),
        outer_extent,
        normalize_iter_map_to_expr(IterSumExpr(tuple(inner), base)),
        extent,
        simplify(base),
    )


def _uses(split: IterSplitExpr, variables: frozenset[tir.Var]) -> bool:
    waiting = [split.source]
    while waiting:
        mark = waiting.pop()
        if mark.variable in variables:
            return True
        if isinstance(mark.source, IterSumExpr):
            waiting.extend(arg.source for arg in mark.source.args)
    return False


def _divide_predicate(
    predicate: tir.PrimExpr | None, input_iters: Mapping[tir.Var, tir.Range], inner_iters: frozenset[tir.Var]
) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    true = tir.IntImm("bool", 1)
    outer: tir.PrimExpr = true
    inner: tir.PrimExpr = true
    for part in () if predicate is None else joined(tir.And, predicate):
        used = {node for node in walk(part) if isinstance(node, tir.Var)} & input_iters.keys()
        if used <= inner_iters and used:
            inner = part if inner is true else tir.And("bool", inner, part)
        elif not used & inner_iters:
            outer = part if outer is true else tir.And("bool", outer, part)
        else:
            raise NotIterMap("the predicate bounds iterators of both spaces")
    return outer, inner
