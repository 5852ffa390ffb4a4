"""Pairs of accesses in a loop that may conflict across its iterations, depending on how these run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, reduce
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from .. import tir
from ..dtype import int_range, is_bool, is_float
from ..equal import structural_equal
from ..fold import fold
from ..visit import walk
from .pairs import Stored
from .partners import Partners, is_clear
from .place import AccessSite, Iterate, ProgramPoint, Unknown
from .solve import variables
from .subject import Subject, is_write

MOST_PAIRS = 200_000
MOST_MEETINGS = 2_000
"""Maximum numbers of pairs of accesses per function that are examined, and that the prover is asked about."""
How: TypeAlias = Literal["parallel", "blocks", "threads", "vector"]
PRIVATE_SCOPES = ("local", "warp", "wmma", "m16n8k8", "metal.simdgroup", "amx.tmm")
"""Scopes of which each thread, or each group of cooperating threads, has its own memory."""


def how(loop: tir.For) -> How | None:
    """Return how the iterations of `loop` run concurrently; None if they run sequentially."""
    if loop.kind is tir.ForKind.PARALLEL:
        return "parallel"
    if loop.kind is tir.ForKind.VECTORIZED:
        return "vector"
    tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else ""
    return "blocks" if tag.startswith("blockIdx") else "threads" if tag.startswith("threadIdx") else None


class Meeting(Struct, frozen=True, eq=False):
    """A store and another access of the same buffer, or the store itself in another iteration.

    If iterations run in lockstep, statement by statement, `is_ahead` tells whether all of them reach the first access before
    any reaches the second, within one iteration of the loops around both; None if the order is unknown.
    """

    first: AccessSite
    second: AccessSite
    is_ahead: bool | None = None


class Budget(Struct):
    """The numbers of pairs that may still be compared in a function."""

    pairs: int = field(default_factory=lambda: MOST_PAIRS)
    meetings: int = field(default_factory=lambda: MOST_MEETINGS)


class Meetings(Struct, frozen=True, eq=False):
    """Pairs of accesses of a loop that may conflict; not all of them unless `is_complete`."""

    pairs: list[Meeting]
    is_complete: bool


def meetings(subject: Subject, loop: tir.For, sites: list[AccessSite], stored: Stored, budget: Budget) -> Meetings:
    """Return the pairs of `sites`, accesses in `loop`, that may conflict; accesses of a block's body come before those of its
    init. The search stops when `budget`, which it uses up, is exhausted.

    Threads of a block and lanes of a vector run in lockstep. Threads may conflict within one statement; they do not conflict
    in a cooperative reduction along a reduction axis. `--races` checks accesses between explicit barriers
    (`codegen.gpu.races`).
    """
    sites = _without_told(subject, loop, sites)
    side_by_side, found = how(loop), list[Meeting]()
    is_together = side_by_side in ("threads", "vector")
    has_barriers = bool(subject.exchanges) and any(node in subject.exchanges for node in walk(loop.body))
    statements = {node: site for site in sites if is_write(site) for node in walk(site.node)}
    order = {site: number for number, site in enumerate(sites)}

    @cache
    def is_own(site: AccessSite) -> bool:
        return _depends_on(subject, site, loop)

    if not (is_together and has_barriers):
        found += [Meeting(*pair, False if is_together else None) for pair in _decided_by_data(subject, sites)]
    sites = sorted([site for site in sites if is_clear(subject, site)], key=lambda site: site.in_init)
    stores = [
        site for site in sites if is_write(site) and not (side_by_side == "threads" and _reduces(subject, site, loop))
    ]
    partners = _partners(subject, loop, sites)
    pairs = ((first, second) for first in stores for second in partners[first.buffer](first))
    most = budget.meetings
    for first, second in pairs:
        budget.pairs, budget.meetings = budget.pairs - 1, most - len(found)
        if budget.pairs < 0 or budget.meetings <= 0:
            return Meetings(found, is_complete=False)
        if is_write(second) and not stored.may_differ(first, second):
            continue
        if first is second:
            found.append(Meeting(first, second))
        elif statements.get(second.node) is first:
            # with equal indices, the store also conflicts with itself
            if not structural_equal(first.indices, second.indices):
                found.append(Meeting(first, second, False if side_by_side == "vector" else None))
        elif not is_own(first) and not (is_write(second) and is_own(second)):
            continue  # each iteration writes these elements itself
        elif not is_together:
            found.append(Meeting(first, second))
        elif not has_barriers and (is_write(second) or is_own(statements.get(second.node, first))):
            # otherwise the element keeps its value until the last iteration has read it
            found.append(Meeting(first, second, order[first] < order[second]))
    budget.meetings = most - len(found)
    return Meetings(found, is_complete=True)


def _decided_by_data(subject: Subject, sites: list[AccessSite]) -> Iterator[tuple[AccessSite, AccessSite]]:
    """Yield stores under a condition on an element of the buffer that they write, as if it held, and the read in it.

    Only parameters count that are written nowhere else: some input makes the condition true.
    """
    inputs = {buffer.data for buffer in subject.function.buffer_map.values()}
    doubts: dict[Unknown, list[AccessSite]] = {}
    for site in sites:
        if site.place.sole_doubt is not None and is_write(site) and site.buffer.data in inputs:
            doubts.setdefault(site.place.sole_doubt, []).append(site)
    for doubt, stores in doubts.items():
        load = _tested(doubt.condition)
        written = [] if load is None else [site for site in subject.flow.sites if _writes(site, load.buffer.data)]
        if load is None or any(site.place.sole_doubt is not doubt for site in written):
            continue
        indices = tuple(map(subject.flow.resolve, load.indices))
        reads = [
            site
            for site in sites
            if site.node.buffer is load.buffer
            and not is_write(site)
            and structural_equal(tuple(map(subject.flow.resolve, site.node.indices)), indices)
        ]
        for store in stores:
            steps = [step for step in store.place.steps() if step is not doubt]
            certain = replace(store, place=reduce(ProgramPoint, reversed(steps), ProgramPoint()))
            if store.node.buffer is load.buffer and is_clear(subject, certain):
                yield from (
                    (certain, read) for read in reads if is_clear(subject, read) and not _is_flag(certain, read)
                )


def _writes(site: AccessSite, data: tir.Var) -> bool:
    return is_write(site) and site.buffer.data is data


def _is_flag(store: AccessSite, read: AccessSite) -> bool:
    """Whether a constant is written to the element that is tested, which all iterations may do."""
    is_constant = isinstance(store.node, tir.BufferStore) and isinstance(store.node.value, tir.IntImm | tir.FloatImm)
    return is_constant and structural_equal(store.indices, read.indices)


def _tested(condition: tir.PrimExpr | None) -> tir.BufferLoad | None:
    """Return the element that a condition compares with a constant, if some value of it makes the condition true."""
    match condition:
        case tir.BufferLoad() as load:
            return load
        case tir.Not(a=tir.BufferLoad() as load):
            return load
        case tir.CmpOp(a=tir.BufferLoad() as load, b=tir.IntImm() | tir.FloatImm() as other):
            results = [fold(type(condition), value, other, None) for value in (*_extremes(load.dtype), other)]
            return load if any(isinstance(result, tir.IntImm) and result.value for result in results) else None
        case _:
            return None


def _extremes(dtype: str) -> list[tir.PrimExpr]:
    if is_float(dtype):
        return [tir.FloatImm(dtype, -math.inf), tir.FloatImm(dtype, math.inf)]
    return [tir.IntImm(dtype, end) for end in ((0, 1) if is_bool(dtype) else int_range(dtype))]


def _partners(subject: Subject, loop: tir.For, sites: list[AccessSite]) -> dict[tir.Buffer, Partners]:
    """Return the accesses of each buffer that may meet in different iterations of `loop`."""
    by_buffer: dict[tir.Buffer, list[AccessSite]] = {}
    for site in sites:
        by_buffer.setdefault(site.buffer, []).append(site)
    steps = list(sites[0].place.steps()) if sites else []
    own = [number for number, step in enumerate(steps) if isinstance(step, Iterate) and step.loop is loop]
    around = set(steps[own[0] + 1 :] if own else ())
    var = loop.loop_var
    return {
        buffer: Partners(
            subject, near, lambda site: around.__contains__, lambda site, twin: tir.NE("bool", var, twin(var))
        )
        for buffer, near in by_buffer.items()
    }


def _without_told(subject: Subject, loop: tir.For, sites: list[AccessSite]) -> list[AccessSite]:
    """Remove the accesses of buffers that are indexed in some dimension by the variable of `loop` in every access: each
    iteration accesses its own elements."""
    told: dict[tir.Buffer, set[int]] = {}
    for site in sites:
        indices = site.indices
        axes = {axis for axis, index in enumerate(indices) if subject.flow.resolve(index) is loop.loop_var}
        told[site.buffer] = axes & told.get(site.buffer, axes)
    return [site for site in sites if not told[site.buffer]]


def _depends_on(subject: Subject, site: AccessSite, loop: tir.For) -> bool:
    """Whether different iterations of `loop` may access different elements at `site`."""
    facts, outer = site.place.facts, loop.loop_var
    indices = [subject.flow.resolve(index) for index in site.indices]
    inside = [domain for var, domain in facts.domains.items() if var is not outer]
    ends = [end for domain in inside for end in (domain.min, domain.extent)]
    return not site.place.is_certain or outer in variables((*indices, *facts.conditions, *ends))


def _reduces(subject: Subject, site: AccessSite, loop: tir.For) -> bool:
    """Whether `loop` is a reduction loop of the block at `site`."""
    realize = site.place.block
    axes = realize.block.iter_vars if realize is not None else ()
    reduced = [subject.flow.resolve(axis.var) for axis in axes if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    return loop.loop_var in variables(reduced)
