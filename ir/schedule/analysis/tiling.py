"""Random tiles of loops: factors whose product is the extent. Every distribution of its primes is equally likely.

TVM: `SamplePerfectTile`, with the same decisions for the same seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isqrt

from ... import tir
from ..conditions import ARGUMENT, Refused
from ..random import Random


def constant_extent(loop: tir.For) -> int | None:
    """Return the extent of a loop; None if it is not constant, or not positive."""
    return loop.extent.value if isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0 else None


def perfect_tile(random: Random, extent: int, n: int) -> list[int]:
    """Return `n` random factors whose product is `extent`."""
    if n == 1:
        return [extent]
    factors = [1] * n
    for prime, count in prime_factors(extent):
        if n == 2:
            left = random.below(count + 1)
            shares = [left, count - left]
        elif count == 1:
            shares = [0] * n
            shares[random.below(n)] = 1
        else:
            bars = sorted(_distinct(random, count + n - 1, n - 1))
            shares = [after - before - 1 for before, after in pairwise((-1, *bars, count + n - 1))]
        factors = [factor * prime**share for factor, share in zip(factors, shares, strict=True)]
    return factors


def prime_factors(number: int) -> Iterator[tuple[int, int]]:
    """Yield the prime factors of `number` in ascending order, with their multiplicities."""
    prime = 2
    while number > 1:
        if prime > isqrt(number):
            prime = number
        count = 0
        while number % prime == 0:
            number //= prime
            count += 1
        if count:
            yield prime, count
        prime += 1


def _distinct(random: Random, n: int, count: int) -> list[int]:
    """Return `count` different random numbers below `n`, at least two of them."""
    if count == 2:
        first, second = random.below(n), random.below(n - 1)
        return [first, second + (second >= first)]
    order = list(range(n))
    for index in range(count):
        other = index + random.below(n - index)
        order[index], order[other] = order[other], order[index]
    return order[:count]


def refitted(decision: Sequence[int], extent: int) -> list[int]:
    """Return the factors of an earlier decision, adapted if the extent of the loop has changed."""
    factors = list(decision)
    for index in range(len(factors) - 1, 0, -1):
        if extent % factors[index]:
            factors[index] = extent
        extent //= factors[index]
    return [extent, *factors[1:]]


def check_count(n: int) -> None:
    """Refuse a number of factors less than 1 (E0501)."""
    if n < 1:
        raise ARGUMENT.refuse(f"expected at least one factor, got {n}", argument="n", help="give a larger 'n'")


def check_decision(decision: Sequence[int], n: int) -> None:
    """Refuse a decision that does not consist of `n` positive factors (E0501)."""
    if len(decision) != n or any(factor < 1 for factor in decision[1:]):
        raise wrong_decision(f"{n} factors, all but the first of them positive", decision)


def wrong_decision(expected: str, decision: object) -> Refused:
    """Return the refusal of an invalid decision (E0501)."""
    shown = list(decision) if isinstance(decision, tuple) else decision  # type: ignore[reportUnknownArgumentType]
    help = "leave it out to get a new one"
    return ARGUMENT.refuse(f"invalid decision: expected {expected}, got {shown}", argument="decision", help=help)
