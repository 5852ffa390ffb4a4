"""The memory of the tensors of graph functions; all decisions about it are made here.

The executor allocates memory from a `Home`, which also adapts functions that run on the processor. For
host memory the adapter does nothing; for a GPU (`codegen.gpu.home`) it copies what they read and write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...ir import tir
from ...ir.diagnostics import error
from ..runtime.dlpack import Array
from ..runtime.sizes import Frame, Slots
from ..runtime.specs import ArgumentContext, TensorSpec

Function: TypeAlias = Callable[..., Any]


class Spec(Protocol):
    """The requirements on a value. `check` binds sizes and returns the value; `check_deferred` compares the
    rest.
    """

    def check(self, value: Any, place: ArgumentContext, frame: Frame) -> Any: ...
    def check_deferred(self, value: Any, place: ArgumentContext, frame: Frame) -> None: ...


class Home(Protocol):
    """Memory for tensors, and adapters for functions that access it."""

    def spec(self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1) -> Spec:
        """Return the spec of a tensor, as `TensorSpec`; its `check` returns the tensor in this memory."""
        ...

    def empty(self, shape: Sequence[int], dtype: Any) -> Any:
        """Return an uninitialized tensor of a NumPy dtype."""
        ...

    def part(self, tensor: Any, start: int, shape: Sequence[int], dtype: Any) -> Any:
        """Return a tensor on the memory of another one, starting at byte `start`, if it is large enough."""
        ...

    def constant(self, data: Array) -> Callable[[], Any]:
        """Return a getter of the tensor of a constant."""
        ...

    def on_host(self, function: Function, may_write: bool = False) -> Function:
        """Return `function`, which runs on the processor, as a function of tensors in this memory; with `may_write`,
        it may modify its arguments.
        """
        ...

    def inside(self, entry: Function) -> Function:
        """Return the internal form of an entry, for calls by graph functions."""
        ...

    def outside(self, function: Function) -> Function:
        """Return the external form of a function, for entries of an executable."""
        ...

    def there(self, device_type: int) -> Home:
        """Return the home for results on a device of that kind."""
        ...


def new_array(shape: Sequence[int], dtype: Any) -> Array:
    """Return an uninitialized array in host memory; TvmsError E0717 if it cannot be allocated."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):  # NumPy refuses sizes beyond the address space with a ValueError
        said = f"there is no memory left for a tensor of shape ({', '.join(map(str, shape))}) and dtype {dtype}"
        raise error("E0717", said, None, "make the program smaller, or give it more memory") from None


class Host:
    """Host memory: tensors are NumPy arrays, and functions get them unchanged."""

    def spec(self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1) -> Spec:
        return TensorSpec(dtype, shape, slots, ndim)

    def empty(self, shape: Sequence[int], dtype: Any) -> Array:
        return new_array(shape, dtype)

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
