"""The random numbers of sampling primitives: the same on every machine, and forkable."""

from __future__ import annotations

import time

_MULTIPLIER, _MODULUS = 48271, (1 << 31) - 1


class Random:
    """The minimal standard generator of Park and Miller, as TVM's `LinearCongruentialEngine`."""

    def __init__(self, seed: int | None = None) -> None:
        seed = time.time_ns() if seed is None or seed == -1 else seed
        self.state = seed % _MODULUS or 1

    def next(self) -> int:
        """Return a number from 1 to 2³¹ - 2."""
        self.state = self.state * _MULTIPLIER % _MODULUS
        return self.state

    def below(self, count: int) -> int:
        """Return a number from 0 to `count` - 1."""
        return self.next() % count

    def fork(self) -> int:
        """Return the seed of another generator."""
        return self.next() * 32767 % 1999999973
