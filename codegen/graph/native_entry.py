"""Calls of graph functions that are machine code: allocate results and workspace, and call the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from ...ir import relax, tir
from ...ir.diagnostics import TvmsError
from ...ir.numpy_dtype import numpy_dtype
from ..runtime.dlpack import Array
from ..runtime.prim_entry import MOST_KNOWN, PLAIN_CALLS, PrimEntry, bind_names
from ..runtime.quick_call import REFUSED, make_quick_call
from ..runtime.sizes import Frame, Size, Slots, compile_size
from ..runtime.specs import ArgumentContext, as_array, entry_repr
from .calls import Body, GraphEntry
from .driver import DISAGREE
from .home import HOST, new_array
from .native import NativeFunction, Returned
from .plan import ALIGNMENT
from .specs import declare_sizes, make_spec

Result: TypeAlias = Callable[[Sequence[Any], Sequence[Array]], Any]
"""Computes the value of a function from the arguments of a call and the arrays allocated for its results."""
_MOST_BYTES = 1 << 48
"""Maximum size of a tensor: addresses have 48 bits."""


class Layout(Struct, frozen=True):
    """The memory of calls with arguments of certain sizes: bytes of workspace, and the shapes and dtypes of results."""

    workspace: int
    results: tuple[tuple[tuple[int, ...], Any], ...]


class NativeEntry:
    """A compiled graph function. Concurrent calls use separate workspaces, which are reused.

    `execute` returns the executor of the function, which calls kernels from Python. It gets the calls whose sizes the driver
    does not support, and reports their errors.
    """

    def __init__(
        self,
        native: NativeFunction,
        source: relax.Function,
        kernel: PrimEntry,
        address: int,
        execute: Callable[[], Callable[..., Any]],
    ) -> None:
        """`kernel` is the driver of `source`, and `address` the address of its machine code."""
        self._native, self._kernel, self._address, self._execute = native, kernel, address, execute
        self._places = [place for _, place in kernel.parameters[: native.inputs]]
        self._result = self._find(native.returned)
        self._workspaces: list[Array] = []
        self._has_workspace = native.has_workspace
        self._fixed = _constant_layout(native)
        self._measure = None if self._fixed else _measuring_entry(native, source, kernel.name)
        self._layouts: dict[tuple[Any, ...], Layout | None] = {}
        """Layouts by the shapes of the arguments; None if the driver does not support them."""
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
        layout = self._fixed or self._layout_of(args)
        if layout is None:
            return self._execute()(*args)
        results = [new_array(shape, dtype) for shape, dtype in layout.results]
        try:
            if self._has_workspace:
                workspace = self._take_workspace(layout.workspace)
                self._run(*args, workspace, *results)
                self._workspaces.append(workspace)
            else:
                self._run(*args, *results)
        except TvmsError as problem:
            if problem.diagnostics[0].message != DISAGREE:
                raise
            return self._execute()(*args)
        return self._result(args, results)

    def _layout_of(self, args: Sequence[Any]) -> Layout | None:
        """Return the layout of a call; None if the driver does not support the sizes of these arguments, which fit otherwise."""
        shapes = tuple([getattr(arg, "shape", None) for arg in args])
        try:
            return self._layouts[shapes]
        except (KeyError, TypeError):  # new, or not a shape
            assert self._measure is not None
            layout = self._measure(*args)
        if len(self._layouts) == MOST_KNOWN:
            self._layouts.clear()
        self._layouts[shapes] = layout
        return layout

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

    def _take_workspace(self, size: int) -> Array:
        """Return a workspace of at least `size` bytes that no other call uses; one of exactly `size` bytes if that is constant.

        It is not returned to the pool if the call fails. Smaller ones are dropped.
        """
        while self._workspaces:
            try:
                memory = self._workspaces.pop()
            except IndexError:  # another thread took the last one
                break
            if memory.nbytes >= size:
                return memory
        memory = new_array((size + ALIGNMENT,), np.dtype("uint8"))
        start = -memory.ctypes.data % ALIGNMENT
        return memory[start : start + size]

    def _make_quick(self) -> Callable[..., Any] | None:
        """Return machine code that checks the arguments and calls the driver, with the constants bound."""
        native = self._native
        bound = {native.inputs + position: data.ctypes.data for position, data in enumerate(native.constants)}
        outputs = {native.driver.buffer_map[native.driver.params[i]].data for i in native.written}
        return make_quick_call(native.driver, self._address, outputs, False, bound, native.written)

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


def _constant_layout(native: NativeFunction) -> Layout | None:
    """Return the layout of all calls of a function; None if it depends on the sizes of arguments."""
    needs = native.needs
    if (
        needs.shapes
        or needs.conditions
        or not all(isinstance(size, tir.IntImm) for result in native.results for size in result.shape)
    ):
        return None
    return _layout_rule(native, {})([])


def _measuring_entry(native: NativeFunction, source: relax.Function, name: str) -> GraphEntry:
    """Return a function that checks its arguments as `source` does, and returns the layout of a call."""
    slots: Slots = {}
    for param in source.params:
        declare_sizes(param.struct_info, slots)
    parameters = [
        (
            make_spec(param.struct_info, slots, HOST),
            ArgumentContext(param.name_hint, name, param.span),
            slots.setdefault(param, len(slots)),
        )
        for param in source.params
    ]
    return GraphEntry(name, parameters, slots, Body((), _layout_rule(native, slots)), source.span)


def _layout_rule(native: NativeFunction, slots: Slots) -> Callable[[Frame], Layout | None]:
    def sizes(exprs: Sequence[tir.PrimExpr]) -> tuple[Size, ...]:
        return tuple(compile_size(expr, slots) for expr in exprs)

    shapes = [(sizes(shape), item) for shape, item in native.needs.shapes]
    conditions, rooms = sizes(native.needs.conditions), sizes(native.needs.rooms)
    results = [(sizes(result.shape), numpy_dtype(result.dtype)) for result in native.results]
    start = -(-native.plan.size // ALIGNMENT) * ALIGNMENT

    def find(frame: Frame) -> Layout | None:
        try:
            for shape, item in shapes:
                now = [size(frame) for size in shape]
                if min(now) < 0 or prod(now) * item > _MOST_BYTES:
                    return None
            if not all(condition(frame) for condition in conditions):
                return None
            made = tuple([(tuple([size(frame) for size in shape]), dtype) for shape, dtype in results])
            return Layout(start + sum(room(frame) for room in rooms), made)
        except TvmsError:  # such as a division by zero
            return None

    return find
