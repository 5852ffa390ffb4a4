"""Converters of argument values to what a form expects, each named by the annotation that requests it (see `forms`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard, TypeVar

from ...ir import make, tir
from ...ir.base import Attrs, Node, Span
from ...ir.dtype import is_int

Convert: TypeAlias = Callable[[Any, Span | None], Any]
_ConvertT = TypeVar("_ConvertT", bound=Convert)

PrimExpr: TypeAlias = tir.PrimExpr
Argument: TypeAlias = tir.PrimExpr | Node
"""Argument of an intrinsic: an expression, a string, or another node that is passed unchanged."""
Condition: TypeAlias = tir.PrimExpr
Shape: TypeAlias = tuple[tir.PrimExpr, ...]
Exprs: TypeAlias = tuple[tir.PrimExpr, ...]
Ints: TypeAlias = tuple[int, ...]
Integer: TypeAlias = int
Text: TypeAlias = str
Flag: TypeAlias = bool
DTypeName: TypeAlias = str
"""A dtype, by its name or as `T.float32`; `forms` converts it."""
Mask: TypeAlias = int
"""Kind of access through a pointer: "r", "w", "rw", or their bits (TVM: `Buffer.READ`, `Buffer.WRITE`)."""
Buffer: TypeAlias = tir.Buffer
Var: TypeAlias = tir.Var
Attributes: TypeAlias = Attrs

CONVERTERS: dict[str, Convert] = {"Any": lambda value, span: value}
_INT32 = range(-(1 << 31), 1 << 31)


def is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    """Return whether `value` was written as a tuple or a list."""
    return isinstance(value, tuple)


def is_dict(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Return whether `value` was written as a dict."""
    return isinstance(value, dict)


