"""Graph functions on a GPU: their tensors stay in GPU memory, and are copied to the host only where host code
reads them.

Kernels are launched in order without waiting. Memory of a dead variable is reused at once, since later work
executes later.
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
from .driver import find_driver
from .entry import LoadedProgram
from .recording import GraphReport, RecordedEntry
from .specs import DeviceSpec
from .trace import note_obstacle

Constants: TypeAlias = dict[tuple[Any, ...], tuple[Array, DeviceArray]]


class DeviceHome:
    """The memory of the GPU on which `loaded` runs (`codegen.graph.home.Home`).

    Results stay in GPU memory if `stays` is true or an argument is in GPU memory; otherwise they are copied to
    the host.
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
        """Return the getter of a constant, which is copied at its first use, once for all functions."""
        key = data.ctypes.data, data.shape, data.dtype

        def find() -> DeviceArray:
            if key not in self._constants:
                array = from_host(data)
                array.is_writeable = False
                self._constants[key] = data, array
            return self._constants[key][1]

        return find

    def constants(self) -> list[DeviceArray]:
        """Return the constants that were used, by whatever function."""
        return [array for _, array in list(self._constants.values())]

    def on_host(self, function: Function, may_write: bool = False) -> Function:
        """Return `function` with host copies as arguments. Changes are copied back to the GPU, and so are the arrays
        that it returns.
        """

        def call(*args: Any) -> Any:
            note_obstacle("a part of it runs on the processor")
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
    """The entry of the function `inside` for external callers. It raises the faults of kernels; results stay on
    the GPU if `stays` is true or an argument is there.
    """

    def __init__(self, inside: Function, loaded: LoadedProgram, stays: bool = False) -> None:
        self.inside, self._loaded, self._stays = inside, loaded, stays

    def __repr__(self) -> str:
        return repr(self.inside)

    @property
    def cuda_graphs(self) -> list[GraphReport]:
        """Return what became of calls that are to be recorded as CUDA graphs, for each combination of sizes that has occurred twice."""
        return self.inside.reports if isinstance(self.inside, RecordedEntry) else []

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> Any:
        """Call the function, in `stream` if it is given; raise the TvmsError of the function, E0702 if `stream` is not a
        stream, or E0707 if an index of a kernel was out of bounds.
        """
        if stream is not None:
            with find_driver().using(stream):
                return self(*args, **named)
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
    """Return `value` with GPU arrays replaced by NumPy arrays, one copy of each, which are added to `copies`."""
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
    """Return the result of a host function with its arrays copied to the GPU."""
    if type(value) is tuple:
        return tuple(map(_sent, cast("tuple[Any, ...]", value)))
    return from_host(cast("Array", value)) if isinstance(value, np.ndarray) else value
