"""A table of functions for a growing module: equal functions are stored once, each under a unique name."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from .base import BaseFunc
from .equal import structural_equal, structural_hash


class FunctionTable:
    """Functions by name; a function that is added again keeps its name."""

    def __init__(self, functions: Mapping[str, BaseFunc]) -> None:
        self.functions = dict(functions)
        self._alike: dict[type[BaseFunc], dict[int, list[str]]] = {}
        """Names by structural hash, for the kinds of functions that were looked up."""

    def add(self, function: BaseFunc, hints: Iterable[str]) -> str:
        """Return the name of `function`: that of an equal function, or else the first free one of `hints`."""
        alike = self._names(function)
        same = [name for name in alike if structural_equal(function, self.functions[name])]
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
        self._names(function).append(name)
        self.functions[name] = function

    def _names(self, function: BaseFunc) -> list[str]:
        """Return the names of functions that may be equal to `function`."""
        kind = type(function)
        if kind not in self._alike:
            self._alike[kind] = {}
            for name, other in self.functions.items():
                if type(other) is kind:
                    self._alike[kind].setdefault(structural_hash(other), []).append(name)
        return self._alike[kind].setdefault(structural_hash(function), [])


def numbered(hint: str) -> Iterable[str]:
    """Yield `hint`, `hint1`, `hint2`, …"""
    yield hint
    count = 1
    while True:
        yield f"{hint}{count}"
        count += 1


def unused_name(hint: str, taken: Container[str]) -> str:
    """Return `hint`, with a number appended if it is taken: `lv`, `lv1`, `lv2` (TVM: `NameSupply`)."""
    return next(name for name in numbered(hint) if name not in taken)
