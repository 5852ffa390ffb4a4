"""Expressions in the scope of a step: the language's own, such as `A[vi, vk] + 1`, a buffer, or a part of one: `A[0, :]`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ...ir import relax, tir
from ...ir.base import GlobalVar, Op, Source, Span
from ...ir.deep import deep
from ...ir.diagnostics import TvmsError, error
from ...ir.make import const
from ...ir.ops.tir import INTRINSICS
from ...ir.visit import walk
from .. import syntax
from ..builder.context import Context, Failed, Scope, TooManyErrors
from ..builder.expressions import build_expr, evaluate
from ..builder.imports import base_names
from ..builder.tir_frames import FunctionFrame
from ..parser import parse_syntax
from .places import Place
from .timeline import Step

if TYPE_CHECKING:
    from ...ir.interp.frame import Frame
    from ...ir.interp.memory import Array, View

Evaluate: TypeAlias = "Callable[[Frame], Any]"

MOST_CHARACTERS = 10_000
_CALLS_OUT = ("call_extern", "call_pure_extern", "tvm_call_packed", "tvm_call_cpacked", "call_llvm_pure_intrin")
"""Intrinsics that run code outside of the program."""


class Evaluator:
    """Evaluates expressions, and remembers the compiled ones of each place."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[str, Place], Evaluate] = {}

    def value(self, text: str, step: Step) -> Any:
        """Return the value of an expression at a step: a scalar, a tuple of lanes, or the array of a buffer or region.

        Raise TvmsError if it cannot be read, has side effects, or faults.
        """
        frame = step.frame()
        if step.place.node is step.place.function or isinstance(step.place.node, relax.Binding):
            return compile_text(text, with_tensors(frame))(frame)  # the names of a graph have the types of their values
        key = text, step.place
        if key not in self._compiled:
            self._compiled[key] = compile_text(text, names_of(step.place, frame))
        return self._compiled[key](frame)

    def holds(self, condition: str, step: Step) -> bool:
        """Return whether a condition holds at a step; errors are those of `value`."""
        value = self.value(condition, step)
        if not is_scalar(value):
            raise error("E0826", f"'{condition}' is not a condition: its value is not a scalar", None)
        return bool(value)

    def indices(self, texts: str, step: Step) -> tuple[int, ...]:
        """Return the values of indices separated by commas."""
        value = self.value(f"({texts},)", step)
        if not all(type(index) is int for index in value):
            raise error("E0826", f"expected integers as indices, got '{texts}'", None)
        return value


def is_scalar(value: Any) -> bool:
    """Return whether a value of an expression is one number."""
    return not isinstance(value, tuple | str) and getattr(value, "ndim", 0) == 0


def names_of(place: Place, defined: Container[object] | None = None) -> dict[str, tir.Var | tir.Buffer]:
    """Return the variables and buffers of a loop function that are visible at a place, or those of them in `defined`."""
    names = (name for name in place.names if defined is None or name in defined)
    return {name.name: name for name in names if isinstance(name, tir.Var | tir.Buffer)}


def with_tensors(frame: Frame) -> dict[str, Any]:
    """Return what the names in a frame denote; the tensors of a graph become buffers, and get views in `frame`."""
    names: dict[str, Any] = {}
    for name, value in list(frame.items()):
        if isinstance(name, relax.Var):
            names[name.name_hint] = _denoted(name.name_hint, value, frame)
        elif isinstance(name, tir.Var | tir.Buffer):
            names[name.name] = name
    return names


def _denoted(name: str, value: Any, frame: Frame) -> Any:
    """Return a node for a value of a graph: a buffer for a tensor, a variable for a scalar, a tuple of nodes for a tuple."""
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return tuple([_denoted(f"{name}[{index}]", item, frame) for index, item in enumerate(items)])
    import numpy as np

    if not isinstance(value, np.ndarray | np.generic):
        return value
    array = cast("Array", value)
    dtype: str = array.dtype.name
    if isinstance(value, np.generic):
        variable = tir.Var(dtype, name)
        frame[variable] = value
        return variable
    data = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype)))
    buffer = tir.Buffer(data, dtype, tuple([const(size, "int64") for size in array.shape]), name)
    frame[buffer] = view_of(array)
    return buffer


