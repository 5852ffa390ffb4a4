"""Utilities for building programs (TVM: `relax.utils`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, List, TypeVar, Union, cast, get_args, get_origin, get_type_hints  # noqa: UP035

from ... import relax
from ...building.values import graph_value
from ...variables import with_new_variables

_F = TypeVar("_F", bound=Callable[..., Any])


def copy_with_new_vars(func: relax.Function) -> relax.Function:
    """Return a copy of `func` in which all defined variables, of both levels, are new."""
    return with_new_variables(func)


def convert_to_expr(value: Any) -> relax.Expr:
    """Return `value` as a graph-level value; accepts numbers, strings, tuples and arrays."""
    return graph_value(value)


class _ArgumentConverter:
    """Decorators of functions that convert arguments to graph-level values before each call (TVM: `args_converter`).

    If the parameter is `*args` or `**kwargs`, all of its arguments are converted. None stays None.
    """

    def to_expr(self, *arg_names: str) -> Callable[[_F], _F]:
        """Return a decorator that converts the arguments `arg_names` by `convert_to_expr`."""
        return lambda function: _converting(function, dict.fromkeys(arg_names, convert_to_expr))

    def to_list_expr(self, *arg_names: str) -> Callable[[_F], _F]:
        """Return a decorator that converts the arguments `arg_names`, which are lists, element by element."""
        return lambda function: _converting(function, dict.fromkeys(arg_names, _converted_list))

    def auto(self, func: _F) -> _F:
        """Convert the arguments of the parameters annotated as `Expr`, as a list of `Expr`, or as one of them or None."""
        found: dict[str, Callable[[Any], Any]] = {}
        for name, hint in get_type_hints(func).items():
            kinds = set(get_args(hint)) - {NoneType} if get_origin(hint) in (Union, UnionType) else {hint}
            if name != "return" and kinds in ({relax.Expr}, {list[relax.Expr]}, {List[relax.Expr]}):  # noqa: UP006
                found[name] = convert_to_expr if kinds == {relax.Expr} else _converted_list
        return _converting(func, found)


def _converted_list(value: Any) -> list[relax.Expr]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"expected a list of graph-level values, got {value!r}")
    return [convert_to_expr(element) for element in cast("Sequence[Any]", value)]


def _converting(function: _F, converters: Mapping[str, Callable[[Any], Any]]) -> _F:
    """Return `function` with the arguments named in `converters` converted."""
    signature = inspect.signature(function)
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, convert in converters.items():
            value = bound.arguments.get(name)
            if value is None:
                continue
            if kinds[name] is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple([item if item is None else convert(item) for item in value])
            elif kinds[name] is inspect.Parameter.VAR_KEYWORD:
                items = value.items()
                bound.arguments[name] = {key: item if item is None else convert(item) for key, item in items}
            else:
                bound.arguments[name] = convert(value)
        return function(*bound.args, **bound.kwargs)

    return cast("_F", call)


args_converter = _ArgumentConverter()
