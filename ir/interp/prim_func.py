"""Calls of loop functions in destination-passing style: arrays are written in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import tir
from ..base import GlobalVar, IRModule, Node
from ..deep import deep
from ..diagnostics import error
from ..empty_reductions import start_empty_reductions
from ..jumps import result_dtype
from ..variables import layout_of
from .arguments import Size, buffer_sizes, check_compact, check_count, settle, to_scalar, view_argument
from .buffers import compile_view
from .calls import FUNCTION, calls_of, operands_of
from .expressions import Expression
from .frame import Frame, World, fault
from .jumps import Return
from .memory import Pointer, View
from .observer import observing
from .scalars import Value, constant
from .statements import Statement, compile_stmt


@deep
def call_prim_func(func: tir.PrimFunc, args: Sequence[Any], module: IRModule | None = None, name: str = "") -> Value:
    """Call `func`. Buffers are NumPy arrays of their dtype and shape; those that it writes change in place.

    Returns the value of `T.ret`, or zero on a path without it; None if the function returns no value. Raises TvmsError: E0701 to
    E0706 if an argument does not fit, E0707 to E0716 for faults, placed in the program.
    """
    name = name or func.attrs.get("global_symbol", "the function")
    return call_in(World(module or IRModule({})), func, args, name)


def call_in(world: World, func: tir.PrimFunc, args: Sequence[Any], name: str, call: Node | None = None) -> Value:
    """Call `func` like `call_prim_func`, as part of a run, at `call`."""
    if world.execute is not None and world.execute(func, args):
        return None
    if func not in world.compiled:
        with observing(world.observer):  # a RecursionError here precedes all side effects, so `deep` may run it again
            executed = start_empty_reductions(func)
            dtype = result_dtype(func)
            default = None if dtype is None else constant(0, dtype)
            world.compiled[func] = executed, compile_stmt(executed.body), default
    executed: tir.PrimFunc
    body: Statement
    value: Value | None  # that of a run without `T.ret`
    executed, body, value = world.compiled[func]
    frame = Frame(world)
    bind_arguments(frame, func, args, name, call)
    if world.observer is not None:
        world.observer.enter(executed, name, frame)
    try:
        with np.errstate(all="ignore"):
            for _ in body(frame):
                pass
    except Return as result:
        value = result.value
    except RecursionError:
        raise error("E0716", f"the calls of '{name}' nest too deep", func.span) from None
    if world.observer is not None:
        world.observer.leave(executed, frame)
    return value


@calls_of(FUNCTION)
def _call_function(call: tir.Call) -> Expression:
    assert isinstance(call.op, GlobalVar)
    name, operands = call.op.name_hint, operands_of(call)

    def run(frame: Frame) -> Value:
        function = frame.world.module.functions.get(name)
        if not isinstance(function, tir.PrimFunc):
            raise fault("E0102", f"the module has no loop function '{name}'", call)
        return call_in(frame.world, function, operands(frame), name, call)

    return run


def bind_arguments(frame: Frame, func: tir.PrimFunc, args: Sequence[Any], name: str, call: Node | None = None) -> None:
    """Bind the parameters of `func` and its symbolic sizes."""
    check_count(name, func.params, args, func)
    views: list[tuple[tir.Buffer, View]] = []
    pointed: list[tir.Buffer] = []
    for param, value in zip(func.params, args, strict=True):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            frame[param] = to_scalar(value, param.dtype, f"argument '{param.name}'", param)
        elif isinstance(value, Pointer):
            frame[param] = frame[buffer.data] = value
            pointed.append(buffer)
        else:
            view = view_argument(value, buffer, f"argument '{buffer.name}'")
            frame[param] = frame[buffer.data] = view.pointer
            frame[buffer] = view
            views.append((buffer, view))
    sizes: list[Size] = []
    for buffer, view in views:
        sizes.extend(buffer_sizes(buffer, view, f"argument '{buffer.name}'", buffer))
    settle(frame, sizes, _free_variables(func) - frame.keys())
    for buffer, view in views:
        check_compact(buffer, view, f"argument '{buffer.name}'")
    for buffer in pointed:
        frame[buffer] = compile_view(buffer)(frame)
        _check_room(frame[buffer], buffer, name, buffer if call is None else call)


def _check_room(view: View, buffer: tir.Buffer, name: str, node: Node) -> None:
    """Raise E0707 if the memory at a pointer is smaller than the buffer that it is passed for."""
    extents = [extent - 1 for extent in view.shape]
    count = 0 if -1 in extents else 1 + sum(n * step for n, step in zip(extents, view.strides, strict=True))
    size = count * view.flat.itemsize * view.lanes
    start, end = view.pointer.offset, len(view.pointer.memory.data)
    if not 0 <= start <= end - size:
        said = f"this pointer has less memory than '{buffer.name}' of '{name}', which is {size} bytes large"
        raise fault("E0707", said, node)


def _free_variables(func: tir.PrimFunc) -> set[tir.Var]:
    """Return the variables that the declarations of buffers bind."""
    found: set[tir.Var] = set()
    for buffer in func.buffer_map.values():
        found.update(expr for expr in layout_of(buffer) if isinstance(expr, tir.Var))
    return found
