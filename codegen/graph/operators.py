"""The graph-level operators that remain once all others are calls of loop-level functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np

from ...ir import relax
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.interp.oracle import by_oracle
from ...ir.numpy_dtype import numpy_dtype
from ...ir.ops.registry import find
from ..runtime.dlpack import Array
from ..runtime.sizes import Frame, compile_size
from .compiler import GraphCompiler, Value, packed
from .specs import Shape, make_allocator

Operator: TypeAlias = Callable[[GraphCompiler, relax.Call], Value]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)


# --- Calls of functions that write their results --------------------------------------------------------------


def _callee(compiler: GraphCompiler, call: relax.Call) -> Value:
    """The function of a `call_tir`, or the Python function of a `call_dps_packed`."""
    target = call.args[0]
    if isinstance(target, relax.StringImm):
        function = packed(target.value, call.span)
        return lambda frame: function
    return compiler.value(target)


def _inputs(compiler: GraphCompiler, call: relax.Call) -> list[Value]:
    """The arguments that a call gives in its tuple, one by one."""
    given = call.args[1]
    if isinstance(given, relax.Tuple):
        return list(map(compiler.value, given.fields))
    info, value = given.struct_info, compiler.value(given)
    if not isinstance(info, relax.TupleStructInfo):
        return [value]

    def field(index: int) -> Value:
        return lambda frame: value(frame)[index]

    return [field(index) for index in range(len(info.fields))]


def _sizes(compiler: GraphCompiler, call: relax.Call) -> Value:
    """The symbolic sizes that a call passes on, none in most."""
    return compiler.value(call.args[2]) if len(call.args) > 2 else lambda frame: ()


def _call_tir(compiler: GraphCompiler, call: relax.Call) -> Value:
    """The function gets its inputs, memory for its results, and the symbolic sizes given."""
    function, inputs, sizes = _callee(compiler, call), _inputs(compiler, call), _sizes(compiler, call)
    allocate = make_allocator(_result_info(call), compiler.slots, call.span)

    def run(frame: Frame) -> Any:
        results = allocate(frame)
        function(frame)(*[value(frame) for value in inputs], *_as_tuple(results), *sizes(frame))
        return results

    return run


def _result_info(call: relax.Call) -> Any:
    return call.sinfo_args[0] if len(call.sinfo_args) == 1 else relax.TupleStructInfo(call.sinfo_args)


def _call_tir_inplace(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Each result takes the memory of the argument at its `inplace_indices`, or, where that is -1, its own."""
    function, inputs, sizes = _callee(compiler, call), _inputs(compiler, call), _sizes(compiler, call)
    info, places = _result_info(call), call.attrs["inplace_indices"]
    infos = info.fields if isinstance(info, relax.TupleStructInfo) else (info,)
    fresh = [
        make_allocator(field, compiler.slots, call.span) if place == -1 else None
        for field, place in zip(infos, places, strict=True)
    ]

    def run(frame: Frame) -> Any:
        arrays = [value(frame) for value in inputs]
        pairs = zip(fresh, places, strict=True)
        results = tuple([arrays[place] if make is None else make(frame) for make, place in pairs])
        own = [result for result, place in zip(results, places, strict=True) if place == -1]
        function(frame)(*arrays, *own, *sizes(frame))
        return results if isinstance(info, relax.TupleStructInfo) else results[0]

    return run


def _call_packed(compiler: GraphCompiler, call: relax.Call) -> Value:
    function, args = _callee(compiler, call), tuple(map(compiler.value, call.args[1:]))
    return lambda frame: function(frame)(*[arg(frame) for arg in args])


def _invoke(compiler: GraphCompiler, call: relax.Call) -> Value:
    function, inputs = compiler.value(call.args[0]), _inputs(compiler, call)
    return lambda frame: function(frame)(*[value(frame) for value in inputs])


def _call_dynamic(compiler: GraphCompiler, call: relax.Call) -> Value:
    """A function that gets the sizes of a shape among its arguments one by one."""
    function, inputs = compiler.value(call.args[0]), _inputs(compiler, call)

    def run(frame: Frame) -> Any:
        values = [value(frame) for value in inputs]
        return function(frame)(
            *[each for value in values for each in (value if isinstance(value, Shape) else (value,))]
        )

    return run


def _make_closure(compiler: GraphCompiler, call: relax.Call) -> Value:
    """The function, with its last arguments given."""
    function, captured = compiler.value(call.args[0]), _inputs(compiler, call)

    def close(frame: Frame) -> Any:
        callee, last = function(frame), [value(frame) for value in captured]

        def call(*first: Any) -> Any:
            return callee(*first, *last)

        return call

    return close


# --- Shapes, checks, memory -----------------------------------------------------------------------------------


def _of_values(compute: Callable[..., Any]) -> Operator:
    """An operator that is a Python function of its arguments' values."""

    def compile_call(compiler: GraphCompiler, call: relax.Call) -> Value:
        args = tuple(map(compiler.value, call.args))
        return lambda frame: compute(*[arg(frame) for arg in args])

    return compile_call


