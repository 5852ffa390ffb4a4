"""Random numbers of sampling primitives: equal on every machine, and forkable."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

_MULTIPLIER, _MODULUS = 48271, (1 << 31) - 1
_BELOW_ONE = 1 - 2**-53


class Random:
    """Park and Miller's minimal standard generator, as TVM's `LinearCongruentialEngine`.

    Numbers are drawn as in the GNU C++ library, so that a seed gives the same choices as in TVM's own builds.
    """

    def __init__(self, seed: int | None = None) -> None:
        seed = time.time_ns() if seed is None or seed == -1 else seed
        self.state = seed % _MODULUS or 1

    def next(self) -> int:
        """Return a number from 1 to 2³¹ - 2."""
        self.state = self.state * _MULTIPLIER % _MODULUS
        return self.state

    def below(self, count: int) -> int:
        """Return a uniformly distributed number from 0 to `count` - 1 (C++: `uniform_int_distribution`)."""
        if count == 1:
            return 0
        share = (_MODULUS - 1) // count
        drawn = self.next()
        while drawn >= count * share:
            drawn = self.next()
        return drawn // share

    def weighted(self, weights: Sequence[float]) -> int:
        """Return a random index into `weights`, weighted by them (C++: `discrete_distribution`)."""
        if len(weights) == 1:
            return 0
        total = sum(weights)
        sums = [*accumulate([weight / total for weight in weights])][:-1]
        low, high = self.next(), self.next()
        fraction = (low + high * float(_MODULUS)) / float(_MODULUS) / float(_MODULUS)
        return bisect_left(sums, min(fraction, _BELOW_ONE))

    def fork(self) -> int:
        """Return the seed for another generator."""
        return self.next() * 32767 % 1999999973
