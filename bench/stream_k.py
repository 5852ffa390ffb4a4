"""Compare split-K, as default schedules choose it, with an ideal stream-K, by the model of default schedules.

    python bench/stream_k.py

Stream-K (M. Osama et al., 2023) gives each multiprocessor the same number of steps of the sum, so that tiles are divided where a
multiprocessor has done its share, and a second kernel adds the parts. The ideal one has no other costs: its tile is the best of
all sizes, and its loops are as fast as those of a whole tile. Prints, for each GPU, the ratio of the times for square products.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, exp, log
from statistics import mean

from tvms.codegen.gpu.figures import FIGURES, LAUNCH, Figures
from tvms.codegen.gpu.rules.parts import chosen_parts, product_seconds, rate_of, step_cycles

SIZES = [(128 * i, 128 * i, k) for k in (1024, 4096, 16384, 65536) for i in range(1, 33)]
"""Products of 128 × 128 to 4096 × 4096."""
TILES = (128, 64, 32)


def split_seconds(figures: Figures, rate: int, sizes: tuple[int, int, int]) -> float:
    """Return the seconds of the product as default schedules divide it."""
    return product_seconds(figures, rate, sizes, chosen_parts(figures, rate, sizes))


def whole_seconds(figures: Figures, rate: int, sizes: tuple[int, int, int]) -> float:
    """Return the seconds of the product without a division."""
    return product_seconds(figures, rate, sizes, 1)


def stream_seconds(figures: Figures, rate: int, sizes: tuple[int, int, int]) -> float:
    """Return the seconds of an ideal stream-K: each multiprocessor writes at most two parts of tiles, which are read once."""
    m, n, k = sizes

    def seconds(rows: int, columns: int) -> float:
        tiles, processors = ceil(m / rows) * ceil(n / columns), figures.multiprocessors
        own = tiles * k / processors * step_cycles(rate, rows, columns) * 1e-9 / figures.clock
        parts = 0 if tiles % processors == 0 else 2 * processors
        return own + (LAUNCH + 8 * parts * rows * columns / (figures.bandwidth * 1e9) if parts else 0.0)

    return min(min(seconds(rows, columns) for rows in TILES for columns in TILES), whole_seconds(figures, rate, sizes))


def rows() -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| GPU | factors | whole / stream-K | split-K / stream-K | stream-K is 1.33 × as fast as split-K |"
    yield "|---|---|---:|---:|---:|"
    for name in ("sm_80", "sm_86", "sm_89", "sm_90"):
        figures = FIGURES[name]
        for dtype in ("float32", "float16"):
            rate = rate_of(figures, dtype)
            best = [stream_seconds(figures, rate, sizes) for sizes in SIZES]
            whole, split = (
                [seconds(figures, rate, sizes) / least for sizes, least in zip(SIZES, best, strict=True)]
                for seconds in (whole_seconds, split_seconds)
            )
            share = sum(ratio > 4 / 3 for ratio in split)
            means = [f"{exp(mean(map(log, ratios))):.2f} (at most {max(ratios):.2f})" for ratios in (whole, split)]
            yield f"| {figures.gpu} | {dtype} | {' | '.join(means)} | {share} of {len(SIZES)} |"


if __name__ == "__main__":
    print("\n".join(rows()))
