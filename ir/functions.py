"""Python functions that programs may call by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from .base import Span
from .diagnostics import error

PackedFunction = Callable[..., Any]
_Registered = TypeVar("_Registered", bound=PackedFunction)
_functions: dict[str, PackedFunction] = {}


@overload
def register_func(func_name: str, f: _Registered, override: bool = ...) -> _Registered: ...
@overload
def register_func(func_name: _Registered) -> _Registered: ...
@overload
def register_func(func_name: str, f: None = ..., override: bool = ...) -> Callable[[_Registered], _Registered]: ...
def register_func(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Let programs call `f` as `func_name` (TVM: `register_global_func`); a decorator if one of the two is missing.

    Tensors are passed as NumPy arrays, sizes and scalars as numbers; for `R.call_dps_packed` the outputs come last.
    ValueError if the name is taken and `override` is not set.
    """
    if callable(func_name):
        return register_func(cast("Any", func_name).__name__, func_name)
    if f is None:

        def register(given: PackedFunction) -> PackedFunction:
            return register_func(func_name, given, override)

        return register
    if func_name in _functions and not override:
        raise ValueError(f"a function '{func_name}' is already registered; pass override=True to replace it")
    _functions[func_name] = f
    return f


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """Return the function that is registered as `name` (TVM: `get_global_func`).

    If there is none: None with `allow_missing`, else TvmsError E0715.
    """
    return _functions.get(name) if allow_missing else find_function(name)


def find_function(name: str, span: Span | None = None) -> PackedFunction:
    """Return the function that is registered as `name`; TvmsError E0715 if there is none."""
    if name not in _functions:
        help = f'register it: tvms.register_func("{name}", function)'
        raise error("E0715", f"the external function '{name}' is not registered", span, help)
    return _functions[name]
