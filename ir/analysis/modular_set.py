"""Modular sets: the residue class of an integer expression (TVM: `arith.ModularSet`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd
from typing import Any, TypeAlias

from msgspec import Struct

from .. import tir
from ..base import Op
from ..deep import deep
from ..dtype import parse_dtype
from ..visit import substitute
from .const_bounds import of_dtype


class ModularSet(Struct, frozen=True):
    """The integers `coeff * k + base`; `coeff` 0 means the single integer `base`, 1 means all integers."""

    coeff: int
    base: int

    def plus(self, other: ModularSet, factor: int = 1) -> ModularSet:
        """Return the set of the sums of an element of this set and `factor` times one of `other`."""
        return modular(gcd(self.coeff, other.coeff * factor), self.base + other.base * factor)

    def join(self, other: ModularSet) -> ModularSet:
        """Return the smallest set that contains both."""
        return modular(gcd(self.coeff, other.coeff, abs(self.base - other.base)), self.base)

    def meet(self, other: ModularSet) -> ModularSet:
        """Return the intersection, by the Chinese remainder theorem. If it is empty, or one set is a single integer, return
        the single integer or else this set.
        """
        step = gcd(self.coeff, other.coeff)
        if not self.coeff or not other.coeff or (other.base - self.base) % step:
            return other if other.coeff == 0 else self
        modulus = other.coeff // step
        steps = (other.base - self.base) // step * pow(self.coeff // step, -1, modulus) if modulus > 1 else 0
        return modular(self.coeff * modulus, self.base + self.coeff * steps)

    def excludes(self, value: int) -> bool:
        """Whether `value` is not in the set."""
        return value != self.base if self.coeff == 0 else (value - self.base) % self.coeff != 0


ModularOf: TypeAlias = Callable[[tir.PrimExpr], ModularSet]


def modular(coeff: int, base: int) -> ModularSet:
    """Return the set with `base` in normal form, `0 <= base < coeff`."""
    return ModularSet(coeff, base % coeff if coeff else base)


EVERY = ModularSet(1, 0)


@deep
def modular_set(expr: tir.PrimExpr, known: Mapping[tir.Var, ModularSet] | None = None) -> ModularSet:
    """Return the modular set of an integer expression, given the modular sets `known` of variables."""
    memo: dict[tir.PrimExpr, ModularSet] = {**dict(known or {})}

    def of(node: tir.PrimExpr) -> ModularSet:
        found = memo.get(node)
        if found is None:
            found = memo[node] = modular_of(node, of)
        return found

    return of(expr)


def modular_of(expr: tir.PrimExpr, of: ModularOf) -> ModularSet:
    """Return the modular set of `expr` from those of its operands."""
    if isinstance(expr, tir.IntImm):
        return ModularSet(0, expr.value)
    rule = _RULES.get(type(expr))
    if rule is None:
        return EVERY
    found = rule(expr, of)
    if expr.dtype in ("int32", "int64"):
        return found
    if found.coeff == 0 and of_dtype(expr.dtype).contains(found.base):
        return found
    width = 1 << parse_dtype(expr.dtype).bits  # wrap-around preserves remainders by powers of two only
    return modular(gcd(found.coeff, width), found.base)


def _product(a: ModularSet, b: ModularSet) -> ModularSet:
    return modular(gcd(a.coeff * b.coeff, a.coeff * b.base, b.coeff * a.base), a.base * b.base)


def _quotient(expr: tir.FloorDiv, of: ModularOf) -> ModularSet:
    a, b = of(expr.a), of(expr.b)
    if b.coeff or not b.base or a.coeff % b.base:
        return EVERY
    return modular(abs(a.coeff // b.base), a.base // b.base)


def _remainder(expr: tir.FloorMod, of: ModularOf) -> ModularSet:
    a, b = of(expr.a), of(expr.b)
    if b.coeff or not b.base:
        return EVERY
    if a.coeff and a.coeff % b.base == 0:
        return ModularSet(0, a.base % b.base)
    return modular(gcd(a.coeff, b.base), a.base) if a.coeff else ModularSet(0, a.base % b.base)


def _call(expr: tir.Call, of: ModularOf) -> ModularSet:
    match expr:
        case tir.Call(op=Op(name="tir.if_then_else"), args=(_, tir.PrimExpr() as yes, tir.PrimExpr() as no)):
            return of(yes).join(of(no))
        case tir.Call(op=Op(name="tir.shift_left"), args=(tir.PrimExpr() as a, tir.IntImm(value=by))) if 0 <= by < 64:
            return _product(of(a), ModularSet(0, 1 << by))
        case _:
            return EVERY


def _cast(expr: tir.Cast, of: ModularOf) -> ModularSet:
    source, target = parse_dtype(expr.value.dtype), parse_dtype(expr.dtype)
    same = source.code == target.code and source.bits <= target.bits
    widens = source.code == "uint" and target.code == "int" and source.bits < target.bits
    return of(expr.value) if same or widens else EVERY


_RULES: dict[type[tir.PrimExpr], Callable[[Any, ModularOf], ModularSet]] = {
    tir.Add: lambda e, of: of(e.a).plus(of(e.b)),
    tir.Sub: lambda e, of: of(e.a).plus(of(e.b), -1),
    tir.Mul: lambda e, of: _product(of(e.a), of(e.b)),
    tir.FloorDiv: _quotient,
    tir.FloorMod: _remainder,
    tir.Min: lambda e, of: of(e.a).join(of(e.b)),
    tir.Max: lambda e, of: of(e.a).join(of(e.b)),
    tir.Select: lambda e, of: of(e.true_value).join(of(e.false_value)),
    tir.Cast: _cast,
    tir.Broadcast: lambda e, of: of(e.value),
    tir.Let: lambda e, of: of(substitute(e.body, {e.var: e.value})),
    tir.Call: _call,
}  # fmt: skip
