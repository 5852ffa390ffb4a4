"""Programs as bytes, for caches on this machine: everything that nodes hold, with positions, comments and shared nodes.

Text (`script`) is the format for people, files and other versions; it keeps neither positions nor which nodes are the same object.
Bytes are read five times as fast, by the version of tvms that wrote them only.

A program is a list of nodes, children first, in MessagePack. A node is the number of its kind and its fields. Fields refer to nodes
and arrays by number, so that sharing is kept; arrays are not part of the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, cast

import msgspec
from msgspec import Struct

from . import tir
from .base import NamedAttrs, Node, Source, Span, Trivia
from .diagnostics import CallSpan
from .numpy_dtype import host_array

_NODE, _ARRAY, _ENUM, _DICT, _NAMED, _BIG, _SPAN, _CALL_SPAN, _TRIVIA = range(1, 10)
"""The codes of MessagePack's extension types."""
_ENUMS: dict[str, type[Enum]] = {kind.__name__: kind for kind in (tir.ForKind, tir.BufferType, tir.IterVarType)}
_KEPT = (str, int, float, bool, type(None))


class UnpackableError(Exception):
    """A program cannot be packed, or packed bytes cannot be read."""


class Packed(Struct, frozen=True):
    """The bytes of a program: the kinds of its nodes, the sources of their positions, and the nodes."""

    kinds: tuple[str, ...]
    sources: tuple[tuple[str, str], ...]
    nodes: tuple[bytes, ...]


def pack(root: Node) -> tuple[bytes, list[Any]]:
    """Return a program as bytes, and the arrays of its constants, which the bytes refer to by position.

    Equal bytes and arrays are equal programs. Raises UnpackableError if a node holds anything but nodes, arrays, numbers, texts, and
    tuples and dicts of these.
    """
    packer = _Packer()
    packer.add(root)
    packed = Packed(
        tuple(packer.kinds), tuple((source.name, source.text) for source in packer.sources), tuple(packer.nodes)
    )
    return msgspec.msgpack.encode(packed), packer.arrays


class _Packer:
    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.sources: dict[Source, int] = {}
        self.nodes: list[bytes] = []
        self.arrays: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._positions: dict[int, int] = {}
        """Numbers of nodes, and positions of arrays, by identity; the program keeps them alive."""
        self._encode = msgspec.msgpack.Encoder().encode

    def add(self, root: Node) -> None:
        """Append the nodes of `root`, each once, children first."""
        stack: list[tuple[Node, list[Any] | None]] = [(root, None)]
        while stack:
            node, values = stack.pop()
            if id(node) in self._numbers:
                continue
            if values is None:
                values = [getattr(node, name) for name in type(node).__struct_fields__]
                stack.append((node, values))
                stack.extend([(child, None) for child in _nodes_in(values) if id(child) not in self._numbers])
                continue
            kind = self.kinds.setdefault(_name_of(type(node)), len(self.kinds))
            self.nodes.append(self._encode([kind, *map(self._value, values)]))
            self._numbers[id(node)] = len(self._numbers)

    def _value(self, value: Any) -> Any:
        kind = cast("type[Any]", type(value))
        if kind is int and not -(1 << 63) <= value < 1 << 63:
            return msgspec.msgpack.Ext(_BIG, str(value).encode())
        if kind in _KEPT:
            return value
        if kind is tuple:
            return tuple(map(self._value, value))
        if isinstance(value, Node):
            return msgspec.msgpack.Ext(_NODE, self._numbers[id(value)].to_bytes(4, "little"))
        if kind is Span:
            return msgspec.msgpack.Ext(_SPAN, self._encode(self._position(cast("Span", value))))
        return self._rare_value(value)

    def _position(self, span: Span) -> tuple[int, int, int]:
        """Return the number of the source of a span, and its ends."""
        return self.sources.setdefault(span.source, len(self.sources)), span.start, span.end

    def _rare_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            items = [tuple(map(self._value, item)) for item in cast("dict[Any, Any]", value).items()]
            return msgspec.msgpack.Ext(_NAMED if type(value) is NamedAttrs else _DICT, self._encode(items))  # type: ignore[reportUnknownArgumentType]
        if isinstance(value, CallSpan):
            return msgspec.msgpack.Ext(_CALL_SPAN, self._encode((self._position(value), self._value(value.places))))
        if isinstance(value, Enum):
            return msgspec.msgpack.Ext(_ENUM, self._encode((type(value).__name__, value.value)))
        if isinstance(value, Trivia):
            return msgspec.msgpack.Ext(_TRIVIA, self._encode(value))
        from numpy import ndarray

        if type(value) in (ndarray, host_array()):
            if id(value) not in self._positions:
                self._positions[id(value)] = len(self.arrays)
                self.arrays.append(value)
            return msgspec.msgpack.Ext(_ARRAY, self._positions[id(value)].to_bytes(4, "little"))
        raise UnpackableError(f"a program holds a {type(value).__name__}")


