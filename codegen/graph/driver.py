"""Drivers: the steps of a graph function that is machine code, and the loop function that executes them.

    R.function main(x: ("n", 8)):            T.prim_func main(x: (n, 8), workspace, result: (n, 8)):
        y = R.call_tir(Module.dense, …)          Module.dense(x.data, T.address_of(workspace[0]), n)
        if c:                                    if c[0]:
            z = R.call_tir(Module.relu, …)           Module.relu(T.address_of(workspace[0]), result.data, n)
        else:                                    else:
            z = R.call_tir(Module.gelu, …)           Module.gelu(T.address_of(workspace[0]), result.data, n)
        return z

Sizes are 64-bit integers that the driver computes from those of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import GlobalVar, Op, Span
from ...ir.numpy_dtype import numpy_dtype
from ...ir.ops import dims as d
from ..lower.rewriter import sequence
from .tensors import Storage, Tensor, driver_buffer

DISAGREE = "the sizes of values do not agree with their declarations"
"""The message of a failed assertion of a driver. The executor computes the precise one."""


class Invoke(Struct, frozen=True, eq=False):
    """A call of a kernel with tensors and numbers."""

    name: str
    args: tuple[Tensor | tir.PrimExpr, ...]
    span: Span | None


class Choose(Struct, frozen=True, eq=False):
    """A branch on the value of a tensor of one bool."""

    condition: Tensor
    then: Sequence[Step]
    otherwise: Sequence[Step]


class Copy(Struct, frozen=True, eq=False):
    """A copy of all elements of a tensor to one of the same sizes."""

    source: Tensor
    target: Tensor


class Fill(Struct, frozen=True, eq=False):
    """Stores of numbers as the elements of an int64 tensor."""

    target: Tensor
    values: tuple[tir.PrimExpr, ...]


class Expect(Struct, frozen=True, eq=False):
    """A check that the first elements of an int64 tensor are these numbers."""

    source: Tensor
    values: tuple[tir.PrimExpr, ...]
    span: Span | None


Step: TypeAlias = Invoke | Choose | Copy | Fill | Expect
Places: TypeAlias = Mapping[Storage, "tuple[tir.Buffer, tir.PrimExpr]"]
"""The buffer of bytes in which a storage lies, and its offset."""


class PlacedRoom(Struct, frozen=True, eq=False):
    """A part of the workspace with a symbolic size in bytes; the variable `offset` of the driver is its first byte, `start`."""

    offset: tir.Var
    start: tir.PrimExpr
    size: tir.PrimExpr


class DriverWriter:
    """Writes the statements of steps, given where storages lie."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def statements(self, steps: Iterable[Step]) -> tir.Stmt:
        """Return the statement that executes `steps`."""
        return sequence(map(self._statement, steps))

    def _statement(self, step: Step) -> tir.Stmt:
        match step:
            case Invoke(name=name, args=args, span=span):
                given = [self._pointer(arg) if isinstance(arg, Tensor) else arg for arg in args]
                return tir.Evaluate(tir.Call("void", GlobalVar(name), tuple(given), span=span))
            case Choose(condition=condition, then=then, otherwise=otherwise):
                value = self._load(condition, d.dim(0))
                return tir.IfThenElse(value, self.statements(then), self.statements(otherwise))
            case Copy(source=source, target=target):
                index = tir.Var("int64", "i")
                store = self._store(target, index, self._load(source, index))
                return tir.For(index, d.dim(0), d.product(source.shape), tir.ForKind.SERIAL, store)
            case Fill(target=target, values=values):
                return sequence([self._store(target, d.dim(at), value) for at, value in enumerate(values)])
            case Expect(source=source, values=values, span=span):
                pairs = [make.equal(self._load(source, d.dim(at)), value) for at, value in enumerate(values)]
                return sequence([_assertion(condition, DISAGREE, span) for condition in pairs])

    def _pointer(self, tensor: Tensor) -> tir.PrimExpr:
        if tensor.storage.buffer is not None:
            return tensor.storage.buffer.data
        room, offset = self._places[tensor.storage]
        element = tir.BufferLoad("uint8", room, (d.add(offset, tensor.offset),))
        return tir.Call("handle", Op("tir.address_of"), (element,))

    def _load(self, tensor: Tensor, index: tir.PrimExpr) -> tir.PrimExpr:
        view, start = self._elements(tensor)
        return tir.BufferLoad(view.dtype, view, (d.add(start, index),))

    def _store(self, tensor: Tensor, index: tir.PrimExpr, value: tir.PrimExpr) -> tir.Stmt:
        view, start = self._elements(tensor)
        return tir.BufferStore(view, value, (d.add(start, index),))

    def _elements(self, tensor: Tensor) -> tuple[tir.Buffer, tir.PrimExpr]:
        """Return a flat view of the memory that holds `tensor`, and the index of its first element."""
        room, offset = self._places.get(tensor.storage, (tensor.storage.buffer, d.dim(0)))
        assert room is not None
        start = d.floordiv(d.add(offset, tensor.offset), numpy_dtype(tensor.dtype).itemsize)
        view = driver_buffer(room.name, (d.add(start, d.product(tensor.shape)),), tensor.dtype)
        return replace(view, data=room.data), start


def _assertion(condition: tir.PrimExpr, message: str, span: Span | None = None) -> tir.Stmt:
    empty = tir.Evaluate(tir.IntImm("int32", 0))
    return tir.AssertStmt(condition, tir.StringImm("handle", message), empty, span=span)


def write_driver(
    params: Sequence[tir.Buffer],
    steps: Iterable[Step],
    places: Places,
    workspace: tir.Buffer,
    rooms: Sequence[PlacedRoom],
) -> tir.PrimFunc:
    """Return the driver that executes `steps`; `rooms` are the parts of the workspace with symbolic sizes, in order."""
    body = DriverWriter(places).statements(steps)
    if rooms:
        (given,) = workspace.shape
        is_enough = make.less_equal(d.add(rooms[-1].offset, rooms[-1].size), given)
        body = sequence([_assertion(is_enough, "the workspace is too small"), body])
    for room in reversed(rooms):
        body = tir.LetStmt(room.offset, room.start, body)
    handles = {tir.Var("handle", f"{buffer.name}_handle"): buffer for buffer in params}
    return tir.PrimFunc(tuple(handles), body, buffer_map=handles, attrs={"tir.noalias": tir.IntImm("bool", 1)})
