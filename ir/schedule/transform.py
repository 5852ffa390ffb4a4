"""Steps made of several primitives, as functions (TVM: `tvm.tir.schedule.transform`)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .. import make, tir
from ..idioms import is_zero
from ..simplify import simplify
from ..visit import walk
from .handles import BlockRV, LoopRV
from .tensor_intrin import TensorIntrin


class TensorizeInfo(Struct, frozen=True):
    """Loops of a block that correspond to those of the description of an intrinsic (TVM: `TensorizeInfo`)."""

    loops: tuple[LoopRV, ...]
    """For each loop of the description, the loop of the block."""
    extents: tuple[int, ...]
    """For each loop of the description, its extent."""
    block_iter_paddings: tuple[int, ...] | None
    """For each iterator of the block, the number of which its extent is to become a multiple; None if nothing is padded."""


def get_tensorize_loop_mapping(
    sch: Any, block: BlockRV, desc_func: tir.PrimFunc, allow_padding: bool = False
) -> TensorizeInfo | None:
    """Return the loops of a block that an intrinsic can replace, or None if there are none.

    The iterators of the description correspond to the last iterators of the block of the same kinds, each bound to a loop
    of its own with a constant extent. The extent is a multiple of that of the description, unless `allow_padding`.
    """
    described = next(node for node in walk(desc_func.body) if isinstance(node, tir.BlockRealize) and node.iter_values)
    desc_loops = [node for node in walk(desc_func.body) if isinstance(node, tir.For)]
    target = sch.get(block)
    values = sch.program().realize_of(target).iter_values
    around = _alone_around(sch, block)
    variables = {sch.get(loop).loop_var: loop for loop in around}
    found: dict[tir.Var, tuple[LoopRV, int]] = {}
    paddings = [1] * len(values)
    at = len(values)
    for axis, value in reversed(list(zip(described.block.iter_vars, described.iter_values, strict=True))):
        desc_loop = next((loop for loop in desc_loops if loop.loop_var is value), None)
        at = next((i for i in range(at - 1, -1, -1) if target.iter_vars[i].iter_type is axis.iter_type), -1)
        used = [node for node in walk(values[at]) if node in variables] if at >= 0 else []
        if desc_loop is None or len(used) != 1 or variables[used[0]] in [loop for loop, _ in found.values()]:
            return None
        loop = sch.get(variables[used[0]])
        rest = simplify(make.sub(values[at], loop.loop_var))
        size = desc_loop.extent
        if any(node in variables for node in walk(rest)) or not isinstance(loop.extent, tir.IntImm):
            return None
        if not isinstance(size, tir.IntImm):
            return None
        if loop.extent.value % size.value:
            if not allow_padding or not is_zero(rest):
                return None
            paddings[at] = size.value
        found[desc_loop.loop_var] = variables[used[0]], size.value
    if len(found) != len(desc_loops):
        return None
    return TensorizeInfo(
        tuple([found[loop.loop_var][0] for loop in desc_loops]),
        tuple([found[loop.loop_var][1] for loop in desc_loops]),
        tuple(paddings) if any(padding > 1 for padding in paddings) else None,
    )


def tile_with_tensor_intrin(sch: Any, block: BlockRV, intrin_name: str, allow_padding: bool = False) -> LoopRV | None:
    """Tile the loops of a block that an intrinsic can replace, and return the outermost loop to tensorize.

    Returns None, and changes nothing, if no loops correspond to those of the intrinsic. With `allow_padding`, extents are
    padded to multiples of those of the intrinsic. Raises ValueError for an unknown intrinsic.
    """
    intrinsic = TensorIntrin.get(intrin_name)
    assert intrinsic is not None
    info = get_tensorize_loop_mapping(sch, block, intrinsic.desc, allow_padding)
    if info is None:
        return None
    if info.block_iter_paddings is not None:
        _pad(sch, block, info.block_iter_paddings)
        info = get_tensorize_loop_mapping(sch, block, intrinsic.desc)
        assert info is not None, "padded extents are multiples"
    inner = [sch.split(loop, [None, size])[1] for loop, size in zip(info.loops, info.extents, strict=True)]
    nodes = [sch.get(loop) for loop in inner]
    loops = sch.get_loops(block)
    first = next(place for place, loop in enumerate(loops) if sch.get(loop) in nodes)
    outer = [loop for loop in loops[first:] if sch.get(loop) not in nodes]
    sch.reorder(*outer, *inner)
    return inner[0]


def _alone_around(sch: Any, block: BlockRV) -> list[LoopRV]:
    """Return the loops around a block that contain nothing else and start at 0."""
    found: list[LoopRV] = []
    for loop in reversed(sch.get_loops(block)):
        node = sch.get(loop)
        if isinstance(node.body, tir.SeqStmt) or not is_zero(node.min):
            break
        found.insert(0, loop)
    return found


def _pad(sch: Any, block: BlockRV, paddings: tuple[int, ...]) -> None:
    """Pad the iterators of a block, and inline the copies that this makes into the blocks that they copy from or to."""
    before = {sch.get(one) for one in (*sch.get_producers(block), *sch.get_consumers(block))}
    sch.pad_einsum(block, list(paddings))
    for producer in sch.get_producers(block):
        if sch.get(producer) not in before:
            for original in sch.get_producers(producer):
                sch.compute_inline(original)
    for consumer in sch.get_consumers(block):
        if sch.get(consumer) not in before and sch.get_consumers(consumer):
            sch.compute_inline(consumer)
