"""Running means and sums of squared differences (B. P. Welford, 1962): their recognition, and how partial results combine.

    count = count + 1                                    count   = m + n
    mean' = mean + (x - mean) / count                    mean'   = mean + (mean_y - mean) * n / count
    m2    = m2 + (x - mean) * (x - mean')        ,       m2      = m2 + m2_y + (mean_y - mean) ** 2 * m * n / count

on the left for one element x, on the right for `m` and `n` elements (T. F. Chan, G. H. Golub and R. J. LeVeque, 1979). A block may store
the mean alone, without `m2`, and the count may be that of the iterations, `k + 1` for an axis `k`.

The form of the update does not matter: as a function of exact fractions, it is compared with the recurrence at random points. Two rational
functions of so few operations that agree there agree everywhere, but for a chance of less than 2^-60 (Schwartz, 1980; Zippel, 1979).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from random import Random
from typing import TypeAlias

from msgspec import Struct

from .. import make, tir
from ..dtype import is_float, is_int, parse_dtype
from ..equal import structural_equal
from ..idioms import flattened
from ..visit import walk
from .update import Key, key_of

COUNT, MEAN, SQUARES = "count", "mean", "squares"
_DTYPES = ("float32", "float64")
"""Dtypes of means; narrower ones would round each step."""
Values: TypeAlias = tuple[tir.PrimExpr, ...]
_POINTS = 3
_OPERATORS: dict[type[tir.PrimExpr], Callable[[Fraction, Fraction], Fraction]] = {
    tir.Add: lambda a, b: a + b, tir.Sub: lambda a, b: a - b, tir.Mul: lambda a, b: a * b, tir.Div: lambda a, b: a / b,
}  # fmt: skip


class Moments(Struct, frozen=True, eq=False):
    """The running moments that a block stores: its elements, what each is, and the new value `x`."""

    elements: tuple[tir.BufferLoad, ...]
    roles: tuple[str, ...]
    x: tir.PrimExpr
    axis: tir.IterVar | None
    """The axis whose iterations are counted; None if the block stores the count."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Return the dtypes of the elements, and of the count behind them if it is not one of them."""
        own = tuple([element.dtype for element in self.elements])
        return own if self.axis is None else (*own, self.axis.var.dtype)

    @property
    def identity(self) -> tuple[tir.PrimExpr, ...]:
        """Return the moments of no elements."""
        return tuple([make.const(0, dtype) for dtype in self.dtypes])

    @property
    def values(self) -> tuple[tir.PrimExpr, ...]:
        """Return the moments of `x` alone."""
        of = {COUNT: 1, SQUARES: 0}
        pairs = zip(self._all_roles, self.dtypes, strict=True)
        return tuple([make.const(of[role], dtype) if role in of else make.cast(self.x, dtype) for role, dtype in pairs])

    def together(self, x: Values, y: Values) -> Values:
        """Return the moments of two sets of elements, the first or the second of which may be empty."""
        return together(self._all_roles, x, y)

    @property
    def _all_roles(self) -> tuple[str, ...]:
        return self.roles if self.axis is None else (*self.roles, COUNT)


def together(roles: Sequence[str], x: Values, y: Values) -> Values:
    """Return the moments of two sets of elements, given as what `roles` say; the first or the second may be empty."""
    a, b = (dict(zip(roles, part, strict=True)) for part in (x, y))
    dtype = a[MEAN].dtype
    count = make.add(a[COUNT], b[COUNT])
    total = make.cast(make.maximum(count, make.const(1, count.dtype)), dtype)
    difference, share = make.sub(b[MEAN], a[MEAN]), make.div(make.cast(b[COUNT], dtype), total)
    found = {COUNT: count, MEAN: make.add(a[MEAN], make.mul(difference, share))}
    if SQUARES in a:
        weight = make.mul(make.cast(a[COUNT], dtype), share)
        between = make.cast(make.mul(make.mul(difference, difference), weight), a[SQUARES].dtype)
        found[SQUARES] = make.add(make.add(a[SQUARES], b[SQUARES]), between)
    return tuple([found[role] for role in roles])


