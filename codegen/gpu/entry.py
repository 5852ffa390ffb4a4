"""Functions on a GPU as callables: destination-passing, arrays are written in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ir import tir
from ...ir.diagnostics import TvmsError
from ...ir.numpy_dtype import numpy_dtype
from ..lower.signature import size_variables, written_variables
from ..names import mangle
from ..runtime.prim_entry import bind_names
from ..runtime.sizes import Slots
from ..runtime.specs import Place, ScalarSpec, TensorSpec
from .arrays import DeviceArray, from_host, is_on_device, on_device
from .driver import find_driver
from .dynamic_memory import dynamic_bytes
from .host import Running, compile_host
from .program import DeviceProgram, kernels_of

ALIGNMENT = 16
"""Bytes that memory of arguments is aligned to: the widest access of a kernel."""


class LoadedProgram:
    """The kernels of a program on the GPU, loaded when the first of them is launched."""

    def __init__(self, program: DeviceProgram) -> None:
        self.program = program
        self._functions: Mapping[str, Any] | None = None
        self._status: DeviceArray | None = None

    def ready(self) -> tuple[Mapping[str, Any], DeviceArray]:
        """Return the kernels, and where they note faults; E0721 where there is no GPU, E0608 where it refuses them."""
        if self._functions is None or self._status is None:
            driver = find_driver()
            module = driver.load(self.program.ptx)
            self._functions = {
                name: driver.function(module, mangle(name), dynamic_bytes(kernel))
                for name, kernel in self.program.kernels.items()
            }
            self._status = from_host(np.zeros(1, np.int32))
        return self._functions, self._status


class DeviceEntry:
    """A function with kernels. Calls check their arguments, launch, and do not wait for the results but where there are
    indices to be checked, or arguments in the memory of the host: those are copied there and back."""

    def __init__(self, name: str, source: tir.PrimFunc, loaded: LoadedProgram) -> None:
        self.name, self._loaded = name, loaded
        self._slots: Slots = {}
        for variable in (*size_variables(source), *(p for p in source.params if p not in source.buffer_map)):
            self._slots.setdefault(variable, len(self._slots))
        host = loaded.program.hosts[name]
        written = {var for kernel in kernels_of(host) for var in written_variables(kernel.body)}
        self._buffers = [source.buffer_map.get(param) for param in source.params]
        self.parameters = tuple(self._parameter(param, source, written) for param in source.params)
        pointers = [None if buffer is None else buffer.data for buffer in self._buffers]
        self._pointers = [None if data is None else self._slots.setdefault(data, len(self._slots)) for data in pointers]
        self._step = compile_host(host.body, self._slots)
        self._is_checked = bool(loaded.program.faults)

    def _parameter(
        self, param: tir.Var, source: tir.PrimFunc, written: set[tir.Var]
    ) -> tuple[TensorSpec | ScalarSpec, Place]:
        buffer = source.buffer_map.get(param)
        if buffer is None:
            return ScalarSpec(param.dtype, self._slots[param]), Place(param.name, self.name, param.span)
        spec = TensorSpec(
            buffer.dtype, buffer.shape, self._slots, strides=buffer.strides, is_written=buffer.data in written
        )
        name = buffer.name if param.name == f"{buffer.name}_handle" else param.name
        return spec, Place(name, self.name, buffer.span or param.span)

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        """Call with arrays and numbers, by position or by name; on `stream` where one is given.

        Raises TvmsError: E0701 to E0706 where an argument does not fit, E0721 where there is no GPU, E0611 where the
        arrays need more blocks than can be launched, and what goes wrong while it runs, where indices are checked.
        """
        if named or len(args) != len(self.parameters):
            args = bind_names(self.name, [place.argument for _, place in self.parameters], args, named)
        frame: list[Any] = [None] * len(self._slots)
        order = sorted(range(len(args)), key=lambda i: isinstance(self.parameters[i][0], TensorSpec))
        given: dict[int, Any] = {}
        for i in order:
            spec, place = self.parameters[i]
            if isinstance(spec, TensorSpec) and is_on_device(args[i]):
                given[i] = _check(spec, on_device(args[i], place), place, frame)
            else:
                given[i] = spec.check(args[i], place, frame)
        for i, value in given.items():
            spec, place = self.parameters[i]
            if isinstance(spec, TensorSpec):
                spec.check_deferred(value, place, frame)
        self._run(given, frame, stream)

    def _run(self, given: dict[int, Any], frame: list[Any], stream: Any) -> None:
        functions, status = self._loaded.ready()
        arrays: dict[int, DeviceArray] = {}
        for i, value in given.items():
            slot = self._pointers[i]
            if slot is not None:
                arrays[i] = value if isinstance(value, DeviceArray) else from_host(value)
                frame[slot] = arrays[i].address
        self._step(Running(find_driver(), functions, status.address, frame, stream))
        if self._is_checked:
            self._check_status(status)
        for i, array in arrays.items():
            spec = self.parameters[i][0]
            if array is not given[i] and isinstance(spec, TensorSpec) and spec.is_written:
                given[i][...] = array.numpy()

    def _check_status(self, status: DeviceArray) -> None:
        number = int(status.numpy()[0])
        if number:
            status.copyfrom(np.zeros(1, np.int32))
            raise TvmsError(self._loaded.program.faults[number - 1].diagnostic())


def _check(spec: TensorSpec, array: DeviceArray, place: Place, frame: list[Any]) -> DeviceArray:
    """Return `array`, which lies on the GPU, or raise what is wrong with it; binds dimensions."""
    if array.dtype != numpy_dtype(spec.dtype):
        raise place.fault("E0703", f"expected dtype {spec.dtype}, got {array.dtype}")
    if spec.shape is not None and not spec.shape.bind(array.shape, frame):
        raise spec.shape.fault(place, array.shape, frame)
    if not spec.is_row_major:
        raise place.fault("E0706", "its buffer declares strides, which arrays on the GPU have not", "pass a host array")
    if array.address % ALIGNMENT:
        raise place.fault("E0706", f"its elements do not start at a multiple of {ALIGNMENT} bytes", "pass a copy of it")
    return array
