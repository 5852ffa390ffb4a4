"""Checks that the compiler inserts: a check that fails is a fault, as it is in compiled code."""

from __future__ import annotations

from .. import tir
from .calls import intrinsic, operands_of
from .expressions import Expression
from .frame import Frame, fault
from .memory import BEYOND_HELP, beyond, outside
from .scalars import Value


@intrinsic("check")
def _check(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def check(frame: Frame) -> Value:
        condition, code, message = operands(frame)
        if not condition:
            raise fault(code, message, call)
        return 0

    return check


@intrinsic("checked_index")
def _checked_index(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def check(frame: Frame) -> Value:
        index, name, dimension, *rest = operands(frame)
        rank = len(rest) // 2
        for lane, value in enumerate(index if isinstance(index, tuple) else (index,)):
            indices = [part[lane] if isinstance(part, tuple) else part for part in rest[:rank]]
            if not 0 <= value < rest[rank + dimension]:
                raise fault("E0707", outside(name, indices, dimension, rest[rank + dimension]), call)
        return index

    return check


@intrinsic("checked_position")
def _checked_position(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def check(frame: Frame) -> Value:
        index, name, *numbers = operands(frame)
        for lane in range(max(len(part) if isinstance(part, tuple) else 1 for part in numbers)):
            size, extent, offset, place, *terms = (part[lane] if isinstance(part, tuple) else part for part in numbers)
            place += sum(term * stride for term, stride in zip(terms[::2], terms[1::2], strict=True))
            start = offset + place * size
            if start < 0 or start + size > extent:
                held = max(int((extent - offset) / size), 0)
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
