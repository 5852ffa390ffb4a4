"""`unsafe_set_dtype`: change the dtype of a buffer."""

from __future__ import annotations

from msgspec.structs import replace

from ... import make, tir
from ...base import Node, Op
from ...buffers import data_pointer
from ...dtype import with_lanes_of
from ...visit import children
from ..analysis.allocation import ALLOCATED, allocating_block, change_buffer, pointers_of
from ..analysis.caching import ACCESSED, accessed_buffer
from ..analysis.removal import OPAQUE
from ..arguments import Block
from ..buffer_arguments import BufferIndex, DataType
from ..declaration import primitive
from ..program import Program


@primitive(requires=(ACCESSED, ALLOCATED, OPAQUE))
def unsafe_set_dtype(program: Program, block: Block, buffer_index: BufferIndex, dtype: DataType) -> None:
    """Change the dtype of a buffer that a block writes, and of its views. Stored values are cast to the new dtype, and
    loaded values are cast back. Unsafe: the new dtype may not represent every value.

    Preserves: what is computed, if the new dtype represents all values that are stored. Comments stay.
    """
    buffer = accessed_buffer(block, buffer_index, writes=True, argument="buffer_index")
    if buffer.dtype == dtype:
        return
    site = allocating_block(program, block, buffer)
    _check_accessed_by_elements(site, buffer)

    def changed(array: tir.Buffer) -> tir.Buffer:
        return replace(array, dtype=dtype, data=data_pointer(array.data.name, dtype, array.scope))

    def cast(node: Node) -> Node:
        if isinstance(node, tir.BufferStore):
            return replace(node, value=make.cast(node.value, with_lanes_of(dtype, node.value.dtype)))
        assert isinstance(node, tir.BufferLoad)
        return make.cast(replace(node, dtype=with_lanes_of(dtype, node.dtype)), node.dtype)

    change_buffer(program, site, buffer, changed, cast)


def _check_accessed_by_elements(site: tir.Block, buffer: tir.Buffer) -> None:
    """Refuse a buffer whose address is used (E0544), as such accesses cannot be cast."""
    pointers = pointers_of(site, buffer)
    stack: list[Node] = [site]
    while stack:
        node = stack.pop()
        if node in pointers or (isinstance(node, tir.Call) and node.op == Op("tir.address_of")):
            raise OPAQUE.refuse(f"the address of '{buffer.name}', or of another buffer next to it, is used")
        stack.extend([] if isinstance(node, tir.Buffer) else children(node))
