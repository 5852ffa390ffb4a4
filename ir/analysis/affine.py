"""Conditions on integers as Presburger sets (isl): exact if they are quasi-affine, conservative otherwise.

Quasi-affine are sums, products with constants, division by constants and its remainder, minima, maxima, choices,
value-preserving casts, comparisons, and their combinations with `and`, `or` and `not`. Any other expression (a product
of variables, an element of a buffer) is an unknown integer within its constant bounds; equal expressions are the same
unknown.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

import islpy as isl

from .. import tir
from ..base import Op
from ..dtype import is_bool, is_int
from ..simplify import Simplifier
from .const_bounds import Bounds, of_dtype

MAX_OPERATIONS = 400_000
"""Maximum number of isl operations per question: well below a second."""
_NEAR = 1 << 10
"""Solutions are first searched among values of at most this magnitude."""

_context = isl.Context()
_SET = isl.dim_type.set


class GaveUp(Exception):
    """The question costs more than MAX_OPERATIONS, or is not quasi-affine where that is required."""


@contextmanager
def bounded() -> Generator[None]:
    """Limit the isl operations inside the context to MAX_OPERATIONS; raises `GaveUp` if they exceed it."""
    _context.set_max_operations(MAX_OPERATIONS)
    _context.reset_operations()
    try:
        yield
    except isl.Error as error:
        raise GaveUp from error
    finally:
        _context.set_max_operations(0)


def solve(simplifier: Simplifier, conditions: Sequence[tir.PrimExpr]) -> dict[tir.Var, int] | None:
    """Return values of the variables that satisfy all of `conditions`, in normal form, within the bounds of `simplifier`.

    None means that no values satisfy them. The values are a solution only if there are no unknowns. Raises `GaveUp`.
    """
    with bounded():
        leaves = list(dict.fromkeys(leaf for condition in conditions for leaf in _leaves(simplifier, condition)))
        found = _where_all(simplifier, leaves, conditions)
        return None if found.is_empty() else sample(found, leaves)


def unknowns(simplifier: Simplifier, conditions: Sequence[tir.PrimExpr]) -> list[tir.PrimExpr]:
    """Return the expressions in `conditions` that are not quasi-affine."""
    leaves = dict.fromkeys(leaf for condition in conditions for leaf in _leaves(simplifier, condition))
    return [leaf for leaf in leaves if not isinstance(leaf, tir.Var)]


def points(simplifier: Simplifier, conditions: Sequence[tir.PrimExpr], kept: Sequence[tir.PrimExpr]) -> isl.Set:
    """Return the values of `kept`, variables and unknowns, for which values of the other variables satisfy `conditions`.

    Raises `GaveUp` if a condition has other unknowns. Must be called inside `bounded`.
    """
    others = dict.fromkeys(leaf for condition in conditions for leaf in _leaves(simplifier, condition))
    for variable in kept:
        others.pop(variable, None)
    if not all(isinstance(leaf, tir.Var) for leaf in others):
        raise GaveUp
    found = _where_all(simplifier, [*kept, *others], conditions)
    return found.project_out(_SET, len(kept), len(others))


def _where_all(simplifier: Simplifier, leaves: Sequence[tir.PrimExpr], conditions: Sequence[tir.PrimExpr]) -> isl.Set:
    system = _System(simplifier, leaves)
    found = system.everywhere
    for condition in conditions:
        found = found & system.where(condition)
    return found


def sample(found: isl.Set, leaves: Sequence[tir.PrimExpr]) -> dict[tir.Var, int]:
    """Return the values of the variables among `leaves`, the coordinates, at one point of `found`: preferably a small one."""
    near = found
    for index in range(len(leaves)):
        near = near.lower_bound_val(_SET, index, _value(-_NEAR)).upper_bound_val(_SET, index, _value(_NEAR))
    chosen = near if not near.is_empty() else found
    point = chosen.lexmin().sample_point() if chosen.is_bounded() else chosen.sample_point()
    numbers = [point.get_coordinate_val(_SET, index).to_python() for index in range(len(leaves))]
    return {leaf: n for leaf, n in zip(leaves, numbers, strict=True) if isinstance(leaf, tir.Var)}


def _value(number: int) -> isl.Val:
    return isl.Val(str(number), _context)  # a number may exceed 64 bits


# --- What is quasi-affine ---------------------------------------------------------------------------------------


def _operands(s: Simplifier, expr: tir.PrimExpr) -> Sequence[tir.PrimExpr] | None:
    """Return the operands of a quasi-affine expression; None if `expr` is an unknown or a variable."""
    match expr:
        case tir.IntImm():
            return ()
        case tir.Add() | tir.Sub():
            return (expr.a, expr.b) if _is_exact(s, expr) else None
        case tir.Mul(a=other, b=tir.IntImm()) | tir.Mul(a=tir.IntImm(), b=other):
            return (other,) if _is_exact(s, expr) else None
        case tir.FloorDiv(b=tir.IntImm(value=n)) | tir.FloorMod(b=tir.IntImm(value=n)) if n > 0:
            return (expr.a,)
        case tir.Div(b=tir.IntImm(value=n)) | tir.Mod(b=tir.IntImm(value=n)) if n > 0 and is_int(expr.dtype):
            return (expr.a,)
        case tir.Min() | tir.Max() | tir.CmpOp() if _is_whole(expr.a):
            return (expr.a, expr.b)
        case tir.And() | tir.Or():
            return (expr.a, expr.b)
        case tir.Not():
            return (expr.a,)
        case tir.Select():
            return (expr.condition, expr.true_value, expr.false_value)
        case tir.Call(op=Op(name="tir.if_then_else" | "tir.likely")):
            return [arg for arg in expr.args if isinstance(arg, tir.PrimExpr)]
        case tir.Cast(value=value) if _is_whole(value) and s.bounds(value).within(of_dtype(expr.dtype)):
            return (value,)
        case _:
            return None


def _is_whole(expr: tir.PrimExpr) -> bool:
    return expr.dtype == "bool" or (is_int(expr.dtype) and "x" not in expr.dtype)


def _is_exact(s: Simplifier, expr: tir.BinaryOp) -> bool:
    """Whether the operation does not wrap around."""
    if expr.dtype in ("int32", "int64"):
        return True
    a, b = s.bounds(expr.a), s.bounds(expr.b)
    if isinstance(expr, tir.Mul):
        products = [x * y for x in (a.min, a.max) for y in (b.min, b.max)]
        result = Bounds(min(products), max(products))
    else:
        result = a.plus(b, 1 if isinstance(expr, tir.Add) else -1)
    return result.within(of_dtype(expr.dtype))


def _leaves(s: Simplifier, expr: tir.PrimExpr) -> Iterable[tir.PrimExpr]:
    stack = [expr]
    while stack:
        node = stack.pop()
        operands = _operands(s, node)
        if operands is None:
            yield node
        else:
            stack.extend(operands)


# --- Sets and functions -----------------------------------------------------------------------------------------


class _System:
    """Sets of points, with one coordinate for each variable and unknown."""

    def __init__(self, simplifier: Simplifier, leaves: Sequence[tir.PrimExpr]) -> None:
        self.simplifier, self.leaves = simplifier, leaves
        self.index = {leaf: index for index, leaf in enumerate(leaves)}
        space = isl.Space.set_alloc(_context, 0, len(leaves))
        self.local = isl.LocalSpace.from_space(space)
        self.everywhere = isl.Set.universe(space)
        self.nowhere = isl.Set.empty(space)
        for index, leaf in enumerate(leaves):
            bounds, whole = simplifier.bounds(leaf), of_dtype(leaf.dtype)
            if bounds.min > whole.min or leaf.dtype not in ("int32", "int64"):
                self.everywhere = self.everywhere.lower_bound_val(_SET, index, _value(bounds.min))
            if bounds.max < whole.max or leaf.dtype not in ("int32", "int64"):
                self.everywhere = self.everywhere.upper_bound_val(_SET, index, _value(bounds.max))

    def constant(self, number: int) -> isl.PwAff:
        return isl.PwAff.from_aff(isl.Aff.val_on_domain(self.local, _value(number)))

    def where(self, expr: tir.PrimExpr) -> isl.Set:
        """Return the points at which a condition holds."""
        if expr in self.index:
            return self.function(expr).ne_set(self.constant(0))
        match expr:
            case tir.IntImm():
                return self.everywhere if expr.value else self.nowhere
            case tir.And():
                return self.where(expr.a) & self.where(expr.b)
            case tir.Or():
                return self.where(expr.a) | self.where(expr.b)
            case tir.Not():
                return self.everywhere - self.where(expr.a)
            case tir.Call(op=Op(name="tir.likely")):
                return self.where(_condition(expr, 0))
            case tir.Select():
                return self._chosen(expr.condition, expr.true_value, expr.false_value)
            case tir.Call():
                return self._chosen(*[_condition(expr, index) for index in range(3)])
            case tir.CmpOp():
                return self._compared(expr)
            case _:
                return self.function(expr).ne_set(self.constant(0))

    def _chosen(self, condition: tir.PrimExpr, yes: tir.PrimExpr, no: tir.PrimExpr) -> isl.Set:
        holds = self.where(condition)
        return (holds & self.where(yes)) | (self.where(no) - holds)

    def _compared(self, expr: tir.CmpOp) -> isl.Set:
        a, b = self.function(expr.a), self.function(expr.b)
        match expr:
            case tir.LT():
                return a.lt_set(b)
            case tir.LE():
                return a.le_set(b)
            case tir.GT():
                return a.gt_set(b)
            case tir.GE():
                return a.ge_set(b)
            case tir.EQ():
                return a.eq_set(b)
            case _:
                return a.ne_set(b)

    def function(self, expr: tir.PrimExpr) -> isl.PwAff:
        """Return the value of an integer expression, or of a condition as 0 or 1, as a function of the point."""
        position = self.index.get(expr)
        if position is not None:
            return isl.PwAff.from_aff(isl.Aff.var_on_domain(self.local, _SET, position))
        match expr:
            case tir.IntImm():
                return self.constant(expr.value)
            case tir.Add():
                return self.function(expr.a).add(self.function(expr.b))
            case tir.Sub():
                return self.function(expr.a).sub(self.function(expr.b))
            case tir.Mul(a=other, b=tir.IntImm(value=value)) | tir.Mul(a=tir.IntImm(value=value), b=other):
                return self.function(other).scale_val(_value(value))
            case tir.FloorDiv(b=tir.IntImm(value=value)):
                return self.function(expr.a).scale_down_val(_value(value)).floor()
            case tir.FloorMod(b=tir.IntImm(value=value)):
                return self.function(expr.a).mod_val(_value(value))
            case tir.Div():
                return self.function(expr.a).tdiv_q(self.function(expr.b))
            case tir.Mod():
                return self.function(expr.a).tdiv_r(self.function(expr.b))
            case tir.Min():
                return self.function(expr.a).min(self.function(expr.b))
            case tir.Max():
                return self.function(expr.a).max(self.function(expr.b))
            case tir.Cast():
                return self.function(expr.value)
            case tir.Select() if not is_bool(expr.dtype):
                return self._choice(expr.condition, expr.true_value, expr.false_value)
            case tir.Call(op=Op(name="tir.if_then_else")) if not is_bool(expr.dtype):
                return self._choice(*[_condition(expr, index) for index in range(3)])
            case _:
                holds = self.where(expr)
                return isl.PwAff.val_on_domain(holds, _value(1)).union_max(
                    isl.PwAff.val_on_domain(self.everywhere - holds, _value(0))
                )

    def _choice(self, condition: tir.PrimExpr, yes: tir.PrimExpr, no: tir.PrimExpr) -> isl.PwAff:
        holds = self.where(condition)
        one = self.function(yes).intersect_domain(holds)
        return one.union_max(self.function(no).subtract_domain(holds))


def _condition(call: tir.Call, index: int) -> tir.PrimExpr:
    argument = call.args[index]
    assert isinstance(argument, tir.PrimExpr)
    return argument
