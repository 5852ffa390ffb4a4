"""Vectors: rules for ramps and broadcasts of scalars in normal form."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from .. import tir
from ..dtype import is_index, is_int
from .core import Simplifier
from .patterns import Bindings, Row, broadcast, c, d, lanes, maximum, minimum, ramp, value_of, x, y, z, zero


def _steps(s: Simplifier, at: Bindings) -> tuple[int, int]:
    """Return the minimum and maximum difference between an element of a ramp with constant stride `c` and its base."""
    last = s.bounds(at["lanes"]).max - 1
    return min(0, value_of(at, "c") * last), max(0, value_of(at, "c") * last)


def _is_whole(s: Simplifier, at: Bindings) -> bool:
    return is_int(at["y"].dtype)


def _divides(s: Simplifier, at: Bindings) -> bool:
    """Return whether `(x + lane * c) // d` has the stride `c // d`."""
    return value_of(at, "d") > 0 and value_of(at, "c") % value_of(at, "d") == 0 and is_index(at["x"].dtype)


def _stays(s: Simplifier, at: Bindings) -> bool:
    """Return whether all elements of the ramp lie between the same two multiples of `d`."""
    divisor, (least, most) = value_of(at, "d"), _steps(s, at)
    if divisor <= 0 or not is_index(at["x"].dtype):
        return False
    residue = s.residue(at["x"])
    step = gcd(residue.coeff, divisor)
    base = residue.base % step
    if base + least >= 0 and base + most < step:
        return True
    bounds = s.bounds(at["x"])
    return (bounds.min + least) // divisor == (bounds.max + most) // divisor


def _reduces(s: Simplifier, at: Bindings) -> bool:
    """Return whether the base or the stride contains multiples of `d`, which do not change the remainder."""
    divisor = value_of(at, "d")
    if divisor <= 0 or not is_index(at["x"].dtype):
        return False
    multiple = s.residue(at["x"]).coeff % divisor == 0 and not isinstance(at["x"], tir.IntImm)
    return multiple or not 0 <= value_of(at, "c") < divisor


def _below(s: Simplifier, at: Bindings) -> bool:
    most = s.exact(at["x"]).plus(s.exact(at["y"]), -1).shifted(_steps(s, at)[1])
    return is_index(at["x"].dtype) and s.at_most(most, -1)


def _not_below(s: Simplifier, at: Bindings) -> bool:
    least = s.exact(at["y"]).plus(s.exact(at["x"]), -1).shifted(-_steps(s, at)[0])
    return is_index(at["x"].dtype) and s.at_most(least)


def _not_above(s: Simplifier, at: Bindings) -> bool:
    most = s.exact(at["x"]).plus(s.exact(at["y"]), -1).shifted(_steps(s, at)[1])
    return is_index(at["x"].dtype) and s.at_most(most)


ROWS: dict[type[tir.PrimExpr], Sequence[Row]] = {
    tir.Ramp: (Row(ramp(x, zero, lanes), broadcast(x, lanes)),),
    tir.Add: (
        Row(ramp(x, y, lanes) + ramp(z, c, lanes), ramp(x + z, y + c, lanes)),
        Row(ramp(x, y, lanes) + broadcast(z, lanes), ramp(x + z, y, lanes)),
    ),
    tir.Sub: (
        Row(ramp(x, y, lanes) - ramp(z, c, lanes), ramp(x - z, y - c, lanes)),
        Row(ramp(x, y, lanes) - broadcast(z, lanes), ramp(x - z, y, lanes)),
        Row(broadcast(z, lanes) - ramp(x, y, lanes), ramp(z - x, zero - y, lanes)),
    ),
    tir.Mul: (Row(ramp(x, y, lanes) * broadcast(z, lanes), ramp(x * z, y * z, lanes)),),
    tir.FloorDiv: (
        Row(ramp(x, c, lanes) // broadcast(d, lanes), ramp(x // d, c // d, lanes), _divides),
        Row(ramp(x, c, lanes) // broadcast(d, lanes), broadcast(x // d, lanes), _stays),
    ),
    tir.FloorMod: (
        Row(ramp(x, c, lanes) % broadcast(d, lanes), broadcast(x % d, lanes), _divides),
        Row(ramp(x, c, lanes) % broadcast(d, lanes), ramp(x % d, c, lanes), _stays),
        Row(ramp(x, c, lanes) % broadcast(d, lanes), ramp(x % d, c % d, lanes) % broadcast(d, lanes), _reduces),
    ),
    tir.LT: (
        Row(ramp(x, c, lanes) < broadcast(y, lanes), broadcast(x < y, lanes), _below),
        Row(ramp(x, c, lanes) < broadcast(y, lanes), broadcast(x < y, lanes), _not_below),
    ),
    tir.Min: (
        Row(minimum(x, x), x),
        Row(
            minimum(minimum(x, broadcast(y, lanes)), broadcast(z, lanes)),
            minimum(x, broadcast(minimum(y, z), lanes)),
            _is_whole,
        ),
        Row(minimum(ramp(x, c, lanes), broadcast(y, lanes)), ramp(x, c, lanes), _not_above),
        Row(minimum(ramp(x, c, lanes), broadcast(y, lanes)), broadcast(y, lanes), _not_below),
    ),
    tir.Max: (
        Row(maximum(x, x), x),
        Row(
            maximum(maximum(x, broadcast(y, lanes)), broadcast(z, lanes)),
            maximum(x, broadcast(maximum(y, z), lanes)),
            _is_whole,
        ),
        Row(maximum(ramp(x, c, lanes), broadcast(y, lanes)), broadcast(y, lanes), _not_above),
        Row(maximum(ramp(x, c, lanes), broadcast(y, lanes)), ramp(x, c, lanes), _not_below),
    ),
}
"""Rules by operator. All vectors of a row have the same lanes; `elementwise` handles two broadcasts."""
