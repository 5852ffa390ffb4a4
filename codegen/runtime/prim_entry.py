"""Loop functions as callables in destination-passing style: arrays are written in place."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import signature, tir
from ...ir.diagnostics import TvmsError, error
from ...ir.dtype import is_bool
from ...ir.numpy_dtype import numpy_dtype
from ..llvm.faults import RECORD_WORDS, Fault, status_in
from ..lower.signature import size_variables
from .addresses import address_reader
from .dlpack import Array
from .jit import Library, c_type, make_callable
from .quick_call import REFUSED, make_quick_call
from .signature import Signature
from .sizes import Slots
from .specs import ArgumentContext, ScalarSpec, TensorSpec, entry_repr
from .starts import check_starts, compile_starts

PLAIN_CALLS = 4
"""Number of calls whose arguments are checked in Python. After these, machine code checks the common cases;
compiling it takes as long as a thousand calls save. Simulation of threads in each order needs three
calls.
"""

MOST_KNOWN = 64
"""Number of kinds of arguments that an entry remembers."""
_Record = ctypes.c_int64 * RECORD_WORDS


class PrimEntry:
    """A compiled loop function. Calls check their arguments, then run machine code without the GIL."""

    def __init__(
        self,
        name: str,
        source: tir.PrimFunc,
        signature: Signature,
        library: Library,
        faults: Sequence[Fault],
        for_overlapping: Callable[[], Callable[..., Any]] | None = None,
    ) -> None:
        """`for_overlapping` returns the function to call if arguments overlap although the kernel requires that they
        do not; without it, that is an error.
        """
        self.name, self._span = name, source.span
        self._faults, self.library = faults, library
        self._slots: Slots = {}
        sizes = size_variables(source)
        written = {source.buffer_map[source.params[i]].data for i in signature.written}
        scalars = [param for param in source.params if param not in source.buffer_map]
        self._slots.update({param: slot for slot, param in enumerate([*sizes, *scalars])})
        self.parameters = tuple(self._parameter(param, source, written) for param in source.params)
        self._starts = compile_starts(source, [place for _, place in self.parameters], self._slots)
        self._checks = tuple((*self.parameters[i], i) for i in self._order())
        self._size_slots = range(len(sizes))
        self._result = signature.result
        self._address = address_reader()
        self._function = make_callable(library, name, self._c_types(signature))
        self._alone = [i for i, (spec, _) in enumerate(self.parameters) if _is_written(spec)]
        self._alone = self._alone if signature.is_alone else []
        self._for_overlapping = for_overlapping
        self._calls = 0
        self._is_simple = not self._starts and all(_is_simple(spec) for spec, _ in self.parameters)
        self._known: dict[tuple[Any, ...], list[Any]] = {}
        """The sizes of arguments that have passed the checks, by what these depend on (`_kind_of`)."""
        self._quick: Callable[..., Any] | None = None
        self._make_quick = lambda: make_quick_call(source, library.addresses[name], written, bool(self._alone))

    def _parameter(
        self, param: tir.Var, source: tir.PrimFunc, written: set[tir.Var]
    ) -> tuple[TensorSpec | ScalarSpec | None, ArgumentContext]:
        buffer = source.buffer_map.get(param)
        if buffer is None:
            place = ArgumentContext(param.name, self.name, param.span)
            return (None if param.dtype == "handle" else ScalarSpec(param.dtype, self._slots[param])), place
        is_written = buffer.data in written
        spec = TensorSpec(buffer.dtype, buffer.shape, self._slots, strides=buffer.strides, is_written=is_written)
        made_up = param.name in (f"{buffer.name}_handle", f"var_{buffer.name}")
        name = buffer.name if made_up else param.name
        return spec, ArgumentContext(name, self.name, buffer.span or param.span)

    def _order(self) -> list[int]:
        """Return the order of the checks: scalars first, since they may be sizes of the buffers."""
        return sorted(range(len(self.parameters)), key=lambda i: isinstance(self.parameters[i][0], TensorSpec))

    def _c_types(self, signature: Signature) -> list[Any]:
        types: list[Any] = []
        for dtype in signature.params:
            passed = c_type(dtype)
            if passed is None:
                raise error("E0604", f"a scalar argument of dtype '{dtype}' cannot be passed", self._span)
            types.append(passed)
        return [*types, *[ctypes.c_void_p] * (1 if self._result is None else 2)]

    def __repr__(self) -> str:
        return entry_repr(self, self.name, [context for _, context in self.parameters])

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call with arrays and numbers, by position or by name; return the result of the function, or None.

        Raises TvmsError: E0701 to E0706 and E0718 if an argument does not fit, E0719 if a written one
        overlaps another although the function is `tir.noalias`, and faults at run time.
        """
        if self._quick is not None and not named and len(args) == len(self.parameters):
            record = self._quick(*args)
            if record is not REFUSED:
                return self.check_record(record)
        if named or len(args) != len(self.parameters):
            args = bind_names(self.name, [place.argument for _, place in self.parameters], args, named)
        kind = _kind_of(args) if self._is_simple else None
        known = self._known.get(kind) if kind is not None else None
        if known is not None:
            return self._launch(list(args), known)
        values, frame = self._checked(args)
        if kind is not None:
            if len(self._known) == MOST_KNOWN:
                self._known.clear()
            self._known[kind] = frame
        return self._launch(values, frame)

    def _checked(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the arguments as arrays and numbers, and the sizes that they determine."""
        frame: list[Any] = [None] * len(self._slots)
        values: list[Any] = list(args)
        for spec, place, index in self._checks:
            values[index] = spec.check(args[index], place, frame) if spec is not None else _raw(args[index], place)
        for spec, place, index in self._checks:
            if isinstance(spec, TensorSpec):
                spec.check_deferred(values[index], place, frame)
        if self._starts:
            check_starts(self._starts, frame)
        return values, frame

    def _launch(self, values: list[Any], frame: list[Any]) -> Any:
        self._calls += 1
        if self._calls == PLAIN_CALLS and self._result is None:
            self._quick = self._make_quick()
        address = self._address
        passed = [address(value.__array_struct__) if type(value) is np.ndarray else value for value in values]
        overlap = self._find_overlap(passed, values) if self._alone else None
        if overlap is not None:
            return self._call_overlapping(values, *overlap)
        passed += [0 if frame[slot] is None else frame[slot] for slot in self._size_slots]
        record = _Record()
        if self._result is None:
            self._check_status(self._function(*passed, ctypes.addressof(record)), record)
            return None
        result = np.empty((), numpy_dtype(self._result))
        self._check_status(self._function(*passed, result.ctypes.data, ctypes.addressof(record)), record)
        return bool(result) if is_bool(self._result) else result[()]

    def prepare(self) -> None:
        """Compile the fast checks of arguments now, not after the first calls."""
        if self._result is None:
            self._quick = self._make_quick()

    def check_record(self, record: bytes | None) -> None:
        """Raise the fault in a fault record with a status; None means that there is none."""
        if record is not None:
            numbers = _Record.from_buffer_copy(record)
            self._check_status(numbers[1], numbers)

    def _check_status(self, status: int, record: ctypes.Array[ctypes.c_int64]) -> None:
        """Raise the fault of `status`, if any; a fault that has claimed the record comes first."""
        if status:
            numbers = list(record)
            raise TvmsError(self._faults[status_in(status, numbers) - 1].diagnostic(numbers))

    def _find_overlap(self, addresses: list[Any], values: list[Any]) -> tuple[int, int] | None:
        """Return the positions of a written argument and of another one that overlaps it."""
        for index in self._alone:
            start, end = addresses[index], addresses[index] + _span_of(values[index])
            for other, value in enumerate(values):
                if other == index or type(value) is not np.ndarray:
                    continue
                if addresses[other] < end and start < addresses[other] + _span_of(value):
                    return index, other
        return None

    def _call_overlapping(self, values: list[Any], index: int, other: int) -> Any:
        if self._for_overlapping is not None:
            return self._for_overlapping()(*values)
        raise overlapping(self.parameters[index][1], self.parameters[other][1])


def overlapping(written: ArgumentContext, other: ArgumentContext) -> TvmsError:
    """Return the error for an array that a `tir.noalias` function writes although it overlaps another argument."""
    message = f"the function writes it, but it overlaps argument '{other.argument}' in memory"
    help = "pass arrays that do not overlap, or drop tir.noalias from the function"
    return written.fault("E0719", message, help)


def _span_of(array: Array) -> int:
    """Return the number of bytes from the start of an array to the end of its last element; strides are not negative."""
    if array.flags.c_contiguous:
        return array.nbytes
    steps = zip(array.shape, array.strides, strict=True)
    return sum((size - 1) * step for size, step in steps) + array.itemsize if array.size else 0


def _is_simple(spec: object) -> bool:
    """Return whether the checks of an argument depend only on what `_kind_of` returns, and not on its strides."""
    return isinstance(spec, ScalarSpec) or (isinstance(spec, TensorSpec) and spec.is_row_major)


def _kind_of(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return all that the checks of arguments depend on: shapes, dtypes and flags of arrays, and numbers. None if there is
    anything but arrays of NumPy and integers.
    """
    kind: list[Any] = []
    for value in args:
        if type(value) is np.ndarray:
            kind += (value.shape, value.dtype, value.flags.num)
        elif type(value) is int:
            kind.append(value)
        else:
            return None
    return tuple(kind)


def _is_written(spec: object) -> bool:
    return isinstance(spec, TensorSpec) and spec.is_written


def _raw(value: Any, place: ArgumentContext) -> int:
    """Return the address of an array that is passed as an untyped pointer."""
    if not isinstance(value, np.ndarray):
        raise place.fault("E0702", f"expected an array, got {type(value).__name__}")
    return value.ctypes.data


def bind_names(function: str, names: Sequence[str], args: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments in the order of `names`; E0701 if one is missing, unknown or given twice, or there
    are too many.
    """
    try:
        bound = signature.Signature([signature.Parameter(name) for name in names]).bind(function, args, named.items())
    except signature.BadArguments as wrong:
        raise error("E0701", wrong.message, None, wrong.help) from None
    return tuple([bound.values[name] for name in names])
