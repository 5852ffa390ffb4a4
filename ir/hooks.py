"""Functions that methods of nodes call and rooms above the nodes define.

`ir/__init__.py`, `dsl/__init__.py` and `tvms/__init__.py` define them, the last one for `codegen`, which `import tvms` does not
import. Each is a function that imports what it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_functions: dict[str, Callable[..., Any]] = {}


def define(**functions: Callable[..., Any]) -> None:
    """Define hooks by name."""
    _functions.update(functions)


def is_defined(name: str) -> bool:
    """Return whether a room has defined the hook `name`."""
    return name in _functions


def call(name: str, /, *args: Any, **options: Any) -> Any:
    """Call the hook `name`. Raises RuntimeError if the room that defines it was not imported."""
    if name not in _functions:
        raise RuntimeError(f"no room has defined '{name}': import tvms, not tvms.ir alone")
    return _functions[name](*args, **options)
