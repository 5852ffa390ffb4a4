"""Kinds of arguments of intrinsics, to which the rows of `tir_math`, `tir_builtin` and `tir_device` refer."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from .. import tir
from ..base import Node, Op
from ..dtype import DType, is_vector, parse_dtype

TYPE_ANNOTATION = Op("tir.type_annotation")

_NUMBERS = ("int", "uint", "float", "bfloat", "bool")
_INTEGERS = ("int", "uint")


class Kind(Struct, frozen=True):
    """A kind: `what` completes "it takes …", `holds` tests an argument, `help` is a remedy."""

    what: str
    holds: Callable[[Node], bool]
    help: str
    is_lanewise: bool = False
    """Whether the argument has as many lanes as the result, or one lane, which is broadcast."""


def is_dtype_argument(node: Node) -> bool:
    """Whether `node` is an argument that is a dtype."""
    return isinstance(node, tir.Call) and node.op == TYPE_ANNOTATION


def described(node: Node) -> str:
    """Return a description of an argument for messages: the dtype of a value."""
    if isinstance(node, tir.StringImm):
        return f"the string '{node.value}'"
    if is_dtype_argument(node):
        return "a dtype"
    return node.dtype if isinstance(node, tir.PrimExpr) else f"a {type(node).__name__}"


def _value(accepts: Callable[[DType], bool]) -> Callable[[Node], bool]:
    """Return a predicate on the dtypes of values; strings and dtypes are not values."""

    def holds(node: Node) -> bool:
        if not isinstance(node, tir.PrimExpr) or isinstance(node, tir.StringImm) or is_dtype_argument(node):
            return False
        return accepts(parse_dtype(node.dtype))

    return holds


def _of(*codes: str, scalar: bool = False) -> Callable[[Node], bool]:
    return _value(lambda dtype: dtype.code in codes and not (scalar and dtype.is_vector))


def _is_four_bytes(dtype: DType) -> bool:
    return dtype.code in _INTEGERS and (dtype.bits, dtype.lanes, dtype.scalable) == (8, 4, False)


def _is_element(node: Node) -> bool:
    if isinstance(node, tir.Var):  # TVM takes the address of a variable of the host; nothing here executes it
        return True
    return isinstance(node, tir.BufferLoad) and not any(is_vector(index.dtype) for index in node.indices)


_CAST = 'convert it, as in T.Cast("{}", …)'
_SCALAR = "give a number that is not a vector"
_HANDLE = "pass A.data, T.address_of(A[0]) or A.access_ptr(…)"

KINDS: dict[str, Kind] = {
    "any": Kind("a value, a string or a dtype", lambda node: True, ""),
    "value": Kind("a value", _value(lambda dtype: dtype.code != "void"), "give a number or a handle"),
    "result": Kind("a scalar or a handle", _value(lambda dtype: dtype.code != "void" and not dtype.is_vector), _SCALAR),
    "number": Kind("a number", _of(*_NUMBERS), "give a float, an integer or a bool", is_lanewise=True),
    "float": Kind("a float", _of("float", "bfloat"), _CAST.format("float32"), is_lanewise=True),
    "int": Kind("an integer", _of(*_INTEGERS), _CAST.format("int32"), is_lanewise=True),
    "bits": Kind("an integer or a bool", _of(*_INTEGERS, "bool"), _CAST.format("int32"), is_lanewise=True),
    "bool": Kind("a bool", _of("bool"), "compare it, as in x != 0", is_lanewise=True),
    "scalar": Kind("a scalar", _of(*_NUMBERS, scalar=True), _SCALAR),
    "index": Kind("a scalar integer", _of(*_INTEGERS, scalar=True), _SCALAR),
    "condition": Kind("a scalar condition", _of(*_INTEGERS, "bool", scalar=True), "compare it, as in x != 0"),
    "vector": Kind("a vector of numbers", _value(lambda dtype: dtype.code in _NUMBERS and dtype.is_vector),
                   "make a vector, as in T.Broadcast(x, 4)"),
    "bytes4": Kind("a vector of four int8 or uint8", _value(_is_four_bytes), 'give it the dtype "int8x4"'),
    "constant": Kind("a constant", lambda node: isinstance(node, tir.IntImm) and _of(*_INTEGERS, "bool")(node),
                     "write a number"),
    "handle": Kind("a handle", _of("handle", scalar=True), _HANDLE),
    "data": Kind("the data of a buffer", lambda node: isinstance(node, tir.Var) and node.dtype == "handle",
                 "pass A.data for a buffer A"),
    "text": Kind("a string", lambda node: isinstance(node, tir.StringImm), 'write it in quotes, as in "row_major"'),
    "dtype": Kind("a dtype", is_dtype_argument, 'pass T.type_annotation("float32")'),
    "element": Kind("an element of a buffer", _is_element, "write it with its indices, as in A[0]"),
}  # fmt: skip
"""Kinds by the name after a parameter's name, as in `x:float`."""
