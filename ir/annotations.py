"""Check of values against type annotations, for the options of passes."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin


def fits(value: Any, annotation: Any) -> bool:
    """Whether `value` is an instance of `annotation`, the elements of sequences included.

    An `int` fits `float`. A string is not a sequence of strings. What cannot be decided without using the value fits:
    the parameters of a callable, the contents of a mapping.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments
    if annotation is Any or isinstance(annotation, TypeVar):
        return True
    if annotation is None:
        return value is None
    kind = origin or annotation
    if kind is Callable:
        return callable(value)
    if not isinstance(kind, type):
        return True
    if kind in (int, float) and hasattr(value, "__index__"):
        return True  # includes integers of NumPy
    if isinstance(value, str | bytes) and issubclass(kind, Iterable) and not issubclass(kind, str | bytes):
        return False
    return isinstance(value, kind) and _elements_fit(value, kind, arguments)


def _elements_fit(value: Any, kind: type, arguments: tuple[Any, ...]) -> bool:
    if issubclass(kind, tuple) and arguments and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if isinstance(value, list | tuple | set | frozenset) and arguments:
        return all(fits(item, arguments[0]) for item in cast("Iterable[Any]", value))
    return True
