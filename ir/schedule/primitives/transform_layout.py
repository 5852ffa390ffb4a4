"""`transform_layout`: change the layout of a buffer."""

from __future__ import annotations

from msgspec.structs import replace

from ... import tir
from ..analysis.caching import ACCESSED
from ..analysis.index_maps import inverse, map_shape
from ..analysis.relayout import NOT_CALLED, PaddingFiller, Relayout, check_not_called, is_parameter
from ..analysis.removal import OPAQUE, check_not_opaque
from ..arguments import Block, Flag, Integers
from ..conditions import Condition
from ..declaration import primitive
from ..layout_arguments import INJECTIVE, PADDING_VALUE, AccessedBuffer, IndexMap, PadValue, buffer_accessed
from ..program import Program
from .set_axis_separator import separate

NO_GAPS = Condition(
    "E0554",
    "the index map needs no padding, or pad_value is given",
    "choose divisors that divide the shape, or give pad_value",
)
NO_STRIDES = Condition("E0557", "the buffer has no explicit strides", "declare it without strides")


@primitive(requires=(ACCESSED, OPAQUE, NO_STRIDES, INJECTIVE, NO_GAPS, PADDING_VALUE, NOT_CALLED))
def transform_layout(
    program: Program,
    block: Block,
    buffer: AccessedBuffer,
    index_map: IndexMap,
    pad_value: PadValue | None = None,
    *,
    assume_injective_transform: Flag = False,
    axis_separators: Integers | None = None,
) -> None:
    """Change the layout of a buffer in the whole function: `index_map` maps the index of an element to its new index.
    `buffer` is one that the block reads or writes.

    Positions of the new layout that belong to no element are filled with `pad_value`: by the nest that writes all
    elements, if there is one, or by a block after the last write. If the function only reads the buffer, T.assume
    states that they hold `pad_value`. With `assume_injective_transform`, the map is assumed to be injective and without
    padding. As in TVM, a function may return "axis_separator" between indices; in text, this is `axis_separators`.

    Preserves: what every block computes, in the new layout, which also applies to parameters. Comments stay with their
    loops and blocks.
    """
    _, old = buffer_accessed(program, block, buffer)
    name = program.function_of(block)
    assert name is not None
    function = program.prim_func_of(block)
    if is_parameter(function, old):
        check_not_called(program, name)
    dtype = old.shape[0].dtype if old.shape else "int32"
    change, separators = index_map.of(program, "index_map", len(old.shape), dtype)
    if separators and axis_separators is None:
        axis_separators = program.recorded["axis_separators"] = separators
    new = old
    if change.final_indices != change.initial_indices:
        new = _moved(program, block, old, change, pad_value, assume_injective_transform)
    if axis_separators is not None:
        separate(program, name, new, axis_separators)


def _moved(
    program: Program,
    block: tir.Block,
    old: tir.Buffer,
    change: tir.IndexMap,
    pad_value: PadValue | None,
    believes_injective: bool,
) -> tir.Buffer:
    """Change the layout of `old` according to the map, and return the new buffer."""
    name = program.function_of(block)
    assert name is not None
    check_not_opaque(program.prim_func_of(block).body, old)
    if old.strides:
        raise NO_STRIDES.refuse(f"'{old.name}' has strides", argument="buffer")
    undone = None if believes_injective else inverse(change, old.shape)
    shape = map_shape(change, old.shape)
    if shape is None or (undone is None and not believes_injective):
        raise INJECTIVE.refuse(
            f"elements of '{old.name}' may get the same index, or a negative one", argument="index_map"
        )
    new = replace(old, shape=shape, axis_separators=())
    relayout = Relayout(old, new, change)
    dtype = change.initial_indices[0].dtype if old.shape else "int32"
    padding = None if pad_value is None else pad_value.of(program, "pad_value", len(shape), old, dtype)
    if undone is not None and undone.has_padding:
        if padding is None:
            raise NO_GAPS.refuse(
                f"positions with {undone.padding} belong to no element of '{old.name}'", argument="index_map"
            )
        PaddingFiller(relayout, undone, padding).fill(program, _home(program, block, old))
    change_buffer(program, name, relayout)
    return new


def _home(program: Program, block: tir.Block, buffer: tir.Buffer) -> tir.Block:
    """Return the block that allocates a buffer that `block` accesses, or the root block of the function for a parameter."""
    blocks = [block, *[stmt for stmt in program.around(block) if isinstance(stmt, tir.Block)]]
    return next((other for other in blocks if any(own is buffer for own in other.alloc_buffers)), blocks[-1])


def change_buffer(program: Program, name: str, relayout: Relayout) -> None:
    """Replace the old buffer of a function by the new one, also as a parameter."""
    function = program.tree(name).function
    body = relayout.rewritten(program, function.body)
    parameters = {
        param: relayout.new if buffer is relayout.old else buffer for param, buffer in function.buffer_map.items()
    }
    program.replace_function(name, replace(function, body=body, buffer_map=parameters))
