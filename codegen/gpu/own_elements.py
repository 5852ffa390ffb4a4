"""Exact test of whether threads of a block access the same element, by evaluating indices for all values of
variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm, prod
from typing import Any

import numpy as np
from msgspec import Struct

from ...ir import tir
from ...ir.visit import children, walk
from .evaluate_all import evaluate_all

_MOST = 1 << 16
"""Maximum number of values that are tried."""
Array = np.ndarray[Any, Any]
Values = Mapping[tir.Var, tuple[int, int]]
"""The first value of each variable, and the number of its values."""


class GuardedElement(Struct, frozen=True):
    """The element at `indices`, accessed only if all of the conditions hold."""

    indices: tuple[tir.PrimExpr, ...]
    conditions: tuple[tir.PrimExpr, ...] = ()


class Domains(Struct, frozen=True):
    """The values of variables: `threads` are the indices of threads, `fixed` variables are the same for all
    threads, and `others` may differ between threads.
    """

    threads: Values
    fixed: Values
    others: Values


def do_meet(a: GuardedElement, b: GuardedElement, domains: Domains) -> bool | None:
    """Return whether two threads access the same element, one at `a` and the other at `b`; None if unknown.

    An access under a condition of unknown value executes for some inputs; under two of them, perhaps in one thread only.
    """
    used = variables((*a.indices, *b.indices))
    fixed = [var for var in domains.fixed if var in used]
    first, second = _accessed_elements(a, fixed, domains), _accessed_elements(b, fixed, domains)
    if first is None or second is None:
        return None
    places = np.concatenate([first.places, second.places], axis=1)
    owners = np.concatenate([first.owners, second.owners])
    if not first.owners.size or not second.owners.size:
        return False
    _, element = np.unique(places, axis=1, return_inverse=True)
    count = element.max() + 1
    least, most = np.full(count, owners.max()), np.zeros(count, np.int64)
    np.minimum.at(least, element, owners)
    np.maximum.at(most, element, owners)
    whose = np.zeros((2, count), bool)
    whose[0, element[: first.owners.size]] = whose[1, element[first.owners.size :]] = True
    if not (whose.all(axis=0) & (least != most)).any():
        return False
    return True if first.is_certain or second.is_certain else None


def variables(exprs: Sequence[tir.PrimExpr]) -> set[tir.Var]:
    """Return the variables in `exprs`."""
    return {node for expr in exprs for node in walk(expr) if isinstance(node, tir.Var)}


class _AccessedElements(Struct, frozen=True):
    """The accessed elements, one per column, and the threads that access them; whether the accesses are certain."""

    places: Array
    owners: Array
    is_certain: bool


def _accessed_elements(place: GuardedElement, fixed: Sequence[tir.Var], domains: Domains) -> _AccessedElements | None:
    known = {**domains.threads, **domains.fixed, **domains.others}
    used = variables(place.indices)
    names = list(dict.fromkeys([*domains.threads, *fixed, *used]))
    sizes = [known.get(var, (0, 0))[1] for var in names]
    for number, var in enumerate(names):
        if var in domains.others and var not in variables(place.conditions):
            sizes[number] = min(sizes[number], lcm(*(_period(index, var) for index in place.indices)) or sizes[number])
    if any(size < 1 for size in sizes) or prod(sizes) > _MOST:
        return None
    grid = np.indices(sizes).reshape(len(sizes), -1)
    values = {var: row + known[var][0] for var, row in zip(names, grid, strict=True)}
    conditions = [evaluate_all(condition, values) for condition in place.conditions]
    indices = [evaluate_all(index, values) for index in place.indices]
    if any(index is None for index in indices):
        return None
    held = np.ones(grid.shape[1], bool)
    for condition in conditions:
        held &= True if condition is None else condition.astype(bool)
    rows = [*(values[var] for var in fixed), *(index for index in indices if index is not None)]
    rows = rows or [np.zeros((), np.int64)]  # the only element of a buffer without dimensions
    whole = np.stack([np.broadcast_to(row, held.shape) for row in rows])
    threads = len(domains.threads)
    owners = np.asarray(np.ravel_multi_index(tuple(grid[:threads]), sizes[:threads]))
    return _AccessedElements(whole[:, held], owners[held], all(condition is not None for condition in conditions))


def _period(expr: tir.PrimExpr, var: tir.Var) -> int:
    """Return after how many steps of `var` the values of `expr` repeat: 1 if they do not depend on it; 0 if unknown."""
    match expr:
        case tir.FloorMod(a=dividend, b=tir.IntImm(value=divisor)) if divisor > 0 and _is_polynomial(dividend, var):
            return divisor
        case tir.Var():
            return 0 if expr is var else 1
        case tir.BufferLoad():
            return 0
        case _:
            return lcm(1, *(_period(child, var) for child in children(expr) if isinstance(child, tir.PrimExpr)))


def _is_polynomial(expr: tir.PrimExpr, var: tir.Var) -> bool:
    """Return whether `expr` consists of sums and products of `var` and of parts without it."""
    if isinstance(expr, tir.Add | tir.Sub | tir.Mul):
        return _is_polynomial(expr.a, var) and _is_polynomial(expr.b, var)
    return expr is var or var not in variables((expr,))
