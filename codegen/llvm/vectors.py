"""Splitting and joining vectors; a vector of one lane is a scalar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from .api import Builder, LLVMType, Value, ir

_I32 = ir.IntType(32)


class Uniform(ir.Constant):  # type: ignore[misc]
    """A vector constant with the same element in every lane; its text is short."""

    def _get_reference(self) -> str:
        return f"splat ({self.constant[0]})"


def uniform(element: Value, lanes: int) -> Value:
    """Return the vector whose lanes are all the constant `element`."""
    return Uniform(ir.VectorType(element.type, lanes), [element] * lanes)


def split(builder: Builder, value: Value) -> list[Value]:
    """Return the lanes of `value`; `value` itself if it is a scalar."""
    count = getattr(value.type, "count", None)
    if count is None:
        return [value]
    return [builder.extract_element(value, ir.Constant(_I32, lane)) for lane in range(count)]


def join(builder: Builder, lanes: Sequence[Value]) -> Value:
    """Return the vector of `lanes`; a scalar if there is only one."""
    if len(lanes) == 1:
        return lanes[0]
    vector = ir.Constant(ir.VectorType(lanes[0].type, len(lanes)), ir.Undefined)
    for lane, value in enumerate(lanes):
        vector = builder.insert_element(vector, value, ir.Constant(_I32, lane))
    return vector


def by_lane(builder: Builder, value: Value, function: Callable[[Value], Value]) -> Value:
    """Apply `function` to every lane of `value`."""
    return join(builder, [function(lane) for lane in split(builder, value)])


def like(value: Value, element: LLVMType) -> LLVMType:
    """Return the type with the element type `element` and the lanes of `value`."""
    lanes = getattr(value.type, "count", None)
    return element if lanes is None else ir.VectorType(element, lanes)


@lru_cache(maxsize=1024)
def ramp(element: LLVMType, start: int, step: int, lanes: int) -> Value:
    """Return the vector constant `start`, `start + step`, …; its elements wrap around."""
    half = 1 << (element.width - 1)
    numbers = [(start + step * lane + half) % (2 * half) - half for lane in range(lanes)]
    return ir.Constant(ir.VectorType(element, lanes), [ir.Constant(element, number) for number in numbers])


def shuffle(builder: Builder, a: Value, b: Value, lanes: Sequence[int]) -> Value:
    """Return the vector of `lanes`, which index `a` followed by `b`."""
    mask = ir.Constant(ir.VectorType(_I32, len(lanes)), [ir.Constant(_I32, lane) for lane in lanes])
    return builder.shuffle_vector(a, b, mask)


def splat(builder: Builder, value: Value, lanes: int) -> Value:
    """Return a vector with the scalar `value` in every lane."""
    if isinstance(value, ir.Constant):
        return uniform(value, lanes)
    nothing, first_lanes = _splat_operands(value.type, lanes)
    return builder.shuffle_vector(builder.insert_element(nothing, value, _FIRST), nothing, first_lanes)


_FIRST = ir.Constant(_I32, 0)


@lru_cache(maxsize=256)
def _splat_operands(element: LLVMType, lanes: int) -> tuple[Value, Value]:
    return ir.Constant(ir.VectorType(element, lanes), ir.Undefined), uniform(_FIRST, lanes)
