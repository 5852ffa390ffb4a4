"""Parts of long reductions with few results, which would keep few blocks busy. A second kernel combines the parts, so that the result
does not depend on the order of blocks.

Products (split-K):
    C[i, j] += A[i, k] * B[k, j]      →      C_rf[s, i, j] += A[i, s * 2048 + k] * B[s * 2048 + k, j];  C[i, j] += C_rf[s, i, j]

Rows:
    B[i] += A[i, k]                   →      B_rf[i, s] += A[i, s * 8192 + k];  B[i] += B_rf[i, s]
"""

from __future__ import annotations

from contextlib import suppress
from math import ceil, prod

from ....ir import tir
from ....ir.dtype import is_float, parse_dtype
from ...rules.build import constant
from ...rules.nest import Declined, Nest
from ...rules.rules import Division
from ..architectures import ARCHITECTURES, WARP
from ..figures import FIGURES, LAUNCH, Figures
from .columns import choose_columns
from .product import LEAST, NARROW, read_product, tile_for
from .rows import choose_rows

_SIZES = (128, 64, 32)
"""Rows and columns of tiles, largest first."""
_LEAST_DEPTH = 512
"""Minimum length of a part of a product."""
_MOST_PARTS = 64
_LEAST_LENGTH = 4096
"""Minimum number of elements of a part of another reduction."""
_MOST_BLOCKS = 1024
"""Maximum number of parts of another reduction."""
_WAVES = 2
"""Number of blocks for each multiprocessor from which more do not read faster."""
_GAIN, _PRODUCT_GAIN = 0.75, 0.85
"""Time relative to that of one part from which a division pays off."""
_FIGURES = FIGURES["sm_80"]
"""The GPU of the model of other reductions, whatever the target is, so that a schedule text serves all of them."""
_BLOCK_BANDWIDTH = 40e9
"""Bytes per second that a block of 256 threads reads; a block of `block_rows` reaches 42 GB/s on an H200."""


def choose_parts(nest: Nest, arch: str) -> Division | None:
    """Return how a reduction is divided for an architecture ("sm_80"), None if it is not. Declined if it is neither a product nor a reduction of rows or columns, if its
    sizes are not constant, or if float16 or bfloat16 would round its parts.
    """
    if len(nest.reduced) == 1:
        with suppress(Declined):
            return _parts_of_product(nest, figures_for(arch))
    return _parts_of_reduction(nest)


def figures_for(arch: str) -> Figures:
    """Return the figures of an architecture, or of the last one before it that has some. Those of sm_80 are the first, since newer GPUs
    also run the code for the default architecture.
    """
    number = ARCHITECTURES[arch].number
    known = [ARCHITECTURES[name].number for name in FIGURES]
    return FIGURES[f"sm_{max(80, max(other for other in known if other <= max(number, 80)))}"]


def _parts_of_product(nest: Nest, figures: Figures) -> Division | None:
    """A model decides (`product_seconds`)."""
    product = read_product(nest)
    if nest.store.buffer.dtype not in ("float32", "float64"):
        return None
    m, n, k = (constant(size) for size in (product.m, product.n, product.k))
    if m is None or n is None or k is None or product.outer:
        return None
    if min(m, n) < LEAST:
        raise Declined(f"a matrix has fewer than {LEAST} rows or columns")
    parts = chosen_parts(figures, rate_of(figures, product.a.dtype), (m, n, k))
    (place,) = [number for number, axis in enumerate(nest.axes) if axis.is_reduced]
    return Division(place, parts, 0) if parts > 1 else None


def chosen_parts(figures: Figures, rate: int, sizes: tuple[int, int, int]) -> int:
    """Return the number of parts of a product of m × n × k: the fastest one by the model if it is much faster than one part."""
    counts = [1 << bits for bits in range(_MOST_PARTS.bit_length())]
    seconds = {parts: product_seconds(figures, rate, sizes, parts) for parts in counts if _is_part(sizes[2], parts)}
    best = min(seconds, key=lambda parts: seconds[parts])
    return best if seconds[best] < _PRODUCT_GAIN * seconds[1] else 1


def _is_part(k: int, parts: int) -> bool:
    return parts == 1 or (k % parts == 0 and k // parts >= _LEAST_DEPTH)


def rate_of(figures: Figures, dtype: str) -> int:
    """Return the multiply-adds of factors of a dtype that a multiprocessor does in a cycle."""
    return figures.tensor if dtype in NARROW else figures.float64 if dtype == "float64" else figures.float32


def product_seconds(figures: Figures, rate: int, sizes: tuple[int, int, int], parts: int) -> float:
    """Return the seconds of a product of m × n × k in parts by the model: the waves of blocks, times the steps of a block, times the
    cycles of a step for a tile, which computes and copies rows and columns; plus the launch and the memory of the second kernel.
    """
    m, n, k = sizes
    rows, columns = tile_for(m, n, parts, _SIZES)
    blocks = ceil(m / rows) * ceil(n / columns) * parts
    own = (
        ceil(blocks / figures.multiprocessors) * (k // parts) * step_cycles(rate, rows, columns) * 1e-9 / figures.clock
    )
    return own + (LAUNCH + 8 * parts * m * n / (figures.bandwidth * 1e9) if parts > 1 else 0.0)


def step_cycles(rate: int, rows: int, columns: int) -> float:
    """Return the cycles of a step of the sum for a tile."""
    return rows * columns / rate + (rows + columns) / 8


def _parts_of_reduction(nest: Nest) -> Division | None:
    """A model decides: the bytes that are read, by the bandwidth of a block and the number of blocks, plus the launch of the second kernel."""
    count, dtype = len(nest.spatial), nest.store.buffer.dtype
    if any(axis.is_reduced for axis in nest.axes[:count]):
        raise Declined("its outer loops are reduced")
    if is_float(dtype) and dtype not in ("float32", "float64") and not isinstance(nest.store.value, tir.Max | tir.Min):
        raise Declined("its parts would be rounded")
    sizes = [constant(axis.extent) for axis in nest.axes]
    if None in sizes:
        raise Declined("its sizes are not constant")
    results, length = (prod(size or 0 for size in part) for part in (sizes[:count], sizes[count:]))
    try:
        choose_rows([nest], count)
        blocks, is_row = results, True
    except Declined:
        choose_columns(nest)
        blocks, is_row = ceil(results / WARP), False
    read = results * length * sum(parse_dtype(load.dtype).bytes for load in nest.loads())
    first = sizes[count] or 0
    counts = [
        parts
        for parts in range(1, min(first, _MOST_BLOCKS) + 1)
        if first % parts == 0 and (parts == 1 or length // parts >= _LEAST_LENGTH)
    ]
    seconds = {parts: _seconds(read, blocks * parts) + (LAUNCH if parts > 1 else 0) for parts in counts}
    best = min(counts, key=lambda parts: seconds[parts])
    division = Division(count, best, count) if is_row else Division(count, best, 0, is_outermost=True)
    return division if seconds[best] < _GAIN * seconds[1] else None


def _seconds(read: int, blocks: int) -> float:
    return read / (_BLOCK_BANDWIDTH * min(blocks, _WAVES * _FIGURES.multiprocessors))
