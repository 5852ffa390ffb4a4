"""Accessed regions over all values of variables: exact if iterator maps apply, else upper bounds (TVM: `EstimateRegion…`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import tir
from ..deep import deep
from ..int_set import Interval, cover, eval_set, evaluate, from_range, point, union
from ..simplify import Simplifier
from ..visit import walk
from .iter_map import IterSumExpr, detect_iter_map

Ranges = Mapping[tir.Var, tir.Range]


@deep
def strict_bound(
    region: Sequence[tir.Range], domains: Ranges, predicate: tir.PrimExpr | None = None
) -> list[Interval] | None:
    """Return the box that is the union of `region` over all values of the variables for which `predicate` holds.

    None if the union is not known to be a box, or if an extent is not constant.
    """
    if not all(isinstance(axis.extent, tir.IntImm) for axis in region):
        return None
    sums = detect_iter_map([axis.min for axis in region], domains, predicate).indices
    found = [_span(sum_, axis.extent) for sum_, axis in zip(sums, region, strict=bool(sums))]
    boxes = [interval for interval in found if interval is not None]
    return boxes if len(boxes) == len(region) else None


@deep
def upper_bound(region: Sequence[tir.Range], domains: Ranges, predicate: tir.PrimExpr | None = None) -> list[Interval]:
    """Return a box that contains `region` for all values of the variables for which `predicate` holds, if possible the
    smallest.
    """
    whole = strict_bound(region, domains, predicate)
    if whole is not None:
        return whole
    intervals = {variable: from_range(domain.min, domain.extent) for variable, domain in domains.items()}
    found: list[Interval] = []
    for axis in region:
        alone = strict_bound([axis], domains, predicate)
        found.append(eval_set(from_range(axis.min, axis.extent), intervals) if alone is None else alone[0])
    return found


def _span(start: IterSumExpr, extent: tir.PrimExpr) -> Interval | None:
    """Return the union of the ranges of `extent` from `start`; None if it has gaps."""
    s = Simplifier()
    dtype = start.base.dtype
    size = s.visit(tir.Cast(dtype, extent))
    last = tir.Sub(dtype, tir.Add(dtype, start.base, size), tir.IntImm(dtype, 1))
    if not start.args:
        return Interval(s.visit(start.base), s.visit(last))
    (split,) = start.args
    steps = s.visit(tir.Mul(dtype, tir.Sub(dtype, split.extent, tir.IntImm(dtype, 1)), split.scale))
    scale = s.sum(s.visit(split.scale))
    if s.at_most(scale.scaled(-1)) and s.at_most(scale.plus(s.sum(size), -1)):
        return Interval(s.visit(start.base), s.visit(tir.Add(dtype, last, steps)))
    if s.at_most(scale) and s.at_most(scale.scaled(-1).plus(s.sum(size), -1)):
        return Interval(s.visit(tir.Add(dtype, start.base, steps)), s.visit(last))
    return None


@deep
def domain_touched(
    statement: tir.Stmt, buffer: tir.Buffer, loads: bool = True, stores: bool = True
) -> tuple[tir.Range, ...]:
    """Return the smallest known box that contains all loads from `buffer` in `statement`, or all stores, or both; () if none."""
    found: list[Interval] = []
    domains: dict[tir.Var, Interval] = {}
    for node in walk(statement):
        match node:
            case tir.For():
                domains[node.loop_var] = from_range(node.min, node.extent)
            case tir.LetStmt() | tir.Let():
                domains[node.var] = point(node.value)
            case tir.BufferLoad(indices=indices) if loads and node.buffer is buffer:
                found = _joined(found, [evaluate(index, domains) for index in indices])
            case tir.BufferStore(indices=indices) if stores and node.buffer is buffer:
                found = _joined(found, [evaluate(index, domains) for index in indices])
            case _:
                pass
    return tuple([cover(axis, extent) for axis, extent in zip(found, buffer.shape, strict=bool(found))])


def _joined(known: Sequence[Interval], new: list[Interval]) -> list[Interval]:
    return [union(a, b) for a, b in zip(known, new, strict=True)] if known else new
