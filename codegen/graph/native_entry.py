"""Calls of graph-level functions that are machine code: results and workspace are made, the driver does the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.numpy_dtype import numpy_dtype
from ..runtime.dlpack import Array
from ..runtime.prim_entry import PLAIN_CALLS, PrimEntry, bind_names
from ..runtime.quick_call import REFUSED, make_quick_call
from ..runtime.specs import as_array
from .native import NativeFunction, Returned
from .plan import ALIGNMENT


class NativeEntry:
    """A compiled graph-level function. Calls may run at the same time: each has a workspace of its own, which is kept."""

    def __init__(self, native: NativeFunction, kernel: PrimEntry, address: int) -> None:
        """`kernel` is the driver, and `address` that of its machine code."""
        self._native, self._kernel = native, kernel
        self._places = [place for _, place in kernel.parameters[: native.inputs]]
        self._names = [place.argument for place in self._places]
        self._made = [(tensor.shape, numpy_dtype(tensor.dtype)) for tensor in native.results]
        self._workspaces: list[Array] = []
        self._quick: Callable[..., int] | None = None
        self._calls = 0
        self._address = address

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call with arrays, by position or by name; returns the value of the function.

        Raises TvmsError: E0701 to E0706 and E0718 where an argument does not fit, and what goes wrong while it runs.
        """
        native, kernel = self._native, self._kernel
        if named or len(args) != native.inputs:
            args = bind_names(kernel.name, self._names, args, named)
        results = [np.empty(shape, dtype) for shape, dtype in self._made]
        workspace = self._take_workspace() if native.plan.size else None
        own = results if workspace is None else [workspace, *results]
        status = REFUSED if self._quick is None else self._quick(*args, *own)
        if status == REFUSED:
            kernel(*args, *native.constants, *own)
            self._calls += 1
            if self._calls == PLAIN_CALLS:
                self._quick = self._make_quick()
        else:
            kernel.check_status(status)
        if workspace is not None:
            self._workspaces.append(workspace)
        return self._pick(native.returned, args, results)

    def _take_workspace(self) -> Array:
        """Return memory that no other call uses now; where a call fails, its memory goes."""
        try:
            return self._workspaces.pop()
        except IndexError:
            size = self._native.plan.size
            memory = np.empty(size + ALIGNMENT, np.uint8)
            start = -memory.ctypes.data % ALIGNMENT
            return memory[start : start + size]

    def _make_quick(self) -> Callable[..., int] | None:
        """Return what checks arguments and calls the driver in machine code, in which the constants are bound."""
        native = self._native
        bound = {native.inputs + position: data.ctypes.data for position, data in enumerate(native.constants)}
        outputs = {native.driver.buffer_map[native.driver.params[i]].data for i in native.written}
        return make_quick_call(native.driver, self._address, outputs, False, bound)

    def _pick(self, place: Returned, args: tuple[Any, ...], results: list[Array]) -> Any:
        """Return the value whose tensors are these arguments of the driver."""
        if isinstance(place, tuple):
            return tuple([self._pick(field, args, results) for field in place])
        native = self._native
        if place < native.inputs:
            return as_array(args[place], self._places[place])
        if place < native.inputs + len(native.constants):
            return native.constants[place - native.inputs]
        return results[place - len(native.driver.params)]
