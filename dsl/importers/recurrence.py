"""Recurrent layers: LSTM, GRU and plain ones. The steps of a layer are one loop function, written as text.

gates[t]        what the input of step t contributes, of all steps at once: a product outside of the loop
outputs[t]      the state before step t, so that outputs[t + 1] is the output of step t
cells[t]        the second state of an LSTM
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...ir import relax
from ...ir.api.relax import op
from ...ir.base import Op
from ...ir.building.values import const
from ...ir.ops import dims as d
from ...ir.ops.inference import tensor_info
from ..load import parse
from .bindings import Bindings
from .values import dims_of, dtype_of


class Cell(Struct, frozen=True):
    """A kind of recurrent network: the number of its gates, and its step as assignments of an element."""

    name: str
    gates: int
    step: Sequence[tuple[str, str]]
    """The buffers that a step writes, with the value of an element: `x0` is the first gate of the input, `s0` of the state,
    `last` the previous output, `cell` the previous cell state, `next_cell` the new one, and other names are buffers of the
    step or vectors."""
    has_cells: bool = False
    vectors: Sequence[str] = ()
    """Names of further weights: one number for each element of the state."""
    inner: str = ""
    """The buffer of the step whose product with the last gate's weight of the state is `inner`; "" if that weight is multiplied
    with the previous output, as are those of the other gates."""


class Layer(Struct):
    """The weights of one direction of a layer: gates by features."""

    input_weight: relax.Expr
    state_weight: relax.Expr
    input_bias: relax.Expr | None
    state_bias: relax.Expr | None
    projection: relax.Expr | None = None
    vectors: Sequence[relax.Expr] = ()


# --- The loop function ----------------------------------------------------------------------------------------

_PRODUCT = """
        for i, k, j in T.grid({b}, {inner}, {width}):
            with T.block("{name}"):
                vt = T.axis.spatial({n}, t)
                vi, vk, vj = T.axis.remap("SRS", [i, k, j])
                with T.init():
                    {name}[vt, vi, vj] = {start}
                {name}[vt, vi, vj] = {name}[vt, vi, vj] + {left} * {right}"""
_ELEMENT = """
        for i, j in T.grid({b}, {width}):
            with T.block("{name}"):
                vt = T.axis.{kind}({n}, t)
                vi, vj = T.axis.remap("SS", [i, j])
                {name}[{place}, vi, vj] = {value}"""
_FIRST = """
    for i, j in T.grid({b}, {width}):
        with T.block("first_{name}"):
            vi, vj = T.axis.remap("SS", [i, j])
            {name}[0, vi, vj] = {given}[vi, vj]"""


class _LoopText:
    """The text of the loop function of one layer."""

    def __init__(
        self,
        cell: Cell,
        shape: tuple[int | None, int | None, int],
        output: int,
        dtype: str,
        *,
        has_projection: bool,
        has_lengths: bool,
    ) -> None:
        """`shape` is that of the gates; a length or a number of sequences that varies is None."""
        length, batch, width = shape
        self._cell, self._dtype, self._has_projection, self._has_lengths = cell, dtype, has_projection, has_lengths
        self._n, self._b = "n" if length is None else str(length), "b" if batch is None else str(batch)
        self._hidden, self._output = width // cell.gates, output
        self._inside = dtype if dtype in ("float32", "float64") else "float32"

    def text(self) -> str:
        """Return the text of a function of gates, weight, bias, first states, projection, vectors, inner weight and bias, and
        lengths, that writes the states of all steps.
        """
        params = self._params()
        lines = [
            f"T.prim_func(private=True) {self._cell.name}({', '.join(f'{name}_handle: T.handle' for name in params)}):"
        ]
        lines += ['    T.func_attr({"tir.noalias": True})']
        lines += [f"    {size} = T.int64()" for size in (self._n, self._b) if not size.isdigit()]
        for name, shape in params.items():
            dtype = "int64" if name == "lengths" else self._dtype
            lines.append(f"    {name} = T.match_buffer({name}_handle, {_shown(shape)}, {dtype!r})")
        lines += [
            f"    {name} = T.alloc_buffer({_shown((self._n, self._b, width))}, {self._inside!r})"
            for name, width in self._between()
        ]
        first = self._block(_FIRST, "outputs", self._output, given="start")
        first += self._block(_FIRST, "cells", self._hidden, given="start_cell") if self._cell.has_cells else ""
        return "\n".join(lines) + first + f"\n    for t in range({self._n}):" + self._step()

    def _params(self) -> dict[str, tuple[object, ...]]:
        """Return the parameters with their shapes."""
        cell, hidden, output, gates = self._cell, self._hidden, self._output, self._hidden * self._cell.gates
        total, after = gates - hidden * bool(cell.inner), self._n + " + 1"
        params: dict[str, tuple[object, ...]] = {"gates": (self._n, self._b, gates), "weight": (output, total)}
        params |= {"bias": (total,), "start": (self._b, output)}
        params |= {"start_cell": (self._b, hidden)} if cell.has_cells else {}
        params |= {"projection": (hidden, output)} if self._has_projection else {}
        params |= dict.fromkeys(cell.vectors, (hidden,))
        params |= {"inner_weight": (hidden, hidden), "inner_bias": (hidden,)} if cell.inner else {}
        params |= {"lengths": (self._b,)} if self._has_lengths else {}
        params |= {"outputs": (after, self._b, output)}
        return params | ({"cells": (after, self._b, hidden)} if cell.has_cells else {})

    def _between(self) -> list[tuple[str, int]]:
        """Return the buffers of values that no later step reads, with their widths."""
        hidden = self._hidden
        total = hidden * (self._cell.gates - bool(self._cell.inner))
        targets = [self._target(name) for name, _ in self._cell.step]
        found = [("total", total), *((name, hidden) for name in targets if name not in ("outputs", "cells"))]
        found += [("inner", hidden)] if self._cell.inner else []
        return found + ([("projected", self._output)] if self._has_projection else [])

    def _target(self, name: str) -> str:
        return "unprojected" if name == "outputs" and self._has_projection else name

    def _step(self) -> str:
        hidden, inner = self._hidden, self._cell.inner
        total = hidden * (self._cell.gates - bool(inner))
        text = self._product("total", total, self._output, "bias[vj]", self._up("outputs[vt, vi, vk]"), "weight")
        for name, value in self._cell.step:
            target = self._target(name)
            text += self._element(target, hidden, value.format(**self._names()))
            if target == inner:
                text += self._product("inner", hidden, hidden, "inner_bias[vj]", f"{inner}[vt, vi, vk]", "inner_weight")
        if self._has_projection:
            text += self._product("projected", self._output, hidden, None, "unprojected[vt, vi, vk]", "projection")
            text += self._element("outputs", self._output, "projected[vt, vi, vj]")
        return text

    def _product(self, name: str, width: int, inner: int, start: str | None, left: str, weight: str) -> str:
        parts = {"start": self._number(0) if start is None else self._up(start), "left": left}
        return self._block(_PRODUCT, name, width, inner=inner, right=self._up(f"{weight}[vk, vj]"), **parts)

    def _element(self, target: str, width: int, value: str) -> str:
        """Return the block that writes an element; steps beyond the length of a sequence keep its state."""
        last = {"outputs": self._names()["last"], "cells": self._names()["cell"]}.get(target)
        if last is None:
            return self._block(_ELEMENT, target, width, kind="spatial", place="vt", value=value)
        if self._has_lengths:
            value = f"T.Select(vt < lengths[vi], {value}, {last})"
        kind = "scan" if last in value else "spatial"
        return self._block(_ELEMENT, target, width, kind=kind, place="vt + 1", value=self._down(value))

    def _names(self) -> dict[str, str]:
        """Return the texts of what the values of a step read."""
        names = {"one": self._number(1), "zero": self._number(0), "last": self._up("outputs[vt, vi, vj]")}
        names |= {"cell": self._up("cells[vt, vi, vj]"), "next_cell": self._up("cells[vt + 1, vi, vj]")}
        names |= {name: f"{name}[vt, vi, vj]" for name, _ in (*self._cell.step, ("inner", ""))}
        names |= {name: self._up(f"{name}[vj]") for name in self._cell.vectors}
        for gate in range(self._cell.gates):
            column = f"vj + {gate * self._hidden}" if gate else "vj"
            names |= {f"x{gate}": self._up(f"gates[vt, vi, {column}]"), f"s{gate}": f"total[vt, vi, {column}]"}
        return names

    def _block(self, form: str, name: str, width: int, **parts: Any) -> str:
        return form.format(b=self._b, n=self._n, name=name, width=width, **parts)

    def _number(self, value: float) -> str:
        return f"T.{self._inside}({value})"

    def _up(self, value: str) -> str:
        """Return a value in the dtype of sums."""
        return value if self._inside == self._dtype else f"T.Cast({self._inside!r}, {value})"

    def _down(self, value: str) -> str:
        return value if self._inside == self._dtype else f"T.Cast({self._dtype!r}, {value})"


def _shown(shape: Sequence[object]) -> str:
    return f"({', '.join(map(str, shape))},)"


# --- Calls ----------------------------------------------------------------------------------------------------


def run_layer(
    c: Bindings,
    cell: Cell,
    layer: Layer,
    x: relax.Expr,
    start: Sequence[relax.Expr],
    *,
    backwards: bool = False,
    lengths: relax.Expr | None = None,
) -> tuple[relax.Expr, list[relax.Expr]]:
    """Return the outputs of all steps, (length, batch, width), and the last states, (batch, width).

    `x` is (length, batch, features). `lengths`, int64 (batch), are the lengths of the sequences: further steps keep the state.
    Sizes of weights and states must be static.
    """
    flipped = _reversed(c, x, lengths) if backwards else x
    gates = c.emit(_affine(flipped, layer.input_weight, layer.input_bias), "_gates")
    dims, dtype, hidden = dims_of(gates), dtype_of(gates), _static(dims_of(start[-1])[1])
    shape = (d.value_of(dims[0]), d.value_of(dims[1]), cell.gates * hidden)
    text = _LoopText(
        cell,
        shape,
        _static(dims_of(start[0])[1]),
        dtype,
        has_projection=layer.projection is not None,
        has_lengths=lengths is not None,
    ).text()
    function = c.add_function(parse(text, f"<{cell.name}>")[cell.name], cell.name)
    after = d.add(dims[0], 1)
    infos = tuple(tensor_info((after, *dims_of(value)), dtype) for value in start)
    result = infos[0] if len(infos) == 1 else relax.TupleStructInfo(infos)
    args = _arguments(cell, layer, gates, start, lengths)
    call = relax.Call(Op("relax.call_tir"), (function, relax.Tuple(tuple(args))), {}, (result,))
    made: Any = c.emit(call, "_states")
    states = [c.emit(made[number], "_state") for number in range(len(start))] if len(start) > 1 else [made]
    outputs = op.strided_slice(states[0], [0], [1], [after])
    last = [op.squeeze(op.strided_slice(state, [0], [dims[0]], [after]), [0]) for state in states]
    return c.emit(_reversed(c, outputs, lengths) if backwards else outputs, "_outputs"), last


def _static(dim: Any) -> int:
    found = d.value_of(dim)
    if found is None:
        raise ValueError("the size of its state is not static")
    return found


def _arguments(
    cell: Cell, layer: Layer, gates: relax.Expr, start: Sequence[relax.Expr], lengths: relax.Expr | None
) -> list[relax.Expr]:
    width = dims_of(layer.state_weight)[0]
    weight, bias = op.permute_dims(layer.state_weight), layer.state_bias or op.zeros((width,), dtype_of(gates))
    inner: list[relax.Expr] = []
    if cell.inner:
        cut = _static(width) // cell.gates * (cell.gates - 1)
        inner = [op.strided_slice(weight, [1], [cut], [width]), op.strided_slice(bias, [0], [cut], [width])]
        weight, bias = op.strided_slice(weight, [1], [0], [cut]), op.strided_slice(bias, [0], [0], [cut])
    projection = [] if layer.projection is None else [op.permute_dims(layer.projection)]
    return [gates, weight, bias, *start, *projection, *layer.vectors, *inner, *([] if lengths is None else [lengths])]


def _affine(x: relax.Expr, weight: relax.Expr, bias: relax.Expr | None) -> relax.Expr:
    product = op.matmul(x, op.permute_dims(weight))
    return product if bias is None else op.add(product, bias)


def _reversed(c: Bindings, x: relax.Expr, lengths: relax.Expr | None) -> relax.Expr:
    """Return sequences from their last element to the first; what follows a sequence stays where it is."""
    if lengths is None:
        return op.flip(x, 0)
    dims = dims_of(x)
    steps = op.reshape(op.arange(relax.PrimValue(dims[0]), dtype="int64"), (dims[0], 1))
    places = op.where(op.less(steps, lengths), op.subtract(op.subtract(lengths, steps), const(1, "int64")), steps)
    whole = op.broadcast_to(op.expand_dims(places, [2]), dims)
    return c.emit(op.gather_elements(x, c.emit(whole, "_places"), 0), "_reversed")