def _name_of(kind: type[Node]) -> str:
    return f"{kind.__module__.partition('.')[2]}:{kind.__name__}"


def _nodes_in(values: Iterable[Any]) -> list[Node]:
    """Return the nodes in the values of fields, at any depth of tuples and dicts."""
    found: list[Node] = []
    for value in values:
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, tuple):
            found += _nodes_in(cast("tuple[Any, ...]", value))
        elif isinstance(value, dict):
            for item in cast("dict[Any, Any]", value).items():
                found += _nodes_in(item)
    return found


def unpack(data: bytes, arrays: Sequence[Any]) -> Any:
    """Return the program that `pack` turned into these bytes and arrays.

    Raises UnpackableError if the bytes are not a program of this version. Nothing but nodes is constructed.
    """
    try:
        return _unpacked(data, arrays)
    except (msgspec.MsgspecError, IndexError, KeyError, TypeError, ValueError) as problem:
        raise UnpackableError(f"the bytes are not a program: {problem}") from None


def _unpacked(data: bytes, arrays: Sequence[Any]) -> Any:
    packed = msgspec.msgpack.decode(data, type=Packed)
    sources = [Source(*source) for source in packed.sources]
    known = _kinds()
    kinds: list[tuple[type[Any], tuple[str, ...]]] = [
        (known[name], known[name].__struct_fields__) for name in packed.kinds
    ]
    nodes: list[Any] = []

    def span(position: Sequence[int]) -> Span:
        source, start, end = position
        return Span(sources[source], start, end)

    def hook(code: int, content: memoryview) -> Any:
        if code == _NODE:
            return nodes[int.from_bytes(content, "little")]
        if code == _SPAN:
            return span(decode(content))
        if code == _CALL_SPAN:
            own, places = decode(content)
            whole = span(own)
            return CallSpan(whole.source, whole.start, whole.end, _value(places))
        if code == _ARRAY:
            return arrays[int.from_bytes(content, "little")]
        if code in (_DICT, _NAMED):
            items = {_value(key): _value(value) for key, value in decode(content)}
            return NamedAttrs(items) if code == _NAMED else items
        if code == _ENUM:
            name, value = decode(content)
            return _ENUMS[name](value)
        if code == _TRIVIA:
            return msgspec.msgpack.decode(content, type=Trivia)
        return int(bytes(content))

    decode = cast("Callable[[Any], Any]", msgspec.msgpack.Decoder(ext_hook=hook).decode)
    for record in packed.nodes:
        number, *values = decode(record)
        kind, names = kinds[int(number)]
        nodes.append(kind(**dict(zip(names, map(_value, values), strict=True))))
    return nodes[-1]


def _value(value: Any) -> Any:
    """Return a decoded value with tuples instead of lists."""
    return tuple(map(_value, cast("list[Any]", value))) if type(value) is list else value


def _kinds() -> dict[str, type[Node]]:
    """Return the kinds of nodes by the names in packed programs."""
    pending, found = list[type[Node]]([Node]), dict[str, type[Node]]()
    while pending:
        kind = pending.pop()
        found[_name_of(kind)] = kind
        pending += kind.__subclasses__()
    return found
