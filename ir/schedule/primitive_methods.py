"""Methods of a schedule, one for each primitive. Type checkers read `primitive_methods.pyi`, generated from the declarations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from . import primitives
from .declaration import COMPOSITES, PRIMITIVES, Primitive, primitive_called


class PrimitiveMethods(ABC):
    """Methods of a schedule: one for each primitive."""

    @abstractmethod
    def _apply(self, primitive: Primitive, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Apply a primitive at the line of the caller outside this package."""

    def __getattr__(self, name: str) -> Any:
        """Return the method for a composite step, or for a name since TVM 0.27, such as `get_sblock`."""
        found = None if name.startswith("__") else primitive_called(name)
        if found is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if found.name in COMPOSITES:
            return partial(_method(found), self)
        return getattr(self, found.name)


def _method(primitive: Primitive) -> Callable[..., Any]:
    def method(self: PrimitiveMethods, *args: Any, **named: Any) -> Any:
        return self._apply(primitive, args, named)  # type: ignore[reportPrivateUsage]

    method.__name__ = primitive.name
    method.__qualname__ = f"Schedule.{primitive.name}"
    method.__doc__ = primitive.doc
    method.__signature__ = primitive.signature  # type: ignore[attr-defined]
    return method


primitives.load()
for _primitive in PRIMITIVES.values():
    setattr(PrimitiveMethods, _primitive.name, _method(_primitive))
