"""The law of bounds: for any input, every access is inside its buffer, and every axis inside its domain.

E0414: an access outside its buffer · E0415: an axis bound to values outside its domain · E0420 (strict, warning): an
access that is not proven to be inside.
"""

from __future__ import annotations

from .. import tir
from ..base import Node
from ..diagnostics import Note, count
from ..equal import structural_equal
from ..idioms import is_zero
from ..visit import walk
from .affine import any_of
from .place import AccessSite, BlockSite, Facts
from .solve import Answer, Values
from .subject import Subject, is_write


def check_bounds(subject: Subject) -> None:
    """Check the indices of every access against the shape of its buffer."""
    for site in subject.flow.sites:
        buffer, facts = site.node.buffer, site.place.facts
        for axis, (index, extent) in enumerate(zip(site.node.indices, buffer.shape, strict=False)):
            if _is_inside(subject, index, extent, facts):
                continue
            first, last = _ends(index, len(buffer.shape))
            answer = _ask(subject, first, last, extent, facts)
            if answer.values is not None:
                _report(subject, site, axis, answer.values)
                break
            if not answer.is_safe and subject.strict:
                message = f"the index of '{buffer.name}' in dimension {axis} is not proven to be inside"
                subject.report.warn("E0420", message, _first_placed(index, site.node), "guard it, or assert its bounds")
    _check_addresses(subject)


def _check_addresses(subject: Subject) -> None:
    """In strict mode, warn of addresses of elements that are not proven to exist."""
    for site in subject.flow.addresses if subject.strict else ():
        buffer, facts = site.node.buffer, site.place.facts
        for index, extent in zip(site.node.indices, buffer.shape, strict=False):
            first, last = _ends(index, len(buffer.shape))
            if not _is_inside(subject, index, extent, facts) and not _ask(subject, first, last, extent, facts).is_safe:
                message = f"the element of '{buffer.name}' whose address is taken is not proven to exist"
                subject.report.warn("E0420", message, site.node, "guard it, or assert its bounds")
                break


def _is_inside(subject: Subject, index: tir.PrimExpr, extent: tir.PrimExpr, facts: Facts) -> bool:
    """Whether an index is in bounds by constant bounds, as a variable over `[0, extent)`, or by a condition on it."""
    flow = subject.flow
    domain = flow.domains.get(index) if isinstance(index, tir.Var) else None
    if domain is not None and domain.extent is extent and is_zero(domain.min):
        return True
    bounds = flow.bounds(index)
    if bounds.min >= 0 and bounds.max < flow.bounds(extent).min:
        return True
    limits = [
        condition
        for condition in facts.conditions
        if isinstance(condition, tir.LT) and _is_at_most(condition.b, extent)
    ]
    return bounds.min >= 0 and any(structural_equal(flow.resolve(index), limit.a) for limit in limits)


def _is_at_most(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    return a is b or (isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) and a.value <= b.value)


def _ends(index: tir.PrimExpr, rank: int) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return the first and the last lane; in several dimensions, a vector may continue in the next row."""
    match index:
        case tir.Ramp(base=base, stride=tir.IntImm(value=stride), lanes=tir.IntImm(value=lanes)) if rank == 1:
            return base, tir.Add(base.dtype, base, tir.IntImm(base.dtype, stride * (lanes - 1)))
        case tir.Ramp(base=first) | tir.Broadcast(value=first):
            return first, first
        case _:
            return index, index


def _ask(subject: Subject, first: tir.PrimExpr, last: tir.PrimExpr, extent: tir.PrimExpr, facts: Facts) -> Answer:
    """Decide whether one of two lanes can be outside `[0, extent)`."""
    extent = subject.flow.resolve(extent)
    ends = tuple([subject.flow.resolve(end) for end in dict.fromkeys((first, last))])
    zero = tir.IntImm(first.dtype, 0)
    bad = [tir.LT("bool", end, zero) for end in ends] + [tir.GE("bool", end, extent) for end in ends]
    return subject.solver.ask(any_of(bad), facts, subject.solver.related(extent, ends, facts))


def _report(subject: Subject, site: AccessSite, axis: int, values: Values) -> None:
    if any(node in subject.misbound for node in walk(site.node.indices[axis])):
        return  # the index is wrong because its axis is, which is reported
    buffer = site.node.buffer
    size = subject.value(buffer.shape[axis], values)
    match len(buffer.shape), axis:
        case 1, _:
            outside = f"its {count(size, 'element')}"
        case 2, _:
            outside = f"its {count(size, ('row', 'column')[axis])}"
        case _:
            outside = f"dimension {axis}, which has {count(size, 'index')}"
    verb = "writes" if is_write(site) else "reads"
    message = (
        f"{subject.show(site.node.indices, values) or 'this'} {verb} {subject.element(site, values)}, outside {outside}"
    )
    help = f"keep the index from 0 to {size - 1}: bound the loop, or guard the access" if size else None
    note = Note(f"'{buffer.name}' is declared here", buffer.span)
    subject.report.add("E0414", message, _first_placed(site.node.indices[axis], site.node), help, note)


def _first_placed(*nodes: Node) -> Node:
    """Return the first node with its own source position; the position of a variable is that of its definition."""
    return next((node for node in nodes if node.span is not None and not isinstance(node, tir.Var)), nodes[0])


def check_bindings(subject: Subject) -> None:
    """Check that the values of a block's axes are in their domains."""
    for site in subject.flow.blocks:
        for axis, value in zip(site.node.block.iter_vars, site.node.iter_values, strict=False):
            if axis.dom is not None:
                _check_binding(subject, site, axis, axis.dom, value)


def _check_binding(
    subject: Subject, site: BlockSite, axis: tir.IterVar, domain: tir.Range, value: tir.PrimExpr
) -> None:
    flow, facts = subject.flow, site.place.facts
    if is_zero(domain.min) and _is_inside(subject, value, domain.extent, facts):
        return
    start, size, value = flow.resolve(domain.min), flow.resolve(domain.extent), flow.resolve(value)
    below = tir.LT("bool", value, start)
    above = tir.GE("bool", tir.Sub(value.dtype, value, start), size)
    free = subject.solver.related(size, (value,), facts)
    answer = subject.solver.ask(tir.Or("bool", below, above), facts, free)
    if answer.values is None:
        return
    subject.misbound.add(axis.var)
    reached, first, length = (subject.value(expr, answer.values) for expr in (value, start, size))
    shown = subject.show((value,), answer.values) or "this"
    message = f"{shown} binds axis '{axis.var.name}' of block '{site.node.block.name_hint}' to {reached}, "
    message += f"outside its domain {first} to {first + length - 1}"
    help = "bind it to values of its domain: T.where(…) leaves out the others"
    if any(loop.loop_var is domain.extent for loop in subject.of_kinds(tir.For)):
        help = f"the domain comes before the value: T.axis.spatial(extent, {domain.extent})"
    subject.report.add("E0415", message, _first_placed(value, axis, site.node.block), help)
