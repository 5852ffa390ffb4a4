"""Symbolic dimensions as polynomials over their variables: proofs of equality and inequality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import gcd
from typing import TypeAlias

from .. import tir
from ..idioms import is_one as is_one

Dims: TypeAlias = tuple[tir.PrimExpr, ...]
_Monomial: TypeAlias = tuple[int, ...]
_Polynomial: TypeAlias = dict[_Monomial, int]


class _Atoms:
    """The subexpressions that are neither sums nor products, numbered by structure."""

    def __init__(self) -> None:
        self.nodes: list[tir.PrimExpr] = []
        self._numbers: dict[object, int] = {}

    def number(self, node: tir.PrimExpr) -> int:
        number = self._numbers.setdefault(key_of(node), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number


def key_of(node: tir.PrimExpr) -> object:
    """Return a key that is the same for structurally equal expressions of shapes."""
    match node:
        case tir.Var():
            return node
        case tir.IntImm():
            return node.value
        case tir.BinaryOp():
            return type(node), key_of(node.a), key_of(node.b)
        case tir.Cast():
            return tir.Cast, node.dtype, key_of(node.value)
        case tir.Call():
            return node.op, tuple(key_of(arg) if isinstance(arg, tir.PrimExpr) else arg for arg in node.args)
        case _:
            return node


def _polynomial(node: tir.PrimExpr, atoms: _Atoms) -> _Polynomial:
    match node:
        case tir.IntImm():
            return {(): node.value} if node.value else {}
        case tir.Add() | tir.Sub():
            sign = 1 if isinstance(node, tir.Add) else -1
            result = dict(_polynomial(node.a, atoms))
            for monomial, factor in _polynomial(node.b, atoms).items():
                result[monomial] = result.get(monomial, 0) + sign * factor
            return {monomial: factor for monomial, factor in result.items() if factor}
        case tir.Mul():
            return _product(_polynomial(node.a, atoms), _polynomial(node.b, atoms))
        case tir.Cast(dtype="int64", value=tir.IntImm() | tir.PrimExpr(dtype="int64") as value):
            return _polynomial(value, atoms)
        case _:
            return {(atoms.number(node),): 1}


def _product(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    result: _Polynomial = {}
    for left, factor in a.items():
        for right, other in b.items():
            monomial = tuple(sorted(left + right))
            result[monomial] = result.get(monomial, 0) + factor * other
    return {monomial: factor for monomial, factor in result.items() if factor}


def _difference(a: tir.PrimExpr, b: tir.PrimExpr) -> int | None:
    """Return `a - b` if it is constant, else None."""
    difference = _polynomial(tir.Sub("int64", a, b), _Atoms())
    return difference.get((), 0) if all(monomial == () for monomial in difference) else None


def is_equal(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Return whether `a` and `b` are proven equal."""
    return a is b or _difference(a, b) == 0


