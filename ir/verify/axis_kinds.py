"""The law of axis kinds: instances of a block depend on each other only along axes whose kind allows it.

E0421: an axis that is declared spatial but is not · E0423: instances that differ only in reduction axes, of which one
reads an element that another one writes, other than to update it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import tir
from ..analysis.update import key_of
from ..diagnostics import Note
from .affine import all_of, any_of
from .meetings import PRIVATE_SCOPES, how
from .pairs import Claim, Twin, describe, meet
from .partners import Partners, is_clear
from .place import AccessSite, Inside, Iterate
from .subject import Subject, is_write

DATA_PAR, COMM_REDUCE = tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE
MAX_PAIRS = 1024
"""Maximum number of pairs of accesses checked per block and kind of axis, which takes a second or two. Unrolled bodies
have hundreds of accesses, whose pairs would take minutes.
"""


def check_axis_kinds(subject: Subject, only: tir.Block | None = None) -> bool:
    """Check the accesses of each block, or of one, over all instances that run inside one instance of the surrounding block.

    Accesses of nested blocks count. Memory that is allocated inside a surrounding loop, or per thread, is not shared between
    its iterations. Return whether all pairs of accesses were checked; there may be too many.
    """
    is_whole = True
    for realize, sites in _sites_by_block(subject, only).items():
        updates = {(site.buffer, _key(site)) for site in sites if not is_write(site)}
        for kind in (DATA_PAR, COMM_REDUCE):
            axes = [axis for axis in realize.block.iter_vars if axis.iter_type is kind]
            asked = 0
            for first, second in _pairs(subject, realize, axes, sites):
                is_same = _key(first) == _key(second)
                is_update = (first.buffer, _key(first)) in updates
                if is_same and is_update and (kind is COMM_REDUCE or not is_write(second)):
                    continue  # steps of one update; conflicts with other updates are found as pairs of stores
                if asked == MAX_PAIRS:
                    is_whole = False
                    break
                asked += 1
                if _depends(subject, realize, axes, first, second, sites):
                    break
    return is_whole


def _pairs(
    subject: Subject, realize: tir.BlockRealize, axes: list[tir.IterVar], sites: list[AccessSite]
) -> Iterator[tuple[AccessSite, AccessSite]]:
    """Yield the pairs of a store and an access that may meet in instances that differ in `axes`."""
    by_buffer: dict[tir.Buffer, list[AccessSite]] = {}
    for site in sites if axes else ():
        if is_clear(subject, site):
            by_buffer.setdefault(site.buffer, []).append(site)
    is_spatial = bool(axes) and axes[0].iter_type is DATA_PAR
    partners = {
        buffer: Partners(
            subject,
            near,
            lambda site: _claim(subject, realize, axes, site).is_shared,
            lambda site, twin: _claim(subject, realize, axes, site).apart(twin),
        )
        for buffer, near in by_buffer.items()
        if any(map(is_write, near)) and not (is_spatial and _are_separate(axes, near))
    }
    for first in sites:
        if is_write(first) and first.buffer in partners and is_clear(subject, first):
            for second in partners[first.buffer](first):
                if not (is_spatial and _are_separate(axes, [first, second])):
                    yield first, second


def _key(site: AccessSite) -> tuple[object, ...]:
    """Return a key that accesses with equal indices share."""
    return tuple(map(key_of, site.indices))


def _sites_by_block(subject: Subject, only: tir.Block | None) -> dict[tir.BlockRealize, list[AccessSite]]:
    """Return the accesses of each block that has axes to check, including those of nested blocks."""
    found: dict[tir.BlockRealize, list[AccessSite]] = {}
    for site in subject.flow.sites:
        if site.in_init or site.buffer.data not in subject.flow.owners:
            continue
        for step in site.place.steps():
            if isinstance(step, Inside) and step.realize.block.iter_vars and only in (None, step.realize.block):
                found.setdefault(step.realize, []).append(site)
    return found


def _are_separate(axes: list[tir.IterVar], sites: list[AccessSite]) -> bool:
    """Whether each axis is by itself an index at some position, the same in all accesses."""
    columns = list(zip(*[site.indices for site in sites], strict=True))
    return all(any(all(index is axis.var for index in column) for column in columns) for axis in axes)


def _claim(subject: Subject, realize: tir.BlockRealize, axes: list[tir.IterVar], first: AccessSite) -> Claim:
    """Return the condition that instances of a block differ in `axes`, for the accesses of a buffer like `first`."""
    flow, block = subject.flow, realize.block
    steps = list(first.place.steps())
    own = next(i for i, step in enumerate(steps) if isinstance(step, Inside) and step.realize is realize)
    outer = next((step for step in steps[own + 1 :] if isinstance(step, Inside)), None)
    lives = [step for step in flow.owners[first.buffer.data].steps() if isinstance(step, Iterate)]
    lives += [step for step in steps if isinstance(step, Iterate) and _has_own_memory(step, first)]
    shared = {outer, *lives}
    values = [flow.resolve(axis.var) for axis in axes]
    others = [flow.resolve(axis.var) for axis in block.iter_vars if axis not in axes]
    return Claim(
        shared.__contains__,
        lambda twin: all_of(
            [
                any_of([tir.NE("bool", value, twin(value)) for value in values]),
                *[tir.EQ("bool", value, twin(value)) for value in others if axes[0].iter_type is COMM_REDUCE],
            ]
        ),
        lambda twin, third: all_of([tir.EQ("bool", twin(value), third(value)) for value in values]),
    )


def _depends(
    subject: Subject,
    realize: tir.BlockRealize,
    axes: list[tir.IterVar],
    first: AccessSite,
    second: AccessSite,
    sites: list[AccessSite],
) -> bool:
    """Report a dependence between instances of a block along `axes`; return whether there is one."""
    block = realize.block
    found = meet(subject, _claim(subject, realize, axes, first), first, second, sites)
    if found is None:
        return False
    twin, numbers = found
    moved = _moved(subject, axes, twin, numbers)
    names = " and ".join(f"'{axis.var.name}'" for axis in moved)
    is_are, kind = ("is" if len(moved) == 1 else "are"), "spatial"
    code, help = "E0421", "make it a reduction or a scan axis, or give each instance elements of its own"
    if moved[0].iter_type is COMM_REDUCE:
        kind = f"reduction {'axis' if len(moved) == 1 else 'axes'}"
        code, help = "E0423", "make it a scan axis (T.axis.scan), which keeps the order of its instances"
    article = "a " if kind == "reduction axis" else ""
    message = f"{names} of block '{block.name_hint}' {is_are} not {article}{kind}: "
    message += describe(subject, first, second, twin, numbers, [axis.var for axis in axes])
    subject.report.add(code, message, first.node, help, Note("the axis is here", moved[0].span))
    return True


def _has_own_memory(step: Iterate, site: AccessSite) -> bool:
    """Whether the iterations of a loop over threads each have their own memory in the scope of a buffer."""
    side_by_side = how(step.loop) if isinstance(step.loop, tir.For) else None
    scope = site.buffer.scope
    return (side_by_side == "blocks" and scope.startswith("shared")) or (
        side_by_side in ("blocks", "threads") and scope.startswith(PRIVATE_SCOPES)
    )


def _moved(subject: Subject, axes: list[tir.IterVar], twin: Twin, values: dict[tir.Var, int]) -> list[tir.IterVar]:
    there = twin.values(values)
    return [axis for axis in axes if subject.value(axis.var, values) != subject.value(axis.var, there)]
