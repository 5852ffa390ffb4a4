"""Parallel loops: the body becomes a function that the runtime calls with ranges of the loop variable.

The values that the body captures are passed in a structure. The runtime's entry is

    i32 tvms_parallel(i32 (*body)(void *closure, i64 begin, i64 end), void *closure, i64 extent, i32 threads)

Each thread gets one range of consecutive iterations; a loop with little work runs on one thread. The
result is the maximum of the statuses that the calls returned.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.diagnostics import error
from ...ir.int_set import Interval, evaluate, from_range
from ...ir.jumps import BREAK, has_jump
from ...ir.visit import distinct, walk
from .api import Value, ir
from .casts import emit_cast
from .operators import number
from .pieces import PieceEmitter, function_of
from .types import I32, I64, POINTER

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
    trampoline = _emit_trampoline(emitter, loop, body, closure_type)
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
    nodes = (
        node.data if isinstance(node, tir.Buffer) else node for node in (*distinct(loop.body), *distinct(loop.min))
    )
    return list(dict.fromkeys(node for node in nodes if isinstance(node, tir.Var)))


def _emit_body(emitter: KernelEmitter, loop: tir.For) -> tuple[Value, list[Value]]:
    """Emit the body as a function of captured values and a range; return it with those values."""
    function, inner, captured = function_of(emitter, "parallel", _captured(loop), (I64, I64), loop)
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


def _emit_trampoline(emitter: KernelEmitter, loop: tir.For, body: Value, closure_type: object) -> Value:
    """Emit the function that loads the captured values from their structure and calls `body`."""
    function = ir.Function(body.module, BODY_TYPE, f"{body.name}.call")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    if emitter.module.lines is not None:
        builder.debug_metadata = emitter.module.lines.of_function(function, loop.span, emitter.lines).location
    closure, begin, end = function.args
    values: list[Value] = []
    for position, parameter in enumerate(body.args[:-2]):
        place = builder.gep(closure, [I32(0), I32(position)], source_etype=closure_type)
        values.append(builder.load(place, typ=parameter.type))
    builder.ret(builder.call(body, [*values, begin, end]))
    return function


ENOUGH = 1 << 15
"""Number of statements, scalar or vector, that take longer than waking a thread (some microseconds)."""

_NOTHING = tir.Evaluate(tir.IntImm("int32", 0))


def statements_run(stmt: tir.Stmt, known: Container[tir.Var]) -> tir.PrimExpr | None:
    """Return an upper bound of the statements that `stmt` executes, an int64 in variables of `known`; None if there is
    none.
    """
    return _Counter(known).count(stmt)


class _Counter:
    def __init__(self, known: Container[tir.Var]) -> None:
        self._known = known
        self._domains: dict[tir.Var, Interval] = {}

    def count(self, stmt: tir.Stmt) -> tir.PrimExpr | None:
        match stmt:
            case tir.SeqStmt(seq=parts):
                return self._sum(parts)
            case tir.For():
                extent = evaluate(stmt.extent, self._domains).max
                self._domains[stmt.loop_var] = from_range(stmt.min, stmt.extent)
                body = self.count(stmt.body)
                if extent is None or body is None or not self._is_known(extent):
                    return None
                return make.mul(make.cast(extent, "int64"), body)
            case tir.IfThenElse():
                then, other = self.count(stmt.then_case), self.count(stmt.else_case or _NOTHING)
                return None if then is None or other is None else make.maximum(then, other)
            case tir.BufferStore() | tir.Evaluate(value=tir.IntImm()):
                return make.const(1, "int64")
            case tir.LetStmt() | tir.AttrStmt() | tir.AssertStmt() | tir.Allocate() | tir.AllocateConst():
                return self.count(stmt.body)
            case tir.DeclBuffer():
                return self.count(stmt.body)
            case _:  # a loop with an unknown extent, or a call with unknown effects
                return None

    def _is_known(self, extent: tir.PrimExpr) -> bool:
        """Return whether an extent can be computed before the loop, without side effects."""
        return all(
            node in self._known if isinstance(node, tir.Var) else not isinstance(node, tir.BufferLoad | tir.Call)
            for node in walk(extent)
        )

    def _sum(self, parts: Sequence[tir.Stmt]) -> tir.PrimExpr | None:
        counts = [self.count(part) for part in parts]
        total: tir.PrimExpr | None = make.const(0, "int64")
        for count in counts:
            total = None if total is None or count is None else make.add(total, count)
        return total
