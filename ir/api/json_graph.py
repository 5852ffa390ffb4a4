"""Serialization of programs and nodes as JSON (TVM: `tvm.ir.save_json`, `load_json`; the schema differs from TVM's).

The text is a list of nodes in which children precede parents and shared nodes occur once: `{"kind": "tir.Add",
"fields": {"dtype": "int32", "a": {"node": 0}, "b": {"node": 1}}}`. Loading creates only nodes, never other objects.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from enum import Enum
from typing import Any, cast

from msgspec import Struct

from .. import base, relax, te, tir
from ..base import Node
from ..deep import deep
from ..diagnostics import error
from ..numpy_dtype import numpy_dtype
from ..te.tensor import Operation

_ROOMS: dict[str, Any] = {"base": base, "tir": tir, "relax": relax, "te": te}
_OUTSIDE = ("span", "trivia")
"""Fields that are not part of the program."""


@deep
def save_json(node: Any) -> str:
    """Return a program, a node, a tensor of `te`, or a container of these as JSON, without comments and source positions.

    Raises TypeError for other values.
    """
    writer = _Writer()
    root = writer.value(node)
    return json.dumps({"root": root, "nodes": writer.nodes})


@deep
def load_json(json_str: str) -> Any:
    """Return the value that `save_json` wrote; TvmsError E0018 if the text is invalid."""
    try:
        given = json.loads(json_str)
        reader = _Reader()
        for entry in given["nodes"]:
            reader.nodes.append(reader.node(entry))
        return reader.value(given["root"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        help = "pass the result of tvms.ir.save_json; TVM's JSON has another schema: print the module in TVM and parse its text"
        raise error("E0018", f"this is not a program in JSON: {type(problem).__name__}: {problem}", help=help) from None


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._numbers: dict[Struct, int] = {}

    def value(self, value: Any) -> Any:
        match value:
            case None | bool() | int() | float() | str():
                return value
            case Node() | Operation():
                return {"node": self._number(value)}
            case list() | tuple():
                return [self.value(item) for item in cast("tuple[Any, ...]", value)]
            case dict():
                items = cast("dict[Any, Any]", value).items()
                return {"items": [[self.value(key), self.value(item)] for key, item in items]}
            case Enum():
                return {"enum": _name(type(value)), "value": value.value}
            case _ if hasattr(value, "tobytes"):
                return {"array": str(value.dtype), "shape": value.shape, "data": b64encode(value.tobytes()).decode()}
            case _ if isinstance(getattr(value, "node", None), Node):
                return self.value(value.node)
            case _:
                raise TypeError(f"{value!r} is not a part of a program")

    def _number(self, node: Struct) -> int:
        if node not in self._numbers:
            kind = type(node)
            fields = {name: self.value(getattr(node, name)) for name in kind.__struct_fields__ if name not in _OUTSIDE}
            self.nodes.append({"kind": _name(kind), "fields": fields})
            self._numbers[node] = len(self.nodes) - 1
        return self._numbers[node]


class _Reader:
    def __init__(self) -> None:
        self.nodes: list[Struct] = []

    def node(self, entry: dict[str, Any]) -> Struct:
        return _kind(entry["kind"], Node, Operation)(
            **{name: self.value(value) for name, value in entry["fields"].items()}
        )

    def value(self, value: Any) -> Any:
        match value:
            case {"node": int(number)}:
                return self.nodes[number]
            case {"items": items}:
                return {self.value(key): self.value(item) for key, item in items}
            case {"enum": name, "value": given}:
                return _kind(name, Enum)(given)
            case {"array": dtype, "shape": shape, "data": data}:
                import numpy as np

                return np.frombuffer(b64decode(data), numpy_dtype(dtype)).reshape(shape)
            case list():
                return tuple(self.value(item) for item in cast("list[Any]", value))
            case _:
                return value


def _name(kind: type) -> str:
    room = next(room for room, module in _ROOMS.items() if getattr(module, kind.__name__, None) is kind)
    return f"{room}.{kind.__name__}"


def _kind(name: str, *bases: type) -> Any:
    """Return the class with this `_name` if it is a subclass of one of `bases`; KeyError otherwise."""
    room, _, own = name.partition(".")
    found: Any = getattr(_ROOMS[room], own, None)
    if not (isinstance(found, type) and issubclass(found, bases)):
        raise KeyError(name)
    return cast("Any", found)
