"""The law of starts: every element is initialized before its updates, and no loop runs an update more often than its axes do.

E0424: a T.init that never starts an element that is updated · E0428: a loop that no axis uses and that repeats an update
· E0429: an update of allocated memory that nothing has written.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import make, tir
from ..analysis.regions import RegionSet as Region
from ..analysis.regions import is_covered
from ..base import Node
from ..empty_reductions import loops_of_reduction
from ..visit import walk
from .affine import is_affine
from .meetings import how
from .order import repetition_matters
from .pairs import Twin, is_update
from .place import AccessSite, Inside, Iterate
from .solve import Values, variables
from .subject import Subject, is_write

COMM_REDUCE = tir.IterVarType.COMM_REDUCE
_MOST_WRITERS = 8
"""Maximum number of stores of one buffer; the question for more would cost too much."""


def check_starts(subject: Subject) -> None:
    """Check the blocks that update elements: repetition of those with axes, initialization of all."""
    order = {site: number for number, site in enumerate(subject.flow.sites)}
    opaque = _opaque(subject)
    updates = list[AccessSite]()
    starts: dict[tir.Buffer, list[AccessSite]] = {}
    inits: dict[tuple[tir.BlockRealize | None, tir.Buffer], list[AccessSite]] = {}
    for site in filter(is_write, subject.flow.sites):
        realize, buffer = site.place.block, site.buffer
        if site.in_init:
            inits.setdefault((realize, buffer), []).append(site)
        if not is_update(subject, site):
            starts.setdefault(buffer, []).append(site)
        elif realize is not None and not site.in_init:
            updates.append(site)
    told: set[tir.BlockRealize] = set()
    for site in updates:
        realize, buffer = site.place.block, site.buffer
        assert realize is not None
        if realize in told or buffer.data in opaque or not site.place.is_certain:
            continue
        own, all_starts = inits.get((realize, buffer), []), starts.get(buffer, [])
        if True in (_is_not_started(subject, site, own, all_starts, order), _is_repeated(subject, site)):
            told.add(realize)


def _opaque(subject: Subject) -> set[tir.Var]:
    """Return the memory whose accesses cannot all be compared, or that is accessed other than by loads and stores."""
    names: dict[tir.Var, set[tir.Buffer]] = {}
    for site in subject.flow.sites:
        names.setdefault(site.buffer.data, set()).add(site.buffer)
    found = {data for data, buffers in names.items() if len(buffers) > 1}
    inside = set[Node]()
    for call in subject.of_kinds(tir.Call):
        if call not in inside:  # otherwise it is counted at the surrounding call
            inside.update(walk(call))
    found.update(node for node in inside if isinstance(node, tir.Var) and node.dtype == "handle")
    unknown = {site.node.buffer.data for site in subject.flow.sites if site.element is None} | found
    matches = subject.of_kinds(tir.MatchBufferRegion)
    for match in reversed(matches):  # a matched buffer may be the source of another one inside
        if match.buffer.data in unknown:
            unknown.add(match.source.buffer.data)
            found |= {match.buffer.data, match.source.buffer.data}
    return found


# --- Started before


def _is_not_started(
    subject: Subject, site: AccessSite, inits: list[AccessSite], starts: list[AccessSite], order: dict[AccessSite, int]
) -> bool:
    """Report an update of an element that nothing has written before; return whether there is one. Writers are `starts`, the
    stores that are not updates; if the caller may have written the element, only `inits`, those of the block, are checked.
    """
    realize, buffer = site.place.block, site.buffer
    assert realize is not None
    is_own = _is_allocated(subject, buffer)
    if not (inits or is_own) or any(_starts_plainly(realize, init, site) for init in inits):
        return False
    values = _missing(subject, site, starts if is_own else inits, order)
    if values is None:
        return False
    block, element = realize.block, subject.element(site, values)
    shown = subject.show([axis.var for axis in block.iter_vars], values)
    if inits:
        message = f"the T.init of block '{block.name_hint}' does not start {element} before it is updated: {shown}"
        help = "make the axes that select the element spatial, and bind each axis to its own loop"
        subject.report.add("E0424", message, inits[0].node, help)
    else:
        message = f"block '{block.name_hint}' updates {element}, which nothing has written before: {shown}"
        subject.report.add(
            "E0429", message, site.node, f"start '{site.node.buffer.name}' in a T.init, or in a block before this one"
        )
    return True


def _is_allocated(subject: Subject, buffer: tir.Buffer) -> bool:
    """Whether the memory of a buffer is allocated in the function, so that it is uninitialized at first."""
    given = {array.data for array in subject.function.buffer_map.values()} | set(subject.function.params)
    return buffer.data in subject.flow.owners and buffer.data not in given


def _starts_plainly(realize: tir.BlockRealize, init: AccessSite, update: AccessSite) -> bool:
    """Whether an init obviously starts what the block updates: the common case.

    Both have the same indices, which use no reduction axis, and loops of reduction axes are not used by other axes.
    """
    block = realize.block
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type is COMM_REDUCE}
    if any(node in reduced for index in update.indices for node in walk(index)):
        return False
    pairs = zip(init.indices, update.indices, strict=True)
    if not all(a is b for a, b in pairs):
        return False
    loops: dict[bool, set[tir.Var]] = {True: set(), False: variables([realize.predicate])}
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        is_reduced = axis.iter_type is COMM_REDUCE
        loops[is_reduced] |= variables([value])
        starts = axis.dom is not None and isinstance(axis.dom.min, tir.IntImm) and axis.dom.min.value == 0
        if is_reduced and not (starts and isinstance(value, tir.Var)):
            return False
    steps = [step for step in update.place.steps() if isinstance(step, Iterate) and step.var in loops[True]]
    is_from_zero = all(isinstance(step.domain.min, tir.IntImm) and not step.domain.min.value for step in steps)
    return is_from_zero and loops[True].isdisjoint(loops[False])


def _missing(
    subject: Subject, site: AccessSite, writers: list[AccessSite], order: dict[AccessSite, int]
) -> Values | None:
    """Return values for which `site` is reached although none of `writers` has stored its element before; None if that is not
    certain.
    """
    flow, facts = subject.flow, site.place.facts
    indices = [flow.resolve(index) for index in site.indices]
    if len(writers) > _MOST_WRITERS or not _are_known([*indices, *facts.conditions]):
        return None
    if any("x" in index.dtype for access in (site, *writers) for index in access.indices):
        return None
    by: list[Region] = []
    for writer in writers:
        there = [flow.resolve(index) for index in writer.indices]
        if not writer.place.is_certain or not _are_known([*there, *writer.place.facts.conditions]):
            return None
        twin = Twin.of(writer, lambda step: False)
        renamed = twin.facts(writer)
        own = {twin.names[var]: renamed.domains[twin.names[var]] for var in twin.names}
        region = tuple([_element(twin(index)) for index in there])
        ways = _before(site, writer, twin, order[writer] < order[site])
        by += [Region(region, own, (*renamed.conditions, *way)) for way in ways]
        absent = {twin(var) for var in _loops_that_may_be_empty(writer, there, site)}
        if absent:
            own = {var: domain for var, domain in own.items() if var not in absent}
            sure = [condition for condition in renamed.conditions if absent.isdisjoint(variables([condition]))]
            by += [Region(region, own, (*sure, *way)) for way in ways]
    wanted = Region(tuple(map(_element, indices)), {}, (*facts.conditions, *subject.solver.given))
    found = is_covered(wanted, by, facts.domains)
    return dict(found.counterexample) if found.is_refuted and found.counterexample is not None else None


def _loops_that_may_be_empty(init: AccessSite, indices: list[tir.PrimExpr], site: AccessSite) -> set[tir.Var]:
    """Return the loops of the reduction of a T.init, which executes also if they have no iterations.

    There are none if one of them is around `site`, or if the `indices` of the T.init depend on them.
    """
    realize = init.place.block
    if not init.in_init or realize is None:
        return set()
    steps = list(init.place.steps())
    loops = [step.loop for step in reversed(steps) if isinstance(step, Iterate) and isinstance(step.loop, tir.For)]
    found = {loop.loop_var for loop in loops_of_reduction(realize, loops)}
    around = {step.var for step in site.place.steps() if isinstance(step, Iterate)}
    return found if found.isdisjoint(around | variables(indices)) else set()


def _are_known(expressions: Iterable[tir.PrimExpr]) -> bool:
    return all(map(is_affine, expressions))


def _element(index: tir.PrimExpr) -> tir.Range:
    return tir.Range(index, tir.IntImm(index.dtype, 1))


def _before(site: AccessSite, other: AccessSite, twin: Twin, is_above: bool) -> list[list[tir.PrimExpr]]:
    """Return the cases in which `other`, in its own run, precedes or may precede `site`, each as a conjunction of conditions;
    concurrent iterations may run in any order.

    These are the cases of the lexicographic order. The case of the same iteration comes first, because it is usually
    sufficient. A single condition with an `or` per loop would be expanded into cases at exponential cost.
    """
    mine = {step for step in site.place.steps() if isinstance(step, Iterate)}
    shared = [step for step in reversed(list(other.place.steps())) if step in mine]
    same = [make.equal(twin(step.var), step.var) for step in shared]
    ways = [same] if is_above else []
    for depth in reversed(range(len(shared))):
        var, loop = shared[depth].var, shared[depth].loop
        is_serial = isinstance(loop, tir.For) and how(loop) is None
        ways.append([*same[:depth], make.less(twin(var), var)])
        if not is_serial:
            ways.append([*same[:depth], make.less(var, twin(var))])
    return ways


# --- Repeated


def _is_repeated(subject: Subject, site: AccessSite) -> bool:
    """Report a loop that no axis uses and that repeats an update without a start in between; return whether there is one."""
    realize = site.place.block
    assert realize is not None
    block, steps = realize.block, list(site.place.steps())
    if not block.iter_vars:
        return False
    own = next(i for i, step in enumerate(steps) if isinstance(step, Inside) and step.realize is realize)
    around = steps[own + 1 :]
    loops = [step for step in around if isinstance(step, Iterate)]
    resolve = subject.flow.resolve
    values = {axis: resolve(value) for axis, value in zip(block.iter_vars, realize.iter_values, strict=True)}
    outer = [resolve(value) for step in around if isinstance(step, Inside) for value in step.realize.iter_values]
    used = variables([*values.values(), *outer, *site.place.facts.conditions])
    waiting = variables(value for axis, value in values.items() if axis.iter_type is COMM_REDUCE)
    waiting &= {step.var for step in loops}
    for step in loops:  # innermost first: for loops around the reduction loops, T.init starts again
        waiting.discard(step.var)
        if step.var in used or (block.init is not None and not waiting) or not _runs_in_turn(subject, step):
            continue
        if _is_stored_elsewhere(subject, step, site) or not repetition_matters(subject.under_one_name(block)):
            continue
        name = step.var.name
        message = (
            f"the loop over '{name}' repeats the updates of block '{block.name_hint}': none of its axes uses '{name}'"
        )
        subject.report.add("E0428", message, step.loop, f"bind an axis to '{name}', or remove the loop")
        return True
    return False


def _runs_in_turn(subject: Subject, step: Iterate) -> bool:
    """Whether a loop certainly has several sequential iterations."""
    is_serial = isinstance(step.loop, tir.For) and how(step.loop) is None
    return is_serial and subject.flow.bounds(step.domain.extent).min > 1


def _is_stored_elsewhere(subject: Subject, step: Iterate, site: AccessSite) -> bool:
    """Whether another block or statement in a loop stores to the same memory, so that it may start the element again."""
    return any(
        other.buffer.data is site.buffer.data
        and other.place.block is not site.place.block
        and step in other.place.steps()
        for other in filter(is_write, subject.flow.sites)
    )
