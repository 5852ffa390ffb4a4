"""Python operators on tensors: `x + y` is `topi.add(x, y)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .expr import Value

if TYPE_CHECKING:
    from .tensor import Tensor


class TensorOperators:
    """Base class of tensors. A number that is combined with a tensor becomes a constant of its dtype."""

    __slots__ = ()

    def __add__(self, other: Tensor | Value) -> Tensor:
        return _apply("add", self, other)

    def __radd__(self, other: Value) -> Tensor:
        return _apply("add", other, self)

    def __sub__(self, other: Tensor | Value) -> Tensor:
        return _apply("subtract", self, other)

    def __rsub__(self, other: Value) -> Tensor:
        return _apply("subtract", other, self)

    def __mul__(self, other: Tensor | Value) -> Tensor:
        return _apply("multiply", self, other)

    def __rmul__(self, other: Value) -> Tensor:
        return _apply("multiply", other, self)

    def __truediv__(self, other: Tensor | Value) -> Tensor:
        return _apply("divide", self, other)

    def __rtruediv__(self, other: Value) -> Tensor:
        return _apply("divide", other, self)


def _apply(name: str, *operands: Any) -> Tensor:
    from ..api import topi

    return getattr(topi, name)(*operands)
