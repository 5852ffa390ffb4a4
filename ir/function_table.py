"""The functions of a module that grows: equal ones once, each under a name of its own."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from .base import BaseFunc
from .equal import structural_equal, structural_hash


class FunctionTable:
    """Functions by name; what is added a second time keeps the name that it has."""

    def __init__(self, functions: Mapping[str, BaseFunc]) -> None:
        self.functions = dict(functions)
        self._alike: dict[type[BaseFunc], dict[int, list[str]]] = {}
        """Names by hash, for the kinds of functions that were asked for."""

    def add(self, function: BaseFunc, hints: Iterable[str]) -> str:
        """Return the name of `function`: that of an equal one, or else the first free one of `hints`."""
        alike = self._names(function)
        same = [name for name in alike if structural_equal(function, self.functions[name])]
        if same:
            return min(same)
        name = next(hint for hint in hints if hint not in self.functions)
        self.functions[name] = function
        alike.append(name)
        return name

    def update(self, name: str, function: BaseFunc) -> None:
        """Put `function` in the place of the one called `name`, if there is one."""
        if name in self.functions:
            self._names(self.functions[name]).remove(name)
        self._names(function).append(name)
        self.functions[name] = function

    def _names(self, function: BaseFunc) -> list[str]:
        """The names of functions that are perhaps equal to `function`."""
        kind = type(function)
        if kind not in self._alike:
            self._alike[kind] = {}
            for name, other in self.functions.items():
                if type(other) is kind:
                    self._alike[kind].setdefault(structural_hash(other), []).append(name)
        return self._alike[kind].setdefault(structural_hash(function), [])


def numbered(hint: str) -> Iterable[str]:
    """`hint`, `hint1`, `hint2`, …"""
    yield hint
    count = 1
    while True:
        yield f"{hint}{count}"
        count += 1


def unused_name(hint: str, taken: Container[str]) -> str:
    """Return `hint`, with a number where it is taken: `lv`, `lv1`, `lv2` (TVM: `NameSupply`)."""
    return next(name for name in numbered(hint) if name not in taken)
