"""Loop-level statements as LLVM control flow: the body of one kernel.

A kernel returns a status: 0, or the number of the fault that stopped it (`shared.LLVMModule.faults`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.base import Node
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes, is_vector, lanes_of, with_lanes
from ...ir.jumps import BREAK, has_jump
from ..names import local_name
from . import vectors
from .api import Value, ir
from .casts import emit_cast
from .constants import constant_array
from .debug_lines import FunctionLines
from .expressions import RECORD_POINTER, ExpressionEmitter
from .masks import masked_store
from .numbering import NumberingBuilder
from .operators import intrinsic, kind_of, number
from .shared import LLVMModule, result_type
from .types import I32, I64, POINTER

ALIGNMENT = 64
"""Alignment in bytes of memory that kernels allocate: a cache line, and the widest vector."""
STACK_BYTES = 4096
"""Maximum size of a buffer on the stack, where LLVM can promote it to registers."""


_WITH_OVERFLOW = ir.LiteralStructType([I64, ir.IntType(1)])


class _Loop(Struct, frozen=True):
    """The targets of the jumps of a loop, and the number of heap buffers that are alive there."""

    following: Value
    end: Value
    heap: int


class StatementEmitter(ExpressionEmitter):
    """Emits the statements of one function inline at `builder`."""

    def __init__(self, module: LLVMModule, function: Value, results: Value | None) -> None:
        super().__init__(module)
        self.function = function
        self.result_pointer = results
        self.builder = NumberingBuilder(function.append_basic_block("entry"))
        self.alone: list[Value] = []
        """The pointers that are `noalias`."""
        self.lines: FunctionLines | None = None
        """The lines of instructions, if they are requested."""
        self._heap: list[Value] = []
        self._loops: list[_Loop] = []
        self._statements: dict[type[tir.Stmt], Callable[[Any], None]] = {
            tir.SeqStmt: self.run_sequence, tir.For: self._for, tir.While: self._while, tir.IfThenElse: self._if,
            tir.BufferStore: self._store, tir.LetStmt: self._let_stmt, tir.AttrStmt: self._attribute,
            tir.AssertStmt: self._assert, tir.Allocate: self._allocate, tir.AllocateConst: self._allocate_const,
            tir.DeclBuffer: self._declare, tir.Evaluate: self._evaluate,
        }  # fmt: skip

    def locate(self, node: Node, around: StatementEmitter | None = None) -> None:
        """If lines are requested, give the line of `node` to the function and to instructions of no other statement; if it
        has none, the line that `around` is emitting.
        """
        if self.module.lines is not None:
            outer = None if around is None else around.lines
            self.lines = self.module.lines.of_function(self.function, node.span, outer)
            self.builder.debug_metadata = self.lines.location

    def run(self, stmt: tir.Stmt) -> None:
        """Emit `stmt`, unless it is unreachable."""
        self.run_whole(stmt)

    def run_whole(self, stmt: tir.Stmt) -> None:
        """Emit `stmt` inline, whatever its size."""
        if self.builder.block.is_terminated:
            return
        emitter = self._statements.get(type(stmt))
        if emitter is None:
            raise error("E0606", f"'{type(stmt).__name__}' cannot be compiled", stmt.span)
        if self.lines is None:
            emitter(stmt)
            return
        with self.lines.at(self.builder, stmt):
            emitter(stmt)

    def emit(self, expr: tir.PrimExpr) -> Value:
        return self.emit_whole(expr)

    @abstractmethod
    def run_parallel(self, loop: tir.For) -> None:
        """Emit a parallel loop."""

    def leave(self, status: Value) -> None:
        """Free all heap buffers and return `status` from the function."""
        self._free(self._heap)
        self.builder.ret(status)

    def call_function(self, call: tir.Call, name: str) -> Value:
        """Call another kernel; a fault in it is also a fault of the caller."""
        callee = self.module.kernels.get(name)
        if callee is None:
            raise error("E0102", f"the module has no loop function '{name}'", call.span)
        args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
        wanted, given = [param.dtype for param in callee.params], [arg.dtype for arg in args]
        if wanted != given:
            reason = f"'{name}' takes ({', '.join(wanted)}), but is called with ({', '.join(given)})"
            raise error("E0606", reason, call.span, "call only functions with static shapes from a loop")
        values = [self.emit(arg) for arg in args]
        returned, record = result_type(callee), self.values[RECORD_POINTER]
        if returned is None:
            self.fail_with(self.builder.call(self.module.declare(name), [*values, record]))
            return number(I32, 0)
        place = self.stack_memory(returned, ALIGNMENT)
        self.fail_with(self.builder.call(self.module.declare(name), [*values, place, record]))
        return self.read(place, call.dtype, 1)

    def _free(self, memory: Sequence[Value]) -> None:
        for item in reversed(memory):
            self.builder.call(self.module.c_function("free", ir.VoidType(), [POINTER]), [item])

    def jump(self, call: tir.Call) -> Value:
        """Leave the innermost loop, or continue with its next iteration."""
        if not self._loops:
            raise error("E0606", "break or continue outside of a loop", call.span)
        loop = self._loops[-1]
        self._free(self._heap[loop.heap :])
        self.builder.branch(loop.end if call.op == BREAK else loop.following)
        return number(I32, 0)

    # --- Control

    def run_sequence(self, stmt: tir.SeqStmt) -> None:
        """Emit statements in order."""
        for statement in stmt.seq:
            self.run(statement)

    def _for(self, stmt: tir.For) -> None:
        """Emit a counted loop. The end is computed once, and is in the range of the variable (`lower.bounds`)."""
        if stmt.kind is tir.ForKind.PARALLEL:
            self.run_parallel(stmt)
            return
        builder, name = self.builder, local_name(stmt.loop_var.name)
        start = emit_cast(builder, self.emit(stmt.min), stmt.min.dtype, stmt.loop_var.dtype)
        extent = emit_cast(builder, self.emit(stmt.extent), stmt.extent.dtype, stmt.loop_var.dtype)
        is_signed = kind_of(stmt.loop_var.dtype) == "signed"
        never_wraps = ["nsw" if is_signed else "nuw"]
        end = extent
        if not (isinstance(start, ir.Constant) and start.constant == 0):
            is_known = isinstance(extent, ir.Constant) or not is_signed
            count = extent if is_known else intrinsic(builder, "smax", extent, number(extent.type, 0))
            end = builder.add(start, count, flags=never_wraps)
        before = builder.block
        header, body, after = (builder.append_basic_block(f"{name}.{part}") for part in ("loop", "body", "end"))
        builder.branch(header)
        builder.position_at_end(header)
        index = builder.phi(start.type, name=name)
        index.add_incoming(start, before)
        compare = builder.icmp_signed if is_signed else builder.icmp_unsigned
        builder.cbranch(compare("<", index, end), body, after)
        builder.position_at_end(body)
        self.bind(stmt.loop_var, index)
        following = builder.append_basic_block(f"{name}.next") if has_jump(stmt.body) else None
        self._body(stmt.body, following, after)
        if following is not None and not builder.block.is_terminated:
            builder.branch(following)
        if following is not None:
            builder.position_at_end(following)
        if not builder.block.is_terminated:
            index.add_incoming(builder.add(index, number(index.type, 1), flags=never_wraps), builder.block)
            self.note_loop(stmt, builder.branch(header))
        builder.position_at_end(after)

    def note_loop(self, loop: tir.For, back: Value) -> None:
        """Tell LLVM about a loop, whose last instruction is the branch `back`."""

    def _body(self, body: tir.Stmt, following: Value, end: Value) -> None:
        """Emit the body of a loop; `following` starts the next iteration, `end` follows the loop."""
        self._loops.append(_Loop(following, end, len(self._heap)))
        self.run(body)
        self._loops.pop()

    def _while(self, stmt: tir.While) -> None:
        builder = self.builder
        header, body, after = (builder.append_basic_block(f"while.{part}") for part in ("loop", "body", "end"))
        builder.branch(header)
        builder.position_at_end(header)
        builder.cbranch(self.condition(stmt.condition), body, after)
        builder.position_at_end(body)
        self._body(stmt.body, header, after)
        if not builder.block.is_terminated:
            builder.branch(header)
        builder.position_at_end(after)

    def _if(self, stmt: tir.IfThenElse) -> None:
        condition = self.condition(stmt.condition)
        if stmt.else_case is None:
            with self.builder.if_then(condition):
                self.run(stmt.then_case)
            return
        with self.builder.if_else(condition) as (then, otherwise):
            with then:
                self.run(stmt.then_case)
            with otherwise:
                self.run(stmt.else_case)

    def _assert(self, stmt: tir.AssertStmt) -> None:
        said = stmt.message.value if isinstance(stmt.message, tir.StringImm) else "assertion failed"
        self.fail_if(self.builder.not_(self.condition(stmt.condition)), "E0711", said, stmt.span)
        self.run(stmt.body)

    def _attribute(self, stmt: tir.AttrStmt) -> None:
        self.run(stmt.body)

    def _let_stmt(self, stmt: tir.LetStmt) -> None:
        self.bind(stmt.var, self.emit(stmt.value))
        self.run(stmt.body)

    def _evaluate(self, stmt: tir.Evaluate) -> None:
        if not isinstance(stmt.value, tir.IntImm | tir.StringImm):
            self.emit(stmt.value)

    # --- Memory

    def _declare(self, stmt: tir.DeclBuffer) -> None:
        self.run(stmt.body)

    def _allocate(self, stmt: tir.Allocate) -> None:
        """Allocate a small buffer on the stack, others on the heap."""
        extents = [extent.value if isinstance(extent, tir.IntImm) else None for extent in stmt.extents]
        if any(extent is None or extent < 0 for extent in extents):
            return self._on_heap(stmt, self._byte_count(stmt))
        size = prod(filter(None, extents)) * element_bytes(stmt.dtype) if 0 not in extents else 0
        if size > STACK_BYTES:
            return self._on_heap(stmt, number(I64, size))
        array, name = ir.ArrayType(ir.IntType(8), max(size, 1)), local_name(stmt.buffer_var.name)
        self.values[stmt.buffer_var] = self.stack_memory(array, ALIGNMENT, name)
        return self.run(stmt.body)

    def _byte_count(self, stmt: tir.Allocate) -> Value:
        """Return the size of an allocation in bytes; a fault if it is negative or overflows 64 bits."""
        builder, size = self.builder, number(I64, element_bytes(stmt.dtype))
        multiply = self.module.c_function("llvm.smul.with.overflow.i64", _WITH_OVERFLOW, [I64, I64])
        for extent in stmt.extents:
            count = emit_cast(builder, self.emit(extent), extent.dtype, "int64")
            product = builder.call(multiply, [size, count])
            is_negative = builder.icmp_signed("<", count, number(I64, 0))
            is_wrong = builder.or_(builder.extract_value(product, 1), is_negative)
            message = f"buffer '{stmt.buffer_var.name}' has a size that is negative or too large"
            self.fail_if(is_wrong, "E0717", message, stmt.span)
            size = builder.extract_value(product, 0)
        return size

    def _on_heap(self, stmt: tir.Allocate, size: Value) -> None:
        """Allocate with room for alignment; the memory is freed after `stmt`, and at every exit from inside it."""
        builder = self.builder
        malloc = self.module.c_function("malloc", POINTER, [I64])
        memory = builder.call(malloc, [builder.add(size, number(I64, ALIGNMENT))])
        self.fail_if(
            builder.icmp_unsigned("==", memory, ir.Constant(POINTER, None)),
            "E0717", f"there is no memory left for buffer '{stmt.buffer_var.name}'", stmt.span,
        )  # fmt: skip
        raised = builder.add(builder.ptrtoint(memory, I64), number(I64, ALIGNMENT - 1))
        aligned = builder.and_(raised, number(I64, -ALIGNMENT))
        self.values[stmt.buffer_var] = builder.gep(
            memory, [builder.sub(aligned, builder.ptrtoint(memory, I64))], source_etype=ir.IntType(8)
        )
        self._heap.append(memory)
        self.run(stmt.body)
        self._heap.pop()
        if not builder.block.is_terminated:
            builder.call(self.module.c_function("free", ir.VoidType(), [POINTER]), [memory])

    def _allocate_const(self, stmt: tir.AllocateConst) -> None:
        if stmt.data is None:
            raise error("E0606", f"the contents of constant '{stmt.buffer_var.name}' are not in the program", stmt.span)
        self.values[stmt.buffer_var] = constant_array(self.builder, stmt.data)
        self.run(stmt.body)

    def _store(self, stmt: tir.BufferStore) -> None:
        value, lanes = self.emit(stmt.value), lanes_of(stmt.value.dtype)
        if lanes == 1 and is_vector(stmt.indices[0].dtype):
            lanes = lanes_of(stmt.indices[0].dtype)
            value = vectors.splat(self.builder, value, lanes)
        value = self.to_memory(value, with_lanes(stmt.value.dtype, lanes), stmt.span)
        self.check_predicate(stmt)
        address, align = self.contiguous_address(stmt), self.alignment(stmt)
        if address is not None and stmt.predicate is None:
            self.builder.store(value, address, align=align)
            return
        if address is not None and stmt.predicate is not None and is_vector(stmt.indices[0].dtype):
            masked_store(self.builder, value, address, self.emit(stmt.predicate), align)
            return
        elements = zip(
            vectors.split(self.builder, value), self.lane_addresses(stmt), self._masks(stmt, value), strict=True
        )
        for lane, place, mask in elements:
            with self.builder.if_then(mask):
                self.builder.store(lane, place, align=align)

    def _masks(self, stmt: tir.BufferStore, value: Value) -> list[Value]:
        if stmt.predicate is not None:
            return vectors.split(self.builder, self.emit(stmt.predicate))
        return [number(ir.IntType(1), 1)] * len(vectors.split(self.builder, value))

    def return_value(self, call: tir.Call) -> Value:
        """Store the result of the function to the caller's address, and leave."""
        (operand,) = call.args
        if not isinstance(operand, tir.PrimExpr) or self.result_pointer is None:
            raise error("E0606", "this function cannot return a value", call.span)
        value = self.to_memory(self.emit(operand), operand.dtype, operand.span)
        self.builder.store(value, self.result_pointer, align=element_bytes(operand.dtype))
        self.leave(number(I32, 0))
        return number(I32, 0)
