"""The law of axis kinds: instances of a block that differ in a spatial axis do not depend on each other.

E0421: an axis that is claimed to be spatial, and is not.
"""

from __future__ import annotations

from itertools import product

from .. import tir
from ..diagnostics import Note
from .affine import all_of, any_of
from .pairs import Claim, Twin, describe, is_update, meet
from .place import Inside, Iterate, Site, Step
from .subject import Subject, is_write


def check_axis_kinds(subject: Subject) -> None:
    """Check the accesses of each block, whose instances are all that the loops inside the next outer block run.

    Memory that is allocated inside a loop around, or for each thread, is not shared between its iterations.
    """
    blocks: dict[tir.BlockRealize, list[Site]] = {}
    for site in subject.flow.sites:
        block = site.place.block
        if block is not None and _spatial(block.block) and not site.in_init and _is_shared(subject, site):
            blocks.setdefault(block, []).append(site)
    for realize, sites in blocks.items():
        for first, second in product([site for site in sites if is_write(site)], sites):
            if first.node.buffer is not second.node.buffer or _is_separate(realize.block, first, second):
                continue
            if is_update(first.node) and not is_write(second):
                continue  # then the store meets itself, too
            if _depends(subject, realize, first, second, sites):
                break


def _spatial(block: tir.Block) -> list[tir.IterVar]:
    return [axis for axis in block.iter_vars if axis.iter_type is tir.IterVarType.DATA_PAR]


def _is_shared(subject: Subject, site: Site) -> bool:
    scope = site.node.buffer.scope
    return site.node.buffer.data in subject.flow.owners and (not scope or scope.startswith("global"))


def _is_separate(block: tir.Block, first: Site, second: Site) -> bool:
    """Whether each spatial axis is itself an index, at the same position of both accesses."""
    pairs = list(zip(first.node.indices, second.node.indices, strict=True))
    return all(any(a is axis.var and b is axis.var for a, b in pairs) for axis in _spatial(block))


def _depends(subject: Subject, realize: tir.BlockRealize, first: Site, second: Site, sites: list[Site]) -> bool:
    """Report that an instance of a block depends on another one; return whether there is one."""
    flow, block = subject.flow, realize.block
    axes = _spatial(block)
    steps = list(first.place.steps())
    own = next(i for i, step in enumerate(steps) if isinstance(step, Inside) and step.realize is realize)
    outer = next((step for step in steps[own + 1 :] if isinstance(step, Inside)), None)
    lives = [step for step in flow.owners[first.node.buffer.data].steps() if isinstance(step, Iterate)]
    values = [flow.resolve(axis.var) for axis in axes]

    def is_shared(step: Step) -> bool:
        return step is outer or any(step is each for each in lives)

    claim = Claim(
        is_shared,
        lambda twin: any_of([tir.NE("bool", value, twin(value)) for value in values]),
        lambda twin, third: all_of([tir.EQ("bool", twin(value), third(value)) for value in values]),
    )
    found = meet(subject, claim, first, second, sites)
    if found is None:
        return False
    twin, numbers = found
    moved = _moved(subject, axes, twin, numbers)
    names = " and ".join(f"'{axis.var.name}'" for axis in moved)
    message = f"{names} of block '{block.name_hint}' {'is' if len(moved) == 1 else 'are'} not spatial: "
    message += describe(subject, first, second, twin, numbers, [axis.var for axis in axes])
    help = "make it a reduction or a scan axis, or give each instance elements of its own"
    subject.report.add("E0421", message, first.node, help, Note("the axis is here", moved[0].span))
    return True


def _moved(subject: Subject, axes: list[tir.IterVar], twin: Twin, values: dict[tir.Var, int]) -> list[tir.IterVar]:
    there = twin.values(values)
    return [axis for axis in axes if subject.value(axis.var, values) != subject.value(axis.var, there)]
