"""Evaluation of graph-level operators: those that call functions or handle memory here, all others by their oracle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias, TypeVar, cast

import numpy as np

from .. import relax
from ..base import Op
from ..numpy_dtype import numpy_dtype
from ..ops.registry import find
from ..sanitize import say
from .expressions import compile_expr
from .frame import Frame, fault
from .graph import Evaluate, Value, compile_graph, meaning_of
from .memory import Array
from .oracle import by_oracle
from .struct_info import Shape, make_result, new_array
from .texts import printed

Meaning: TypeAlias = Callable[[Frame, relax.Call, list[Value]], Value]
"""Maps a call and the values of its arguments to its value."""

_meanings: dict[str, Meaning] = {}
_Rule = TypeVar("_Rule", bound=Meaning)


def _operator(*names: str) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the evaluator of the operators `relax.<name>`."""

    def register(rule: _Rule) -> _Rule:
        _meanings.update({f"relax.{name}": rule for name in names})
        return rule

    return register


@meaning_of(relax.Call)
def _call(call: relax.Call) -> Evaluate:
    args = tuple(map(compile_graph, call.args))
    if isinstance(call.op, Op):
        meaning = _meanings.get(call.op.name) or _oracle(call, call.op.name)
        return lambda frame: meaning(frame, call, [arg(frame) for arg in args])
    function = compile_graph(call.op)
    return lambda frame: function(frame)(*[arg(frame) for arg in args])


# --- Operators by their NumPy oracle --------------------------------------------------------------------------


def _oracle(call: relax.Call, name: str) -> Meaning:
    op = find(name)
    if op is None or op.numpy is None:
        raise fault("E0712", f"the operator 'R.{name.removeprefix('relax.')}' cannot be interpreted", call)
    compute = by_oracle(op, call)
    return lambda frame, call, args: compute(args, lambda size: compile_expr(size)(frame))


# --- Calls of functions ---------------------------------------------------------------------------------------


def _as_tuple(value: Value) -> tuple[Value, ...]:
    return cast("tuple[Value, ...]", value) if isinstance(value, tuple) else (value,)


@_operator("call_tir", "call_tir_with_grad", "call_dps_packed")
def _call_tir(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """Destination-passing style: the function gets its inputs, memory for its results, and the given symbolic sizes."""
    function, inputs, *sizes = args
    result = make_result(call.sinfo_args[0], frame, call)
    function(*_as_tuple(inputs), *_as_tuple(result), *(sizes[0] if sizes else ()))
    return result


@_operator("call_tir_inplace")
def _call_tir_inplace(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """Each result uses the memory of the argument at its `inplace_indices`, or, for -1, new memory."""
    function, inputs, *sizes = args
    infos = call.sinfo_args[0]
    fields = infos.fields if isinstance(infos, relax.TupleStructInfo) else call.sinfo_args
    arrays = _as_tuple(inputs)
    places = call.attrs["inplace_indices"]
    results = [
        make_result(info, frame, call) if place == -1 else arrays[place]
        for info, place in zip(fields, places, strict=True)
    ]
    own = [result for result, place in zip(results, places, strict=True) if place == -1]
    function(*arrays, *own, *(sizes[0] if sizes else ()))
    return tuple(results) if isinstance(infos, relax.TupleStructInfo) else results[0]


@_operator("call_pure_packed", "call_inplace_packed")
def _call_packed(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    function, *rest = args
    return function(*rest)


@_operator("vm.call_tir_dyn")
def _call_tir_dyn(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """A shape among the arguments is passed as its separate sizes."""
    function, values = args
    return function(*[number for value in values for number in (value if isinstance(value, Shape) else (value,))])


@_operator("invoke_closure", "invoke_pure_closure", "call_builtin_with_ctx")
def _invoke(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    function, values = args
    return function(*_as_tuple(values))


@_operator("make_closure")
def _make_closure(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """Return the function with its last arguments bound."""
    function, captured = args
    return partial(_call_with, function, _as_tuple(captured))


def _call_with(function: Callable[..., Value], last: tuple[Value, ...], *first: Value) -> Value:
    return function(*first, *last)


# --- Shapes, checks -------------------------------------------------------------------------------------------


@_operator("shape_of")
def _shape_of(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    return Shape(args[0].shape)


@_operator("tensor_to_shape")
def _tensor_to_shape(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    return Shape(map(int, args[0]))


@_operator("shape_to_tensor")
def _shape_to_tensor(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    return np.array(args[0], np.int64)


@_operator("assert_op")
def _assert(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """`(condition, *values)`: the format is an attribute or the first of the values."""
    condition, *values = args
    if not bool(condition):
        said = printed(call, values, ", ")
        raise fault("E0711", f"assertion failed: {said}" if said else "assertion failed", call)
    return ()


@_operator("print")
def _print(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    say(printed(call, args, " "))
    return ()


@_operator("null_value")
def _null(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    return None


# --- Memory ---------------------------------------------------------------------------------------------------


@_operator("builtin.alloc_tensor")
def _alloc_tensor(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    return new_array(frame, tuple(args[0]), args[1], call)


@_operator("memory.alloc_storage")
def _alloc_storage(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """Memory of a size in bytes."""
    return new_array(frame, tuple(args[0]), "uint8", call).reshape(-1)


@_operator("vm.alloc_storage")
def _alloc_vm_storage(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """`(shape, device, dtype, scope)`: memory for a tensor."""
    return new_array(frame, tuple(args[0]), args[2], call).reshape(-1).view(np.uint8)


@_operator("memory.alloc_tensor", "vm.alloc_tensor")
def _alloc_tensor_in(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """A tensor inside a storage, `offset` bytes from its start."""
    storage, offset, shape, dtype, *_ = args
    return _tensor_at(storage, int(offset), tuple(shape), dtype, call)


def _tensor_at(storage: Array, offset: int, shape: tuple[int, ...], dtype: str, call: relax.Call) -> Array:
    kind = numpy_dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if not 0 <= offset <= offset + size <= len(storage):
        said = f"a tensor of {size} bytes at {offset} is outside its storage of {len(storage)} bytes"
        raise fault("E0707", said, call)
    return storage[offset : offset + size].view(kind).reshape(shape)


@_operator("memory.view")
def _memory_view(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """`(tensor, shape, dtype, relative_byte_offset)`; an argument that is an empty tuple leaves its property unchanged."""
    array: Array = args[0]
    shape, dtype, offset = (None if type(value) is tuple else value for value in args[1:])
    storage = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    sizes = array.shape if shape is None else tuple(shape)
    return _tensor_at(storage, int(offset or 0), sizes, dtype or array.dtype.name, call)


@_operator("memory.kill_storage", "memory.kill_tensor", "vm.kill_object")
def _kill(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    return ()


@_operator("to_vdevice", "hint_on_device", "builtin.stop_lift_params", "memory.ensure_zero_offset", "annotate.smooth")
def _same(frame: Frame, call: relax.Call, args: list[Value]) -> Value:
    """Return the argument: there is a single device, and lifting or moving does not change a value."""
    return args[0]
