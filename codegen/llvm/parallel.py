"""Parallel loops: the body becomes a function that the runtime calls with ranges of the loop variable.

The values that the body captures are passed in a structure. The runtime's entry is

    i32 tvms_parallel(i32 (*body)(void *closure, i64 begin, i64 end), void *closure, i64 extent, i32 threads)

Each thread gets one range of consecutive iterations; a loop with little work (`work`) runs on one thread. The
result is the maximum of the statuses that the calls returned.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.jumps import BREAK, has_jump
from ...ir.visit import walk
from .api import Value, ir
from .casts import emit_cast
from .operators import number
from .pieces import PieceEmitter, function_of
from .types import I32, I64, POINTER
from .work import ENOUGH, statements_run

PARALLEL = "tvms_parallel"
BODY_TYPE = ir.FunctionType(I32, [POINTER, I64, I64])


class KernelEmitter(PieceEmitter):
    """Emits functions in pieces, and the bodies of parallel loops as functions for the runtime."""

    def run_parallel(self, loop: tir.For) -> None:
        """Emit a parallel loop; a fault in an iteration is a fault of the enclosing function."""
        _emit_parallel(self, loop)


def _emit_parallel(emitter: KernelEmitter, loop: tir.For) -> None:
    builder, module = emitter.builder, emitter.module
    if has_jump(loop.body, (BREAK,)):
        help = "make the loop serial, or skip the remaining iterations by a flag"
        raise error("E0606", f"the parallel loop over '{loop.loop_var.name}' cannot end early", loop.span, help)
    body, captured = _emit_body(emitter, loop)
    closure_type = ir.LiteralStructType([value.type for value in captured])
    closure = emitter.stack_memory(closure_type, 8)
    for position, value in enumerate(captured):
        place = builder.gep(closure, [I32(0), I32(position)], source_etype=closure_type)
        builder.store(value, place)
    trampoline = _emit_trampoline(body, closure_type)
    extent = emit_cast(builder, emitter.emit(loop.extent), loop.extent.dtype, "int64")
    run = module.c_function(PARALLEL, I32, [POINTER, POINTER, I64, I32])
    emitter.fail_with(builder.call(run, [trampoline, closure, extent, _threads(emitter, loop)]))


def _threads(emitter: KernelEmitter, loop: tir.For) -> Value:
    """Emit the number of threads for the runtime: one if there is little work."""
    most = number(I32, emitter.module.threads)
    steps = statements_run(replace(loop, kind=tir.ForKind.SERIAL), emitter.values)
    if steps is None:
        return most
    is_enough = emitter.builder.icmp_signed(">=", emitter.emit(steps), number(I64, ENOUGH))
    return emitter.builder.select(is_enough, most, number(I32, 1))


def _captured(loop: tir.For) -> list[tir.Var]:
    """Return the variables of the enclosing function that the loop may use."""
    nodes = (node.data if isinstance(node, tir.Buffer) else node for node in (*walk(loop.body), *walk(loop.min)))
    return list(dict.fromkeys(node for node in nodes if isinstance(node, tir.Var)))


def _emit_body(emitter: KernelEmitter, loop: tir.For) -> tuple[Value, list[Value]]:
    """Emit the body as a function of captured values and a range; return it with those values."""
    function, inner, captured = function_of(emitter, "parallel", _captured(loop), (I64, I64))
    begin, end = tir.Var("int64", "begin"), tir.Var("int64", "end")
    inner.values[begin], inner.values[end] = function.args[-2:]
    dtype = loop.loop_var.dtype
    first = tir.Add(dtype, loop.min, tir.Cast(dtype, begin) if dtype != "int64" else begin)
    count = tir.Sub("int64", end, begin)
    extent = tir.Cast(dtype, count) if dtype != "int64" else count
    inner.run(replace(loop, min=first, extent=extent, kind=tir.ForKind.SERIAL))
    if not inner.builder.block.is_terminated:
        inner.leave(number(I32, 0))
    return function, captured


def _emit_trampoline(body: Value, closure_type: object) -> Value:
    """Emit the function that loads the captured values from their structure and calls `body`."""
    function = ir.Function(body.module, BODY_TYPE, f"{body.name}.call")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    closure, begin, end = function.args
    values: list[Value] = []
    for position, parameter in enumerate(body.args[:-2]):
        place = builder.gep(closure, [I32(0), I32(position)], source_etype=closure_type)
        values.append(builder.load(place, typ=parameter.type))
    builder.ret(builder.call(body, [*values, begin, end]))
    return function
