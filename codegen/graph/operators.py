"""The graph operators that remain when all others are calls of loop functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, cast

import numpy as np

from ...ir import relax
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.interp.oracle import by_oracle
from ...ir.interp.texts import printed
from ...ir.numpy_dtype import numpy_dtype
from ...ir.ops.registry import find
from ...ir.sanitize import say
from ..runtime.dlpack import Array
from ..runtime.sizes import Frame, compile_size
from .calls import Bound, Start, Value, started
from .compiler import GraphCompiler, Operator, packed
from .home import HOST, Home
from .specs import Shape, make_allocator


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)


_INVOKING = ("relax.invoke_closure", "relax.invoke_pure_closure")


# --- Calls of functions that write their results --------------------------------------------------------------


def _on_processor(compiler: GraphCompiler, call: relax.Call) -> Callable[..., Any] | None:
    """Return the Python or library function that a call names; None for a function of the module."""
    match call.args[0]:
        case relax.StringImm(value=name):
            return packed(name, call.span)
        case relax.ExternFunc() as function:
            return compiler.outside(function)
        case _:
            return None


def _callee(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Return the function that a call names."""
    function = _on_processor(compiler, call)
    if function is None:
        return compiler.value(call.args[0])
    there = compiler.home.on_host(function, may_write=True)
    return lambda frame: there


def _inputs(compiler: GraphCompiler, call: relax.Call) -> list[Value]:
    """Return the fields of the argument tuple of a call."""
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
    """Return the symbolic sizes that a call passes; an empty tuple for most."""
    return compiler.value(call.args[2]) if len(call.args) > 2 else lambda frame: ()


