"""The binary form of protocol buffers: count messages before they are parsed, and find weights without reading them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_MESSAGES = 2_000_000
"""Maximum number of messages in a model: the parser needs up to 300 bytes for each."""
_MOST_LEVELS = 100
"""Maximum depth of nested messages; the parser of onnx has the same limit."""
_LEAST_WEIGHT = 4096
"""Minimum size in bytes of weights that are mapped from the file."""
_BYTES = 2
"""The wire type of texts, bytes and messages."""
OWN_FILE = "\0"
"""The location of weights that are part of the model's own file."""


class WireError(ValueError):
    """The data are not a protocol buffer, or exceed a limit."""


def _varint(data: memoryview, place: int, end: int) -> tuple[int, int]:
    """Return the number at `place`, and the place after it."""
    value = shift = 0
    while True:
        if place >= end or shift > 63:
            raise WireError("it is truncated or damaged")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def fields(data: memoryview, place: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the number, wire type, start, start of the contents, and end of each field of a message."""
    while place < end:
        start = place
        key, place = _varint(data, place, end)
        kind, contents = key & 7, place
        match kind:
            case 0:
                _, place = _varint(data, place, end)
            case 1:
                place += 8
            case 2:
                length, contents = _varint(data, place, end)
                place = contents + length
            case 5:
                place += 4
            case _:
                raise WireError("it is truncated or damaged")
        if place > end:
            raise WireError("it is truncated or damaged")
        yield key >> 3, kind, start, contents, place


def check_messages(data: memoryview, descriptor: Any) -> None:
    """Raise WireError if a message of the type `descriptor` contains too many messages, or nests them too deep."""
    rest = [(0, len(data), descriptor, 0)]
    count = 0
    while rest:
        place, end, kind, level = rest.pop()
        if level > _MOST_LEVELS:
            raise WireError(f"its messages nest deeper than {_MOST_LEVELS}")
        inner = {number: field.message_type for number, field in kind.fields_by_number.items() if field.message_type}
        for number, wire, _, contents, after in fields(data, place, end):
            count += 1
            if count > MOST_MESSAGES:
                raise WireError(f"it has more than {MOST_MESSAGES} messages and values")
            if wire == _BYTES and number in inner:
                rest.append((contents, after, inner[number], level + 1))


def without_weights(data: memoryview, model_type: Any, tensor_type: Any) -> bytes:
    """Return a model whose large initializers refer to places in `data`, as external data of the file `OWN_FILE`."""
    graph, initializer = 7, 5
    made = bytearray()
    for number, wire, start, contents, end in fields(data, 0, len(data)):
        if number != graph or wire != _BYTES:
            made += data[start:end]
            continue
        inner = bytearray()
        for part, kind, begin, within, after in fields(data, contents, end):
            is_tensor = part == initializer and kind == _BYTES and after - within >= _LEAST_WEIGHT
            inner += _message(part, _tensor(data, within, after, tensor_type)) if is_tensor else data[begin:after]
        made += _message(graph, inner)
    return bytes(made)


def _tensor(data: memoryview, place: int, end: int, tensor_type: Any) -> bytes | bytearray:
    """Return a tensor with a reference in place of its `raw_data`, unless it has none or is external already."""
    raw, external = 9, (13, 14)
    found = list(fields(data, place, end))
    weights = [field for field in found if field[0] == raw and field[1] == _BYTES]
    if len(weights) != 1 or any(field[0] in external for field in found):
        return bytes(data[place:end])
    ((_, _, _, start, after),) = weights
    reference = tensor_type(data_location=tensor_type.EXTERNAL)
    for key, value in (("location", OWN_FILE), ("offset", start), ("length", after - start)):
        reference.external_data.add(key=key, value=str(value))
    kept = bytearray().join(data[field[2] : field[4]] for field in found if field not in weights)
    return kept + reference.SerializeToString()


def _message(number: int, contents: bytes | bytearray) -> bytes:
    """Return a message as the field `number` of another one."""
    return _encoded(number << 3 | _BYTES) + _encoded(len(contents)) + bytes(contents)


def _encoded(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
