"""Arguments for schedule primitives. Most are plausible for the current program; some are not.

The declared kinds of the parameters determine the arguments. If arguments must fit each other, a row of `_TOGETHER`
says how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import tir
from ...ir.base import Op
from ...ir.equal import structural_equal
from ...ir.schedule import LoopRV, Schedule, ScheduleError
from ...ir.schedule.declaration import PRIMITIVES, Argument, Primitive
from ...ir.visit import walk
from .sites import BlockSite, Offer

CHANGING = tuple(sorted(name for name, primitive in PRIMITIVES.items() if not primitive.is_query))
"""The primitives that change programs."""
_REDUCE = tir.IterVarType.COMM_REDUCE
_SCOPES = ("global", "shared", "local")
_INTRINSICS = ("dot_8x1_f32_avx2", "dot_16x4_vnni")
_TEXTS = {
    "thread_axis": ("threadIdx.x", "blockIdx.x", "vthread.x"), "buf_type": ("read", "write"),
    "tensor_intrin": _INTRINSICS, "ann_key": ("pragma_a", "pragma_b"),
}  # fmt: skip
_INTEGERS = {"buffer_index": (0,), "write_buffer_index": (0,), "factor": (4, 8, 0)}
_LAYOUTS: tuple[Callable[..., list[Any]], ...] = (
    lambda *i: list(i),
    lambda *i: list(reversed(i)),
    lambda *i: [*i[:-1], *[part for item in i[-1:] for part in (item // 2, item % 2)]],
    lambda *i: [*[item // 4 for item in i[:1]], *i[1:], *[item % 4 for item in i[:1]]],
    lambda *i: [*i[-1:], *i[:-1]],
    lambda *i: [*i[:-1], *[part for item in i[-1:] for part in ((item + 1) // 4, (item + 1) % 4)]],
    lambda *i: [*[item + 2 for item in i[:1]], *i[1:]],
)
_WIDER = {"int8": "int32", "int32": "int64", "float32": "float64"}
"""Dtypes to which a buffer may change without a change of results."""


def arguments(schedule: Schedule, name: str, number: int) -> dict[str, Any]:
    """Return arguments for primitive `name`, chosen by `number`. One in twelve is wrong."""
    offer, primitive = Offer(schedule, number), PRIMITIVES[name]
    given = _TOGETHER[name](offer) if name in _TOGETHER else {}
    site = offer.site(_SUITS.get(name, lambda site: site.loops))
    for argument in primitive.arguments:
        if argument.name not in given and (argument.required or argument.variadic or offer.random.random() < 0.2):
            given[argument.name] = _value(offer, site, argument, primitive)
    if offer.random.random() < 1 / 12:
        at = offer.pick([*given, "surplus"])
        given[at] = (
            [None] if any(argument.variadic and argument.name == at for argument in primitive.arguments) else None
        )
    return given


def apply(schedule: Schedule, name: str, given: dict[str, Any]) -> Any:
    """Apply a primitive to arguments by name and return its result; ScheduleError if it is refused.

    A primitive that takes several loops takes them by position. Unknown arguments are a fault of `arguments`, unless they
    are meant to be wrong.
    """
    rest = next((argument.name for argument in PRIMITIVES[name].arguments if argument.variadic), "")
    several = given.get(rest, ())
    try:
        return schedule.apply(name, *several, **{key: value for key, value in given.items() if key != rest})
    except ScheduleError as problem:
        found = problem.diagnostics[0]
        assert found.code != "E0105" or "surplus" in given or not several, f"{name}: {found.message}"
        raise


def _value(offer: Offer, site: BlockSite | None, argument: Argument, primitive: Primitive) -> Any:
    pick = offer.pick
    match argument.kind.name:
        case "Block":
            return _name(site)
        case "Loop" | "BlockOrLoop" | "Location":
            return (
                _several(offer, site, 0.7 if primitive.name == "reorder" else 0.3)
                if argument.variadic
                else offer.loop(site)
            )
        case "LoopOrBlocks":
            return offer.loop(site) if offer.random.random() < 0.8 else [_name(site)]
        case "Blocks":
            return [_name(offer.related(site, consumers=True))]
        case "Factors":
            return pick([[None, 2], [2, None], [None, 1, 2], [2, 2], [4, None], [None, 3], [1, 2]])
        case "Integer":
            return pick(_INTEGERS.get(argument.name, (0, 1, -1, 2)))
        case "Flag":
            return pick((False, True))
        case "Number":
            return pick((0.5, 1))
        case "Integers":
            return [pick((0, 0, 1, 2))]
        case "Numbers":
            return [0.5, 0.5]
        case "AccessedBuffer":
            return _accessed(offer, site)
        case "BufferIndex":
            return offer.random.randrange(1 + _most_buffers(site, primitive.name))
        case "StorageScope":
            return pick(_SCOPES)
        case "IndexMap":
            return pick(_LAYOUTS)
        case "Text":
            return pick(_TEXTS.get(argument.name, _SCOPES))
        case "DataType":
            return pick(tuple(_WIDER.values()))
        case _:
            return pick((1, 2, True, "text"))


def _name(site: BlockSite | None) -> str | None:
    return None if site is None else site.name


def _most_buffers(site: BlockSite | None, primitive: str) -> int:
    """Return the last index into the reads or writes of a block."""
    regions = () if site is None else site.block.reads if "read" in primitive else site.block.writes
    return max(0, len(regions) - 1)


def _several(offer: Offer, site: BlockSite | None, reversed_share: float) -> list[LoopRV]:
    """Return a few consecutive loops around a block, in reverse order in the given share of cases."""
    loops = offer.loops(site)
    start = offer.random.randrange(max(1, len(loops) - 1))
    some = loops[start : start + 2 + offer.random.randrange(2)]
    return some[::-1] if offer.random.random() < reversed_share else some


def _accessed(offer: Offer, site: BlockSite | None) -> tuple[str, int] | str:
    """Return a buffer that a block accesses, usually not a parameter, because callers know the layout of parameters."""
    if site is None:
        return "write"
    found = [
        (which, at)
        for which, regions in (("read", site.block.reads), ("write", site.block.writes))
        for at, region in enumerate(regions)
        if all(region.buffer is not parameter for parameter in offer.function.buffer_map.values())
    ]
    return offer.pick(found) if found else ("write", 99)


def _reads_stage(site: BlockSite) -> bool:
    inside = () if site.scope is None else site.scope.alloc_buffers
    return any(read.buffer is buffer for read in site.block.reads for buffer in inside)


def _pads(site: BlockSite) -> bool:
    value = site.block.body.value if isinstance(site.block.body, tir.BufferStore) else None
    return (
        isinstance(value, tir.Call) and value.op == Op("tir.if_then_else") and isinstance(value.args[1], tir.BufferLoad)
    )


def _rolls(site: BlockSite) -> bool:
    """Return whether the block is a stage that another block in its outermost loop reads."""
    written = {write.buffer for write in site.block.writes}
    return site.is_stage and any(
        isinstance(node, tir.Block) and node is not site.block and any(read.buffer in written for read in node.reads)
        for loop in site.loops[:1]
        for node in walk(loop)
    )


_SUITS: dict[str, Callable[[BlockSite], Any]] = {
    "compute_inline": lambda site: site.is_stage and not site.is_sum,
    "reverse_compute_inline": _reads_stage,
    "cache_inplace": lambda site: site.updates and not site.is_sum,
    "set_scope": lambda site: site.is_stage,
    "storage_align": lambda site: site.is_stage,
    "transform_layout": lambda site: site.is_stage or _reads_stage(site),
    "set_axis_separator": lambda site: site.is_stage or _reads_stage(site),
    "cache_write": lambda site: site.block.writes,
    "rolling_buffer": _rolls,
}
"""Predicates for the blocks that a primitive is meant for."""


def _moved(consumers: bool) -> Callable[[Offer], dict[str, Any]]:
    """Return an offer of a block, and of a loop around one of its consumers or producers."""

    def offer_both(offer: Offer) -> dict[str, Any]:
        site = offer.site((lambda candidate: candidate.is_stage) if consumers else _reads_stage)
        other = offer.related(site, consumers) or offer.site()
        return {"block": _name(site), "loop": offer.loop(other)}

    return offer_both


def _reduced(offer: Offer) -> dict[str, Any]:
    """Offer a reduction, and a loop around it."""
    site = offer.site(lambda candidate: candidate.is_sum and candidate.loops)
    return {"block": _name(site), "loop": offer.loop(site)}


def _refactored(offer: Offer) -> dict[str, Any]:
    """Offer a reduction loop, and the dimension of its iterations in the new buffer."""
    site = offer.site(lambda candidate: candidate.is_sum and candidate.loops)
    loop = offer.loop(site, lambda candidate: site is not None and _is_in(candidate, site, _REDUCE))
    return {"loop": loop, "factor_axis": offer.pick((0, 0, 0, 1, -1, 3))}


def _followed(offer: Offer) -> dict[str, Any]:
    """Offer a reduction, and a block that reads its result."""
    site = offer.site(lambda candidate: candidate.is_sum and candidate.is_stage)
    return {"reduction_block": _name(site), "epilogue_block": _name(offer.related(site, True) or offer.site())}


def _is_in(loop: tir.For, site: BlockSite, kind: tir.IterVarType) -> bool:
    values = _realize(site).iter_values
    return any(
        axis.iter_type is kind and any(node is loop.loop_var for node in walk(value))
        for axis, value in zip(site.block.iter_vars, values, strict=True)
    )


def _realize(site: BlockSite) -> tir.BlockRealize:
    around: tir.Stmt = site.loops[-1] if site.loops else site.scope or site.block
    return next(node for node in walk(around) if isinstance(node, tir.BlockRealize) and node.block is site.block)


def _padded(offer: Offer) -> dict[str, Any]:
    """Offer a block that pads, and a loop around it."""
    site = offer.site(lambda candidate: candidate.loops and _pads(candidate))
    return {"block": _name(site), "loop": offer.loop(site)}


def _einsum(offer: Offer) -> dict[str, Any]:
    """Offer a reduction, and a padding for each of its iterators."""
    site = offer.site(lambda candidate: candidate.is_sum)
    count = len(site.block.iter_vars) if site is not None else 1
    return {"block": _name(site), "padding": [offer.pick((1, 2, 4, 4, 2, 3, 5, 8, 2, 4, 1, 0)) for _ in range(count)]}


def _side_by_side(offer: Offer) -> dict[str, Any]:
    """Offer loops at the same depth around two blocks of one scope."""
    site = offer.site()
    if site is None:
        return {"loops": []}
    pairs = [(one, two, depth) for one in offer.sites for two in offer.sites for depth in _alike(one, two)]
    if not pairs or offer.random.random() < 0.1:
        return {"loops": [offer.loop(candidate) for candidate in (site, offer.site())]}
    *found, depth = offer.pick(pairs)
    both = sorted(found, key=offer.sites.index)
    return {"loops": [offer.loops(candidate)[depth] for candidate in both]}


def _alike(one: BlockSite, other: BlockSite) -> list[int]:
    """Return the depth of the first loops that two blocks of a scope do not share, if these have equal extents."""
    shared = sum(a is b for a, b in zip(one.loops, other.loops, strict=False))
    if one is other or one.scope is not other.scope or shared >= min(len(one.loops), len(other.loops)):
        return []
    sizes = [loops[shared].extent for loops in (one.loops, other.loops)]
    return [shared] if structural_equal(*sizes, map_free_vars=False) else []


def _at(offer: Offer) -> dict[str, Any]:
    """Offer a loop, and a block under it."""
    site = offer.site()
    return {"loop": offer.loop(site), "block": _name(site)}


def _annotated(offer: Offer) -> dict[str, Any]:
    """Offer an annotated block or loop, and the key of an annotation."""
    site = offer.site(
        lambda candidate: candidate.block.annotations or any(loop.annotations for loop in candidate.loops)
    )
    if site is None or site.block.annotations or not site.loops:
        keys = [*site.block.annotations] if site is not None else []
        return {"block_or_loop": _name(site), "ann_key": offer.pick(keys or ["pragma_a"])}
    at = max(range(len(site.loops)), key=lambda i: len(site.loops[i].annotations))
    key = offer.pick([*site.loops[at].annotations] or ["pragma_a"])
    return {"block_or_loop": offer.loops(site)[at], "ann_key": key}


def _ordered(offer: Offer) -> dict[str, Any]:
    """Offer an order of the iterators of a block."""
    site = offer.site(lambda candidate: len(candidate.block.iter_vars) > 1)
    order = list(range(len(site.block.iter_vars) if site is not None else 1))
    offer.random.shuffle(order)
    return {"block": _name(site), "new_order": order}


def _declared(offer: Offer) -> dict[str, Any]:
    """Offer a buffer that a block accesses, and a region that may cover all of these accesses."""
    site = offer.site(lambda candidate: candidate.block.reads)
    which = offer.pick(("read", "read", "write"))
    regions = () if site is None else site.block.reads if which == "read" else site.block.writes
    at = offer.random.randrange(len(regions)) if regions else 0
    shape = regions[at].buffer.shape if regions else ()
    wide = offer.random.random() < 0.7 or bool(regions and site and _is_gathered(site.block, regions[at].buffer))

    def ranges(*iterators: Any) -> list[Any]:
        axes = [(0, size.value if isinstance(size, tir.IntImm) else 1) for size in shape]
        return axes if wide else [iterators[i] if i < len(iterators) else 0 for i in range(len(shape))]

    return {"block": _name(site), "buffer_index": at, "buf_type": which, "gen_new_ranges": ranges}


def _is_gathered(block: tir.Block, buffer: tir.Buffer) -> bool:
    """Return whether `block` accesses `buffer` at indices that it loads, which no primitive can compare with a region."""
    accesses = (node for node in walk(block) if isinstance(node, tir.BufferLoad | tir.BufferStore))
    indices = (index for access in accesses if access.buffer is buffer for index in access.indices)
    return any(isinstance(node, tir.BufferLoad) for index in indices for node in walk(index))


def _hidden(offer: Offer) -> dict[str, Any]:
    """Offer a parameter that nothing writes, whose reads affect no order."""
    written = {write.buffer for candidate in offer.sites for write in candidate.block.writes}
    own = set(offer.function.buffer_map.values()) - written
    site = offer.site(lambda candidate: any(read.buffer in own for read in candidate.block.reads))
    reads = () if site is None else site.block.reads
    free = [at for at, read in enumerate(reads) if read.buffer in own]
    return {"block": _name(site), "buf_type": "read", "buf_index_array": [offer.pick(free) if free else 9]}


def _widened(offer: Offer) -> dict[str, Any]:
    """Offer a buffer, and a dtype that can represent all of its values."""
    site = offer.site(
        lambda access: access.is_stage and access.block.writes and access.block.writes[0].buffer.dtype in _WIDER
    )
    old = site.block.writes[0].buffer.dtype if site is not None and site.block.writes else "int32"
    return {"block": _name(site), "buffer_index": 0, "dtype": _WIDER.get(old, "nothing")}


def _goes_on(site: BlockSite) -> bool:
    return bool(site.loops) and not site.is_sum and any(axis.iter_type is _REDUCE for axis in site.block.iter_vars)


def _intrinsic(offer: Offer) -> dict[str, Any]:
    """Offer a reduction loop, and an intrinsic that may compute the same."""
    site = offer.site(_goes_on)
    bytes = site is not None and any(read.buffer.dtype == "int8" for read in site.block.reads)
    loop = offer.pick(offer.loops(site)[-2 if bytes else -1 :] or [None])
    return {"block_or_loop": loop, "tensor_intrin": _INTRINSICS[bytes]}


_TOGETHER: dict[str, Callable[[Offer], dict[str, Any]]] = {
    "compute_at": _moved(consumers=True),
    "reverse_compute_at": _moved(consumers=False),
    "decompose_reduction": _reduced,
    "rfactor": _refactored,
    "fuse_reduction_epilogue": _followed,
    "decompose_padding": _padded,
    "pad_einsum": _einsum,
    "merge": _side_by_side,
    "read_at": _at,
    "write_at": _at,
    "unannotate": _annotated,
    "reorder_block_iter_var": _ordered,
    "annotate_buffer_access": _declared,
    "unsafe_hide_buffer_access": _hidden,
    "unsafe_set_dtype": _widened,
    "tensorize": _intrinsic,
}
"""Offers of arguments that must fit each other."""
