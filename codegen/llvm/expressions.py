"""Loop-level expressions as LLVM values.

`ExpressionEmitter` walks an expression. Operators, conversions and intrinsics are emitted by the tables of
`operators`, `casts` and the target's intrinsics. Buffers are flat here: one index each
(`codegen.lower.flatten`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import tir
from ...ir.base import GlobalVar, Span
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes, is_bool, is_vector, lanes_of, parse_dtype, with_lanes, with_lanes_of
from ...ir.numpy_dtype import numpy_dtype
from ..lower.windows import operands_of
from . import gathers, vectors
from .api import Builder, LLVMType, Value, ir
from .casts import emit_cast
from .masks import masked_load
from .operators import BINARY, DIVISIONS, extremum_of, is_cheap, kind_of, number
from .shared import LLVMModule
from .types import I32, I64, POINTER, memory_type, register_type

_ROUNDED = (tir.Add, tir.Sub, tir.Mul, tir.Div)
"""Float operators that take fast-math flags."""


_OPERANDS: dict[type[tir.PrimExpr], Callable[[Any], tuple[tir.PrimExpr, ...]]] = {
    **dict.fromkeys((tir.IntImm, tir.FloatImm), lambda expr: ()),
    **dict.fromkeys(BINARY, lambda expr: (expr.a, expr.b)),
    **dict.fromkeys((tir.Cast, tir.Broadcast), lambda expr: (expr.value,)),
    tir.Ramp: lambda expr: (expr.base, expr.stride),
}
"""The operands of the expressions that are emitted once for each object: their values depend only on their operands."""

RECORD_POINTER = tir.Var("handle", "fault_record")
"""The variable whose value is the address of the fault record of the call (`faults`)."""


class ExpressionEmitter(ABC):
    """Emits the expressions of one function at `builder`; `values` maps each variable to its value."""

    builder: Builder

    def __init__(self, module: LLVMModule) -> None:
        self.module = module
        self.fast_math = module.target.fast_math
        """LLVM's fast-math flags, from the target and the function."""
        self.values: dict[tir.Var, Value] = {}
        self._emitters: dict[type[tir.PrimExpr], Callable[[Any], Value]] = {
            tir.Var: self._variable, tir.SizeVar: self._variable, tir.IntImm: self._int, tir.FloatImm: self._float,
            tir.Cast: self._cast, tir.And: self._and, tir.Or: self._or, tir.Not: self._not, tir.Select: self._select,
            tir.BufferLoad: self._load, tir.Ramp: self._ramp, tir.Broadcast: self._broadcast, tir.Let: self._let,
            tir.Shuffle: self._shuffle, tir.Call: self._call, **dict.fromkeys(BINARY, self._binary),
            tir.Max: self._extremum, tir.Min: self._extremum,
        }  # fmt: skip

    @abstractmethod
    def emit(self, expr: tir.PrimExpr) -> Value:
        """Return the value of `expr`; TvmsError E0602 to E0606 if the target cannot compute it."""

    def emit_whole(self, expr: tir.PrimExpr) -> Value:
        """Emit `expr` inline, whatever its size."""
        known = self.builder.known_value(expr)
        if known is not None:
            return known
        emitter = self._emitters.get(type(expr))
        if emitter is None:
            raise error("E0606", f"'{type(expr).__name__}' cannot be compiled", expr.span)
        value = emitter(expr)
        operands = _OPERANDS.get(type(expr))
        if operands is not None and all(
            isinstance(operand, tir.Var) or self.builder.known_value(operand) is not None for operand in operands(expr)
        ):
            self.builder.remember(expr, value)
        return value

    def bind(self, var: tir.Var, value: Value) -> None:
        """Give `var` a value from here on; one that is emitted again, within a shared expression, gets another one."""
        if var in self.values:
            self.builder.forget()
        self.values[var] = value

    @abstractmethod
    def leave(self, status: Value) -> None:
        """Return `status` from the function that is emitted."""

    def fail_if(self, condition: Value, code: str, message: str, span: Span | None) -> None:
        """Leave the function with the status of this fault if `condition`, one bit, holds."""
        if isinstance(condition, ir.Constant) and not condition.constant:
            return
        with self.builder.if_then(condition, likely=False):
            self.leave(number(I32, self.module.fault(code, message, span)))

    def fail_with(self, status: Value) -> None:
        """Leave the function with `status` if it is not zero: a kernel that was called has failed."""
        with self.builder.if_then(self.builder.icmp_unsigned("!=", status, number(I32, 0)), likely=False):
            self.leave(status)

    @abstractmethod
    def jump(self, call: tir.Call) -> Value:
        """Leave the innermost loop (`T.break_loop`), or continue with its next iteration (`T.continue_loop`)."""

    @abstractmethod
    def return_value(self, call: tir.Call) -> Value:
        """Leave the function with the operand of `T.ret`."""

    @abstractmethod
    def call_function(self, call: tir.Call, name: str) -> Value:
        """Call another function of the module."""

    # --- Variables, constants, operators

    def _variable(self, expr: tir.Var) -> Value:
        if expr not in self.values:
            raise error("E0605", f"'{expr.name}' has no value: no argument determines it", expr.span)
        return self.values[expr]

    def _int(self, expr: tir.IntImm) -> Value:
        llvm_type = register_type(expr.dtype, expr.span)
        if llvm_type == POINTER:
            return ir.Constant(POINTER, None)
        signed = expr.value - (1 << llvm_type.width) if expr.value >= 1 << (llvm_type.width - 1) else expr.value
        return number(llvm_type, bool(expr.value) if is_bool(expr.dtype) else signed)

    def _float(self, expr: tir.FloatImm) -> Value:
        llvm_type = register_type(expr.dtype, expr.span)
        with np.errstate(over="ignore"):
            value = np.array(expr.value).astype(numpy_dtype(expr.dtype))
        if isinstance(llvm_type, ir.IntType):
            return number(llvm_type, int(value.view(f"u{value.itemsize}")))
        return number(llvm_type, float(value))

    def _extremum(self, expr: tir.BinaryOp) -> Value:
        """Emit a minimum or maximum. On x86, chains of floats check for NaN separately, two operands at once."""
        if expr.dtype.startswith(("float32", "float64")) and self.module.propagates_apart and not self.fast_math:
            operands = operands_of(expr)
            if len(operands) > 2:
                return extremum_of(
                    self.builder, ">" if isinstance(expr, tir.Max) else "<", list(map(self.emit, operands))
                )
        return self._binary(expr)

    def _binary(self, expr: tir.BinaryOp) -> Value:
        a, b = self.emit(expr.a), self.emit(expr.b)
        if isinstance(expr, DIVISIONS) and kind_of(expr.a.dtype) != "float":
            return self._divide(expr, a, b)
        value = BINARY[type(expr)][kind_of(expr.a.dtype)](self.builder, a, b)
        fast_math = self.fast_math
        if fast_math and kind_of(expr.a.dtype) == "float":
            if isinstance(expr, _ROUNDED):
                value.flags = list(fast_math)
            elif isinstance(expr, tir.Min | tir.Max):
                value.fastmath.update(fast_math)
        return value

    def _divide(self, expr: tir.BinaryOp, a: Value, b: Value) -> Value:
        """Emit an integer division; division by zero is a fault."""
        divide = BINARY[type(expr)][kind_of(expr.dtype)]
        if isinstance(b, ir.Constant) and b.constant not in (0, None):
            return divide(self.builder, a, b)
        is_zero = self.builder.icmp_unsigned("==", b, number(b.type, 0))
        self.fail_if(self.any_lane(is_zero), "E0708", "division by zero", expr.span)
        return divide(self.builder, a, b)

    def any_lane(self, condition: Value) -> Value:
        """Return whether any lane of `condition` holds."""
        lanes = getattr(condition.type, "count", None)
        if lanes is None:
            return condition
        bits = self.builder.bitcast(condition, ir.IntType(lanes))
        return self.builder.icmp_unsigned("!=", bits, number(bits.type, 0))

    def _cast(self, expr: tir.Cast) -> Value:
        value = self.emit(expr.value)
        return emit_cast(self.builder, value, expr.value.dtype, expr.dtype, expr.span)

    def _not(self, expr: tir.Not) -> Value:
        return self.builder.not_(self.emit(expr.a))

    def _and(self, expr: tir.And) -> Value:
        if is_vector(expr.dtype) or is_cheap(expr.b):
            return self.builder.and_(self.emit(expr.a), self.emit(expr.b))
        return self.branch(self.emit(expr.a), lambda: self.emit(expr.b), lambda: number(ir.IntType(1), 0))

    def _or(self, expr: tir.Or) -> Value:
        if is_vector(expr.dtype) or is_cheap(expr.b):
            return self.builder.or_(self.emit(expr.a), self.emit(expr.b))
        return self.branch(self.emit(expr.a), lambda: number(ir.IntType(1), 1), lambda: self.emit(expr.b))

    def _select(self, expr: tir.Select) -> Value:
        """Emit a select. Both operands are evaluated only if they are cheap and free of side effects."""
        if not is_vector(expr.condition.dtype) and not (is_cheap(expr.true_value) and is_cheap(expr.false_value)):
            return self.branch(
                self.emit(expr.condition), lambda: self.emit(expr.true_value), lambda: self.emit(expr.false_value)
            )
        return self.builder.select(self.emit(expr.condition), self.emit(expr.true_value), self.emit(expr.false_value))

    def branch(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """Return the value of the side that `condition` selects; the other side is not evaluated."""
        with self.builder.if_else(condition) as (yes, no):
            with yes:
                chosen = then()
                chosen_block = self.builder.block
            with no:
                other = otherwise()
                other_block = self.builder.block
        phi = self.builder.phi(chosen.type)
        phi.add_incoming(chosen, chosen_block)
        phi.add_incoming(other, other_block)
        return phi

    def _let(self, expr: tir.Let) -> Value:
        self.bind(expr.var, self.emit(expr.value))
        return self.emit(expr.body)

    def condition(self, expr: tir.PrimExpr) -> Value:
        """Return `expr` as one bit; a number is true if it is not zero."""
        return emit_cast(self.builder, self.emit(expr), expr.dtype, with_lanes_of("bool", expr.dtype))

    # --- Vectors

    def _ramp(self, expr: tir.Ramp) -> Value:
        lanes = lanes_of(expr.dtype)
        if is_vector(expr.base.dtype):
            raise error("E0606", "a ramp of vectors cannot be compiled", expr.span)
        base, stride = self.emit(expr.base), self.emit(expr.stride)
        start, step = (operand.constant if isinstance(operand, ir.Constant) else None for operand in (base, stride))
        if start is not None and step is not None:
            return vectors.ramp(base.type, start, step, lanes)
        first = vectors.splat(self.builder, base, lanes)
        if step is not None:
            return self.builder.add(first, vectors.ramp(base.type, 0, step, lanes))
        steps = vectors.ramp(base.type, 0, 1, lanes)
        return self.builder.add(first, self.builder.mul(vectors.splat(self.builder, stride, lanes), steps))

    def _broadcast(self, expr: tir.Broadcast) -> Value:
        value, inner = self.emit(expr.value), lanes_of(expr.value.dtype)
        if inner == 1:
            return vectors.splat(self.builder, value, lanes_of(expr.dtype))
        return vectors.shuffle(self.builder, value, value, [lane % inner for lane in range(lanes_of(expr.dtype))])

    def _shuffle(self, expr: tir.Shuffle) -> Value:
        picked = [index.value for index in expr.indices if isinstance(index, tir.IntImm)]
        if len(picked) != len(expr.indices):
            raise error("E0606", "the indices of a shuffle are not constant", expr.span)
        values = [self.emit(vector) for vector in expr.vectors]
        dtypes = [vector.dtype for vector in expr.vectors]
        if len(picked) > 1 and is_vector(dtypes[0]) and dtypes[1:] == dtypes[:1]:
            return vectors.shuffle(self.builder, values[0], values[1], picked)
        elements = [lane for value in values for lane in vectors.split(self.builder, value)]
        return vectors.join(self.builder, [elements[lane] for lane in picked])

    # --- Memory

    def address(self, data: tir.Var, dtype: str, index: Value, span: Span | None = None) -> Value:
        """Return the address of element `index` (i64) of `dtype`, counted from `data`."""
        base, element = self._variable(data), memory_type(dtype, span)
        return self.builder.gep(base, [index], source_etype=element)

    def element_address(self, access: tir.BufferLoad | tir.BufferStore, index: Value) -> Value:
        """Return the address of the element, or the first lane of the vector, at a scalar `index` of any width."""
        dtype = with_lanes(access.buffer.dtype, 1)
        lanes = lanes_of(access.buffer.dtype)
        if lanes > 1:
            index = self.builder.mul(index, number(I64, lanes))
        return self.address(access.buffer.data, dtype, index, access.span)

    def lane_addresses(self, access: tir.BufferLoad | tir.BufferStore) -> list[Value]:
        """Return the address of each lane of an access with a vector index."""
        if is_vector(access.buffer.dtype):
            raise error("E0606", "a vector of vectors cannot be compiled", access.span)
        return [self.element_address(access, lane) for lane in vectors.split(self.builder, self.wide_index(access))]

    def wide_index(self, access: tir.BufferLoad | tir.BufferStore) -> Value:
        """Return the index of a flat access, as i64 in every lane."""
        (index,) = access.indices
        return emit_cast(self.builder, self.emit(index), index.dtype, with_lanes_of("int64", index.dtype))

    def contiguous_address(self, access: tir.BufferLoad | tir.BufferStore) -> Value | None:
        """Return the address of the first element of an access if its elements are contiguous, else None."""
        (index,) = access.indices
        if not is_vector(index.dtype):
            return self.element_address(access, self.wide_index(access))
        if not isinstance(index, tir.Ramp) or is_vector(access.buffer.dtype):
            return None
        if not isinstance(index.stride, tir.IntImm) or index.stride.value != 1:
            return None
        base = emit_cast(self.builder, self.emit(index.base), index.base.dtype, "int64")
        return self.element_address(access, base)

    def stack_memory(self, llvm_type: LLVMType, align: int, name: str = "") -> Value:
        """Return the address of stack memory for `llvm_type`, allocated for the whole call."""
        with self.builder.goto_entry_block():
            memory = self.builder.alloca(llvm_type, name=name)
            memory.align, memory.type = align, POINTER
            return memory

    def alignment(self, access: tir.BufferLoad | tir.BufferStore) -> int:
        """Return the alignment of `access` in bytes."""
        return element_bytes(with_lanes(access.buffer.dtype, 1))

    def read(self, address: Value, dtype: str, align: int) -> Value:
        """Load a value of `dtype`."""
        value = self.builder.load(address, align=align, typ=memory_type(dtype))
        return self.from_memory(value, dtype)

    def from_memory(self, value: Value, dtype: str) -> Value:
        """Return a value as it is in a register; any byte of a bool but 0 is true."""
        if is_bool(dtype):
            return self.builder.icmp_unsigned("!=", value, number(value.type, 0))
        narrow = register_type(dtype)
        return value if narrow == value.type else self.builder.trunc(value, narrow)

    def to_memory(self, value: Value, dtype: str, span: Span | None) -> Value:
        """Return a value as it is in memory."""
        wide = memory_type(dtype, span)
        return value if wide == value.type else self.builder.zext(value, wide)

    def check_predicate(self, access: tir.BufferLoad | tir.BufferStore) -> None:
        """Raise E0606 if the mask of an access has another number of lanes: LLVM would abort."""
        predicate = access.predicate
        if predicate is not None and parse_dtype(predicate.dtype).lanes != parse_dtype(access.indices[0].dtype).lanes:
            raise error(
                "E0606",
                f"the predicate of an access to '{access.buffer.name}' has a different number of lanes",
                access.span,
            )

    def _load(self, expr: tir.BufferLoad) -> Value:
        self.check_predicate(expr)
        address, align = self.contiguous_address(expr), self.alignment(expr)
        if address is not None and expr.predicate is None:
            if expr in self.module.exchanged and not is_vector(expr.dtype) and align >= element_bytes(expr.dtype):
                value = self.builder.load_atomic(address, "unordered", align, typ=memory_type(expr.dtype))
                return self.from_memory(value, expr.dtype)
            return self.read(address, expr.dtype, align)
        if address is not None and expr.predicate is not None:
            return self._read_where(address, expr, expr.predicate, align)
        if isinstance(expr.indices[0], tir.Broadcast) and expr.predicate is not None:
            return self._read_once(expr, expr.indices[0].value, expr.predicate)
        value = self._gather(expr, align)
        return self.from_memory(value, expr.dtype)

    def _gather(self, expr: tir.BufferLoad, align: int) -> Value:
        """Load lanes that are not contiguous, in their memory representation."""
        if is_vector(expr.buffer.dtype):
            raise error("E0606", "a vector of vectors cannot be compiled", expr.span)
        (index,), lanes, element = expr.indices, lanes_of(expr.dtype), memory_type(with_lanes(expr.dtype, 1))
        mask = None if expr.predicate is None else self.emit(expr.predicate)
        if not isinstance(index, tir.Ramp) or not isinstance(index.stride, tir.IntImm):
            base = self._variable(expr.buffer.data)
            return gathers.gather(self.builder, base, self.wide_index(expr), element, mask, align)
        start = emit_cast(self.builder, self.emit(index.base), index.base.dtype, "int64")
        base, step = self.element_address(expr, start), index.stride.value
        if step == 2:
            has_moves = self.module.target.processor.has_mask_moves
            return gathers.every_second(self.builder, base, element, lanes, mask, align, has_moves)
        places = ir.Constant(ir.VectorType(I64, lanes), [number(I64, step * lane) for lane in range(lanes)])
        return gathers.gather(self.builder, base, places, element, mask, align)

    def _read_where(self, address: Value, expr: tir.BufferLoad, predicate: tir.PrimExpr, align: int) -> Value:
        """Load contiguous lanes under a predicate; the lanes where it does not hold are zero."""
        mask = self.emit(predicate)
        if not is_vector(expr.dtype):
            off = number(register_type(expr.dtype), 0)
            return self.branch(mask, lambda: self.read(address, expr.dtype, align), lambda: off)
        has_moves = self.module.target.processor.has_mask_moves
        value = masked_load(self.builder, address, mask, memory_type(expr.dtype), align, has_moves)
        return self.from_memory(value, expr.dtype)

    def _read_once(self, expr: tir.BufferLoad, index: tir.PrimExpr, predicate: tir.PrimExpr) -> Value:
        """Load one element for all lanes, if the predicate of any of them holds."""
        scalar = with_lanes(expr.dtype, 1)
        element = tir.BufferLoad(scalar, expr.buffer, (index,))
        off = number(register_type(scalar), 0)
        value = self.branch(self.any_lane(self.emit(predicate)), lambda: self.emit(element), lambda: off)
        return vectors.splat(self.builder, value, lanes_of(expr.dtype))

    # --- Calls

    def _call(self, expr: tir.Call) -> Value:
        if isinstance(expr.op, GlobalVar):
            return self.call_function(expr, expr.op.name_hint)
        emitter = self.module.intrinsics.get(expr.op.name)
        if emitter is None:
            reason = f"the intrinsic '{expr.op.name}' does not exist on target '{self.module.target.name}'"
            raise error("E0602", reason, expr.span)
        return emitter(self, expr)

    def operands(self, call: tir.Call) -> list[Value]:
        """Return the values of the arguments of `call`; scalars are splatted if there are vectors."""
        values = [self.emit(arg) for arg in call.args if isinstance(arg, tir.PrimExpr)]
        lanes = lanes_of(call.dtype)
        if lanes == 1:
            return values
        return [
            value if hasattr(value.type, "count") else vectors.splat(self.builder, value, lanes) for value in values
        ]


def scalar_of(dtype: str) -> str:
    """Return the dtype of one lane of `dtype`."""
    return parse_dtype(dtype).name
