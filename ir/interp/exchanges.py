"""Values that threads of a GPU thread block exchange: masks of active threads, shuffles, and reductions across threads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import reduce

from .. import tir
from ..base import Node, Op
from ..exchanges import SHUFFLES
from ..matrix_units import WARP
from .buffers import compile_buffer, compile_position, compile_put, pointed_element
from .expressions import compile_all, compile_expr
from .frame import Frame, fault
from .memory import View
from .scalars import Value
from .threads import ENDED, Exchange, exchange, tell, thread_count, thread_number


@exchange("tvm_warp_activemask")
def _compile_active_mask(call: tir.Call) -> Exchange:
    """`()`: a bit for each thread of the warp that also gets here."""

    def find(frame: Frame) -> Generator[Node, None, Value]:
        heard = yield from tell(frame, call, 0)
        warp = thread_number(frame) // WARP
        return sum(1 << number % WARP for number in heard if number // WARP == warp)

    return find


def _check_mask(frame: Frame, call: tir.Call, mask: int, heard: Mapping[int, Value]) -> None:
    """Raise E0714 unless all threads that the mask of a shuffle names take part in it, and no others."""
    own, ended = thread_number(frame), frame.shared.get(ENDED, ())
    first = own - own % WARP
    lanes = range(min(WARP, thread_count(frame) - first))
    named = [lane for lane in lanes if mask >> lane & 1]
    other = next((lane for lane in lanes if first + lane in heard and lane not in named), None)
    if other is not None:
        said = f"lane {other} of a warp reaches this shuffle, but the mask 0x{mask & 0xFFFFFFFF:X} does not name it"
        raise fault("E0714", said, call, "give the mask of all lanes that reach it")
    missing = next((lane for lane in named if first + lane not in heard and first + lane not in ended), None)
    if missing is not None:
        said = f"lane {missing} of a warp does not reach this shuffle, which the mask 0x{mask & 0xFFFFFFFF:X} names"
        raise fault("E0714", said, call, "move it out of the condition, or give the mask of the lanes that reach it")


@exchange(*(name.removeprefix("tir.") for name in SHUFFLES))
def _compile_shuffle(call: tir.Call) -> Exchange:
    """`(mask, value, lane or offset, width, warp_size)`: a thread that reads outside its group of `width` gets its own value, but for
    `xor` that of a lane before its group. GPUs use the lowest 5 bits of lanes and offsets.
    """
    assert isinstance(call.op, Op)
    operands, kind = compile_all(tuple(arg for arg in call.args if isinstance(arg, tir.PrimExpr))), call.op.name

    def shuffle(frame: Frame) -> Generator[Node, None, Value]:
        mask, value, operand, width, _ = operands(frame)
        if width < 1:
            raise fault("E0712", f"the width of a shuffle is {width}", call)
        values = yield from tell(frame, call, value)
        _check_mask(frame, call, int(mask), values)
        own, operand = thread_number(frame), operand % WARP
        first, lane = own - own % width, own % width
        wanted = {
            "tir.tvm_warp_shuffle": first + operand % width,
            "tir.tvm_warp_shuffle_up": own - operand if operand <= lane else own,
            "tir.tvm_warp_shuffle_xor": own ^ operand,
        }
        source = wanted.get(kind, own + operand)
        return values.get(source, value) if source < first + width else value

    return shuffle


@exchange("tvm_thread_allreduce")
def _compile_allreduce(call: tir.Call) -> Exchange:
    """`(size, *sources, condition, *targets, *thread variables)`: every thread of a group gets the reduced values.

    A group consists of the threads that differ only in the given variables; the surrounding "reduce_scope" defines the
    reducer.
    """
    args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
    size = args[0].value if isinstance(args[0], tir.IntImm) else 1
    sources, condition = compile_all(tuple(args[1 : size + 1])), compile_expr(args[size + 1])
    targets = [_compile_target(args[1 + k], args[size + 2 + k]) for k in range(size)]
    reduced, put = set(args[2 * size + 2 :]), compile_put()

    def exchange(frame: Frame) -> Generator[Node, None, Value]:
        reducer: tir.CommReducer | None = frame.get(tir.CommReducer)
        if reducer is None or len(reducer.lhs) != size:
            help = 'write it inside T.attr(T.comm_reducer(...), "reduce_scope", ...)'
            raise fault("E0712", "a reduction across threads has no reducer", call, help)
        combine, identity = _compile_reducer(reducer, frame), compile_all(reducer.identity_element)
        group = [index for variable, index, _ in frame.thread.values() if variable not in reduced]
        own = sources(frame) if condition(frame) else identity(frame)
        heard = yield from tell(frame, call, (group, own))
        values = reduce(combine, [value for other, value in heard.values() if other == group])
        for target, value in zip(targets, values, strict=True):
            view, place = target(frame)
            put(frame, call, view, place, value)
        return 0

    return exchange


def _compile_target(source: tir.PrimExpr, target: tir.PrimExpr) -> Callable[[Frame], tuple[View, int]]:
    """Return a function that finds the target of a result: an element of a buffer, or the element at a pointer."""
    if not isinstance(target, tir.BufferLoad):
        pointer, dtype = compile_expr(target), source.dtype
        return lambda frame: pointed_element(pointer(frame), dtype, target)
    buffer, position = compile_buffer(target.buffer), compile_position(target)

    def find(frame: Frame) -> tuple[View, int]:
        view = buffer(frame)
        return view, position(frame, view)

    return find


def _compile_reducer(reducer: tir.CommReducer, frame: Frame) -> Callable[[Value, Value], Value]:
    result, scratch = compile_all(reducer.result), frame.fork()

    def combine(a: Value, b: Value) -> Value:
        scratch.update(zip((*reducer.lhs, *reducer.rhs), (*a, *b), strict=True))
        return result(scratch)

    return combine
