"""Kinds of nodes as Python programs make them: with TVM's arguments, and with Python's values in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


class Constructor(Generic[Arguments, Made]):
    """Calling it makes a node; `isinstance(node, it)` asks whether a node is of its kind."""

    def __init__(self, make: Callable[Arguments, Made], *kinds: type) -> None:
        self._make = make
        self._kinds = kinds
        self.__doc__ = make.__doc__

    def __call__(self, *args: Arguments.args, **keywords: Arguments.kwargs) -> Made:
        return self._make(*args, **keywords)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._kinds)

    def __repr__(self) -> str:
        return self._kinds[0].__name__


def constructor(*kinds: type) -> Callable[[Callable[Arguments, Made]], Constructor[Arguments, Made]]:
    """Decorate the function that makes nodes of `kinds`."""
    return lambda make: Constructor(make, *kinds)
