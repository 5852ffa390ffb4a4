"""The visible effect of schedule primitives: what a program must look like after an applied step.

A primitive that does nothing, or something else that is equivalent, does not change what a program computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import prod
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.equal import structural_equal
from ...ir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from ...ir.visit import walk


class Before(Struct, frozen=True):
    """The operands of a step before it is applied: its loops, its block, and the annotations that they have."""

    loops: tuple[tir.For, ...]
    block: tir.Block | None
    notes: Mapping[str, Any] = {}
    """The annotations of the block or loop that is annotated."""
    named: Mapping[str, BlockRV] = {}
    """The blocks that are given by name: a step may add another one of the same name."""


class Step(Struct, frozen=True):
    """An applied step: its arguments, its operands before it, its results, and the schedule after it."""

    given: dict[str, Any]
    before: Before
    result: Any
    schedule: Schedule

    def node(self, handle: Any) -> Any:
        """Return the loop or the block of a handle, or of the name of a block."""
        if isinstance(handle, str):
            handle = self.before.named.get(handle) or self.schedule.get_block(handle)
        return self.schedule.get(handle)

    def block(self) -> tir.Block:
        """Return the block of the step as it is now."""
        found = self.node(self.given["block"])
        assert isinstance(found, tir.Block)
        return found

    def results(self) -> list[Any]:
        """Return the blocks or loops that the step returned."""
        return [self.schedule.get(handle) for handle in _listed(self.result)]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]  # type: ignore[reportUnknownArgumentType]


def operands(schedule: Schedule, given: dict[str, Any]) -> Before:
    """Return the operands of a step that will be applied. Wrong arguments are left out."""
    loops = given.get("loop", given.get("loops", given.get("ordered_loops")))
    try:
        names = [value for key in ("block", "block_or_loop") if isinstance(value := given.get(key), str)]
        named = {name: schedule.get_block(name) for name in names}
        block = schedule.get(named[given["block"]]) if given.get("block") in named else None
        subject = given.get("block_or_loop")
        noted = schedule.get(named.get(subject, subject)) if subject else None
        notes = noted.annotations if isinstance(noted, tir.For | tir.Block) else {}
        return Before(
            tuple([schedule.get(loop) for loop in _listed(loops) if isinstance(loop, LoopRV)]), block, notes, named
        )
    except ScheduleError:
        return Before((), None)


def check_effect(primitive: str, step: Step) -> None:
    """Assert that an applied step has the effect of its primitive."""
    effect = EFFECTS.get(primitive)
    if effect is not None:
        said = effect(step)
        assert said is None, f"{primitive} has another effect: {said}"


Effect = Callable[[Step], str | None]
"""Returns what is wrong with the effect of a step, or None."""


def _number(expr: Any) -> int | None:
    return expr.value if isinstance(expr, tir.IntImm) else None


def _split(step: Step) -> str | None:
    factors, extents = step.given["factors"], [_number(loop.extent) for loop in step.results()]
    if len(extents) != len(factors):
        return f"{len(extents)} loops for {len(factors)} factors"
    wrong = [pair for pair in zip(factors, extents, strict=True) if None not in pair and pair[0] != pair[1]]
    size = _number(step.before.loops[0].extent)
    inner = prod(factor for factor in factors if factor is not None)
    inferred = next((extent for factor, extent in zip(factors, extents, strict=True) if factor is None), None)
    if size is not None and inferred is not None and inferred != -(-size // inner):
        return f"{size} iterations in {inferred} times {inner}"
    return f"factors {factors} give loops of {extents} iterations" if wrong else None


def _fuse(step: Step) -> str | None:
    sizes, (fused,) = [_number(loop.extent) for loop in step.before.loops], step.results()
    total = _number(fused.extent)
    if None in sizes or total is None or total == prod(size or 0 for size in sizes):
        return None
    return f"loops of {sizes} iterations become one of {total}"


def _reorder(step: Step) -> str | None:
    loops = [step.node(loop) for loop in step.given["ordered_loops"]]
    is_inside = all(inner in set(walk(outer)) for outer, inner in pairwise(loops))
    return None if is_inside else "the loops have another order"


def _kind(kind: tir.ForKind) -> Effect:
    return lambda step: None if (found := step.node(step.given["loop"]).kind) is kind else f"the loop is {found.name}"


def _bind(step: Step) -> str | None:
    loop = step.node(step.given["loop"])
    tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else None
    return None if tag == step.given["thread_axis"] else f"the loop is bound to {tag}"


def _annotate(step: Step) -> str | None:
    notes, key = step.node(step.given["block_or_loop"]).annotations, step.given["ann_key"]
    value = getattr(notes.get(key), "value", notes.get(key))
    expected = step.before.notes.get(key, step.given["ann_val"])  # an annotation that exists stays
    return None if value == getattr(expected, "value", expected) else f"the annotation is {value!r}"


def _unannotate(step: Step) -> str | None:
    return (
        "it is still annotated" if step.given["ann_key"] in step.node(step.given["block_or_loop"]).annotations else None
    )


def _inlined(step: Step) -> str | None:
    try:
        step.schedule.get_block(step.given["block"])
    except ScheduleError:
        return None
    return "the block is still there"


def _moved(step: Step) -> str | None:
    loop = step.given["loop"]
    if not isinstance(loop, LoopRV):
        return None
    return None if step.block() in set(walk(step.node(loop))) else "the block is not under the loop"


def _rfactor(step: Step) -> str | None:
    (partial,), axis = step.results(), step.given["factor_axis"]
    for write in partial.writes:
        shape = write.buffer.shape
        found = shape[axis if axis >= 0 else len(shape) + axis]
        if not structural_equal(found, step.before.loops[0].extent) and _number(found) is not None:
            return f"dimension {axis} of '{write.buffer.name}' has {found} elements"
    return None


def _copied(side: str) -> Effect:
    """Return the effect of a primitive whose result is a block that copies into or out of a buffer of a scope."""

    def effect(step: Step) -> str | None:
        copy, scope = step.results()[0], step.given["storage_scope"]
        found = [region.buffer.scope for region in getattr(copy, side)]
        return None if scope in found else f"the copy has scopes {found}"

    return effect


def _written(check: Callable[[Step, tir.Buffer], str | None]) -> Effect:
    return lambda step: check(step, step.block().writes[int(step.given.get("buffer_index", 0))].buffer)


def _aligned(step: Step) -> str | None:
    number, axis, *steps = [int(step.given[name]) for name in ("buffer_index", "axis", "factor", "offset")]
    rank = len(step.block().writes[number].buffer.shape)
    wanted = [number, axis % rank, *steps]
    rows = step.block().annotations.get("buffer_dim_align", ())
    found = [[getattr(part, "value", part) for part in row] for row in rows]
    return None if wanted in found else f"aligned to {found}"


def _decomposed(step: Step) -> str | None:
    blocks = [step.results()[0], step.node(f"{step.given['block']}_update")]
    return None if all(block.init is None for block in blocks) else "a block still has an init"


def _ordered(step: Step) -> str | None:
    assert step.before.block is not None
    names = [axis.var.name for axis in step.before.block.iter_vars]
    wanted = [names[int(at)] for at in step.given["new_order"]]
    found = [axis.var.name for axis in step.block().iter_vars]
    return None if wanted == found else f"the order is {found}"


def _padded(step: Step) -> str | None:
    sizes = [_number(axis.dom.extent) if axis.dom is not None else None for axis in step.block().iter_vars]
    wrong = [
        pair for pair in zip(sizes, step.given["padding"], strict=False) if pair[0] and pair[1] and pair[0] % pair[1]
    ]
    return f"axes of {sizes} iterations" if wrong else None


def _scope(step: Step, buffer: tir.Buffer) -> str | None:
    return None if buffer.scope == step.given["storage_scope"] else f"the scope is {buffer.scope}"


def _dtype(step: Step, buffer: tir.Buffer) -> str | None:
    return None if buffer.dtype == step.given["dtype"] else f"the dtype is {buffer.dtype}"


EFFECTS: dict[str, Effect] = {
    "split": _split, "fuse": _fuse, "reorder": _reorder, "parallel": _kind(tir.ForKind.PARALLEL),
    "vectorize": _kind(tir.ForKind.VECTORIZED), "unroll": _kind(tir.ForKind.UNROLLED), "bind": _bind, "annotate": _annotate,
    "unannotate": _unannotate, "compute_inline": _inlined, "reverse_compute_inline": _inlined, "compute_at": _moved,
    "reverse_compute_at": _moved, "rfactor": _rfactor, "cache_read": _copied("writes"), "cache_write": _copied("reads"),
    "read_at": _copied("writes"), "write_at": _copied("reads"), "reindex_cache_read": _copied("writes"),
    "reindex_cache_write": _copied("reads"), "set_scope": _written(_scope), "unsafe_set_dtype": _written(_dtype),
    "storage_align": _aligned, "decompose_reduction": _decomposed, "reorder_block_iter_var": _ordered, "pad_einsum": _padded,
    "add_unit_loop": lambda step: None if _number(step.results()[0].extent) == 1 else "the new loop has several iterations",
}  # fmt: skip
"""Effects by primitive."""
