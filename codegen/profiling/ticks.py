"""Times of the kernels of a native function: its driver, compiled once more, notes the time before and after each kernel.

    Module.dense(x.data, w.data, …)          note_time(times[0])
    Module.relu(…)                     →     Module.dense(x.data, w.data, …)
                                             note_time(times[1])
                                             Module.relu(…)
                                             note_time(times[2])

The kernels themselves are those of the executable. No Python runs between them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ..graph.native import NativeFunction, Returned
from ..graph.native_entry import NativeEntry
from ..graph.tensors import driver_buffer
from ..llvm.api import Value
from ..llvm.backend import optimize, to_object
from ..llvm.expressions import ExpressionEmitter
from ..llvm.faults import Fault
from ..llvm.intrinsics import CPU
from ..llvm.module import emit_kernel
from ..llvm.shared import LLVMModule
from ..llvm.types import I32, POINTER
from ..lower import lower
from ..lower.rewriter import sequence
from ..names import kernel_symbol
from ..runtime.dlpack import Array
from ..runtime.jit import Library, link_symbols
from ..runtime.prim_entry import PrimEntry
from ..runtime.signature import Signature, signature_of
from ..target import Target

_NOTE_TIME = "tvms.note_time"
"""The intrinsic that writes seconds and nanoseconds to two int64 elements; programs cannot use it."""


class TickedFunction(Struct, frozen=True, eq=False):
    """A native function that notes times: `entry` calls it, and `times` are those before, between and after its `calls`."""

    entry: Callable[..., Any]
    calls: tuple[tir.Call, ...]
    times: Array


def seconds_between(times: Array) -> list[float]:
    """Return the seconds between the times that were noted: those of each call of a kernel."""
    ticks: list[int] = [int(seconds) * 1_000_000_000 + int(rest) for seconds, rest in times]
    return [(end - start) / 1e9 for start, end in pairwise(ticks)]


def ticked_function(
    name: str,
    native: NativeFunction,
    signatures: Mapping[str, Signature],
    addresses: Mapping[str, int],
    faults: Sequence[Fault],
    target: Target,
) -> TickedFunction:
    """Return native function `name` with a driver that notes times; `addresses` are those of the kernels it calls."""
    times = np.zeros((len(native.calls) + 1, 2), np.int64)
    ticked = _with_ticks(native, times)
    kernel = lower(ticked.driver)
    stubs = {called: _stub(signature) for called, signature in signatures.items()}
    module = LLVMModule({**stubs, name: kernel}, target, 0, {**CPU, _NOTE_TIME: _emit_note_time})
    emit_kernel(module, name, kernel)
    image = to_object(optimize(str(module.module), target), target)
    given = {kernel_symbol(called): address for called, address in addresses.items() if called != name}
    symbol = kernel_symbol(name)
    found, code = link_symbols([image], [symbol], target, given)
    signature = replace(
        signature_of(ticked.driver, kernel), written=(*ticked.written, ticked.inputs + len(native.constants))
    )
    library = Library({name: found[symbol]}, code)
    entry = PrimEntry(name, ticked.driver, signature, library, faults)
    return TickedFunction(NativeEntry(ticked, entry, found[symbol]), native.calls, times)


def _with_ticks(native: NativeFunction, times: Array) -> NativeFunction:
    """Return `native` with `times` as one more constant, to which its driver writes."""
    buffer = driver_buffer("times", times.shape, "int64")
    handle = tir.Var("handle", "times_handle")
    steps: list[tir.Stmt] = [_note_time(buffer, 0)]
    for number, call in enumerate(native.calls, 1):
        steps += [tir.Evaluate(call), _note_time(buffer, number)]
    driver, place = native.driver, native.inputs + len(native.constants)
    params = (*driver.params[:place], handle, *driver.params[place:])
    ticked = replace(driver, params=params, buffer_map={**driver.buffer_map, handle: buffer}, body=sequence(steps))
    constants = (*native.constants, times)
    return replace(native, driver=ticked, constants=constants, returned=_shifted(native.returned, place))


def _note_time(times: tir.Buffer, number: int) -> tir.Stmt:
    element = tir.BufferLoad("int64", times, (tir.IntImm("int64", number), tir.IntImm("int64", 0)))
    place = tir.Call("handle", Op("tir.address_of"), (element,))
    return tir.Evaluate(tir.Call("int32", Op(_NOTE_TIME), (place,)))


def _emit_note_time(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    function = emitter.module.c_function("clock_gettime", I32, [I32, POINTER])
    return emitter.builder.call(function, [I32(time.CLOCK_MONOTONIC), *emitter.operands(call)])


def _shifted(returned: Returned, place: int) -> Returned:
    """Return positions of arguments after one was inserted at `place`."""
    if isinstance(returned, tuple):
        return tuple(_shifted(field, place) for field in returned)
    return returned + (returned >= place)


def _stub(signature: Signature) -> tir.PrimFunc:
    """Return a function with the parameters of a kernel."""
    params = tuple(tir.Var(dtype, f"arg{number}") for number, dtype in enumerate(signature.params))
    return tir.PrimFunc(params, tir.Evaluate(tir.IntImm("int32", 0)))
