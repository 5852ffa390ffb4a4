"""Functions on a GPU as callables in destination-passing style: arrays are written in place."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np

from ...ir import tir
from ...ir.base import Span
from ...ir.diagnostics import TvmsError
from ...ir.visit import walk
from ..lower.signature import size_variables, written_variables
from ..names import mangle
from ..runtime.prim_entry import bind_names, overlapping
from ..runtime.sizes import Slots
from ..runtime.specs import ArgumentContext, ScalarSpec, entry_repr
from ..runtime.starts import check_starts, compile_starts
from .arrays import DeviceArray, from_host
from .driver import find_driver
from .dynamic_memory import dynamic_bytes
from .host import Running, compile_host
from .kernel import Kernel
from .launch import Function
from .program import DeviceProgram, kernels_of
from .specs import DeviceSpec


class LoadedProgram:
    """The kernels of a program on the GPU, loaded at the first launch."""

    def __init__(self, program: DeviceProgram) -> None:
        self.program = program
        self._functions: Mapping[str, Function] | None = None
        self._loading = Lock()
        self._status: DeviceArray | None = None
        self.is_noting = False
        """Whether a kernel that may report a fault has run since the last check."""

    def ready(self) -> tuple[Mapping[str, Function], DeviceArray]:
        """Return the kernels and the address of their status; E0721 if there is no GPU, E0608 if it rejects them."""
        with self._loading:
            if self._functions is None or self._status is None:
                driver = find_driver()
                self._module = driver.load(self.program.ptx)
                self._functions = {
                    name: driver.function(self._module, mangle(name), name, place_of(kernel), dynamic_bytes(kernel))
                    for name, kernel in self.program.kernels.items()
                }
                self._status = from_host(np.zeros(1, np.int32))
            return self._functions, self._status

    def check_status(self) -> None:
        """Raise a fault that a thread has reported since the last check. If one is possible, this waits for all
        kernels.
        """
        if self.is_noting and self._status is not None:
            self.is_noting, number = False, int(self._status.numpy()[0])
            if number:
                self._status.copyfrom(np.zeros(1, np.int32))
                raise TvmsError(self.program.faults[number - 1].diagnostic(()))


class DeviceEntry:
    """A function with kernels. A call checks its arguments and launches the kernels; it waits for the results only
    if they must be copied to host memory.
    """

    def __init__(self, name: str, source: tir.PrimFunc, loaded: LoadedProgram) -> None:
        self.name, self._loaded = name, loaded
        self._slots: Slots = {}
        for variable in (*size_variables(source), *(p for p in source.params if p not in source.buffer_map)):
            self._slots.setdefault(variable, len(self._slots))
        host = loaded.program.hosts[name]
        kernels = kernels_of(host)
        written = {var for kernel in kernels for var in written_variables(kernel.body)}
        self._buffers = [source.buffer_map.get(param) for param in source.params]
        self.parameters = tuple(self._parameter(param, source, written) for param in source.params)
        is_array = [isinstance(spec, DeviceSpec) for spec, _ in self.parameters]
        self._order = sorted(range(len(is_array)), key=is_array.__getitem__)
        """Numbers first, since they may be sizes of arrays."""
        arrays = enumerate(self.parameters) if source.attrs.get("tir.noalias") else ()
        self._alone = [i for i, (spec, _) in arrays if isinstance(spec, DeviceSpec) and spec.is_written]
        """The written arrays, which must not overlap any other."""
        self._starts = compile_starts(source, [place for _, place in self.parameters], self._slots)
        pointers = [None if buffer is None else buffer.data for buffer in self._buffers]
        self._pointers = [None if data is None else self._slots.setdefault(data, len(self._slots)) for data in pointers]
        self._step = compile_host(host.body, self._slots)
        self._is_noting = any(kernel.name in loaded.program.noting for kernel in kernels)

    def _parameter(
        self, param: tir.Var, source: tir.PrimFunc, written: set[tir.Var]
    ) -> tuple[DeviceSpec | ScalarSpec, ArgumentContext]:
        buffer = source.buffer_map.get(param)
        if buffer is None:
            return ScalarSpec(param.dtype, self._slots[param]), ArgumentContext(param.name, self.name, param.span)
        spec = DeviceSpec(
            buffer.dtype, buffer.shape, self._slots, strides=buffer.strides, is_written=buffer.data in written
        )
        name = buffer.name if param.name == f"{buffer.name}_handle" else param.name
        return spec, ArgumentContext(name, self.name, buffer.span or param.span)

    def __repr__(self) -> str:
        return entry_repr(self, self.name, [context for _, context in self.parameters])

    def __call__(self, *args: Any, **named: Any) -> None:
        """Call with arrays and numbers, by position or by name.

        Raises TvmsError: E0701 to E0706 if an argument does not fit, E0719 if one that is written overlaps another although the function
        is `tir.noalias`, E0721 if there is no GPU, E0611 if the arrays need more blocks than can be launched.
        """
        if named or len(args) != len(self.parameters):
            args = bind_names(self.name, [place.argument for _, place in self.parameters], args, named)
        frame: list[Any] = [None] * len(self._slots)
        arrays: dict[int, DeviceArray] = {}
        for i in self._order:
            spec, place = self.parameters[i]
            value = spec.check(args[i], place, frame)
            slot = self._pointers[i]
            if slot is not None:
                arrays[i], frame[slot] = value, value.address
        for i, array in arrays.items():
            spec, place = self.parameters[i]
            if isinstance(spec, DeviceSpec):
                spec.check_deferred(array, place, frame)
        if self._alone:
            self._check_overlap(arrays)
        if self._starts:
            frame = check_starts(self._starts, frame)
        functions, status = self._loaded.ready()
        self._step(Running(find_driver(), functions, status.address, frame))
        self._loaded.is_noting |= self._is_noting
        for i, array in arrays.items():
            spec = self.parameters[i][0]
            if isinstance(spec, DeviceSpec) and spec.is_written:
                array.tell_origin()

    def _check_overlap(self, arrays: dict[int, DeviceArray]) -> None:
        """Raise E0719 if an array that is written overlaps another one."""
        spans = {i: (array.address, array.address + array.nbytes) for i, array in arrays.items()}
        for i in self._alone:
            start, end = spans[i]
            for other, (first, last) in spans.items():
                if first < end and start < last and other != i:
                    raise overlapping(self.parameters[i][1], self.parameters[other][1])


def place_of(kernel: Kernel) -> Span | None:
    """Return the position of the first statement of a kernel that has one."""
    return next((node.span for node in walk(kernel.body) if isinstance(node, tir.Stmt) and node.span), None)