def moments_of(block: tir.Block) -> Moments | None:
    """Return the running moments that a block computes, which start from zeros; None if it does something else."""
    stores = [part for part in _statements(block.body) if isinstance(part, tir.BufferStore)]
    elements = tuple([tir.BufferLoad(store.buffer.dtype, store.buffer, store.indices) for store in stores])
    if not 1 <= len(elements) <= 3 or not _starts_from_zeros(block, stores) or not _are_alike(stores):
        return None
    reduced = [axis for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    variables = {axis.var for axis in reduced}
    if any(node in variables for index in elements[0].indices for node in walk(index)):
        return None
    counted = reduced[0] if len(reduced) == 1 and isinstance(_start_of(reduced[0]), tir.IntImm) else None
    for roles in roles_of([element.dtype for element in elements]):
        axis = None if COUNT in roles else counted
        if axis is None and COUNT not in roles:
            continue
        for x in _candidates(block, elements):
            if _is_recurrence(block.body, elements, roles, x, axis):
                return Moments(elements, roles, x, axis)
    return None


def _start_of(axis: tir.IterVar) -> tir.PrimExpr | None:
    return None if axis.dom is None else axis.dom.min


def _statements(stmt: tir.Stmt) -> Iterator[tir.Stmt]:
    """Yield the statements of a sequence in order, without the variables around them."""
    for part in flattened([stmt]):
        if isinstance(part, tir.LetStmt):
            yield from _statements(part.body)
        else:
            yield part


def _are_alike(stores: Sequence[tir.BufferStore]) -> bool:
    """Return whether the stores are unconditional, and of the same place in different memory."""
    first = stores[0]
    is_same = all(store.predicate is None and structural_equal(store.indices, first.indices) for store in stores)
    return is_same and len({store.buffer.data for store in stores}) == len(stores)


def _starts_from_zeros(block: tir.Block, stores: Sequence[tir.BufferStore]) -> bool:
    inits = [] if block.init is None else flattened([block.init])
    zeros = [
        init for init in inits
        if isinstance(init, tir.BufferStore) and isinstance(init.value, tir.IntImm | tir.FloatImm) and init.value.value == 0
    ]  # fmt: skip
    starts = {init.buffer: init for init in zeros if structural_equal(init.indices, stores[0].indices)}
    return len(zeros) == len(inits) and starts.keys() == {store.buffer for store in stores}


def roles_of(dtypes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield what elements of some dtypes may be, one of them the mean."""
    for roles in permutations((COUNT, MEAN, SQUARES), len(dtypes)):
        pairs = list(zip(roles, dtypes, strict=True))
        is_counted = all(is_int(dtype) or dtype in _DTYPES for role, dtype in pairs if role == COUNT)
        if MEAN in roles and is_counted and all(dtype in _DTYPES for role, dtype in pairs if role != COUNT):
            yield roles


def _candidates(block: tir.Block, elements: Sequence[tir.BufferLoad]) -> Iterator[tir.PrimExpr]:
    """Yield the expressions that do not depend on the elements, the outermost first: one of them may be the new value."""
    memory = {element.buffer.data for element in elements}
    bound = {node.var for node in walk(block.body) if isinstance(node, tir.LetStmt | tir.Let)}
    seen: set[Key] = set()
    for node in walk(block.body):
        if not isinstance(node, tir.PrimExpr) or not is_float(node.dtype) or isinstance(node, tir.FloatImm):
            continue
        parts = list(walk(node))
        if any(part in bound or (isinstance(part, tir.BufferLoad) and part.buffer.data in memory) for part in parts):
            continue
        if key_of(node) not in seen:
            seen.add(key_of(node))
            yield node


def _is_recurrence(
    body: tir.Stmt, elements: Sequence[tir.BufferLoad], roles: Sequence[str], x: tir.PrimExpr, axis: tir.IterVar | None
) -> bool:
    """Return whether the update is the recurrence: for the first element, whose moments before are zeros, and at random points."""
    random = Random(1962)
    points = [(0, Fraction(0), Fraction(0), Fraction(random.getrandbits(64)))]
    points += [
        (random.getrandbits(30) + 1, *(Fraction(random.getrandbits(64), random.getrandbits(16) + 1) for _ in range(3)))
        for _ in range(_POINTS)
    ]
    for count, mean, squares, value in points:
        before = {COUNT: Fraction(count), MEAN: mean, SQUARES: squares}
        after = {
            COUNT: Fraction(count + 1), MEAN: mean + (value - mean) / (count + 1),
            SQUARES: squares + (value - mean) ** 2 * count / (count + 1),
        }  # fmt: skip
        known = {key_of(x): value}
        known |= {key_of(element): before[role] for element, role in zip(elements, roles, strict=True)}
        counts = {key_of(element) for element, role in zip(elements, roles, strict=True) if role == COUNT}
        if axis is not None:
            start = _start_of(axis)
            assert isinstance(start, tir.IntImm)
            known[key_of(axis.var)] = Fraction(count + start.value)
        try:
            found = _Run(known, counts).after(body)
        except (_UnknownError, ZeroDivisionError):
            return False
        if any(found[key_of(element)] != after[role] for element, role in zip(elements, roles, strict=True)):
            return False
    return True


class _UnknownError(Exception):
    """A statement or an expression that is not a rational function of what is known."""


class _Run:
    """A run of statements on fractions, by the keys of elements and variables; `counts` are the keys of those that are not negative."""

    def __init__(self, known: Mapping[Key, Fraction], counts: Container[Key]) -> None:
        self._values, self._counts = dict(known), counts

    def after(self, stmt: tir.Stmt) -> Mapping[Key, Fraction]:
        """Return the values after `stmt`."""
        for part in flattened([stmt]):
            match part:
                case tir.LetStmt():
                    self._values[key_of(part.var)] = self._value(part.value)
                    self.after(part.body)
                case tir.BufferStore():
                    value = self._value(part.value)
                    self._values[key_of(tir.BufferLoad(part.buffer.dtype, part.buffer, part.indices))] = value
                case _:
                    raise _UnknownError
        return self._values

    def _value(self, expr: tir.PrimExpr) -> Fraction:
        known = self._values.get(key_of(expr))
        if known is not None:
            return known
        match expr:
            case tir.IntImm():
                return Fraction(expr.value)
            case tir.FloatImm() if abs(expr.value) < float("inf"):
                return Fraction(expr.value)
            case tir.Cast() if _is_exact(expr):
                return self._value(expr.value)
            case tir.BinaryOp() if type(expr) in _OPERATORS and (not isinstance(expr, tir.Div) or is_float(expr.dtype)):
                return _OPERATORS[type(expr)](self._value(expr.a), self._value(expr.b))
            case tir.Max(
                a=tir.Add(a=tir.BufferLoad() as count, b=tir.IntImm() | tir.FloatImm() as step) as both, b=least
            ) if (
                key_of(count) in self._counts
                and isinstance(least, tir.IntImm | tir.FloatImm)
                and least.value <= step.value
            ):
                return self._value(both)
            case _:
                raise _UnknownError


def _is_exact(cast: tir.Cast) -> bool:
    """Return whether a cast only rounds: to float32 or float64, or to an integer that is not narrower."""
    if is_float(cast.dtype):
        return cast.dtype in _DTYPES
    before, after = parse_dtype(cast.value.dtype), parse_dtype(cast.dtype)
    return is_int(cast.value.dtype) and before.code == after.code and before.bits <= after.bits