def _call_tir(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Compile a call whose function gets its inputs, memory for its results, and symbolic sizes."""
    inputs, sizes, outside = _inputs(compiler, call), _sizes(compiler, call), _on_processor(compiler, call)
    function: Value = compiler.value(call.args[0]) if outside is None else lambda frame: outside
    allocate = make_allocator(_result_info(call), compiler.slots, call.span, compiler.home if outside is None else HOST)

    def produce(frame: Frame, *inputs: Any) -> Any:
        results = allocate(frame)
        function(frame)(*inputs, *_as_tuple(results), *sizes(frame))
        return results

    run = produce if outside is None else compiler.home.on_host(produce)
    return lambda frame: run(frame, *[value(frame) for value in inputs])


def _result_info(call: relax.Call) -> Any:
    return call.sinfo_args[0] if len(call.sinfo_args) == 1 else relax.TupleStructInfo(call.sinfo_args)


def _call_tir_inplace(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Compile a call whose results use the memory of the arguments at `inplace_indices`, or new memory for -1."""
    function, inputs, sizes = _callee(compiler, call), _inputs(compiler, call), _sizes(compiler, call)
    info, places = _result_info(call), call.attrs["inplace_indices"]
    infos = info.fields if isinstance(info, relax.TupleStructInfo) else (info,)
    fresh = [
        make_allocator(field, compiler.slots, call.span, compiler.home) if place == -1 else None
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


def _call_builtin(compiler: GraphCompiler, call: relax.Call) -> Value:
    function, inputs = _callee(compiler, call), _inputs(compiler, call)
    return lambda frame: function(frame)(*[value(frame) for value in inputs])


def start_operator(compiler: GraphCompiler, call: relax.Call) -> Start | None:
    """Compile the call of a closure, which may call graph functions; return None for other operators."""
    if not isinstance(call.op, Op) or call.op.name not in _INVOKING:
        return None
    function, inputs = compiler.value(call.args[0]), _inputs(compiler, call)
    return lambda frame: started(function(frame), [value(frame) for value in inputs])


def _call_dynamic(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Compile a call that passes the sizes of a shape as separate arguments."""
    function, inputs = compiler.value(call.args[0]), _inputs(compiler, call)

    def run(frame: Frame) -> Any:
        values = [value(frame) for value in inputs]
        return function(frame)(
            *[number for value in values for number in (value if isinstance(value, Shape) else (value,))]
        )

    return run


def _make_closure(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Return the function with its last arguments bound."""
    function, captured = compiler.value(call.args[0]), _inputs(compiler, call)
    return lambda frame: Bound(function(frame), [value(frame) for value in captured])


# --- Shapes, checks, memory -----------------------------------------------------------------------------------


def _of_values(compute: Callable[..., Any]) -> Operator:
    """Return an operator that applies a Python function to the values of its arguments."""

    def compile_call(compiler: GraphCompiler, call: relax.Call) -> Value:
        args = tuple(map(compiler.value, call.args))
        return lambda frame: compute(*[arg(frame) for arg in args])

    return compile_call


def _on_host(compute: Callable[..., Any]) -> Operator:
    """Return an operator on host arrays: it reads elements of its arguments or creates tensors."""
    return lambda compiler, call: _of_values(compiler.home.on_host(compute))(compiler, call)


def _in_memory(compute: Callable[..., Any]) -> Operator:
    """Return an operator that allocates or shares memory; the first argument of the function is the home of
    tensors.
    """
    return lambda compiler, call: _of_values(partial(compute, compiler.home))(compiler, call)


def _assert(compiler: GraphCompiler, call: relax.Call) -> Value:
    def check(condition: Any, *rest: Any) -> Any:
        if not bool(condition):
            said = printed(call, rest, ", ")
            raise error("E0711", f"assertion failed: {said}" if said else "assertion failed", call.span)
        return ()

    return _on_host(check)(compiler, call)


def _print(compiler: GraphCompiler, call: relax.Call) -> Value:
    def show(*values: Any) -> Any:
        say(printed(call, values, " "))
        return ()

    return _on_host(show)(compiler, call)


def _shape_of(tensor: Array) -> Shape:
    return Shape(tensor.shape)


def _to_shape(tensor: Array) -> Shape:
    return Shape(map(int, tensor))


def _to_tensor(shape: Shape) -> Array:
    return np.array(shape, np.int64)


def _alloc_tensor(home: Home, shape: Shape, dtype: str, *_: Any) -> Any:
    return home.empty(shape, numpy_dtype(dtype))


def _alloc_storage(home: Home, size: Shape, *_: Any) -> Any:
    return home.empty((prod(size),), np.dtype(np.uint8))


def _alloc_vm_storage(home: Home, shape: Shape, device: int, dtype: str, *_: Any) -> Any:
    return home.empty((prod(shape) * numpy_dtype(dtype).itemsize,), np.dtype(np.uint8))


def _tensor_in_storage(home: Home, storage: Any, offset: int, shape: Shape, dtype: str, *_: Any) -> Any:
    kind, start = numpy_dtype(dtype), int(offset)
    size = prod(shape) * kind.itemsize
    if not 0 <= start <= start + size <= storage.nbytes:
        raise error("E0707", f"a tensor of {size} bytes at {start} is outside its storage of {storage.nbytes} bytes")
    return home.part(storage, start, shape, kind)


def _same(value: Any, *_: Any) -> Any:
    return value


def _nothing(*_: Any) -> tuple[()]:
    return ()


def _view(home: Home, tensor: Any, *options: Any) -> Any:
    """Return a view of `tensor` for `(shape, dtype, relative_byte_offset)`; an empty tuple keeps the property."""
    shape, dtype, offset = (None if type(value) is tuple else value for value in options)
    return _tensor_in_storage(home, tensor, offset or 0, shape or Shape(tensor.shape), dtype or tensor.dtype.name)


def compile_operator(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Compile a call of an operator; E0607 if that is impossible."""
    assert isinstance(call.op, Op)
    return _OPERATORS.get(call.op.name, _by_oracle)(compiler, call)


def _by_oracle(compiler: GraphCompiler, call: relax.Call) -> Value:
    """Compile an operator whose result depends on values, or whose shapes are unknown, by its NumPy definition."""
    assert isinstance(call.op, Op)
    operator = find(call.op.name)
    if operator is None or operator.numpy is None:
        name = call.op.name.removeprefix("relax.")
        raise error("E0607", f"the operator 'R.{name}' cannot be compiled", call.span)
    args, compute, slots = tuple(map(compiler.value, call.args)), by_oracle(operator, call), compiler.slots

    def evaluate(frame: Frame, *args: Any) -> Any:
        return compute(args, lambda size: compile_size(size, slots)(frame))

    run = compiler.home.on_host(evaluate)
    return lambda frame: run(frame, *[arg(frame) for arg in args])


_OPERATORS: dict[str, Operator] = {
    **dict.fromkeys(("relax.call_tir", "relax.call_tir_with_grad", "relax.call_dps_packed"), _call_tir),
    "relax.call_tir_inplace": _call_tir_inplace,
    **dict.fromkeys(("relax.call_pure_packed", "relax.call_inplace_packed"), _call_packed),
    **dict.fromkeys(_INVOKING, _invoke),
    "relax.call_builtin_with_ctx": _call_builtin,
    "relax.vm.call_tir_dyn": _call_dynamic,
    "relax.make_closure": _make_closure,
    "relax.shape_of": _of_values(_shape_of),
    "relax.tensor_to_shape": _on_host(_to_shape),
    "relax.shape_to_tensor": _on_host(_to_tensor),
    "relax.null_value": _of_values(lambda: None),
    "relax.assert_op": _assert,
    "relax.print": _print,
    "relax.builtin.alloc_tensor": _in_memory(_alloc_tensor),
    "relax.memory.alloc_storage": _in_memory(_alloc_storage),
    "relax.vm.alloc_storage": _in_memory(_alloc_vm_storage),
    "relax.memory.view": _in_memory(_view),
    **dict.fromkeys(("relax.memory.alloc_tensor", "relax.vm.alloc_tensor"), _in_memory(_tensor_in_storage)),
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
"""The compilers of operators, by name."""
