"""Whether iterations may change their order: two that touch the same element, one writing it, must not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec import Struct

from ... import make, tir
from ...analysis.proof import prove
from ...visit import substitute
from ..tree import statements_in
from .bindings import Domains
from .pipeline import bindings_of, bound_region

_FALSE = tir.IntImm("bool", 0)


class Access(Struct, frozen=True):
    """A region that a block touches, in terms of the variables of the loops around it."""

    buffer: tir.Buffer
    region: tuple[tir.Range, ...]
    is_write: bool
    domains: Domains
    """The loops between the statement that was asked about and the block."""


def accesses(node: tir.Stmt, domains: Domains | None = None) -> Iterator[Access]:
    """Yield what the outermost blocks in `node` touch."""
    inside: Domains = {} if domains is None else domains
    if isinstance(node, tir.BlockRealize):
        values = bindings_of(node)
        for regions, is_write in ((node.block.reads, False), (node.block.writes, True)):
            for region in regions:
                yield Access(region.buffer, bound_region(region, values), is_write, inside)
        return
    if isinstance(node, tir.For):
        inside = {**inside, node.loop_var: tir.Range(node.min, node.extent)}
    for child in statements_in(node):
        yield from accesses(child, inside)


def conflicts(first: tir.Stmt, second: tir.Stmt) -> tir.Buffer | None:
    """Return a buffer that keeps two statements in order: both touch it, and one writes it."""
    others = list(accesses(second))
    for mine in accesses(first):
        for other in others:
            if mine.buffer is other.buffer and (mine.is_write or other.is_write):
                return mine.buffer
    return None


def conflict_of_later(
    first: tir.Stmt, second: tir.Stmt, loops: Sequence[tir.For], others: Sequence[tir.For]
) -> tir.Buffer | None:
    """Return a buffer that an iteration of `loops` around `first` touches, and an earlier iteration of `others` around
    `second` too, one of them writing; None where it is proven that there is none."""
    fresh: dict[tir.Var, tir.Var] = {
        each: tir.Var(each.dtype, f"{each.name}_")
        for each in [*[loop.loop_var for loop in others], *{v for access in accesses(second) for v in access.domains}]
    }
    after = [loop.loop_var for loop in loops]
    before = [fresh[loop.loop_var] for loop in others]
    outer: dict[tir.Var, tir.Range] = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in loops}
    for mine in accesses(first):
        for other in accesses(second):
            if mine.buffer is not other.buffer or not (mine.is_write or other.is_write):
                continue
            renamed = {fresh[v]: substitute(domain, fresh) for v, domain in other.domains.items()}
            domains = {
                **outer,
                **mine.domains,
                **renamed,
                **{new: outer[old] for old, new in zip(after, before, strict=True)},
            }
            apart = _apart(mine.region, tuple([substitute(each, fresh) for each in other.region]))
            for depth in range(len(after)):
                given = [make.equal(after[i], before[i]) for i in range(depth)]
                given.append(make.less(before[depth], after[depth]))
                if not prove(apart, domains, given).is_proven:
                    return mine.buffer
    return None


def _apart(a: tuple[tir.Range, ...], b: tuple[tir.Range, ...]) -> tir.PrimExpr:
    """Return the condition that two regions have no element in common."""
    parts: list[tir.PrimExpr] = []
    for x, y in zip(a, b, strict=True):
        parts.append(make.less_equal(make.add(x.min, x.extent), y.min))
        parts.append(make.less_equal(make.add(y.min, y.extent), x.min))
    return reduce(make.logical_or, parts, _FALSE)
