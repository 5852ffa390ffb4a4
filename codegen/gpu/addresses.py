"""Addresses of the threads of several blocks at once, as arrays of NumPy, and the sectors and lines of caches that they touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...ir import tir
from ...ir.analysis.evaluate import evaluate
from .architectures import WARP
from .evaluate_all import Values, evaluate_all
from .kernel import Kernel
from .transactions import SECTOR_BYTES, requests_of
from .work import Access

LINE_BYTES = 128
"""Bytes that the L1 cache and shared memory serve in a cycle."""
_WAVE, _WINDOW = 64, 8
"""Blocks and iterations of the innermost loop whose addresses are compared."""


class Traffic:
    """What the accesses of a kernel touch, from the addresses of up to 64 blocks that run together. `values` are those of all variables
    that no loop defines, `definitions` the statements that define others, and `together` is the number of blocks that run together.
    """

    def __init__(
        self, kernel: Kernel, values: Mapping[tir.Var, int], definitions: Sequence[tir.LetStmt], together: int
    ) -> None:
        self._kernel, self._values, self._definitions = kernel, values, definitions
        self._wave = np.arange(min(together, _WAVE))
        self._threads = self._places()

    def lines(self, access: Access, addresses: Values | None) -> int:
        """Return the number of lines of the L1 cache that the first warp accesses."""
        if addresses is None:
            return WARP
        first = addresses[0, :WARP, 0]
        return sum(
            np.unique([(first + offset + end) // LINE_BYTES for end in (0, width - 1)]).size
            for offset, width in self._requests(access)
        )

    def _requests(self, access: Access) -> list[tuple[int, int]]:
        """Return the offset in bytes and the number of bytes of all accesses that a thread makes at once."""
        return [(offset * access.place.size, width) for offset, width in requests_of(access.place)]

    def of_block(self, access: Access, addresses: Values | None, warps: int, cache: float) -> tuple[float, float]:
        """Return the bytes that a block gets from the L2 cache, and the share of them that no other block of a wave gets too."""
        raw = access.count * SECTOR_BYTES * access.times * warps
        if addresses is None or not addresses.size:
            return raw, 1.0
        steps, flat = addresses.shape[2], addresses.reshape(len(addresses), -1)
        parts = [
            (flat + offset + end) // SECTOR_BYTES for offset, width in self._requests(access) for end in (0, width - 1)
        ]
        sectors = np.concatenate(parts, axis=1)
        own = np.mean([np.unique(row).size for row in sectors])
        share = np.unique(sectors).size / (own * len(sectors))
        of_window = float(own) * SECTOR_BYTES
        if access.place.is_write or of_window > cache:
            return raw, float(share)
        return min(raw, of_window * access.times / steps), float(share)

    def addresses(self, access: Access) -> Values | None:
        """Return the addresses relative to the buffer of the threads of some blocks in some iterations, an array of blocks × threads ×
        iterations; None if they are unknown.
        """
        steps = min(access.loops[-1][1], _WINDOW) if access.loops else 1
        values = dict(self._threads)
        for loop, count in access.loops:
            values[loop.loop_var] = np.asarray(count // 2, np.int64)
        if access.loops:
            loop, count = access.loops[-1]
            first = evaluate(loop.min, self._values) or 0
            values[loop.loop_var] = (first + np.arange(steps))[None, None, :]
        for definition in self._definitions:
            found = evaluate_all(definition.value, values)
            if found is None:
                values.pop(definition.var, None)
            else:
                values[definition.var] = found
        index = evaluate_all(access.place.base, values)
        if index is None:
            return None
        return np.broadcast_to(index * access.place.size, (self._wave.size, self._kernel.thread_count, steps))

    def _places(self) -> dict[tir.Var, Values]:
        """Return the values of all variables in the threads of some blocks that run together: arrays of blocks × threads × 1."""
        found: dict[tir.Var, Values] = {var: np.asarray(value, np.int64) for var, value in self._values.items()}
        for axes, rest, shape in (
            (self._kernel.blocks, self._wave, (-1, 1, 1)), (self._kernel.threads, np.arange(self._kernel.thread_count), (1, -1, 1)),
        ):  # fmt: skip
            for axis in reversed(axes):
                extent = evaluate(axis.extent, self._values) or 1
                found[axis.var], rest = (rest % extent).reshape(shape), rest // extent
        return found
