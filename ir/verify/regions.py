"""The law of regions: the accesses of a block are inside its declared regions.

E0413: a store outside the block's T.writes; a load outside its T.reads is a warning, since TVM omits reads of index
arrays and of buffers that are only passed on · E0422: a matched region outside its source.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import tir
from ..diagnostics import Note
from ..equal import structural_equal
from .affine import any_of, is_affine
from .place import AccessSite, Inside, ProgramPoint
from .subject import Subject, is_write


def check_regions(subject: Subject) -> None:
    """Check every access against the surrounding blocks, once for each buffer and block."""
    reported: set[tuple[tir.Block, tir.Var]] = set()
    for site in subject.flow.sites:
        data = site.node.buffer.data
        owner = subject.flow.owners.get(data)
        for block in _answerable(site) if owner is not None else ():
            is_own = owner is not None and _is_inside(owner, block)
            if is_own or (block, data) in reported:
                break
            if _breaks(subject, site, block):
                reported.add((block, data))
                break


def _answerable(site: AccessSite) -> Iterator[tir.Block]:
    """Yield the surrounding blocks that must declare an access, the innermost first; for loads, only the innermost.

    A block without axes and declarations, such as the root block, is not checked.
    """
    for step in site.place.steps():
        if isinstance(step, Inside):
            block = step.realize.block
            if block.iter_vars or block.reads or block.writes:
                yield block
            if not is_write(site):
                return


def _is_inside(place: ProgramPoint, block: tir.Block) -> bool:
    """Whether memory that is allocated at `place` belongs to a block."""
    return any(isinstance(step, Inside) and step.realize.block is block for step in place.steps())


def _breaks(subject: Subject, site: AccessSite, block: tir.Block) -> bool:
    """Report an access that no region of `block` covers; return whether anything was reported."""
    buffer = site.node.buffer
    regions = block.writes if is_write(site) else (*block.reads, *block.writes)
    declared = [region for region in regions if region.buffer.data is buffer.data]
    verb, form = ("writes", "T.writes") if is_write(site) else ("reads", "T.reads")
    if not declared:
        message = f"block '{block.name_hint}' {verb} '{buffer.name}', but does not declare it"
        help = f"add the region to {form}(…)" + ("" if is_write(site) else ", unless the omission is intended")
        if is_write(site):
            subject.report.add("E0413", message, site.node, help)
        else:
            subject.report.warn("E0413", message, site.node, help)
        return True
    same = [region for region in declared if region.buffer is buffer]
    if len(same) < len(declared) or any(_covers(subject, region, site) for region in same):
        return False
    outside = _outside(subject, same, site)
    if outside is None or not is_affine(outside):
        return False
    answer = subject.solver.ask(outside, site.place.facts, subject.solver.sizes)
    if answer.values is None:
        return False
    shown = subject.show(site.node.indices, answer.values) or "this"
    message = f"{shown} {verb} {subject.element(site, answer.values)}, which block '{block.name_hint}' does not declare"
    note = Note("it declares this region", same[0].span)
    if is_write(site):
        subject.report.add("E0413", message, site.node, f"widen the region in {form}(…)", note)
    else:
        subject.report.warn("E0413", message, site.node, f"widen the region in {form}(…)", note)
    return True


def _covers(subject: Subject, region: tir.BufferRegion, site: AccessSite) -> bool:
    """Whether each index obviously lies in its range: it is the start of a nonempty one, or by constant bounds."""
    bounds = subject.flow.bounds
    for index, axis in zip(site.node.indices, region.region, strict=False):
        here, least, extent = bounds(index), bounds(axis.min), bounds(axis.extent)
        is_inside = least.max <= here.min and here.max < least.min + extent.min
        if not is_inside and not (extent.min > 0 and structural_equal(index, axis.min)):
            return False
    return True


def _outside(subject: Subject, regions: list[tir.BufferRegion], site: AccessSite) -> tir.PrimExpr | None:
    """Return the condition that an access is outside of all `regions`; None for a vector access."""
    resolve = subject.flow.resolve
    result: tir.PrimExpr | None = None
    for region in regions:
        ends: list[tir.PrimExpr] = []
        for index, axis in zip(site.node.indices, region.region, strict=False):
            if "x" in index.dtype:
                return None
            index, start, extent = resolve(index), resolve(axis.min), resolve(axis.extent)
            ends.append(tir.LT("bool", index, start))
            ends.append(tir.GE("bool", tir.Sub(index.dtype, index, start), extent))
        if not ends:
            return None
        beyond = any_of(ends)
        result = beyond if result is None else tir.And("bool", result, beyond)
    return result


def check_matches(subject: Subject) -> None:
    """Check that the region of every matched buffer is inside its source."""
    resolve = subject.flow.resolve
    for site in subject.flow.matches:
        source = site.node.source
        for axis, (part, extent) in enumerate(zip(source.region, source.buffer.shape, strict=False)):
            least, size, whole = map(subject.flow.bounds, (part.min, part.extent, extent))
            if least.min >= 0 and least.max + size.max <= whole.min:
                continue
            start, count, end = resolve(part.min), resolve(part.extent), resolve(extent)
            last = tir.Add(start.dtype, start, count)
            bad = any_of([tir.LT("bool", start, tir.IntImm(start.dtype, 0)), tir.GT("bool", last, end)])
            facts = site.place.facts
            answer = subject.solver.ask(bad, facts, subject.solver.related(end, (last,), facts))
            if answer.values is None:
                if not answer.is_safe and subject.strict:
                    message = (
                        f"the region of '{site.node.buffer.name}' is not proven to be inside '{source.buffer.name}'"
                    )
                    subject.report.warn("E0420", message, site.node, "guard it, or assert its bounds")
                continue
            first, stop, held = (subject.value(term, answer.values) for term in (start, last, end))
            shown = subject.show((start,), answer.values) or "this"
            message = f"{shown} matches '{site.node.buffer.name}' with {first}:{stop} of '{source.buffer.name}', "
            message += f"which has {held} elements in dimension {axis}"
            note = Note(f"'{source.buffer.name}' is declared here", source.buffer.span)
            subject.report.add("E0422", message, site.node, "keep the region inside its source", note)
            break
