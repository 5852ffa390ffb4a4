"""Times of the kernels of a native function: its driver, compiled once more, notes the time before and after each kernel.

    Module.dense(x.data, w.data, …)          note_time(times[0, 0])
    Module.relu(…)                     →     Module.dense(x.data, w.data, …)
                                             note_time(times[0, 1])
                                             note_time(times[1, 0])
                                             Module.relu(…)
                                             note_time(times[1, 1])

The kernels themselves are those of the executable. No Python runs between them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import GlobalVar, Op
from ...ir.ops import dims as d
from ...ir.visit import rewrite
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
from ..runtime.sizes import compile_size
from ..target import Target

_NOTE_TIME = "tvms.note_time"
"""The intrinsic that writes seconds and nanoseconds to two int64 elements; programs cannot use it."""


class TickedFunction(Struct, frozen=True, eq=False):
    """A native function that notes times: `entry` calls it, and `times` are those before and after each of its `calls`, zero for
    calls in branches that were not taken. `driver` has the sizes of its arguments as variables.
    """

    entry: Callable[..., Any]
    driver: tir.PrimFunc
    calls: tuple[tir.Call, ...]
    times: Array

    def sizes(self, shapes: Sequence[Sequence[int]]) -> Callable[[tir.PrimExpr], int]:
        """Return a function that computes size arguments of `calls`, given the shapes of the arguments of the function."""
        frame: dict[tir.Var, int] = {}
        for param, shape in zip(self.driver.params, shapes, strict=False):
            pairs = zip(self.driver.buffer_map[param].shape, shape, strict=True)
            frame |= {declared: size for declared, size in pairs if isinstance(declared, tir.Var)}
        slots = {variable: slot for slot, variable in enumerate(frame)}
        return lambda expr: compile_size(expr, slots)([*frame.values()])


def seconds_of_calls(times: Array) -> list[float | None]:
    """Return the seconds of each call of a kernel; None for those that were not executed."""
    ticks: list[list[int]] = [[int(seconds) * 1_000_000_000 + int(rest) for seconds, rest in pair] for pair in times]
    return [(end - start) / 1e9 if end else None for start, end in ticks]


def ticked_function(
    name: str,
    native: NativeFunction,
    source: relax.Function,
    signatures: Mapping[str, Signature],
    addresses: Mapping[str, int],
    faults: Sequence[Fault],
    target: Target,
    execute: Callable[[], Callable[..., Any]],
) -> TickedFunction:
    """Return native function `name`, compiled from `source`, with a driver that notes times; `addresses` are those of the kernels it
    calls, and `execute` returns its executor.
    """
    times = np.zeros((len(native.calls), 2, 2), np.int64)
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
    return TickedFunction(
        NativeEntry(ticked, source, entry, found[symbol], execute), native.driver, native.calls, times
    )


def _with_ticks(native: NativeFunction, times: Array) -> NativeFunction:
    """Return `native` with `times` as one more constant, to which its driver writes."""
    buffer = driver_buffer("times", list(map(d.dim, times.shape)), "int64")
    handle = tir.Var("handle", "times_handle")

    def noted(node: Any) -> tir.Stmt | None:
        if isinstance(node, tir.SeqStmt):
            return sequence(node.seq)
        if not (
            isinstance(node, tir.Evaluate) and isinstance(node.value, tir.Call) and isinstance(node.value.op, GlobalVar)
        ):
            return None
        number = numbers[node.value]
        return sequence([_note_time(buffer, number, 0), node, _note_time(buffer, number, 1)])

    numbers = {call: number for number, call in enumerate(native.calls)}
    driver, place = native.driver, native.inputs + len(native.constants)
    params = (*driver.params[:place], handle, *driver.params[place:])
    body = rewrite(driver.body, noted)
    ticked = replace(driver, params=params, buffer_map={**driver.buffer_map, handle: buffer}, body=body)
    constants = (*native.constants, times)
    return replace(native, driver=ticked, constants=constants, returned=_shifted(native.returned, place))


def _note_time(times: tir.Buffer, number: int, side: int) -> tir.Stmt:
    element = tir.BufferLoad("int64", times, (d.dim(number), d.dim(side), d.dim(0)))
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
