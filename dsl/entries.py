"""The functions of a module that can be run, and their parameters."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ..ir import relax, tir
from ..ir.base import IRModule, Span
from ..ir.diagnostics import error
from ..ir.visit import walk

Function = tir.PrimFunc | relax.Function


class Argument(Struct, frozen=True):
    """A parameter: `shape` is None for a scalar. `is_result` marks a buffer that the function writes."""

    name: str
    dtype: str
    shape: tuple[tir.PrimExpr, ...] | None
    span: Span | None = None
    is_result: bool = False


def select_entry(module: IRModule, entry: str | None) -> tuple[str, Function]:
    """Return the function to run: `entry`, else `main`, else the first public one, else the first."""
    runnable = {name: function for name, function in module.functions.items() if isinstance(function, Function)}
    if not runnable:
        raise error("E0805", "the module has no function to run")
    if entry is not None:
        if entry not in runnable:
            raise error("E0805", f"there is no function '{entry}'", None, f"choose one of: {', '.join(runnable)}")
        return entry, runnable[entry]
    public = [name for name, function in runnable.items() if "global_symbol" in function.attrs]
    name = "main" if "main" in runnable else next(iter(public or runnable))
    return name, runnable[name]


def _written_buffers(function: tir.PrimFunc) -> set[tir.Var]:
    """Return the data pointers of all buffers that are stored to, directly or through a view."""
    nodes = list(walk(function.body))
    written = {node.buffer.data for node in nodes if isinstance(node, tir.BufferStore)}
    views = [match for node in nodes if isinstance(node, tir.Block) for match in node.match_buffers]
    written |= {view.source.buffer.data for view in reversed(views) if view.buffer.data in written}
    return written


def _graph_argument(param: relax.Var) -> Argument:
    match param.struct_info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values), dtype=dtype) if dtype != "void":
            return Argument(param.name_hint, dtype, values, param.span)
        case relax.PrimStructInfo(dtype=dtype):
            return Argument(param.name_hint, dtype, None, param.span)
        case _:
            raise error(
                "E0806",
                f"cannot generate a value for parameter '{param.name_hint}': its shape or dtype is unknown",
                param.span,
                "annotate it with R.Tensor((…), dtype), or call the function from Python",
            )


def needed_for(module: IRModule, entry: str) -> IRModule:
    """Return the functions that `entry` reaches, with their schedules: only these are compiled."""
    from ..ir.passes.dead_code import remove_unused_functions
    from ..ir.schedule.text import ScheduleText

    needed = remove_unused_functions(module, [entry])
    schedules = {
        name: text
        for name, text in module.schedules.items()
        if isinstance(text, ScheduleText) and text.function in needed.functions
    }
    return replace(needed, schedules=schedules)


def arguments_of(function: Function) -> tuple[Argument, ...]:
    """Return the parameters of `function`, in order."""
    if isinstance(function, relax.Function):
        return tuple(_graph_argument(param) for param in function.params)
    written = _written_buffers(function)
    found: list[Argument] = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is None:
            found.append(Argument(param.name, param.dtype, None, param.span))
        else:
            found.append(Argument(buffer.name, buffer.dtype, buffer.shape, buffer.span, buffer.data in written))
    return tuple(found)