def is_different(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Return whether `a` and `b` are proven different."""
    return _difference(a, b) not in (0, None)


def is_greater(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Return whether `a` is proven greater than `b`."""
    return (_difference(a, b) or 0) > 0


def least(a: tir.PrimExpr) -> int | None:
    """Return a lower bound of `a` if all variables in it are sizes, which are not negative; None if there is none."""
    atoms = _Atoms()
    polynomial = _polynomial(a, atoms)
    if any(factor < 0 for monomial, factor in polynomial.items() if monomial):
        return None
    used = {number for monomial in polynomial for number in monomial}
    return polynomial.get((), 0) if all(isinstance(atoms.nodes[number], tir.Var) for number in used) else None


def value_of(dim: tir.PrimExpr) -> int | None:
    """Return the value of `dim`, or None if it is symbolic."""
    return dim.value if isinstance(dim, tir.IntImm) else None


def dim(value: int) -> tir.PrimExpr:
    return tir.IntImm("int64", value)


def simplify(node: tir.PrimExpr) -> tir.PrimExpr:
    """Return `node` with like terms collected and constants folded; in sums, subtracted terms come last."""
    match node:
        case tir.FloorDiv():
            return _floordiv(simplify(node.a), simplify(node.b))
        case tir.Max() | tir.Min():
            return _extremum(node, simplify(node.a), simplify(node.b))
        case _:
            atoms = _Atoms()
            return _render(_polynomial(_with_simple_atoms(node), atoms), atoms)


def _render(polynomial: _Polynomial, atoms: _Atoms) -> tir.PrimExpr:
    """Return a polynomial as an expression: added terms, the constant, subtracted terms."""
    terms = sorted(polynomial.items(), key=lambda term: (term[1] < 0, term[0] == ()))
    if not terms:
        return dim(0)
    (monomial, factor), *rest = terms
    if monomial and factor == -1:
        return _render_rest(dim(0), terms, atoms)
    return _render_rest(_term(monomial, factor, atoms), rest, atoms)


def _render_rest(start: tir.PrimExpr, terms: list[tuple[_Monomial, int]], atoms: _Atoms) -> tir.PrimExpr:
    result = start
    for monomial, factor in terms:
        result = (tir.Add if factor > 0 else tir.Sub)("int64", result, _term(monomial, abs(factor), atoms))
    return result


def _term(monomial: _Monomial, factor: int, atoms: _Atoms) -> tir.PrimExpr:
    factors = [atoms.nodes[number] for number in monomial]
    if factor != 1 or not factors:
        factors.append(dim(factor))
    return reduce(lambda a, b: tir.Mul("int64", a, b), factors)


def _with_simple_atoms(node: tir.PrimExpr) -> tir.PrimExpr:
    match node:
        case tir.Add() | tir.Sub() | tir.Mul():
            return type(node)("int64", _with_simple_atoms(node.a), _with_simple_atoms(node.b))
        case tir.FloorDiv() | tir.Max() | tir.Min():
            return simplify(node)
        case _:
            return node


def _floordiv(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return the quotient with common factors cancelled, after splitting off the terms that a constant divisor divides."""
    left, right = value_of(a), value_of(b)
    if left is not None and right:
        return dim(left // right)
    atoms = _Atoms()
    dividend, divisor = _polynomial(a, atoms), _polynomial(b, atoms)
    if len(divisor) != 1:
        return tir.FloorDiv("int64", a, b)
    ((monomial, factor),) = divisor.items()
    common = Counter(monomial)
    for term in dividend:
        common &= Counter(term)
    scale = gcd(factor, *dividend.values())
    dividend = {_without(term, common): coefficient // scale for term, coefficient in dividend.items()}
    monomial, factor = _without(monomial, common), factor // scale
    whole = {} if monomial else {term: number // factor for term, number in dividend.items() if number % factor == 0}
    part = {term: number for term, number in dividend.items() if term not in whole}
    if not monomial and [*part] == [()]:
        whole |= {(): part[()] // factor} if part[()] // factor else {}
    elif part:
        quotient = tir.FloorDiv("int64", _render(part, atoms), _term(monomial, factor, atoms))
        whole[(atoms.number(quotient),)] = 1
    return _render(whole, atoms)


def _without(monomial: _Monomial, factors: Counter[int]) -> _Monomial:
    return tuple(sorted((Counter(monomial) - factors).elements()))


def _extremum(node: tir.Max | tir.Min, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    difference = _difference(a, b)
    if difference is None:
        return type(node)("int64", a, b)
    return a if (difference >= 0) == isinstance(node, tir.Max) else b


def add(a: tir.PrimExpr, b: tir.PrimExpr | int) -> tir.PrimExpr:
    """Return `a + b`, simplified."""
    return simplify(tir.Add("int64", a, as_dim(b)))


def written_sum(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return `a + b` with the terms in this order, as TVM writes the size of joined tensors; like terms are collected."""
    atoms, written = _Atoms(), tir.Add("int64", a, b)
    count = len(_polynomial(a, atoms)) + len(_polynomial(b, atoms))
    return (
        written
        if 0 not in (value_of(a), value_of(b)) and len(_polynomial(written, atoms)) == count
        else simplify(written)
    )


def written_product(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return `a * b` with the factors in this order, as TVM writes it; numbers are multiplied, and 0 and 1 vanish."""
    known = value_of(a), value_of(b)
    return simplify(tir.Mul("int64", a, b)) if None not in known or {0, 1} & {*known} else tir.Mul("int64", a, b)


def subtract(a: tir.PrimExpr, b: tir.PrimExpr | int) -> tir.PrimExpr:
    """Return `a - b`, simplified."""
    return simplify(tir.Sub("int64", a, as_dim(b)))


def multiply(a: tir.PrimExpr, b: tir.PrimExpr | int) -> tir.PrimExpr:
    """Return `a * b`, simplified."""
    return simplify(tir.Mul("int64", a, as_dim(b)))


def floordiv(a: tir.PrimExpr, b: tir.PrimExpr | int) -> tir.PrimExpr:
    """Return `a // b`, simplified."""
    return _floordiv(simplify(a), simplify(as_dim(b)))


def ceildiv(a: tir.PrimExpr, b: int) -> tir.PrimExpr:
    """Return `a / b` rounded up, simplified."""
    return floordiv(add(a, b - 1), b)


def minimum(a: tir.PrimExpr, b: tir.PrimExpr | int) -> tir.PrimExpr:
    return simplify(tir.Min("int64", a, as_dim(b)))


def maximum(a: tir.PrimExpr, b: tir.PrimExpr | int) -> tir.PrimExpr:
    return simplify(tir.Max("int64", a, as_dim(b)))


def size(length: tir.PrimExpr) -> tir.PrimExpr:
    """Return `max(length, 0)`, or the length if it is not negative because it is a sum or a minimum of sizes."""
    terms = (length.a, length.b) if isinstance(length, tir.Min) else (length,)
    bounds = [least(term) for term in terms]
    return length if all(bound is not None and bound >= 0 for bound in bounds) else maximum(length, 0)


def product(dims: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the number of elements of a tensor of shape `dims`."""
    return reduce(multiply, dims, dim(1))


def split_factor(a: tir.PrimExpr) -> tuple[object, tir.PrimExpr, int]:
    """Return `key, unit, factor` with `a == unit * factor`, where `factor` is the greatest common divisor of the coefficients of `a`
    and equal units have equal keys.
    """
    atoms = _Atoms()
    polynomial = _polynomial(_with_simple_atoms(a), atoms)
    factor = gcd(*polynomial.values()) or 1
    unit = {monomial: value // factor for monomial, value in polynomial.items()}
    keys = [key_of(node) for node in atoms.nodes]
    key = frozenset((frozenset(Counter(keys[n] for n in monomial).items()), value) for monomial, value in unit.items())
    return key, _render(unit, atoms), factor


def is_multiple(a: tir.PrimExpr, by: int) -> bool:
    """Return whether `a` is known to be a multiple of `by`."""
    known = value_of(a)
    return (split_factor(a)[2] if known is None else known) % by == 0


def as_dim(value: tir.PrimExpr | int) -> tir.PrimExpr:
    """Return a dimension, which may be given as an int."""
    return dim(value) if isinstance(value, int) else value


def show(dims: Dims) -> str:
    """Return `dims` in the form of messages: (n, 128)."""
    return f"({', '.join(map(show_one, dims))}{',' if len(dims) == 1 else ''})"


def show_one(dim: tir.PrimExpr) -> str:
    """Return a dimension in the form of messages."""
    from ..script import script

    match dim:
        case tir.IntImm():
            return str(dim.value)
        case tir.Var():
            return dim.name
        case _:
            return script(dim, "tvms")
