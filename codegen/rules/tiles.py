"""How large the tiles of a product are: what registers and caches hold (Goto & van de Geijn, "Anatomy of
High-Performance Matrix Multiplication", 2008; Van Zee & van de Geijn, "BLIS", 2015).

- `rows` × `vectors` accumulators stay in registers while `depth` steps of the sum are added to them;
- with many rows, `panels` panels of the right matrix, each `depth` × `vectors` wide, stay in the second cache, and meet
  one tile of the left matrix, `rows` × `depth`, after the other, which stays in the first;
- with few rows, all tiles of the left matrix stay in the second cache, and meet each panel in the first.
"""

from __future__ import annotations

from msgspec import Struct

from ..machine import Machine
from .build import Index, constant

DEPTH = 384
"""The most steps of the sum between two visits of an accumulator to memory."""
SHALLOW = 256
"""The fewest steps between two visits where there are more: fewer cost more in visits than the first cache gives."""
FEW_TILES = 16
"""So many tiles of rows are few: a panel that is read again for each of them need not be kept for longer."""
MOST_VECTORS = 8
ENOUGH = 0.92
"""Tiles that are filled so far are as good as full."""
NEAR_COLUMNS = 192
"""Columns that are gathered at a time: enough to use what is packed of the other matrix, few enough to stay near."""


class Tiles(Struct, frozen=True):
    """The sizes of one product; `lanes` elements are a vector."""

    lanes: int
    rows: int
    vectors: int
    depth: int
    panels: int
    """How many panels of the right matrix stay in the second cache; 0 where rows are few."""

    @property
    def columns(self) -> int:
        """How many columns of the result a tile has."""
        return self.vectors * self.lanes


def choose_tiles(m: Index, n: Index, k: Index, element_bytes: int, machine: Machine) -> Tiles:
    """Return the tiles of an `m` × `n` product of depth `k` on this machine."""
    lanes = machine.vector_bytes // element_bytes
    rows, vectors = _registers(constant(m), constant(n), lanes, machine.registers)
    near = machine.l1_bytes // ((rows + vectors * lanes) * element_bytes)
    depth = _even_part(constant(k), min(DEPTH, max(SHALLOW, near)), lanes)
    size, columns = constant(m), constant(n)
    if size is not None and size <= FEW_TILES * rows:
        return Tiles(lanes, rows, vectors, depth, 0)
    panel_bytes = depth * vectors * lanes * element_bytes
    panels = max(1, machine.l2_bytes * 4 // 5 // panel_bytes)
    return Tiles(lanes, rows, vectors, depth, _even_part(columns and -(-columns // (vectors * lanes)), panels, 1))


def choose_chunk(long: int, inner: int, column_bytes: int, unit: int, machine: Machine) -> int:
    """Return how many of `long` rows of `inner` columns each to gather at a time: a part of all that fills whole tiles of
    `unit` columns and stays near."""

    def filled(rows: int) -> float:
        columns = rows * inner
        return min(columns / (-(-columns // unit) * unit), ENOUGH)

    uneven = max(1, min(long, NEAR_COLUMNS // inner))
    most = machine.l2_bytes * 3 // 4 // (inner * column_bytes)
    near = [rows for rows in range(1, min(long, most) + 1) if long % rows == 0 or rows == uneven] or [1]
    return min(near, key=lambda rows: (-filled(rows), long % rows > 0, abs(rows * inner - NEAR_COLUMNS)))


def _registers(m: int | None, n: int | None, lanes: int, registers: int) -> tuple[int, int]:
    """Return how many rows and vectors a tile has: all of the registers but those of the operands.

    Of the heights that fill the registers well, the one that leaves the fewest rows of the last tile empty.
    """
    vectors = 2 if n is None or n > lanes else 1
    most = (registers - vectors - 1) // vectors
    if m is None:
        return most - 2, vectors
    if m <= most:
        widest = MOST_VECTORS if n is None else -(-n // lanes)
        return m, max(1, min(MOST_VECTORS, (registers - 4) // m, widest))
    heights = range(most, most * 2 // 3, -1)
    return min(heights, key=lambda rows: (-(-m // rows) * rows * 100 // m, abs(rows - most + 2))), vectors


def _even_part(size: int | None, most: int, multiple: int) -> int:
    """Return the size of the fewest equal parts of at most `most`."""
    if size is None or size <= 0:
        return most
    part = -(-size // -(-size // most))
    return -(-part // multiple) * multiple
