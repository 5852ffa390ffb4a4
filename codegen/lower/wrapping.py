"""Overflow analysis: which index arithmetic (int32, int64) stays in its dtype, so that a proof may treat it as
integer arithmetic.

    for i in range((n + 7) // 8):              n + 7 stays in int32 if n <= 2 ** 31 - 2 ** 16,
        if i * 8 + j < n:                      and so does i * 8 + j, which is at most n + 7 + 8
            B[i * 8 + j] = …
    if m * 4 < 16:                             m * 4 may wrap around: `Arithmetic.exact` replaces it by an
        A[m] = …                               unknown number, so that nothing follows for m

Sizes are the variables in shapes of parameters. A proof may require that the absolute values of sizes, or
of products of sizes, are bounded. These `Limits` are checked at the start of the function (`with_limits`).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import TypeAlias, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import Bounds, bounds_of, of_domain, of_dtype, unlimited_bounds_of
from ...ir.base import Node, Op
from ...ir.deep import deep
from ...ir.dtype import is_bool, is_int, parse_dtype
from ...ir.equal import structural_hash
from ...ir.visit import distinct, rewrite, walk
from .rewriter import sequence
from .vectors import widen

Product: TypeAlias = tuple[tir.Var, ...]
"""A product of sizes, sorted by name; the empty product is 1."""
Limits: TypeAlias = frozenset[tuple[Product, int]]
"""Products of sizes with their upper bounds."""
_Polynomial: TypeAlias = dict[Product, Fraction]

_CHECK, _IF_THEN_ELSE, _SHIFT_LEFT = Op("tir.check"), Op("tir.if_then_else"), Op("tir.shift_left")
_REINTERPRET = Op("tir.reinterpret")
_COMPUTED = (tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.Div, tir.Ramp)
_NONE: Limits = frozenset()
_SMALL = 2**12
"""Bounds up to this number are treated as constants, not as polynomials of sizes."""
_INDEX_DTYPES = ("int32", "int64")
_LARGEST, _LARGEST_PRODUCT = 2**48, 2**56
"""Upper bounds of any size and of any product of sizes, since no memory is larger."""
_STEP = 2**16
"""Limits of int32 are rounded to multiples of this number, so that there are few different ones."""


class Exact(Struct, frozen=True):
    """An expression whose arithmetic does not wrap around if sizes satisfy `limits`."""

    expr: tir.PrimExpr
    limits: Limits = _NONE
    is_whole: bool = True
    """Whether no part of the expression was replaced."""


class Arithmetic:
    """The index arithmetic of a function with these `parameters`; loops and variables are recorded as they are
    entered.
    """

    def __init__(self, parameters: Iterable[tir.Buffer] = ()) -> None:
        shapes = [extent for buffer in parameters for extent in buffer.shape]
        self.extents = dict.fromkeys(extent for extent in shapes if isinstance(extent, tir.Var))
        """The sizes of dimensions, which are not negative."""
        self._sizes = {node for extent in shapes for node in walk(extent) if isinstance(node, tir.Var)}
        self._domains: dict[tir.Var, tir.Range] = {}
        self._values: dict[tir.Var, tir.PrimExpr] = {}
        self._bounds: dict[tir.PrimExpr, Bounds] = {}
        self._exact: dict[tir.PrimExpr, Exact] = {}
        self._polynomials: dict[tir.PrimExpr, _Polynomial] = {}
        self._unknown: dict[int, tir.Var] = {}

    def enter(self, loop: tir.For) -> tuple[tir.Range, Limits]:
        """Return the domain of a loop that is entered, for proofs, and the limits that it assumes."""
        start, extent = self.exact(loop.min), self.exact(loop.extent)
        domain = self._domains[loop.loop_var] = tir.Range(start.expr, extent.expr)
        return domain, start.limits | extent.limits

    def name(self, var: tir.Var, value: tir.PrimExpr) -> None:
        """Record the value of `var`."""
        self._values[var] = self.exact(value).expr

    def exact(self, expr: tir.PrimExpr) -> Exact:
        """Return `expr` with each part that may wrap around replaced by an unknown number."""
        found = self._exact.get(expr)
        if found is None:
            found = self._exact[expr] = self._find(expr)
        return found

    def _find(self, expr: tir.PrimExpr) -> Exact:
        limits: set[tuple[Product, int]] = set()
        replaced: list[Node] = []

        def part(node: Node) -> Node | None:
            if not _may_wrap(node):
                return None
            needed = self._limits(node)
            if needed is None:
                replaced.append(node)
                return self._unknown_number(node)
            limits.update(needed)
            return None

        return Exact(rewrite(expr, part), frozenset(limits), not replaced)

    def _unknown_number(self, node: tir.PrimExpr) -> tir.PrimExpr:
        """Return the variable that replaces `node`: the same one for equal expressions of variables."""
        if any(isinstance(inner, tir.BufferLoad | tir.Call) for inner in walk(node)):
            return tir.Var(node.dtype, "unknown")
        return self._unknown.setdefault(structural_hash(node), tir.Var(node.dtype, "unknown"))

    # --- What an expression may be

    def _limits(self, node: tir.PrimExpr) -> Limits | None:
        """Return the limits that keep the value of `node`, whose parts are exact, in its dtype; None if there are
        none.
        """
        whole = of_dtype(node.dtype)
        if unlimited_bounds_of(node, self._bounds_of).within(whole):
            return _NONE
        found = dict(self._polynomial(node))
        room, factors = whole.max - found.pop((), Fraction(0)), sum(found.values())
        if not factors or room <= 0:
            return None
        most = int(room / factors)
        if not most:
            return None
        if most >= _LARGEST_PRODUCT:
            return frozenset((product, _LARGEST if len(product) == 1 else _LARGEST_PRODUCT) for product in found)
        return frozenset((product, max(most - most % _STEP, min(most, _STEP))) for product in found)

    @deep
    def _bounds_of(self, node: tir.PrimExpr) -> Bounds:
        found = self._bounds.get(node)
        if found is not None:
            return found
        whole = self._bounds[node] = of_dtype(node.dtype)
        if _is_address(node):
            found = Bounds(0, _LARGEST_PRODUCT)
        elif not isinstance(node, tir.Var):
            found = bounds_of(node, self._bounds_of)
        elif node in self._values:
            found = self._bounds_of(self._values[node])
        elif node in self._domains:
            start, extent = (self._bounds_of(end) for end in (self._domains[node].min, self._domains[node].extent))
            found = Bounds(start.min, start.max + max(extent.max, 1) - 1).meet(whole)
        else:
            found = Bounds(0, whole.max) if node in self.extents else of_domain(node, None, self._bounds_of)
        self._bounds[node] = found
        return found

    @deep
    def _polynomial(self, node: tir.PrimExpr) -> _Polynomial:
        """Return a polynomial of sizes that is an upper bound of the absolute value of `node`."""
        found = self._polynomials.get(node)
        if found is None:
            found = self._polynomials[node] = self._polynomial_of(node)
        return found

    def _polynomial_of(self, node: tir.PrimExpr) -> _Polynomial:
        bounds = self._bounds_of(node)
        largest = max(abs(bounds.min), abs(bounds.max))
        if largest <= _SMALL:
            return {(): Fraction(largest)}
        match node:
            case tir.Var() if node in self._values:
                return self._polynomial(self._values[node])
            case tir.Var() if node in self._sizes:
                return {(node,): Fraction(1)}
            case tir.Var() if node in self._domains:
                domain = self._domains[node]
                return _sum(self._polynomial(domain.min), self._polynomial(domain.extent))
            case tir.Sub() if all(self._bounds_of(part).min >= 0 for part in (node.a, node.b)):
                return _larger(self._polynomial(node.a), self._polynomial(node.b))
            case tir.Add() | tir.Sub():
                return _sum(self._polynomial(node.a), self._polynomial(node.b))
            case tir.Mul():
                return _product(self._polynomial(node.a), self._polynomial(node.b))
            case tir.FloorDiv() | tir.Div():
                divisor = node.b.value if isinstance(node.b, tir.IntImm) else 1
                return _sum(_scaled(self._polynomial(node.a), Fraction(1, abs(divisor) or 1)), {(): Fraction(1)})
            case tir.FloorMod():
                return self._polynomial(node.b)
            case tir.Cast() if is_int(node.value.dtype) or is_bool(node.value.dtype):
                return self._polynomial(node.value)
            case tir.Min() | tir.Max():
                return _larger(self._polynomial(node.a), self._polynomial(node.b))
            case tir.Select():
                return _larger(self._polynomial(node.true_value), self._polynomial(node.false_value))
            case tir.Call(args=(_, tir.PrimExpr() as yes, tir.PrimExpr() as no)) if node.op == _IF_THEN_ELSE:
                return _larger(self._polynomial(yes), self._polynomial(no))
            case tir.Ramp(lanes=tir.IntImm(value=lanes)):
                return _sum(self._polynomial(node.base), _scaled(self._polynomial(node.stride), Fraction(lanes)))
            case tir.Broadcast():
                return self._polynomial(node.value)
            case _:
                return {(): Fraction(largest)}


def _sum(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    return {product: a.get(product, Fraction(0)) + b.get(product, Fraction(0)) for product in {**a, **b}}


def _larger(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    """Return a polynomial that is an upper bound of both; variables are not negative."""
    return {product: max(a.get(product, Fraction(0)), b.get(product, Fraction(0))) for product in {**a, **b}}


def _scaled(a: _Polynomial, factor: Fraction) -> _Polynomial:
    return {product: fraction * abs(factor) for product, fraction in a.items()}


def _product(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    result: _Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            product = tuple(sorted((*left, *right), key=lambda var: (var.name, id(var))))
            result[product] = result.get(product, Fraction(0)) + x * y
    return result


def _is_address(node: tir.PrimExpr) -> bool:
    if not isinstance(node, tir.Call) or node.op != _REINTERPRET:
        return False
    return any(isinstance(arg, tir.PrimExpr) and arg.dtype == "handle" for arg in node.args)


def _may_wrap(node: Node) -> TypeGuard[tir.PrimExpr]:
    if not (isinstance(node, _COMPUTED) or (isinstance(node, tir.Call) and node.op == _SHIFT_LEFT)):
        return False
    return parse_dtype(node.dtype).name in _INDEX_DTYPES


# --- Limits of sizes --------------------------------------------------------------------------------------------


def with_limits(func: tir.PrimFunc, limits: Limits) -> tir.PrimFunc:
    """Return `func` with checks at its start that sizes satisfy `limits`; E0703 if they do not."""
    if not limits:
        return func
    known: dict[Product, int] = {}
    for product, most in limits:
        for end in range(1, len(product) + 1):
            largest = most if end == len(product) else _LARGEST if end == 1 else _LARGEST_PRODUCT
            known[product[:end]] = min(known.get(product[:end], largest), largest)
    order = sorted(known.items(), key=lambda limit: (len(limit[0]), [var.name for var in limit[0]]))
    checks = [_check(product, most) for product, most in order if not _is_natural(product, most)]
    return replace(func, body=sequence([*checks, func.body]))


def _is_natural(product: Product, most: int) -> bool:
    """Return whether the limit follows from the dtypes of the sizes."""
    largest = 1
    for var in product:
        largest *= of_dtype(var.dtype).max
    return largest <= most


def _absolute(size: tir.Var) -> tir.PrimExpr:
    value = widen(size)
    return make.maximum(value, make.sub(tir.IntImm("int64", 0), value))


def _check(product: Product, most: int) -> tir.Stmt:
    """Return the check that `product` is at most `most`, if the product of all but its last size is checked
    already.
    """
    *rest, last = map(_absolute, product)
    limit: tir.PrimExpr = tir.IntImm("int64", most)
    if rest:
        others = make.maximum(reduce(make.mul, rest), tir.IntImm("int64", 1))
        limit = make.floordiv(limit, others)
    names = " * ".join(var.name for var in product)
    said = f"{names} is too large for index arithmetic, which may wrap around above {most}"
    args = (make.less_equal(last, limit), tir.StringImm("handle", "E0703"), tir.StringImm("handle", said))
    return tir.Evaluate(tir.Call("int32", _CHECK, args, span=product[-1].span))


def end_of(loop: tir.For) -> tir.PrimExpr:
    """Return the end of `loop`, its minimum plus its extent."""
    if isinstance(loop.min, tir.IntImm) and loop.min.value == 0:
        return loop.extent
    return tir.Add(loop.min.dtype, loop.min, loop.extent)


def limit_sizes(func: tir.PrimFunc) -> tir.PrimFunc | None:
    """Return `func` with checks of sizes under which no index arithmetic wraps around; None if some may wrap in
    any case.
    """
    arithmetic = Arithmetic(func.buffer_map.values())
    limits: Limits = _NONE
    for node in distinct(func.body):
        if isinstance(node, tir.For):
            arithmetic.enter(node)
        elif isinstance(node, tir.LetStmt) and node.var.dtype in _INDEX_DTYPES:
            arithmetic.name(node.var, node.value)
        for part in _index_parts(node):
            found = arithmetic.exact(part)
            if not found.is_whole:
                return None
            limits |= found.limits
    return with_limits(func, limits)


def _index_parts(node: Node) -> tuple[tir.PrimExpr, ...]:
    """Return the parts of `node` that determine which memory is accessed, and whether."""
    match node:
        case tir.For():
            return node.min, node.extent, end_of(node)
        case tir.BufferLoad() | tir.BufferStore():
            return node.indices
        case tir.IfThenElse() | tir.Select():
            return (node.condition,)
        case tir.Call(args=(tir.PrimExpr() as condition, *_)) if node.op == _IF_THEN_ELSE:
            return (condition,)
        case _:
            return ()
