"""`row_bands`: products and the nests between them, a band of their common rows at a time (see `bands`)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...ir import tir
from ...ir.schedule.analysis.origins import with_origins
from ...ir.schedule.arguments import Block, Flag, Integer
from ...ir.schedule.declaration import Knob, composite
from ...ir.schedule.program import Program
from ...ir.visit import walk
from ..lower.rewriter import copy_of, sequence
from ..machine import Machine
from .bands import Band, are_independent, bands_of, is_product
from .build import TRUE, allocated
from .nest import Declined, Nest, statement_of
from .processor import rules_for_nests
from .recipe import derive, merged_nests, users_of
from .site import APPLIES, Site, nest_at


@composite(
    requires=(APPLIES,),
    knobs={
        "rows": Knob("the number of iterations of the last shared loop in a band", 1, 1 << 24),
        "parallel": Knob("the position of the loop whose iterations threads share: shared loops, then bands", 0, 15),
        "vector_bytes": Knob("the number of bytes of a vector", 16, 256, is_power=True),
        "registers": Knob("the number of vector registers, for the tiles of products", 8, 64),
        "l1_bytes": Knob("the size of the L1 cache, for the tiles of products", 1 << 10, 1 << 24),
        "l2_bytes": Knob("the size of the L2 cache, for the tiles of products", 1 << 12, 1 << 30),
    },
)
def row_bands(
    program: Program,
    *blocks: Block,
    rows: Integer,
    parallel: Integer | None = None,
    vector_bytes: Integer,
    registers: Integer,
    l1_bytes: Integer,
    l2_bytes: Integer,
    fma: Flag = True,
    byte_dots: Flag = False,
) -> None:
    """Compute products and the blocks between them in bands of `rows` common rows, so that results stay in the L2 cache.

    `s = q @ k`, `p = softmax(s)`, `o = p @ v` become `for head, band:` the same on the rows of a band, in buffers for these rows. The
    blocks of a band are scheduled by the rules for a processor with the given vectors, registers and caches. Blocks between
    them that they do not depend on come before.

    Preserves: the result; each element is computed as it is by these rules without bands.
    """
    site = Site(program, blocks, is_consecutive=False)
    nests = site.nests()
    owned = site.owned({nest.store.buffer for nest in nests})
    first, last = (site.all.index(site.parts[place]) for place in (0, -1))
    members = set(site.parts)
    between = [part for part in site.all[first : last + 1] if part not in members]

    def kernel() -> tir.Stmt:
        if not all(are_independent(nest_at(program, part), nests) for part in between):
            raise Declined("a block between them depends on them")
        users = {buffer: used for buffer, used in users_of(nests).items() if buffer in owned}
        together = [nest for nest, _ in merged_nests(nests, users)]
        machine = Machine(vector_bytes, registers, l1_bytes, l2_bytes, 1, fma, byte_dots)
        return sequence([band.around(_scheduled(band, machine), parallel) for band in bands_of(together, owned, rows)])

    built = with_origins(site.build(kernel), site.parts)
    used = {node.data for node in walk(built) if isinstance(node, tir.Buffer)}
    gone = {buffer for buffer in owned if buffer.data not in used}
    site.rebuild([*site.all[:first], *between, built, *site.all[last + 1 :]], gone)


def _scheduled(band: Band, machine: Machine) -> tir.Stmt:
    """Return the nests of a band, scheduled as a function of their own; Declined if no rule schedules a product."""
    parts = [copy_of(statement_of(part), {}) for nest in band.nests for part in _parts_of(nest)]
    root = tir.Block((), (), (), "root", sequence(parts), alloc_buffers=tuple(band.buffers))
    recipe = derive(tir.PrimFunc((), tir.BlockRealize((), TRUE, root)), rules_for_nests(machine))
    products = {name for nest in band.nests if is_product(nest) for name in nest.name.split(", ")[:1]}
    for decision in recipe.decisions:
        if decision.rule is None and decision.block in products:
            raise Declined(f"no rule schedules block '{decision.block}'")
    done = recipe.function.body
    assert isinstance(done, tir.BlockRealize)
    body, used = done.block.body, {node.data for node in walk(done.block.body) if isinstance(node, tir.Buffer)}
    return allocated([buffer for buffer in done.block.alloc_buffers if buffer.data in used], body)


def _parts_of(nest: Nest) -> Sequence[Nest]:
    """Return a nest and its epilogues as nests of their own."""
    name, *others = nest.name.split(", ")
    names = [*others, *["epilogue"] * (len(nest.after) - len(others))]
    after = [
        replace(nest, name=own, axes=nest.spatial, store=store, init=None, after=())
        for own, store in zip(names, nest.after, strict=False)
    ]
    return [replace(nest, name=name, after=()), *after]
