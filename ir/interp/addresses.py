"""Meaning of intrinsics on addresses, and of the checks of indices and addresses that the compiler inserts.

A check that fails is a fault with the message of compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from .. import tir
from ..base import Node
from ..dtype import lanes_of
from ..numpy_dtype import numpy_dtype
from . import scalars
from .buffers import compile_buffer, compile_position, compile_put, memory_of, pointed_element
from .calls import intrinsic, operands_of
from .expressions import Expression
from .frame import Frame, fault
from .memory import BEYOND_HELP, Pointer, beyond, outside
from .scalars import Value


def moved(value: Value, offset: int, node: Node) -> Pointer:
    """Return a pointer `offset` bytes further; E0707 if the address overflows."""
    pointer = memory_of(value, node)
    if not -(2**63) <= pointer.offset + offset < 2**63:
        raise fault("E0707", "this pointer lies outside of the address space", node)
    return Pointer(pointer.memory, pointer.offset + offset)


@intrinsic("address_of")
def _address_of(call: tir.Call) -> Expression:
    load = call.args[0]
    if not isinstance(load, tir.BufferLoad):
        raise fault("E0712", "only an element of a buffer has an address", call)
    view, position = compile_buffer(load.buffer), compile_position(load, is_accessed=False)

    def address(frame: Frame) -> Pointer:
        found = view(frame)
        return found.address(position(frame, found))

    return address


@intrinsic("type_annotation")
def _type_annotation(call: tir.Call) -> Expression:
    return lambda frame: call.dtype


@intrinsic("tvm_access_ptr")
def _access_ptr(call: tir.Call) -> Expression:
    """`(type annotation, data, offset, extent, rw_mask)`; the offset counts elements."""
    operands = operands_of(call)

    def address(frame: Frame) -> Pointer:
        dtype, pointer, offset, *_ = operands(frame)
        size = numpy_dtype(dtype).itemsize * lanes_of(dtype)
        return moved(pointer, offset * size, call)

    return address


@intrinsic("handle_add_byte_offset")
def _byte_offset(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def address(frame: Frame) -> Pointer:
        pointer, offset = operands(frame)
        return moved(pointer, offset, call)

    return address


@intrinsic("atomic_add")
def _atomic_add(call: tir.Call) -> Expression:
    """Add to the value at an address, and return the old value."""
    operands, add = operands_of(call), scalars.operation(tir.Add, call.dtype)
    decode, put = scalars.decoder(call.dtype), compile_put()

    def update(frame: Frame) -> Value:
        pointer, value = operands(frame)
        view, place = pointed_element(pointer, call.dtype, call)
        frame.world.tell_reach(call, "update", view, frame)
        before = decode(view.flat[place])
        put(frame, call, view, place, add(before, value))
        return before

    return update


# --- Checks ---------------------------------------------------------------------------------------------------


def _most_lanes(values: Sequence[Value]) -> int:
    """Return the number of lanes of the vectors in `values`; 1 if all are scalars."""
    return max([len(cast("tuple[Value, ...]", value)) for value in values if isinstance(value, tuple)], default=1)


def _lane(value: Value, lane: int) -> Value:
    """Return a lane of a vector, or the scalar."""
    return cast("tuple[Value, ...]", value)[lane] if isinstance(value, tuple) else value


@intrinsic("checked_index")
def _checked_index(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def check(frame: Frame) -> Value:
        index, name, dimension, *rest = operands(frame)
        rank = len(rest) // 2
        for lane in range(_most_lanes([index])):
            indices = [_lane(part, lane) for part in rest[:rank]]
            if not 0 <= _lane(index, lane) < rest[rank + dimension]:
                raise fault("E0707", outside(name, indices, dimension, rest[rank + dimension]), call)
        return index

    return check


@intrinsic("checked_position")
def _checked_position(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def check(frame: Frame) -> Value:
        index, name, *numbers = operands(frame)
        for lane in range(_most_lanes(numbers)):
            size, extent, offset, place, *terms = [_lane(part, lane) for part in numbers]
            place += sum(term * stride for term, stride in zip(terms[::2], terms[1::2], strict=True))
            start = offset + place * size
            if start < 0 or start + size > extent:
                held = max(extent - offset, 0) // max(size, 1)
                raise fault("E0707", beyond(name, place, held), call, BEYOND_HELP)
        return index

    return check


@intrinsic("checked_pointer")
def _checked_pointer(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def check(frame: Frame) -> Value:
        pointer, message, size, extent, offset = operands(frame)
        if not 0 <= offset <= extent or size > extent - offset:
            raise fault("E0707", message, call)
        return pointer

    return check
