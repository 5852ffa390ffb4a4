"""Evaluation of loop-level calls: intrinsics, functions of the module, external functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from .. import tir
from ..base import GlobalVar, Op
from ..diagnostics import TvmsError
from ..dtype import is_float, is_vector, lanes_of, parse_dtype
from . import intrinsics, scalars
from .buffers import memory_of
from .expressions import (
    VSCALE,
    Expression,
    compile_all,
    compile_expr,
    integer_as_pointer,
    meaning_of,
)
from .frame import Frame, fault
from .jumps import Break, Continue, Leave, Return
from .memory import View
from .scalars import Function, Value
from .threads import is_exchange

FUNCTION = "the function of a module"
"""The key of the compiler of calls of functions of the module (`prim_func`)."""

_rules: dict[str, Callable[[tir.Call], Expression]] = {}
_Rule = TypeVar("_Rule", bound=Callable[[tir.Call], Expression])


def calls_of(*callees: str) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of calls of `callees`: names of intrinsics, or `FUNCTION`."""

    def register(rule: _Rule) -> _Rule:
        _rules.update(dict.fromkeys(callees, rule))
        return rule

    return register


def intrinsic(*names: str) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of calls of the intrinsics `tir.<name>`."""
    return calls_of(*(f"tir.{name}" for name in names))


@meaning_of(tir.Call)
def _call(call: tir.Call) -> Expression:
    if isinstance(call.op, GlobalVar):
        return _rules[FUNCTION](call)
    if is_exchange(call):
        return _exchanged(call)
    if call.op.name in _rules:
        return _rules[call.op.name](call)
    function = lane_function(call.op.name.removeprefix("tir."), call)
    if function is None:
        raise fault("E0712", f"the intrinsic '{call.op.name}' cannot be interpreted", call)
    operands, compute = operands_of(call), scalars.lanewise(function, call.dtype)
    if not is_vector(call.dtype):
        return _guarded(call, lambda frame: compute(*operands(frame)))
    return _guarded(call, lambda frame: compute(*_same_lanes(operands(frame))))


def _exchanged(call: tir.Call) -> Expression:
    """Return a function that reads the value that threads exchanged before the statement with `call` started."""

    def read(frame: Frame) -> Value:
        if call not in frame:
            said = "threads can exchange values only where one is stored, bound or evaluated"
            raise fault("E0712", said, call, "store it to a buffer first")
        return frame[call]

    return read


def _guarded(call: tir.Call, compute: Expression) -> Expression:
    def run(frame: Frame) -> Value:
        try:
            return compute(frame)
        except TvmsError:
            raise
        except ValueError as problem:
            raise fault("E0712", str(problem), call) from None
        except ZeroDivisionError:
            raise fault("E0708", "division by zero", call) from None

    return run


def _same_lanes(operands: tuple[Value, ...]) -> list[Value]:
    """Broadcast scalar operands to the lanes of the vectors."""
    lanes = max(len(cast("tuple[Value, ...]", operand)) for operand in operands if isinstance(operand, tuple))
    return [operand if isinstance(operand, tuple) else (operand,) * lanes for operand in operands]


def operands_of(call: tir.Call) -> Callable[[Frame], tuple[Value, ...]]:
    """Return a function that evaluates the arguments of `call`."""
    return compile_all(tuple(arg for arg in call.args if isinstance(arg, tir.PrimExpr)))


def lane_function(name: str, call: tir.Call) -> Function | None:
    """Return the function of an arithmetic intrinsic on lanes, or None for other intrinsics."""
    dtype = call.args[0].dtype if call.args and isinstance(call.args[0], tir.PrimExpr) else call.dtype
    if name in ("popcount", "clz"):
        return getattr(intrinsics, name)(dtype)
    if name in intrinsics.PREDICATE:
        return intrinsics.PREDICATE[name]
    if is_float(dtype):
        return intrinsics.FLOAT.get(name)
    return scalars.wrapping(intrinsics.INTEGER[name], dtype) if name in intrinsics.INTEGER else None


# --- Choice, bits, vectors ------------------------------------------------------------------------------------


@intrinsic("if_then_else")
def _if_then_else(call: tir.Call) -> Expression:
    """Evaluate only the chosen operand."""
    condition, yes, no = (compile_expr(arg) for arg in call.args if isinstance(arg, tir.PrimExpr))
    return lambda frame: yes(frame) if condition(frame) else no(frame)


@intrinsic("check")
def _check(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def check(frame: Frame) -> Value:
        condition, code, message = operands(frame)
        if not condition:
            raise fault(code, message, call)
        return 0

    return check


@intrinsic("likely", "ignore_loop_partition", "assume", "tvm_thread_invariant")
def _same(call: tir.Call) -> Expression:
    operands = operands_of(call)
    return lambda frame: operands(frame)[0]


@intrinsic("ret")
def _return(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def leave(frame: Frame) -> Value:
        raise Return(operands(frame)[0])

    return leave


@intrinsic("break_loop", "continue_loop", "thread_return")
def _jump(call: tir.Call) -> Expression:
    assert isinstance(call.op, Op)
    kind = {"tir.break_loop": Break, "tir.continue_loop": Continue}.get(call.op.name, Leave)

    def jump(frame: Frame) -> Value:
        raise kind

    return jump


@intrinsic("reinterpret")
def _reinterpret(call: tir.Call) -> Expression:
    (operand,) = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
    if parse_dtype(call.dtype).code == "handle" and parse_dtype(operand.dtype).code != "handle":
        return integer_as_pointer(call)
    value, convert = compile_expr(operand), scalars.reinterpret(operand.dtype, call.dtype)
    return lambda frame: convert(value(frame))


@intrinsic("large_uint_imm")
def _large_uint(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def join(frame: Frame) -> Value:
        low, high = operands(frame)
        return high << 32 | low

    return join


@intrinsic("vectorlow", "vectorhigh")
def _half(call: tir.Call) -> Expression:
    operands, is_low = operands_of(call), isinstance(call.op, Op) and call.op.name == "tir.vectorlow"

    def half(frame: Frame) -> Value:
        vector = operands(frame)[-1]
        middle = len(vector) // 2
        return vector[:middle] if is_low else vector[middle:]

    return half


@intrinsic("vectorcombine")
def _combine(call: tir.Call) -> Expression:
    operands = operands_of(call)
    return lambda frame: sum(operands(frame), ())


@intrinsic("vscale")
def _vscale(call: tir.Call) -> Expression:
    return lambda frame: VSCALE


@intrinsic("get_active_lane_mask")
def _lane_mask(call: tir.Call) -> Expression:
    operands, lanes = operands_of(call), lanes_of(call.dtype)

    def mask(frame: Frame) -> Value:
        base, limit = operands(frame)
        return tuple(base + lane < limit for lane in range(lanes))

    return mask


@intrinsic("dp4a")
def _dot4(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def dot(frame: Frame) -> Value:
        a, b, *accumulator = operands(frame)
        products = [x * y for x, y in zip(a, b, strict=True)]
        before = accumulator[0] if accumulator else 0
        if not is_vector(call.dtype):
            return scalars.wrap(sum(products) + before, call.dtype)
        sums = [sum(products[4 * lane : 4 * lane + 4]) for lane in range(lanes_of(call.dtype))]
        starts = cast("tuple[int, ...]", before if isinstance(before, tuple) else (before,) * len(sums))
        return tuple(scalars.wrap(start + total, "int32") for start, total in zip(starts, sums, strict=True))

    return dot


@intrinsic("undef")
def _undefined(call: tir.Call) -> Expression:
    lane = scalars.constant(float("nan") if is_float(call.dtype) else 0, call.dtype)
    value = (lane,) * lanes_of(call.dtype) if is_vector(call.dtype) else lane
    return lambda frame: value


@intrinsic("prefetch", "start_profile_intrinsic", "end_profile_intrinsic", "tvm_global_barrier_kinit")
def _nothing(call: tir.Call) -> Expression:
    return lambda frame: 0


# --- Functions ------------------------------------------------------------------------------------------------


@intrinsic("tvm_call_packed", "tvm_call_cpacked", "call_extern", "call_pure_extern")
def _call_external(call: tir.Call) -> Expression:
    """`(name, *arguments)`: scalars are passed as Python and NumPy numbers, arrays as NumPy arrays, data as `Pointer`s."""
    operands = operands_of(call)

    def run(frame: Frame) -> Value:
        name, *args = operands(frame)
        result = frame.world.external(name, call)(*args)
        return 0 if result is None else result

    return run


@intrinsic("tvm_stack_make_shape", "tvm_tuple")
def _make_shape(call: tir.Call) -> Expression:
    return operands_of(call)


@intrinsic("tvm_stack_make_array")
def _make_array(call: tir.Call) -> Expression:
    """`(data, shape, strides, ndim, element, offset)`: the array that is passed to external functions."""
    operands = operands_of(call)
    element = call.args[4]
    dtype = element.dtype if isinstance(element, tir.PrimExpr) else "float32"

    def make(frame: Frame) -> Any:
        data, shape, strides, _, _, offset = operands(frame)
        view = View(memory_of(data, call), dtype, tuple(shape), tuple(strides or ()), offset)
        try:
            return view.as_array()
        except IndexError:
            raise fault("E0707", "this array reaches outside of its memory", call) from None

    return make
