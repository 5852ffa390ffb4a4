"""Kinds of arguments of primitives. Each kind converts the value that a caller passes to the value that primitives use.

A primitive names a kind by the annotation of its parameter, such as `loop: Loop` or `factors: Factors | None`. To
readers of its code the name is a type alias; to the schedule it is the key of `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from .. import tir
from ..base import Node
from ..make import const
from ..simplify import simplify
from ..visit import substitute
from .conditions import ALIVE
from .handles import BlockRV, ComputeLocation, ExprRV, Handle, LoopRV
from .program import Program

Block: TypeAlias = tir.Block
Loop: TypeAlias = tir.For
BlockOrLoop: TypeAlias = tir.Block | tir.For
Location: TypeAlias = tir.For | ComputeLocation
Integer: TypeAlias = int
Flag: TypeAlias = bool
Number: TypeAlias = float
Text: TypeAlias = str
Expression: TypeAlias = tir.PrimExpr
Factors: TypeAlias = tuple[tir.PrimExpr | None, ...]
Integers: TypeAlias = tuple[int, ...]
Numbers: TypeAlias = tuple[float, ...]
Attribute: TypeAlias = Any


class Mismatch(Exception):
    """Argument of the wrong kind; the message says what was expected."""


class Reading(Struct):
    """Context for reading arguments: the program, and the current value of each handle."""

    program: Program
    handles: Mapping[Handle, Any]

    def node(self, handle: BlockRV | LoopRV) -> Any:
        """Return the block or loop of a handle; refused if it no longer exists (E0503)."""
        what = "block" if isinstance(handle, BlockRV) else "loop"
        if handle not in self.handles:
            raise Mismatch(f"a {what} of this schedule, not of another one")
        value = self.handles[handle]
        if isinstance(value, ComputeLocation):
            raise Mismatch(f"a {what}, but sample_compute_location chose none")
        node = self.program.current(value)
        if node is None or self.program.function_of(node) is None:
            raise ALIVE.refuse(f"the {what} that was {handle.origin} no longer exists")
        return node

    def expression(self, value: tir.PrimExpr) -> tir.PrimExpr:
        """Return an expression with handles of numbers replaced by the numbers, simplified."""
        chosen = {handle: number for handle, number in self.handles.items() if isinstance(handle, ExprRV)}
        return simplify(substitute(value, chosen))


class Kind(Struct, frozen=True):
    """Kind of argument: a description of what is expected, and the function that reads it."""

    name: str
    expected: str
    read: Callable[[Reading, Any], Any]


KINDS: dict[str, Kind] = {}


def kind(name: str, expected: str) -> Callable[[Any], Any]:
    """Register the decorated function as the reader of a kind; it raises Mismatch if an argument does not fit."""

    def declare(read: Callable[[Reading, Any], Any]) -> Callable[[Reading, Any], Any]:
        KINDS[name] = Kind(name, expected, read)
        return read

    return declare


@kind("Block", "a block: its handle, or its name")
def read_block(reading: Reading, value: Any) -> tir.Block:
    if isinstance(value, str):
        program = reading.program
        if program.working_on is None:
            raise Mismatch("a handle, as no function was chosen with work_on")
        return program.block_named(value, program.working_on)
    if not isinstance(value, BlockRV):
        raise Mismatch
    return reading.node(value)


@kind("Loop", "a loop")
def read_loop(reading: Reading, value: Any) -> tir.For:
    if not isinstance(value, LoopRV):
        raise Mismatch
    return reading.node(value)


@kind("Location", "a loop, or what sample_compute_location chose")
def read_location(reading: Reading, value: Any) -> tir.For | ComputeLocation:
    chosen = reading.handles.get(value) if isinstance(value, LoopRV) else None
    return chosen if isinstance(chosen, ComputeLocation) else read_loop(reading, value)


@kind("BlockOrLoop", "a block or a loop")
def read_block_or_loop(reading: Reading, value: Any) -> tir.Block | tir.For:
    return read_loop(reading, value) if isinstance(value, LoopRV) else read_block(reading, value)


@kind("Integer", "an integer")
def read_integer(reading: Reading, value: Any) -> int:
    if isinstance(value, bool):
        raise Mismatch
    if isinstance(value, tir.PrimExpr):
        value = reading.expression(value)
    if isinstance(value, tir.IntImm):
        return value.value
    if not isinstance(value, int):
        raise Mismatch
    return value


@kind("Flag", "True or False")
def read_flag(reading: Reading, value: Any) -> bool:
    if isinstance(value, tir.IntImm):
        value = bool(value.value) if value.dtype == "bool" else value
    if not isinstance(value, bool):
        raise Mismatch
    return value


@kind("Number", "a number")
def read_number(reading: Reading, value: Any) -> float:
    if isinstance(value, tir.FloatImm):
        value = value.value
    return value if isinstance(value, float) else read_integer(reading, value)


@kind("Text", "a string")
def read_text(reading: Reading, value: Any) -> str:
    if isinstance(value, tir.StringImm):
        value = value.value
    if not isinstance(value, str):
        raise Mismatch
    return value


@kind("Expression", "an integer expression")
def read_expression(reading: Reading, value: Any) -> tir.PrimExpr:
    if isinstance(value, tir.PrimExpr):
        return reading.expression(value)
    return const(read_integer(reading, value))


@kind("Factors", "a list of positive integers or expressions, with None for the one to be inferred")
def read_factors(reading: Reading, value: Any) -> tuple[tir.PrimExpr | None, ...]:
    return tuple([None if element is None else read_expression(reading, element) for element in elements(value)])


@kind("Integers", "a list of integers")
def read_integers(reading: Reading, value: Any) -> tuple[int, ...]:
    return tuple([read_integer(reading, element) for element in elements(value)])


@kind("Numbers", "a list of numbers")
def read_numbers(reading: Reading, value: Any) -> tuple[float, ...]:
    return tuple([read_number(reading, element) for element in elements(value)])


@kind("Attribute", "a value that an attribute can have")
def read_attribute(reading: Reading, value: Any) -> Any:
    if isinstance(value, tir.PrimExpr):
        return reading.expression(value)
    if isinstance(value, list | tuple):
        return tuple([read_attribute(reading, item) for item in value])  # type: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: read_attribute(reading, item) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
    if not isinstance(value, str | int | float | Node | None):
        raise Mismatch
    return value


def elements(value: Any) -> list[Any]:
    """Return the elements of a list or tuple; Mismatch if it is neither."""
    if not isinstance(value, list | tuple):
        raise Mismatch
    return list(value)  # type: ignore[reportUnknownArgumentType]
