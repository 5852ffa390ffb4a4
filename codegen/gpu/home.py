"""Graph-level functions on a GPU: their tensors lie there, and go to the host only where the host reads them.

Kernels are asked for one after the other, and nothing waits for them. Memory that no variable names any more is given out
again at once: what is asked for later comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from ...ir import tir
from ..graph.home import Function
from ..graph.specs import Spec
from ..runtime.sizes import Slots
from .arrays import CUDA, Array, DeviceArray, empty, from_host, here, is_on_device
from .entry import LoadedProgram
from .specs import DeviceSpec

Constants: TypeAlias = dict[tuple[Any, ...], tuple[Array, DeviceArray]]


class DeviceHome:
    """The memory of the GPU on which `loaded` runs (`codegen.graph.home.Home`).

    What a function returns stays there where `stays` says so, or an argument lies there; else it is copied to the host.
    """

    def __init__(self, loaded: LoadedProgram, stays: bool = False, constants: Constants | None = None) -> None:
        self._loaded, self._stays = loaded, stays
        self._constants: Constants = {} if constants is None else constants

    def spec(self, dtype: str, shape: Sequence[tir.PrimExpr] | None, slots: Slots, ndim: int = -1) -> Spec:
        return DeviceSpec(dtype, shape, slots, ndim)

    def empty(self, shape: Sequence[int], dtype: Any) -> DeviceArray:
        return empty(shape, dtype)

    def part(self, tensor: DeviceArray, start: int, shape: Sequence[int], dtype: Any) -> DeviceArray:
        return tensor.part(start, shape, dtype)

    def constant(self, data: Array) -> Callable[[], DeviceArray]:
        """Constants are copied when they are first used, once, however many functions name them."""
        key = data.ctypes.data, data.shape, data.dtype

        def find() -> DeviceArray:
            if key not in self._constants:
                array = from_host(data)
                array.is_writeable = False
                self._constants[key] = data, array
            return self._constants[key][1]

        return find

    def on_host(self, function: Function, may_write: bool = False) -> Function:
        """The function gets copies. What it changed in them is copied back, and arrays that it returns are copied here."""

        def call(*args: Any) -> Any:
            copies: dict[int, tuple[DeviceArray, Array]] = {}
            given = [_fetched(arg, copies) for arg in args]
            before = [copy.tobytes() for _, copy in copies.values()] if may_write else []
            result = function(*given)
            for (array, copy), old in zip(copies.values(), before, strict=False):
                if copy.tobytes() != old:
                    array.copyfrom(copy)
            return _sent(result)

        return call

    def inside(self, entry: Function) -> Function:
        return entry.inside if isinstance(entry, DeviceCall) else entry

    def outside(self, function: Function) -> Function:
        return DeviceCall(function, self._loaded, self._stays)

    def there(self, device_type: int) -> DeviceHome:
        return DeviceHome(self._loaded, device_type == CUDA, self._constants)


class DeviceCall:
    """The function `inside`, as it is called from outside: what its kernels noted is raised, and what it returns stays on
    the GPU where `stays` says so or an argument lies there."""

    def __init__(self, inside: Function, loaded: LoadedProgram, stays: bool = False) -> None:
        self.inside, self._loaded, self._stays = inside, loaded, stays

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function; TvmsError as it raises, and E0707 where an index of a kernel was outside its buffer."""
        result = self.inside(*args, **named)
        self._loaded.check_status()
        return self._returned(result, self._stays or any(map(_lies_there, (*args, *named.values()))))

    def _returned(self, value: Any, stays: bool) -> Any:
        if type(value) is tuple:
            return tuple([self._returned(field, stays) for field in cast("tuple[Any, ...]", value)])
        if callable(value):
            return DeviceCall(value, self._loaded, stays)
        return value if stays else here(value)


def _lies_there(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_lies_there, cast("Sequence[Any]", value)))
    return is_on_device(value)


def _fetched(value: Any, copies: dict[int, tuple[DeviceArray, Array]]) -> Any:
    """Return `value` with NumPy arrays in the place of those on the GPU, one copy of each, which are put into `copies`."""
    if type(value) is tuple:
        return tuple([_fetched(field, copies) for field in cast("tuple[Any, ...]", value)])
    if not isinstance(value, DeviceArray):
        return value
    if id(value) not in copies:
        copy = value.numpy()
        copy.flags.writeable = value.is_writeable
        copies[id(value)] = value, copy
    return copies[id(value)][1]


def _sent(value: Any) -> Any:
    """Return what a function on the host returned, with its arrays copied to the GPU."""
    if type(value) is tuple:
        return tuple(map(_sent, cast("tuple[Any, ...]", value)))
    return from_host(cast("Array", value)) if isinstance(value, np.ndarray) else value