def _assert(compiler: GraphCompiler, call: relax.Call) -> Value:
    condition, *rest = map(compiler.value, call.args)

    def check(frame: Frame) -> Any:
        if not bool(condition(frame)):
            said = _format(call, [value(frame) for value in rest])
            raise error("E0711", f"assertion failed: {said}" if said else "assertion failed", call.span)
        return ()

    return check


def _print(compiler: GraphCompiler, call: relax.Call) -> Value:
    args = tuple(map(compiler.value, call.args))

    def show(frame: Frame) -> Any:
        print(_format(call, [arg(frame) for arg in args]))
        return ()

    return show


def _format(call: relax.Call, values: list[Any]) -> str:
    """The format is an attribute, or the first of the values."""
    form = call.attrs.get("format", "")
    if not form and values and isinstance(values[0], str):
        form, *values = values
    parts = form.split("{}")
    if len(parts) != len(values) + 1:
        return " ".join(filter(None, [form, *map(str, values)]))
    return "".join(text for pair in zip(parts, [*map(str, values), ""], strict=True) for text in pair)


def _shape_of(tensor: Array) -> Shape:
    return Shape(tensor.shape)


def _to_shape(tensor: Array) -> Shape:
    return Shape(map(int, tensor))


def _to_tensor(shape: Shape) -> Array:
    return np.array(shape, np.int64)


def _alloc_tensor(shape: Shape, dtype: str, *_: Any) -> Array:
    return np.empty(shape, numpy_dtype(dtype))


def _alloc_storage(shape: Shape, *_: Any) -> Array:
    return np.empty(int(np.prod(shape, dtype=np.int64)), np.uint8)


def _tensor_in_storage(storage: Array, offset: int, shape: Shape, dtype: str, *_: Any) -> Array:
    kind, start = numpy_dtype(dtype), int(offset)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if not 0 <= start <= start + size <= len(storage):
        raise error("E0707", f"a tensor of {size} bytes at {start} is outside its storage of {len(storage)} bytes")
    return storage[start : start + size].view(kind).reshape(shape)


def _same(value: Any, *_: Any) -> Any:
    return value


def _nothing(*_: Any) -> tuple[()]:
    return ()


def _view(tensor: Array, *options: Any) -> Array:
    """`(shape, dtype, relative_byte_offset)`; what is an empty tuple stays as it is."""
    shape, dtype, offset = (None if type(value) is tuple else value for value in options)
    storage = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
    return _tensor_in_storage(storage, offset or 0, shape or Shape(tensor.shape), dtype or tensor.dtype.name)


def compile_by_oracle(compiler: GraphCompiler, call: relax.Call) -> Value:
    """An operator that asks for a value's own, or whose shapes nobody knows before: NumPy computes it."""
    assert isinstance(call.op, Op)
    operator = find(call.op.name)
    if operator is None or operator.numpy is None:
        name = call.op.name.removeprefix("relax.")
        raise error("E0607", f"the operator 'R.{name}' has no loop-level meaning to compile", call.span)
    args, compute = tuple(map(compiler.value, call.args)), by_oracle(operator, call)
    slots = compiler.slots
    return lambda frame: compute([arg(frame) for arg in args], lambda size: compile_size(size, slots)(frame))


OPERATORS: dict[str, Operator] = {
    **dict.fromkeys(("relax.call_tir", "relax.call_tir_with_grad", "relax.call_dps_packed"), _call_tir),
    "relax.call_tir_inplace": _call_tir_inplace,
    **dict.fromkeys(("relax.call_pure_packed", "relax.call_inplace_packed"), _call_packed),
    **dict.fromkeys(("relax.invoke_closure", "relax.invoke_pure_closure"), _invoke),
    "relax.vm.call_tir_dyn": _call_dynamic,
    "relax.make_closure": _make_closure,
    "relax.shape_of": _of_values(_shape_of),
    "relax.tensor_to_shape": _of_values(_to_shape),
    "relax.shape_to_tensor": _of_values(_to_tensor),
    "relax.null_value": _of_values(lambda: None),
    "relax.assert_op": _assert,
    "relax.print": _print,
    "relax.builtin.alloc_tensor": _of_values(_alloc_tensor),
    **dict.fromkeys(("relax.memory.alloc_storage", "relax.vm.alloc_storage"), _of_values(_alloc_storage)),
    "relax.memory.view": _of_values(_view),
    **dict.fromkeys(("relax.memory.alloc_tensor", "relax.vm.alloc_tensor"), _of_values(_tensor_in_storage)),
    **dict.fromkeys(
        ("relax.memory.kill_storage", "relax.memory.kill_tensor", "relax.vm.kill_object"), _of_values(_nothing)
    ),
    **dict.fromkeys(
        (
            "relax.to_vdevice",
            "relax.hint_on_device",
            "relax.builtin.stop_lift_params",
            "relax.memory.ensure_zero_offset",
        ),
        _of_values(_same),
    ),
}
"""What each operator does, by name."""
