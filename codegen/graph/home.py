"""Where the tensors of graph-level functions lie: this is the one place that decides it.

The executor asks a `Home` for memory, and lets it take functions that run on the processor to their arguments. In the
memory of the host there is nothing to do for that; on a GPU (`codegen.gpu.home`) what they read and write is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...ir import tir
from ..runtime.dlpack import Array
from ..runtime.sizes import Slots
from ..runtime.specs import TensorSpec
from .specs import Spec

Function: TypeAlias = Callable[..., Any]


class Home(Protocol):
    """Memory for tensors, and what reaches it."""

    def spec(self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1) -> Spec:
        """Return what is expected of a tensor, as `TensorSpec`; its `check` returns the tensor as it lies here."""
        ...

    def empty(self, shape: Sequence[int], dtype: Any) -> Any:
        """Return a tensor of NumPy's dtype that is not initialised."""
        ...

    def part(self, tensor: Any, start: int, shape: Sequence[int], dtype: Any) -> Any:
        """Return a tensor on the memory of another one, from byte `start` of it on, where it has that many."""
        ...

    def constant(self, data: Array) -> Callable[[], Any]:
        """Return what finds the tensor of a constant."""
        ...

    def on_host(self, function: Function, may_write: bool = False) -> Function:
        """Return `function`, which runs on the processor, as one of tensors that lie here; with `may_write`, it may change
        those that it gets."""
        ...

    def inside(self, entry: Function) -> Function:
        """Return an entry of an executable as graph-level functions call it."""
        ...

    def outside(self, function: Function) -> Function:
        """Return a function that graph-level functions may call as an entry of an executable."""
        ...

    def there(self, device_type: int) -> Home:
        """Return the home of a machine for a device of that kind: results lie there where they can."""
        ...


class Host:
    """NumPy arrays: functions take them as they are."""

    def spec(self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1) -> Spec:
        return TensorSpec(dtype, shape, slots, ndim)

    def empty(self, shape: Sequence[int], dtype: Any) -> Array:
        return np.empty(shape, dtype)

    def part(self, tensor: Array, start: int, shape: Sequence[int], dtype: Any) -> Array:
        memory = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
        return memory[start : start + prod(shape) * dtype.itemsize].view(dtype).reshape(shape)

    def constant(self, data: Array) -> Callable[[], Array]:
        return lambda: data

    def on_host(self, function: Function, may_write: bool = False) -> Function:
        return function

    def inside(self, entry: Function) -> Function:
        return entry

    def outside(self, function: Function) -> Function:
        return function

    def there(self, device_type: int) -> Host:
        return self


HOST = Host()