def view_of(array: Array) -> View:
    """Return a view of the memory of a tensor."""
    from ...ir.interp.memory import View, pointer_to

    strides = tuple([stride // array.itemsize for stride in array.strides])
    return View(pointer_to(array), array.dtype.name, array.shape, strides)


@deep
def compile_text(text: str, names: Mapping[str, Any]) -> Evaluate:
    """Return a function that evaluates an expression over `names`; raise TvmsError if it is not one, or has side effects."""
    if len(text) > MOST_CHARACTERS:
        raise error("E0826", f"an expression is longer than {MOST_CHARACTERS:,} characters")
    source = Source("<expression>", f"{text.strip()}\n")
    file, mistakes = parse_syntax(source)
    if mistakes:
        raise TvmsError(mistakes)
    match file.body:
        case (syntax.ExprStmt(value=node),):
            pass
        case _:
            help = "write a variable, a buffer or an element, such as C[vi, 0] + 1"
            raise error("E0826", f"'{text.strip()}' is not an expression", Span(source, 0, len(text.strip())), help)
    context = Context(source, Scope({**base_names(), **names}))
    context.tir = FunctionFrame(0)
    try:
        value = _built(context, node)
    except (Failed, TooManyErrors):
        raise TvmsError(context.diagnostics) from None
    return _compile(value)


def _built(context: Context, node: syntax.Expr) -> Any:
    value = evaluate(context, node)
    if isinstance(value, tir.Buffer | tir.BufferRegion | tuple | str | bool | int | float):
        return cast("Any", value)
    if value is None or isinstance(value, tir.PrimExpr):
        return value
    try:
        return build_expr(context, node)
    except Failed:
        raise
    except TvmsError as problem:
        raise context.report(problem, node) from None


def _compile(value: Any) -> Evaluate:
    from ...ir.interp.buffers import compile_buffer
    from ...ir.interp.expressions import compile_expr

    match value:
        case tuple():
            parts = [_compile(part) for part in cast("tuple[Any, ...]", value)]
            return lambda frame: tuple([part(frame) for part in parts])
        case tir.Buffer():
            find = compile_buffer(value)
            return lambda frame: array_of(find(frame), value.name)
        case tir.BufferRegion():
            return _region(value)
        case tir.PrimExpr():
            _check_pure(value)
            return compile_expr(value)
        case _:
            return lambda frame: value


def _region(region: tir.BufferRegion) -> Evaluate:
    from ...ir.interp.buffers import compile_buffer
    from ...ir.interp.expressions import compile_all

    find = compile_buffer(region.buffer)
    starts = compile_all(tuple([axis.min for axis in region.region]))
    extents = compile_all(tuple([axis.extent for axis in region.region]))
    is_index = [isinstance(axis.extent, tir.IntImm) and axis.extent.value == 1 for axis in region.region]

    def part(frame: Frame) -> Any:
        array = array_of(find(frame), region.buffer.name)
        chosen: list[slice | int] = []
        for start, extent, single, size in zip(starts(frame), extents(frame), is_index, array.shape, strict=False):
            if start < 0 or extent < 0 or start + extent > size:
                raise error(
                    "E0707", f"{start}:{start + extent} is outside '{region.buffer.name}', which has {size} elements"
                )
            chosen.append(start if single else slice(start, start + extent))
        return array[tuple(chosen)]

    return part


def array_of(view: View, name: str) -> Array:
    """Return the elements of a buffer; raise E0707 if some are outside of its memory."""
    try:
        return view.as_array()
    except IndexError:
        raise error("E0707", f"'{name}' is larger than its memory") from None


def _check_pure(value: tir.PrimExpr) -> None:
    """Raise E0826 if evaluating `value` could change the run."""
    for call in _calls(value):
        row = INTRINSICS.get(call.op.name) if isinstance(call.op, Op) else None
        name = call.op.name_hint if isinstance(call.op, GlobalVar) else call.op.name.removeprefix("tir.")
        if row is None or row.effect not in ("pure", "annotation", "read") or name in _CALLS_OUT:
            help = "use values and operators only"
            raise error("E0826", f"calling '{name}' could change the run", call.span, help)


def _calls(value: tir.PrimExpr) -> Iterator[tir.Call]:
    return (node for node in walk(value) if isinstance(node, tir.Call))
