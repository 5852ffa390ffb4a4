"""The law of loops whose iterations run side by side: they do not meet in one element.

E0419: iterations of a parallel, vectorized or thread-bound loop race.
"""

from __future__ import annotations

from itertools import product
from typing import Literal, TypeAlias

from .. import tir
from ..analysis.iter_map import is_bijective
from ..diagnostics import Note
from ..visit import walk
from .pairs import Claim, describe, is_update, meet, writes_alike
from .place import Iterate, Site
from .solve import variables
from .subject import Subject, is_write

How: TypeAlias = Literal["parallel", "blocks", "threads", "vector"]

_PRIVATE = ("local", "warp", "wmma", "m16n8k8", "metal.simdgroup", "amx.tmm")
"""Scopes of which each thread, or each group of threads that computes together, has its own."""


def check_races(subject: Subject) -> None:
    """Check the accesses in each loop whose iterations run side by side; one race is shown for each loop."""
    loops: dict[tir.For, list[Site]] = {}
    for site in subject.flow.sites:
        for step in site.place.steps():
            if isinstance(step, Iterate) and isinstance(step.loop, tir.For) and how(step.loop):
                loops.setdefault(step.loop, []).append(site)
    for loop, sites in loops.items():
        side_by_side = how(loop)
        assert side_by_side is not None
        shared = [site for site in sites if not _is_private(subject, site, loop, side_by_side)]
        for first, second in _pairs(shared, side_by_side):
            if _races(subject, loop, first, second, shared):
                break


def how(loop: tir.For) -> How | None:
    """Return how the iterations of `loop` run side by side; None where they come one after the other."""
    if loop.kind is tir.ForKind.PARALLEL:
        return "parallel"
    if loop.kind is tir.ForKind.VECTORIZED:
        return "vector"
    tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else ""
    return "blocks" if tag.startswith("blockIdx") else "threads" if tag.startswith("threadIdx") else None


def _is_private(subject: Subject, site: Site, loop: tir.For, side_by_side: How) -> bool:
    """Whether each iteration has memory of its own: allocated inside the loop, or of such a scope."""
    buffer = site.node.buffer
    owner = subject.flow.owners.get(buffer.data)
    if owner is None or any(isinstance(step, Iterate) and step.loop is loop for step in owner.steps()):
        return True
    if side_by_side == "blocks" and buffer.scope.startswith("shared"):
        return True
    return side_by_side in ("blocks", "threads") and buffer.scope.startswith(_PRIVATE)


def _pairs(sites: list[Site], side_by_side: How) -> list[tuple[Site, Site]]:
    """Return stores, each with another access of the same buffer that nothing orders across iterations.

    Threads of a block and lanes of a vector go from statement to statement together: there, a store meets itself and
    what its own value reads. Threads that reduce together have a reduction axis for it.
    """
    found: list[tuple[Site, Site]] = []
    sites = sorted(sites, key=lambda site: site.in_init)
    for first, second in product([site for site in sites if is_write(site)], sites):
        if first.node.buffer is not second.node.buffer or (side_by_side == "threads" and _reduces(first)):
            continue
        if is_update(first.node) and not is_write(second):
            continue  # then the store meets itself, too
        is_together = side_by_side in ("threads", "vector")
        if not is_together or any(node is second.node for node in walk(first.node)):
            found.append((first, second))
    return found


def _reduces(site: Site) -> bool:
    realize = site.place.block
    axes = realize.block.iter_vars if realize is not None else ()
    return any(axis.iter_type is tir.IterVarType.COMM_REDUCE for axis in axes)


def _is_one_to_one(subject: Subject, site: Site, var: tir.Var, outer: list[Iterate]) -> bool:
    """Whether it is plain to see that each iteration over `var` touches elements of its own: the common case."""
    indices = [subject.flow.resolve(index) for index in site.node.indices]
    shared = {step.var for step in outer}
    named = variables(indices) - shared
    domains = {name: domain for name, domain in site.place.facts.domains.items() if name in named}
    ends = variables([end for domain in domains.values() for end in (domain.min, domain.extent)])
    return var in domains and ends.isdisjoint(domains) and is_bijective(indices, domains)


def _races(subject: Subject, loop: tir.For, first: Site, second: Site, sites: list[Site]) -> bool:
    """Report a race of two accesses in different iterations of `loop`; return whether there is one."""
    var, side_by_side = loop.loop_var, how(loop)
    around = [step for step in first.place.steps() if isinstance(step, Iterate)]
    outer = around[next(i for i, step in enumerate(around) if step.loop is loop) + 1 :]
    if first is second and (writes_alike(subject, first) or _is_one_to_one(subject, first, var, outer)):
        return False
    is_ordered = first is second or side_by_side == "vector"
    claim = Claim(
        lambda step: any(step is each for each in outer),
        lambda twin: (tir.LT if is_ordered else tir.NE)("bool", var, twin(var)),
        lambda twin, third: tir.EQ("bool", twin(var), third(var)),
    )
    found = meet(subject, claim, first, second, sites)
    if found is None:
        return False
    twin, values = found
    inner = [each for each in subject.flow.domains if each in twin.names]
    message = f"iterations of the loop over '{var.name}' race: "
    message += describe(subject, first, second, twin, values, inner)
    help = f"let an index depend on '{var.name}', or make the loop serial"
    runs = "as lanes of a vector" if side_by_side == "vector" else "side by side"
    notes = [Note(f"the iterations of the loop over '{var.name}' run {runs}", loop.span)]
    if first is not second:
        notes.append(Note("the other access is here", second.node.span))
    subject.report.add("E0419", message, first.node, help, *notes)
    return True
