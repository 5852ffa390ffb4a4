"""A table of functions for a growing module: equal functions are stored once, each under a unique name. The functions that a
function mentions.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from . import relax, tir
from .base import BaseFunc, GlobalVar
from .equal import structural_equal, structural_hash
from .visit import children, distinct


class FunctionTable:
    """Functions by name; a function that is added again keeps its name.

    Functions are compared by outline first, then by structural hash, then as a whole.
    """

    def __init__(self, functions: Mapping[str, BaseFunc]) -> None:
        self.functions = dict(functions)
        self._by_outline: dict[type[BaseFunc], dict[Any, list[str]]] = {}
        """Names by outline, for the kinds of functions that were looked up."""
        self._hashes: dict[str, int] = {}
        """Structural hashes, of functions that were compared."""

    def add(self, function: BaseFunc, hints: Iterable[str]) -> str:
        """Return the name of `function`: that of an equal function, or else the first free one of `hints`."""
        alike = self._names(function)
        same = self._equal(function, alike) if alike else []
        if same:
            return min(same)
        name = next(hint for hint in hints if hint not in self.functions)
        self.functions[name] = function
        alike.append(name)
        return name

    def update(self, name: str, function: BaseFunc) -> None:
        """Replace the function `name`, if there is one, with `function`."""
        if name in self.functions:
            self._names(self.functions[name]).remove(name)
            self._hashes.pop(name, None)
        self._names(function).append(name)
        self.functions[name] = function

    def _names(self, function: BaseFunc) -> list[str]:
        """Return the names of functions that may be equal to `function`."""
        kind = type(function)
        if kind not in self._by_outline:
            self._by_outline[kind] = {}
            for name, other in self.functions.items():
                if type(other) is kind:
                    self._by_outline[kind].setdefault(_outline(other), []).append(name)
        return self._by_outline[kind].setdefault(_outline(function), [])

    def _equal(self, function: BaseFunc, names: Iterable[str]) -> list[str]:
        digest = structural_hash(function)
        return [
            name for name in names if self._hash(name) == digest and structural_equal(function, self.functions[name])
        ]

    def _hash(self, name: str) -> int:
        if name not in self._hashes:
            self._hashes[name] = structural_hash(self.functions[name])
        return self._hashes[name]


def _outline(function: BaseFunc) -> Any:
    """Return what equal functions have in common and is known without reading their bodies."""
    match function:
        case tir.PrimFunc(params=params, buffer_map=buffers):
            return tuple(_outline_of_buffer(buffers[param]) if param in buffers else param.dtype for param in params)
        case relax.Function(params=params):
            return tuple(type(param.struct_info) for param in params)
        case _:
            return None


def _outline_of_buffer(buffer: tir.Buffer) -> Any:
    return buffer.dtype, tuple(size.value if isinstance(size, tir.IntImm) else None for size in buffer.shape)


class Mentions(Struct, frozen=True):
    """The names of the functions that a function mentions."""

    called: frozenset[str]
    passed: frozenset[str]
    """Those that it uses as values, among them the kernels of `call_tir`."""


_mentions: WeakKeyDictionary[BaseFunc, Mentions] = WeakKeyDictionary()


def mentions_of(function: BaseFunc) -> Mentions:
    """Return the functions that `function` mentions; they are determined once for each function."""
    known = _mentions.get(function)
    if known is None:
        called, passed = set[str](), set[str]()
        for node in distinct(function):
            callee = node.op if isinstance(node, relax.Call | tir.Call) else None
            for child in children(node):
                if isinstance(child, GlobalVar):
                    (called if child is callee else passed).add(child.name_hint)
        known = _mentions[function] = Mentions(frozenset(called), frozenset(passed))
    return known


def numbered(hint: str, separator: str = "") -> Iterable[str]:
    """Yield `hint`, `hint1`, `hint2`, …"""
    yield hint
    count = 1
    while True:
        yield f"{hint}{separator}{count}"
        count += 1


def unused_name(hint: str, taken: Container[str]) -> str:
    """Return `hint`, with a number appended if it is taken: `lv`, `lv1`, `lv2` (TVM: `NameSupply`)."""
    return next(name for name in numbered(hint) if name not in taken)
