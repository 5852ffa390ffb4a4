"""Calls of graph functions that are machine code: allocate results and workspace, and call the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...ir.numpy_dtype import numpy_dtype
from ..runtime.dlpack import Array
from ..runtime.prim_entry import PLAIN_CALLS, PrimEntry, bind_names
from ..runtime.quick_call import REFUSED, make_quick_call
from ..runtime.specs import as_array, entry_repr
from .home import new_array
from .native import NativeFunction, Returned
from .plan import ALIGNMENT

Result: TypeAlias = Callable[[Sequence[Any], Sequence[Array]], Any]
"""Computes the value of a function from the arguments of a call and the arrays allocated for its results."""


class NativeEntry:
    """A compiled graph function. Concurrent calls use separate workspaces, which are reused."""

    def __init__(self, native: NativeFunction, kernel: PrimEntry, address: int) -> None:
        """`kernel` is the driver, and `address` the address of its machine code."""
        self._native, self._kernel, self._address = native, kernel, address
        self._places = [place for _, place in kernel.parameters[: native.inputs]]
        self._made = [partial(new_array, tensor.shape, numpy_dtype(tensor.dtype)) for tensor in native.results]
        self._result = self._find(native.returned)
        self._workspaces: list[Array] = []
        self._workspace_bytes = native.plan.size
        self._quick: Callable[..., Any] | None = None
        self._calls = 0

    def __repr__(self) -> str:
        return entry_repr(self, self._kernel.name, self._places)

    @property
    def addresses(self) -> Mapping[str, int]:
        """Return the addresses of the kernels of the module."""
        return self._kernel.library.addresses

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call with arrays, by position or by name; return the value of the function.

        Raises TvmsError: E0701 to E0706 and E0718 if an argument does not fit, and faults at run time.
        """
        if named or len(args) != len(self._places):
            args = bind_names(self._kernel.name, [place.argument for place in self._places], args, named)
        results = [make() for make in self._made]
        if self._workspace_bytes:
            workspace = self._take_workspace()
            self._run(*args, workspace, *results)
            self._workspaces.append(workspace)
        else:
            self._run(*args, *results)
        return self._result(args, results)

    def _run(self, *args: Any) -> None:
        """Call the driver; the first calls check all arguments in Python."""
        record = REFUSED if self._quick is None else self._quick(*args)
        if record is REFUSED:
            inputs = self._native.inputs
            self._kernel(*args[:inputs], *self._native.constants, *args[inputs:])
            self._calls += 1
            if self._calls == PLAIN_CALLS:
                self._quick = self._make_quick()
        else:
            self._kernel.check_record(record)

    def _take_workspace(self) -> Array:
        """Return a workspace that no other call uses; it is not returned to the pool if the call fails."""
        try:
            return self._workspaces.pop()
        except IndexError:
            memory = new_array((self._workspace_bytes + ALIGNMENT,), np.dtype("uint8"))
            start = -memory.ctypes.data % ALIGNMENT
            return memory[start : start + self._workspace_bytes]

    def _make_quick(self) -> Callable[..., Any] | None:
        """Return machine code that checks the arguments and calls the driver, with the constants bound."""
        native = self._native
        bound = {native.inputs + position: data.ctypes.data for position, data in enumerate(native.constants)}
        outputs = {native.driver.buffer_map[native.driver.params[i]].data for i in native.written}
        return make_quick_call(native.driver, self._address, outputs, False, bound)

    def _find(self, place: Returned) -> Result:
        """Return a function that computes the value at `place`, arguments of the driver."""
        if isinstance(place, tuple):
            fields = tuple(map(self._find, place))
            return lambda args, results: tuple([field(args, results) for field in fields])
        native = self._native
        if place < native.inputs:
            return lambda args, results: as_array(args[place], self._places[place])
        if place < native.inputs + len(native.constants):
            constant = native.constants[place - native.inputs]
            return lambda args, results: constant
        position = place - len(native.driver.params)
        return lambda args, results: results[position]
