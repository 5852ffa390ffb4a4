"""The intrinsics of GPUs, for NVPTX and for the simulation of threads on the processor."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes, is_bool, is_float, is_int, is_vector, lanes_of, parse_dtype, with_lanes_of
from ...ir.visit import walk
from ..gpu.exchange import width_of
from ..gpu.kernel import SHUFFLES, is_private
from ..gpu.orders import PATTERN, PATTERNS
from . import device_mathematics, vectors
from .api import LLVMType, Value, ir
from .casts import emit_cast
from .expressions import ExpressionEmitter, scalar_of
from .intrinsics import ANY, Intrinsic, Table
from .matrix_units import MATRIX_UNITS, call_symbol
from .operators import kind_of, number
from .tensor_copies import TENSOR_COPIES
from .tensor_memory import TENSOR_MEMORY
from .types import I32, I64, POINTER
from .warpgroups import WARPGROUPS

VOID: LLVMType = ir.VoidType()

ATOMIC_DTYPES = ("int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


def atomic_operands(emitter: ExpressionEmitter, call: tir.Call) -> tuple[Value, Value]:
    """Return the address and the operand of a `T.atomic_add`; E0604 for a dtype without atomic addition, E0606 for
    memory that is private to a thread.
    """
    if call.dtype not in ATOMIC_DTYPES:
        help = f"use one of {', '.join(ATOMIC_DTYPES)}"
        raise error("E0604", f"an atomic addition of '{call.dtype}' cannot be compiled", call.span, help)
    memory = {node.buffer.data for node in walk(call.args[0]) if isinstance(node, tir.BufferLoad)}
    if any(map(is_private, memory)):
        help = "add to the element without an atomic operation"
        raise error("E0606", "atomic addition to memory that is private to a thread", call.span, help)
    address, value = (emitter.emit(arg) for arg in call.args if isinstance(arg, tir.PrimExpr))
    return address, value


def _add_in_turn(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit an atomic addition as a load and a store: simulated threads do not run at the same time."""
    address, value = atomic_operands(emitter, call)
    align = element_bytes(call.dtype)
    before = emitter.read(address, call.dtype, align)
    add = emitter.builder.fadd if kind_of(call.dtype) == "float" else emitter.builder.add
    emitter.builder.store(add(before, value), address, align=align)
    return before


