"""The law of concurrent loops: their iterations do not conflict.

E0419: iterations of a parallel, vectorized or thread-bound loop race · E0444, a warning: the loop has too many pairs of
accesses to compare them all.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import make, tir
from ..analysis.iter_map import is_bijective
from ..diagnostics import Note
from .meetings import PRIVATE_SCOPES, Budget, How, Meeting, how, meetings
from .pairs import Claim, Stored, Twin, deciding, describe, is_update, meet, writes_alike
from .place import AccessSite, Iterate
from .solve import variables
from .subject import Subject


def check_races(subject: Subject) -> None:
    """Check the accesses in each loop with concurrent iterations; report one race per loop."""
    loops: dict[tir.For, list[AccessSite]] = {}
    for site in subject.flow.sites:
        for step in site.place.steps():
            if isinstance(step, Iterate) and isinstance(step.loop, tir.For) and how(step.loop):
                loops.setdefault(step.loop, []).append(site)
    stored, budget = Stored(subject), Budget()
    for loop, sites in loops.items():
        side_by_side = how(loop)
        assert side_by_side is not None
        shared = [site for site in sites if not _is_private(subject, site, loop, side_by_side)]
        found = meetings(subject, loop, shared, stored, budget)
        if not any(_races(subject, loop, meeting, shared) for meeting in found.pairs) and not found.is_complete:
            message = f"the iterations of the loop over '{loop.loop_var.name}' are not proven not to race"
            subject.report.warn("E0444", message, loop, "split the loop: it has too many accesses to compare all pairs")


def _is_private(subject: Subject, site: AccessSite, loop: tir.For, side_by_side: How) -> bool:
    """Whether each iteration has its own memory: allocated inside the loop, or in a private scope."""
    buffer = site.buffer
    owner = subject.flow.owners.get(buffer.data)
    if owner is None or any(isinstance(step, Iterate) and step.loop is loop for step in owner.steps()):
        return True
    if side_by_side == "blocks" and buffer.scope.startswith("shared"):
        return True
    return side_by_side in ("blocks", "threads") and buffer.scope.startswith(PRIVATE_SCOPES)


def _is_apart(subject: Subject, site: AccessSite, var: tir.Var, outer: list[Iterate]) -> bool:
    """Whether iterations over `var` that store to one element obviously store the same value: the common case.

    The indices determine their variables, and either `var` is one of them, or no other variable determines the value.
    """
    resolve, domains = subject.flow.resolve, site.place.facts.domains
    indices = [resolve(index) for index in site.indices]
    own = domains.keys() - {step.var for step in outer}
    named = own & variables(indices)
    if var not in named and (
        is_update(subject, site) or not own & variables(map(resolve, deciding(subject, site))) <= named
    ):
        return False
    if named <= _told(indices):
        return True
    inner = {name: domains[name] for name in domains if name in named}
    ends = variables([end for domain in inner.values() for end in (domain.min, domain.extent)])
    return ends.isdisjoint(own) and is_bijective(indices, inner)


def _told(indices: list[tir.PrimExpr]) -> set[tir.PrimExpr]:
    """Return the variables that occur as an index, or whose quotient and remainder by the same number do."""
    parts = {
        kind: {
            (index.a, index.b.value) for index in indices if isinstance(index, kind) and isinstance(index.b, tir.IntImm)
        }
        for kind in (tir.FloorDiv, tir.FloorMod)
    }
    return {*indices, *[whole for whole, _ in parts[tir.FloorDiv] & parts[tir.FloorMod]]}


def _races(subject: Subject, loop: tir.For, meeting: Meeting, sites: list[AccessSite]) -> bool:
    """Report a race of two accesses in different iterations of `loop`; return whether there is one."""
    var, first, second = loop.loop_var, meeting.first, meeting.second
    around = [step for step in first.place.steps() if isinstance(step, Iterate)]
    position = next(i for i, step in enumerate(around) if step.loop is loop)
    outer, both = around[position + 1 :], (first, second, sites)
    if first is second and (writes_alike(subject, first) or _is_apart(subject, first, var, outer)):
        return False

    def claim(apart: Callable[[Twin], tir.PrimExpr]) -> Claim:
        return Claim(
            lambda step: any(step is iterate for iterate in outer), apart, lambda a, b: tir.EQ("bool", a(var), b(var))
        )

    found = meet(subject, claim(lambda twin: (tir.LT if first is second else tir.NE)("bool", var, twin(var))), *both)
    if found is not None and meeting.is_ahead is not None:  # harder to solve, so asked second
        inner = [step.var for step in around[:position] if _is_in_turn(step, second)]
        found = meet(subject, claim(lambda twin: _out_of_order(var, inner, twin, bool(meeting.is_ahead))), *both)
    if found is None:
        return False
    twin, values = found
    shown = [domain for domain in subject.flow.domains if domain in twin.names]
    message = f"iterations of the loop over '{var.name}' race: "
    message += describe(subject, first, second, twin, values, shown)
    help, notes = _said(loop, meeting)
    subject.report.add("E0419", message, first.node, help, *notes)
    return True


def _is_in_turn(step: Iterate, other: AccessSite) -> bool:
    """Whether all iterations go through the loop of `step` in lockstep, and the loop is also around `other`."""
    is_serial = isinstance(step.loop, tir.For) and how(step.loop) is None
    return is_serial and any(item is step for item in other.place.steps())


def _out_of_order(var: tir.Var, inner: list[tir.Var], twin: Twin, is_ahead: bool) -> tir.PrimExpr:
    """Return the condition under which iterations in lockstep access an element in another order than sequentially; `inner` are
    the loops around both accesses, the innermost first.
    """
    ahead, behind = make.const(is_ahead, "bool"), make.const(not is_ahead, "bool")
    for variable in inner:
        is_now = make.equal(variable, twin(variable))
        ahead = make.logical_or(make.less(variable, twin(variable)), make.logical_and(is_now, ahead))
        behind = make.logical_or(make.less(twin(variable), variable), make.logical_and(is_now, behind))
    return make.logical_or(
        make.logical_and(make.less(twin(var), var), ahead), make.logical_and(make.less(var, twin(var)), behind)
    )


def _said(loop: tir.For, meeting: Meeting) -> tuple[str, list[Note]]:
    """Return the remedy, and notes on the loop and on the other access."""
    name, side_by_side = loop.loop_var.name, how(loop)
    help = f"let an index depend on '{name}', or make the loop serial"
    runs = "run as lanes of a vector" if side_by_side == "vector" else "run concurrently"
    if side_by_side == "threads" and meeting.is_ahead is not None:
        help = "move the other access to a separate loop over threads, which runs after this one"
        runs = "run in lockstep"
    notes = [Note(f"the iterations of the loop over '{name}' {runs}", loop.span)]
    if meeting.first is not meeting.second:
        notes.append(Note("the other access is here", meeting.second.node.span))
    return help, notes
