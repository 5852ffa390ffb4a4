"""Tile sizes of matrix products, from the sizes of registers and caches (Goto & van de Geijn, "Anatomy of
High-Performance Matrix Multiplication", 2008; Van Zee & van de Geijn, "BLIS", 2015).

- `rows` × `vectors` accumulators stay in registers for `depth` steps of the sum;
- for many rows, `panels` panels of B, each `depth` × `vectors` wide, stay in the L2 cache, and are combined with
  one tile of A at a time, `rows` × `depth`, in the L1 cache;
- for few rows, all tiles of A stay in the L2 cache, and are combined with one panel of B at a time in the L1 cache.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...ir.schedule.conditions import KNOB
from ...ir.schedule.declaration import Knob
from ..machine import Machine
from .build import Index, constant

AHEAD = 8
"""Prefetch distance for B (L2 → L1), in steps of k."""
DEPTH = 384
"""Maximum number of steps of the sum between two loads of an accumulator."""
SHALLOW = 256
"""Minimum of that number, if there are more steps: with fewer, the loads cost more than the L1 cache saves."""
FEW_TILES = 16
"""Maximum number of row tiles for which each panel of B is packed just before its use."""
MOST_VECTORS = 8
ENOUGH = 0.92
"""Fraction from which on tiles count as full."""
NEAR_COLUMNS = 192
"""Number of columns to gather at a time: enough to reuse the packed factor, few enough to stay in the cache."""
LEAST_COLUMNS = 64
"""Number of columns to gather at a time, even if they do not stay in the cache: with fewer, the packed factor is read too
often.
"""


class Tiles(Struct, frozen=True):
    """The tile sizes of a product; `lanes` is the number of elements of a vector."""

    lanes: int
    rows: int
    vectors: int
    depth: int
    panels: int
    """Number of panels of B in the L2 cache; 0 for few rows."""

    @property
    def columns(self) -> int:
        """Return the number of columns of a tile."""
        return self.vectors * self.lanes

    @property
    def knobs(self) -> dict[str, Any]:
        """Return the sizes as arguments of steps."""
        sizes = {"lanes": self.lanes, "rows": self.rows, "columns": self.columns, "depth": self.depth}
        return {**sizes, "panels": self.panels} if self.panels else sizes


TILE_KNOBS = {
    "lanes": Knob("the number of elements of a vector", 2, 64, is_power=True),
    "rows": Knob("the number of rows of a register tile", 1, 64),
    "columns": Knob("the number of columns of a register tile, a multiple of lanes", 1, 1024),
    "depth": Knob("the number of steps of the sum between two loads of an accumulator", 1, 1 << 16),
    "panels": Knob("the number of panels of B in the L2 cache; 0 packs each panel just before its use", 0, 1 << 16),
    "prefetch": Knob("the prefetch distance for B (L2 → L1), in steps of k; 0 for none", 0, 1024),
}
"""The knobs of products."""


def tiles_of(lanes: int, rows: int, columns: int, depth: int, panels: int, name: str = "columns") -> Tiles:
    """Return the sizes as given; refused if a tile does not consist of whole vectors, for the argument `name`."""
    if columns % lanes:
        reason = f"expected a multiple of lanes, {lanes}, got {columns}"
        raise KNOB.refuse(reason, help="a tile consists of whole vectors", argument=name)
    return Tiles(lanes, rows, columns // lanes, depth, panels)


def choose_tiles(m: Index, n: Index, k: Index, element_bytes: int, machine: Machine, width: int = 0) -> Tiles:
    """Choose the tile sizes of an `m` × `n` product of depth `k` for this machine; `width` is the number of columns of a tile if B is
    stored for that, and 0 otherwise.
    """
    lanes = machine.vector_bytes // element_bytes
    rows, vectors = _registers(constant(m), constant(n), lanes, machine.registers, width // lanes)
    near = machine.l1_bytes // ((rows + vectors * lanes) * element_bytes)
    depth = _even_part(constant(k), min(DEPTH, max(SHALLOW, near)), lanes)
    size, columns = constant(m), constant(n)
    if size is not None and size <= FEW_TILES * rows:
        return Tiles(lanes, rows, vectors, depth, 0)
    panel_bytes = depth * vectors * lanes * element_bytes
    panels = max(1, machine.l2_bytes * 4 // 5 // panel_bytes)
    return Tiles(lanes, rows, vectors, depth, _even_part(columns and -(-columns // (vectors * lanes)), panels, 1))


def choose_chunk(long: int, inner: int, column_bytes: int, unit: int, machine: Machine) -> int:
    """Return how many of `long` rows of `inner` columns each to gather at a time: a part that fills whole tiles
    of `unit` columns and stays in the L2 cache, if that leaves at least `LEAST_COLUMNS`.
    """

    def filled(rows: int) -> float:
        columns = rows * inner
        return min(columns / (-(-columns // unit) * unit), ENOUGH)

    uneven = max(1, min(long, NEAR_COLUMNS // inner))
    most = max(machine.l2_bytes * 3 // 4 // column_bytes, LEAST_COLUMNS) // inner
    near = [rows for rows in range(1, min(long, most) + 1) if long % rows == 0 or rows == uneven] or [1]
    return min(near, key=lambda rows: (-filled(rows), long % rows > 0, abs(rows * inner - NEAR_COLUMNS)))


def choose_columns(column_bytes: int, machine: Machine) -> int:
    """Return how many columns to gather at a time if their total is unknown: as many as stay in the L2 cache, but at
    least `LEAST_COLUMNS` and at most `NEAR_COLUMNS`, which both are multiples of all vectors.
    """
    fitting = machine.l2_bytes * 3 // 4 // column_bytes
    return min(max(fitting // LEAST_COLUMNS * LEAST_COLUMNS, LEAST_COLUMNS), NEAR_COLUMNS)


def _registers(m: int | None, n: int | None, lanes: int, registers: int, given: int) -> tuple[int, int]:
    """Return how many rows and vectors a tile has: they use all registers except those of the operands. The number of vectors is
    `given`, unless that is 0.

    Among the heights that use the registers well, choose the one that leaves the fewest rows of the last tile
    empty.
    """
    vectors = given or (2 if n is None or n > lanes else 1)
    most = (registers - vectors - 1) // vectors
    if m is None:
        return most - 2, vectors
    if m <= most:
        widest = MOST_VECTORS if n is None else -(-n // lanes)
        return m, given or max(1, min(MOST_VECTORS, (registers - 4) // m, widest))
    heights = range(most, most * 2 // 3, -1)
    return min(heights, key=lambda rows: (-(-m // rows) * rows * 100 // m, abs(rows - most + 2))), vectors


def _even_part(size: int | None, most: int, multiple: int) -> int:
    """Return the size of parts when `size` is divided into the fewest equal parts of at most `most`."""
    if size is None or size <= 0:
        return most
    part = -(-size // -(-size // most))
    return -(-part // multiple) * multiple