def _check_barrier(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `check_barrier(arrived, total, group)`: a fault if some threads of a group, but not all, reached the barrier."""
    arrived, total, group = call.args
    assert isinstance(arrived, tir.PrimExpr)
    assert isinstance(total, tir.PrimExpr)
    assert isinstance(group, tir.StringImm)
    here, all = emitter.emit(arrived), emitter.emit(total)
    builder = emitter.builder
    some = builder.icmp_unsigned("!=", here, number(here.type, 0))
    missing = builder.icmp_unsigned("!=", here, all)
    message = f"not all threads of the {group.value} reach this barrier"
    emitter.fail_if(builder.and_(some, missing), "E0714", message, call.span)
    return number(I32, 0)


def _by_polynomial(name: str) -> Intrinsic:
    """Return an emitter of a float32 function from `device_mathematics`; E0604 for other dtypes."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        if scalar_of(call.dtype) != "float32":
            help = "compute it in float32"
            raise error("E0604", f"'{name}' of dtype '{call.dtype}' does not exist on GPUs", call.span, help)
        return device_mathematics.FUNCTIONS[name](emitter.builder, *emitter.operands(call))

    return emit


def _thread_order(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    module, builder = emitter.module.module, emitter.builder
    place = module.globals.get(PATTERN)
    if place is None:
        numbers = PATTERNS.get(emitter.module.target.order, PATTERNS["ascending"])
        place = ir.GlobalVariable(module, ir.ArrayType(I64, 2), PATTERN)
        place.initializer, place.type = ir.Constant(place.value_type, [number(I64, size) for size in numbers]), POINTER
    pattern, step = (builder.load(builder.gep(place, [number(I64, i)], source_etype=I64), typ=I64) for i in range(2))
    builder.store(builder.add(pattern, step), place)
    return pattern


SIMULATED: Table = {
    "tir.atomic_add": _add_in_turn,
    "tir.check_barrier": _check_barrier,
    "tir.thread_order": _thread_order,
}
"""Intrinsics that the simulation of threads adds to those of the processor."""


# --- GPUs -----------------------------------------------------------------------------------------------------


def _atomic_add(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    address, value = atomic_operands(emitter, call)
    operation = "fadd" if kind_of(call.dtype) == "float" else "add"
    return emitter.builder.atomic_rmw(operation, address, value, "monotonic")


def _wait(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `tvm_storage_sync(scope)`: a barrier of the threads of a block or of a warp."""
    scope = call.args[0].value if isinstance(call.args[0], tir.StringImm) else ""
    if scope == "warp":
        call_symbol(emitter, "llvm.nvvm.bar.warp.sync", VOID, number(I32, -1))
    elif scope.startswith("shared"):
        call_symbol(emitter, "llvm.nvvm.barrier.cta.sync.aligned.all", VOID, number(I32, 0))
    else:
        help = 'use scope "shared" or "warp"; to synchronize blocks, split the kernel'
        raise error("E0606", f"threads cannot synchronize in scope '{scope}'", call.span, help)
    return number(I32, 0)


def _dot4(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `dp4a(vec1, vec2, acc)`: one instruction."""
    if is_vector(call.dtype):
        raise error(
            "E0604", f"'dp4a' of dtype '{call.dtype}' does not exist on GPUs", call.span, "add to one number at a time"
        )
    args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
    kinds = ["s" if parse_dtype(arg.dtype).code == "int" else "u" for arg in args[:2]]
    words = [emitter.builder.bitcast(emitter.emit(arg), I32) for arg in args[:2]]
    total = emitter.emit(args[2]) if len(args) > 2 else number(I32, 0)
    return call_symbol(emitter, f"llvm.nvvm.idp4a.{'.'.join(kinds)}", I32, *words, total)


def _end_thread(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `thread_return`: the thread ends."""
    emitter.builder.ret_void()
    return number(I32, 0)


def _shuffle(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit a shuffle `(mask, value, lane or offset, width, warp_size)` of any dtype, 32 bits at a time."""
    mask, value, operand = (emitter.emit(arg) for arg in call.args[:3] if isinstance(arg, tir.PrimExpr))
    builder, kind = emitter.builder, SHUFFLES[call.op.name]  # type: ignore[union-attr]
    if is_vector(call.dtype) or is_bool(call.dtype):
        raise error("E0604", f"a shuffle of '{call.dtype}' cannot be compiled", call.span, "shuffle 32-bit numbers")
    width, parsed = width_of(call), parse_dtype(call.dtype)
    clamp = ((32 - width) << 8) | (0 if kind == "up" else 31)
    mask = emit_cast(builder, mask, call.args[0].dtype, "uint32")  # type: ignore[union-attr]
    operand = emit_cast(builder, operand, call.args[2].dtype, "int32")  # type: ignore[union-attr]
    bits = value if isinstance(value.type, ir.IntType) else builder.bitcast(value, ir.IntType(parsed.bits))

    def exchanged(word: Value) -> Value:
        return call_symbol(emitter, f"llvm.nvvm.shfl.sync.{kind}.i32", I32, mask, word, operand, number(I32, clamp))

    if parsed.bits == 64:
        low = builder.zext(exchanged(builder.trunc(bits, I32)), I64)
        high = builder.zext(exchanged(builder.trunc(builder.lshr(bits, number(I64, 32)), I32)), I64)
        result = builder.or_(low, builder.shl(high, number(I64, 32)))
    else:
        word = bits if parsed.bits == 32 else builder.zext(bits, I32)
        result = exchanged(word) if parsed.bits == 32 else builder.trunc(exchanged(word), bits.type)
    return result if isinstance(value.type, ir.IntType) else builder.bitcast(result, value.type)


def _active_mask(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return call_symbol(emitter, "llvm.nvvm.activemask", I32)


def _checked_index(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `checked_index`: on a GPU the fault names the buffer and the dimension, not the index."""
    index, name, dimension, *rest = call.args
    assert isinstance(index, tir.PrimExpr)
    assert isinstance(name, tir.StringImm)
    assert isinstance(dimension, tir.IntImm)
    extent = rest[len(rest) // 2 + dimension.value]
    assert isinstance(extent, tir.PrimExpr)
    value, wide = emitter.emit(index), with_lanes_of("int64", index.dtype)
    limit = emit_cast(emitter.builder, emitter.emit(extent), extent.dtype, "int64")
    whole = emit_cast(emitter.builder, value, index.dtype, wide)
    limit = limit if whole.type == limit.type else vectors.splat(emitter.builder, limit, lanes_of(index.dtype))
    is_outside = emitter.any_lane(emitter.builder.icmp_unsigned(">=", whole, limit))
    message = f"an index of '{name.value}' is outside the buffer, in dimension {dimension.value}"
    emitter.fail_if(is_outside, "E0707", message, call.span)
    return value


def _checked_position(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `checked_position`: on a GPU the fault names the buffer, not the element; positions fit in 64 bits."""
    index, name, *numbers = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
    assert isinstance(name, tir.StringImm)
    if any(is_vector(part.dtype) for part in (index, *numbers)):
        raise error(
            "E0606", "cannot check vector accesses to a view that is not proven to be inside its allocation", call.span
        )
    builder, value = emitter.builder, emitter.emit(index)
    size, extent, start, place, *terms = (
        emit_cast(builder, emitter.emit(expr), expr.dtype, "int64") for expr in numbers
    )
    for term, stride in zip(terms[::2], terms[1::2], strict=True):
        place = builder.add(place, builder.mul(term, stride))
    start = builder.add(start, builder.mul(place, size))
    is_outside = builder.or_(
        builder.icmp_signed("<", start, number(I64, 0)), builder.icmp_signed(">", start, builder.sub(extent, size))
    )
    emitter.fail_if(is_outside, "E0707", f"an element of '{name.value}' is outside its memory", call.span)
    return value


def _of(test: Callable[[str], bool], what: str, name: str) -> Intrinsic:
    """Return the emitter of `name` from `ANY`, restricted to one kind of dtype, the only one that NVPTX supports."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        dtypes = [arg.dtype for arg in call.args if isinstance(arg, tir.PrimExpr)]
        wrong = next((dtype for dtype in dtypes if not test(dtype)), None)
        if wrong is not None:
            raise error(
                "E0604", f"'{name}' of dtype '{wrong}' does not exist on GPUs", call.span, f"cast to {what} first"
            )
        return ANY[f"tir.{name}"](emitter, call)

    return emit


_SHARED_WITH_ALL = (
    "floor ceil trunc round nearbyint likely ignore_loop_partition assume tvm_thread_invariant fabs fma "
    "q_multiply_shift q_multiply_shift_per_axis bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right "
    "isnan isinf isfinite if_then_else reinterpret undef large_uint_imm vectorlow vectorhigh vectorcombine "
    "address_of tvm_access_ptr handle_add_byte_offset isnullptr ret break_loop continue_loop"
)
"""Intrinsics that are emitted as for a processor. Each was tested with NVPTX for all dtypes."""

NVPTX: Table = {
    **{f"tir.{name}": ANY[f"tir.{name}"] for name in _SHARED_WITH_ALL.split()},
    **{f"tir.{name}": _of(is_float, "a float", name) for name in ("sqrt", "rsqrt", "copysign")},
    **{f"tir.{name}": _of(is_int, "an integer", name) for name in ("popcount", "clz")},
    **{f"tir.{name}": _by_polynomial(name) for name in device_mathematics.FUNCTIONS},
    **dict.fromkeys(SHUFFLES, _shuffle),
    "tir.dp4a": _dot4,
    "tir.thread_return": _end_thread,
    "tir.tvm_storage_sync": _wait,
    "tir.tvm_warp_activemask": _active_mask,
    "tir.atomic_add": _atomic_add,
    "tir.checked_index": _checked_index,
    "tir.checked_position": _checked_position,
    "tir.checked_pointer": ANY["tir.checked_pointer"],
    "tir.check": ANY["tir.check"],
    **MATRIX_UNITS,
    **WARPGROUPS,
    **TENSOR_COPIES,
    **TENSOR_MEMORY,
}
"""The intrinsics of a GPU. Nothing else may reach LLVM, which aborts the process on intrinsics that NVPTX does not
have.
"""
