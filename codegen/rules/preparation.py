"""Steps that prepare blocks for the others: `fission` of reductions to several buffers, and `inline_values` of producers."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import tir
from ...ir.schedule.arguments import Block
from ...ir.schedule.conditions import name_of
from ...ir.schedule.declaration import composite
from ...ir.schedule.program import Program
from ...ir.visit import walk
from .fusion import inlined, is_elementwise
from .nest import Declined, Nest, separated, statement_of
from .site import APPLIES, Site, memory_in, nest_at


@composite(requires=(APPLIES,), results=("block",))
def fission(program: Program, block: Block) -> list[tir.Block]:
    """Split a block that reduces to several buffers into one block for each, if no value depends on another buffer's.

    The sums of elements and of their squares, `s[i], q[i] += a[i, k], a[i, k] * a[i, k]`, become two nests. Returns the blocks.

    Preserves: the result, bit for bit.
    """
    site = Site(program, [block])
    parts = separated(site.parts[0])
    if len(parts) < 2:
        raise APPLIES.refuse(f"{name_of(block)} does not reduce to several independent buffers", block)
    at = site.all.index(site.parts[0])
    site.rebuild([*site.all[:at], *parts, *site.all[at + 1 :]], set())
    return [_block_in(part) for part in parts]


@composite(requires=(APPLIES,))
def inline_values(program: Program, block: Block) -> None:
    """Replace every load of what an element-wise block stores by the value, and remove the block and its buffer.

    `b[i] = f(a[i])`, `c[j] = g(b[j])` become `c[j] = g(f(a[j]))`. As `compute_inline`, for all readers that are plain nests.

    Preserves: the result, bit for bit; a value is computed as often as it is read.
    """
    site = Site(program, [block])
    (writer,), part = site.nests(), site.parts[0]
    buffer = writer.store.buffer
    if not is_elementwise(writer) or buffer not in site.root.alloc_buffers:
        raise APPLIES.refuse(f"{name_of(block)} does not compute each element of an allocated buffer once", block)
    after = site.all[site.all.index(part) + 1 :]
    if any(buffer.data in memory_in(program, other) for other in site.all[: -len(after) - 1]):
        raise APPLIES.refuse(f"'{buffer.name}' is accessed before {name_of(block)}", block)
    nests = {reader: inlined(nest, writer) for reader, nest in _readers(program, block, writer, after)}
    new = {reader: statement_of(nest) for reader, nest in nests.items()}
    if not new:
        raise APPLIES.refuse(f"no block reads '{buffer.name}'", block)
    became: dict[tir.Stmt, tir.Stmt | None] = {_block_in(old): _block_in(stmt) for old, stmt in new.items()}
    site.rebuild([new.get(other, other) for other in site.all if other is not part], {buffer})
    program.became.update(became)
    for reader, nest in nests.items():
        program.note(new[reader], "nest", lambda _, nest=nest: nest)


def _readers(
    program: Program, block: tir.Block, writer: Nest, after: tuple[tir.Stmt, ...]
) -> Iterator[tuple[tir.Stmt, Nest]]:
    """Yield the statements that read what `writer` stores, with their nests; refused if they cannot compute its value."""
    buffer, read = writer.store.buffer, {load.buffer.data: load.buffer for load in writer.loads()}
    stored: tir.Buffer | None = None
    for part in after:
        used = memory_in(program, part)
        is_reader, taken = buffer.data in used, next((other for data, other in read.items() if data in used), None)
        if not is_reader and taken is None:
            continue
        try:
            nest = nest_at(program, part)
        except Declined as problem:
            if is_reader:
                raise APPLIES.refuse(f"a reader of '{buffer.name}' is not a plain nest: {problem}", block) from None
            stored = stored or taken
            continue
        stored = stored or read.get(nest.store.buffer.data)
        if is_reader and stored is not None:
            reason = f"'{stored.name}', which {name_of(block)} reads, is stored before the value is used"
            raise APPLIES.refuse(reason, block)
        if is_reader:
            if nest.store.buffer.data is buffer.data:
                raise APPLIES.refuse(f"another block stores to '{buffer.name}'", block)
            yield part, nest


def _block_in(part: tir.Stmt) -> tir.Block:
    return next(node for node in walk(part) if isinstance(node, tir.Block))