class Mismatch(Exception):
    """A value of the wrong kind; `expected` describes the right one."""

    def __init__(self, expected: str, help: str | None = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.help = help


def converter(name: str) -> Callable[[_ConvertT], _ConvertT]:
    """Declare the decorated function as the converter of annotation `name`."""

    def declare(convert: _ConvertT) -> _ConvertT:
        CONVERTERS[name] = convert
        return convert

    return declare


def constant(value: float, span: Span | None, hint: str | None = None) -> tir.PrimExpr:
    """Return a plain number as an expression of dtype `hint`, or TVM's own: bool, int32 (int64 if too big), float32."""
    if hint is not None:
        return make.const(value, hint, span=span)
    if isinstance(value, bool):
        return tir.IntImm("bool", int(value), span=span)
    if isinstance(value, int):
        return tir.IntImm("int32" if value in _INT32 else "int64", value, span=span)
    return tir.FloatImm("float32", value, span=span)


@converter("PrimExpr")
def expression(value: Any, span: Span | None, hint: str | None = None) -> tir.PrimExpr:
    """Return `value` as an expression: a plain number becomes a constant (of dtype `hint`), a slice a vector load."""
    if isinstance(value, tir.PrimExpr):
        return value
    if isinstance(value, bool | int | float):
        return constant(value, span, hint)
    if isinstance(value, tir.BufferRegion):
        return vector_load(value, span)
    if isinstance(value, tir.IterVar):
        return value.var
    if isinstance(value, tir.Buffer):
        raise Mismatch("an expression", f"give the index of an element: {value.name or 'A'}[{_indices(value)}]")
    raise Mismatch("an expression", "write a number, a variable or an element of a buffer")


def _indices(buffer: tir.Buffer) -> str:
    return ", ".join("0" for _ in buffer.shape) or "()"


@converter("Argument")
def argument(value: Any, span: Span | None) -> tir.PrimExpr | Node:
    """Return `value` as an argument of an intrinsic."""
    if isinstance(value, str):
        return tir.StringImm("handle", value, span=span)
    if isinstance(value, Node) and not isinstance(value, tir.BufferRegion | tir.IterVar | tir.Buffer):
        return value
    return expression(value, span)


@converter("Condition")
def condition(value: Any, span: Span | None) -> tir.PrimExpr:
    """Return `value` as a condition; 0 and 1 are accepted."""
    if isinstance(value, int) and value in (0, 1):
        return tir.IntImm("bool", int(value), span=span)
    if isinstance(value, tir.PrimExpr):
        return value
    raise Mismatch("a condition")


@converter("Exprs")
def expressions(value: Any, span: Span | None) -> tuple[tir.PrimExpr, ...]:
    """Return a tuple or list as expressions."""
    if not is_tuple(value):
        raise Mismatch("a tuple or list of expressions", "write it in brackets, even if it is one: [i]")
    return tuple([expression(element, span) for element in value])


@converter("Shape")
def shape(value: Any, span: Span | None) -> tuple[tir.PrimExpr, ...]:
    """Return a shape: a tuple or list of extents, or one extent."""
    try:
        extents = expressions(value if is_tuple(value) else (value,), span)
    except Mismatch:
        raise Mismatch("a shape, such as (128, n)") from None
    for extent in extents:
        if not is_int(extent.dtype):
            raise Mismatch("a shape of integers", f"write an integer in place of the extent that is {extent.dtype}")
    return extents


@converter("Ints")
def integers(value: Any, span: Span | None) -> tuple[int, ...]:
    """Return a tuple or list of plain integers."""
    if not is_tuple(value):
        raise Mismatch("a tuple or list of integers")
    return tuple([integer(element, span) for element in value])


@converter("Integer")
def integer(value: Any, span: Span | None) -> int:
    """Return a plain integer."""
    if isinstance(value, tir.IntImm):
        return value.value
    if not isinstance(value, int) or isinstance(value, bool):
        raise Mismatch("an integer")
    return value


@converter("Mask")
def access_mask(value: Any, span: Span | None) -> int:
    """Return an access mask as bits: 1 to read, 2 to write."""
    if isinstance(value, str) and value and set(value) <= {"r", "w"}:
        return sum({"r": 1, "w": 2}[letter] for letter in set(value))
    if isinstance(value, int) and 1 <= value <= 3:
        return value
    raise Mismatch('"r", "w" or "rw"')


@converter("Text")
def text(value: Any, span: Span | None) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise Mismatch("a string")
    return value


@converter("Flag")
def flag(value: Any, span: Span | None) -> bool:
    """Return a plain truth value."""
    if not isinstance(value, bool):
        raise Mismatch("True or False")
    return value


@converter("Buffer")
def buffer(value: Any, span: Span | None) -> tir.Buffer:
    """Return a buffer."""
    if not isinstance(value, tir.Buffer):
        raise Mismatch("a buffer")
    return value


@converter("Var")
def variable(value: Any, span: Span | None) -> tir.Var:
    """Return a variable."""
    if not isinstance(value, tir.Var):
        raise Mismatch("a variable")
    return value


@converter("Attributes")
def attributes(value: Any, span: Span | None) -> Attrs:
    """Return attributes: a dict whose keys are strings; the prefix `tirx.` of newer TVM becomes `tir.`."""
    if not is_dict(value) or not all(isinstance(key, str) for key in value):
        raise Mismatch('a dict of attributes, such as {"key": value}')
    return {re.sub("^tirx[.]", "tir.", key): item for key, item in value.items()}


def vector_load(region: tir.BufferRegion, span: Span | None) -> tir.BufferLoad:
    """Return a load of `region`: an axis of more than one element becomes a ramp (TVM: `A[0:4]` as a value)."""
    indices = [
        axis.min
        if isinstance(axis.extent, tir.IntImm) and axis.extent.value == 1
        else make.ramp(axis.min, make.const(1, axis.min.dtype), axis.extent)
        for axis in region.region
    ]
    return make.buffer_load(region.buffer, indices, span=span)
