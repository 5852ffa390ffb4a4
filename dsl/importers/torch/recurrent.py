"""Rows for recurrent networks: LSTM, GRU and plain ones. The steps of a layer are one loop function, written as text.

gates[t]        what the input of step t contributes, of all steps at once: a product outside of the loop
outputs[t]      the state before step t, so that outputs[t + 1] is the output of step t
cells[t]        the second state of an LSTM
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

from msgspec import Struct

from ....ir import relax
from ....ir.api.relax import op
from ....ir.base import Op
from ....ir.ops import dims as d
from ....ir.ops.inference import tensor_info
from ...load import parse
from ..values import dims_of, dtype_of
from .converter import Convert, Converter
from .library import library


class _Cell(Struct, frozen=True):
    """A kind of recurrent network: the number of its gates, and its step as assignments of an element."""

    name: str
    gates: int
    step: Sequence[tuple[str, str]]
    """The buffers that a step writes, with the value of an element: `x0` is the first gate of the input, `s0` of the state,
    `last` the previous output, `cell` the previous cell state, `next_cell` the new one."""
    has_cells: bool = False


_LSTM = _Cell(
    "lstm",
    4,
    (
        ("cells", "T.sigmoid({x1} + {s1}) * {cell} + T.sigmoid({x0} + {s0}) * T.tanh({x2} + {s2})"),
        ("outputs", "T.sigmoid({x3} + {s3}) * T.tanh({next_cell})"),
    ),
    has_cells=True,
)
_GRU = _Cell(
    "gru",
    3,
    (
        ("update", "T.sigmoid({x1} + {s1})"),
        ("new", "T.tanh({x2} + T.sigmoid({x0} + {s0}) * {s2})"),
        ("outputs", "{update} * {last} + ({one} - {update}) * {new}"),
    ),
)
_TANH = _Cell("rnn_tanh", 1, (("outputs", "T.tanh({x0} + {s0})"),))
_RELU = _Cell("rnn_relu", 1, (("outputs", "T.max({x0} + {s0}, {zero})"),))


class _Layer(Struct):
    """The weights of one direction of a layer."""

    input_weight: relax.Expr
    state_weight: relax.Expr
    input_bias: relax.Expr | None
    state_bias: relax.Expr | None
    projection: relax.Expr | None


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
        self, cell: _Cell, shape: tuple[int | None, int | None, int], output: int, has_projection: bool, dtype: str
    ) -> None:
        """`shape` is that of the gates; a length or a number of sequences that varies is None."""
        length, batch, width = shape
        self._cell, self._dtype, self._has_projection = cell, dtype, has_projection
        self._n, self._b = "n" if length is None else str(length), "b" if batch is None else str(batch)
        self._hidden, self._output = width // cell.gates, output
        self._inside = dtype if dtype in ("float32", "float64") else "float32"

    def text(self) -> str:
        """Return the text of a function of gates, weight, bias, first states, and a projection, that writes the states of
        all steps."""
        cell, hidden, output, gates = self._cell, self._hidden, self._output, self._hidden * self._cell.gates
        after = self._n + " + 1"
        params = {
            "gates": (self._n, self._b, gates),
            "weight": (output, gates),
            "bias": (gates,),
            "start": (self._b, output),
        }
        params |= {"start_cell": (self._b, hidden)} if cell.has_cells else {}
        params |= {"projection": (hidden, output)} if self._has_projection else {}
        params |= {"outputs": (after, self._b, output)}
        params |= {"cells": (after, self._b, hidden)} if cell.has_cells else {}
        lines = [f"T.prim_func(private=True) {cell.name}({', '.join(f'{name}_handle: T.handle' for name in params)}):"]
        lines += ['    T.func_attr({"tir.noalias": True})']
        lines += [f"    {size} = T.int64()" for size in (self._n, self._b) if not size.isdigit()]
        for name, shape in params.items():
            lines.append(f"    {name} = T.match_buffer({name}_handle, {_shown(shape)}, {self._dtype!r})")
        written = [("total", gates), *((name, hidden) for name in self._between())]
        written += [("projected", output)] if self._has_projection else []
        lines += [
            f"    {name} = T.alloc_buffer({_shown((self._n, self._b, width))}, {self._inside!r})"
            for name, width in written
        ]
        first = self._block(_FIRST, "outputs", output, given="start")
        first += self._block(_FIRST, "cells", hidden, given="start_cell") if cell.has_cells else ""
        return "\n".join(lines) + first + f"\n    for t in range({self._n}):" + self._step()

    def _between(self) -> list[str]:
        """Return the names of the values of a step that no later step reads."""
        return [self._target(name) for name, _ in self._cell.step if self._target(name) not in ("outputs", "cells")]

    def _target(self, name: str) -> str:
        return "unprojected" if name == "outputs" and self._has_projection else name

    def _step(self) -> str:
        product = {
            "start": self._up("bias[vj]"),
            "left": self._up("outputs[vt, vi, vk]"),
            "right": self._up("weight[vk, vj]"),
        }
        text = self._block(_PRODUCT, "total", self._hidden * self._cell.gates, inner=self._output, **product)
        for name, value in self._cell.step:
            target = self._target(name)
            is_state = target in ("outputs", "cells")
            kind = "scan" if f"{{{ {'outputs': 'last', 'cells': 'cell'}.get(target, '') }}}" in value else "spatial"
            stored = self._down(value.format(**self._names())) if is_state else value.format(**self._names())
            text += self._block(
                _ELEMENT, target, self._hidden, kind=kind, place="vt + 1" if is_state else "vt", value=stored
            )
        if self._has_projection:
            product = {
                "start": self._number(0),
                "left": "unprojected[vt, vi, vk]",
                "right": self._up("projection[vk, vj]"),
            }
            text += self._block(_PRODUCT, "projected", self._output, inner=self._hidden, **product)
            value = self._down("projected[vt, vi, vj]")
            text += self._block(_ELEMENT, "outputs", self._output, kind="spatial", place="vt + 1", value=value)
        return text

    def _names(self) -> dict[str, str]:
        """Return the texts of what the values of a step read."""
        names = {"one": self._number(1), "zero": self._number(0), "last": self._up("outputs[vt, vi, vj]")}
        names |= {"cell": self._up("cells[vt, vi, vj]"), "next_cell": self._up("cells[vt + 1, vi, vj]")}
        names |= {name: f"{name}[vt, vi, vj]" for name in ("update", "new")}
        for gate in range(self._cell.gates):
            column = f"vj + {gate * self._hidden}" if gate else "vj"
            names |= {f"x{gate}": self._up(f"gates[vt, vi, {column}]"), f"s{gate}": f"total[vt, vi, {column}]"}
        return names

    def _block(self, form: str, name: str, width: int, **parts: Any) -> str:
        return form.format(b=self._b, n=self._n, name=name, width=width, **parts)

    def _number(self, value: int) -> str:
        return f"T.{self._inside}({value})"

    def _up(self, value: str) -> str:
        """Return a value in the dtype of sums."""
        return value if self._inside == self._dtype else f"T.Cast({self._inside!r}, {value})"

    def _down(self, value: str) -> str:
        return value if self._inside == self._dtype else f"T.Cast({self._dtype!r}, {value})"


def _shown(shape: Sequence[object]) -> str:
    return f"({', '.join(map(str, shape))},)"


# --- Calls ----------------------------------------------------------------------------------------------------


def _recurrent(cell: _Cell) -> Convert:
    def convert(c: Converter, a: Any) -> list[Any]:
        x = op.permute_dims(a.input, [1, 0, 2]) if a.batch_first else a.input
        initial: list[relax.Expr] = list(a.hx) if cell.has_cells else [a.hx]
        directions = 2 if a.bidirectional else 1
        weights = list(a.params)
        count = len(weights) // (a.num_layers * directions)
        final: list[list[relax.Expr]] = [[] for _ in initial]
        for layer in range(a.num_layers):
            results: list[relax.Expr] = []
            for direction in range(directions):
                place = layer * directions + direction
                own = _layer(weights[place * count : (place + 1) * count], a.has_biases)
                start = [op.squeeze(op.strided_slice(s, [0], [place], [place + 1]), [0]) for s in initial]
                outputs, last = _run(c, cell, own, x, start, direction == 1)
                results.append(outputs)
                for kind, value in enumerate(last):
                    final[kind].append(value)
            x = results[0] if len(results) == 1 else c.emit(op.concat(results, -1), "_outputs")
        output = op.permute_dims(x, [1, 0, 2]) if a.batch_first else x
        return [output, *(_stacked(values) for values in final)]

    return convert


def _stacked(values: list[relax.Expr]) -> Callable[[], relax.Expr]:
    return lambda: op.stack(values, 0)


def _layer(weights: Sequence[relax.Expr], has_biases: bool) -> _Layer:
    biases = weights[2:4] if has_biases else (None, None)
    rest = weights[4 if has_biases else 2 :]
    return _Layer(weights[0], weights[1], biases[0], biases[1], rest[0] if rest else None)


def _run(
    c: Converter, cell: _Cell, layer: _Layer, x: relax.Expr, start: list[relax.Expr], backwards: bool
) -> tuple[relax.Expr, list[relax.Expr]]:
    """Return the outputs of all steps, (length, batch, width), and the last states."""
    gates = c.emit(_affine(op.flip(x, 0) if backwards else x, layer.input_weight, layer.input_bias), "_gates")
    dims, dtype = dims_of(gates), dtype_of(gates)
    gate_width, width = d.value_of(dims[2]), d.value_of(dims_of(start[0])[1])
    if gate_width is None or width is None:
        raise c.unsupported("has weights whose sizes are not known", "make the sizes of the weights static")
    shape = (d.value_of(dims[0]), d.value_of(dims[1]), gate_width)
    text = _LoopText(cell, shape, width, layer.projection is not None, dtype).text()
    function = c.add_function(parse(text, f"<{cell.name}>")[cell.name], cell.name)
    bias = layer.state_bias or op.zeros((dims[2],), dtype)
    args = [gates, op.permute_dims(layer.state_weight), bias, *start]
    args += [op.permute_dims(layer.projection)] if layer.projection is not None else []
    after = d.add(dims[0], 1)
    infos = tuple(tensor_info((after, *dims_of(value)), dtype) for value in start)
    result = infos[0] if len(infos) == 1 else relax.TupleStructInfo(infos)
    call = relax.Call(Op("relax.call_tir"), (function, relax.Tuple(tuple(args))), {}, (result,))
    made: Any = c.emit(call, "_states")
    states = [c.emit(made[number], "_state") for number in range(len(start))] if len(start) > 1 else [made]
    outputs = op.strided_slice(states[0], [0], [1], [after])
    last = [op.squeeze(op.strided_slice(state, [0], [dims[0]], [after]), [0]) for state in states]
    return c.emit(op.flip(outputs, 0) if backwards else outputs, "_outputs"), last


def _affine(x: relax.Expr, weight: relax.Expr, bias: relax.Expr | None) -> relax.Expr:
    product = op.matmul(x, op.permute_dims(weight))
    return product if bias is None else op.add(product, bias)


ROWS: dict[str, Convert] = {
    "lstm.input": _recurrent(_LSTM),
    "gru.input": _recurrent(_GRU),
    "rnn_tanh.input": _recurrent(_TANH),
    "rnn_relu.input": _recurrent(_RELU),
}


# --- Export ---------------------------------------------------------------------------------------------------


@contextmanager
def sequences_of_any_length() -> Generator[None]:
    """Let torch.export keep recurrent layers whole within a `with`, so that the length of sequences may be dynamic.

    Otherwise torch follows their steps one by one, and fixes the length: "you marked … as dynamic but your code
    specialized it to be a constant".
    """
    operators = [getattr(getattr(library().ops.aten, packet), last) for packet, _, last in _parts(ROWS)]
    kept = [dict(operator.py_kernels) for operator in operators]
    table: dict[Any, Any] = import_module("torch._decomp").decomposition_table
    decompositions = {operator: table[operator] for operator in operators if operator in table}
    try:
        table.update(dict.fromkeys(decompositions, _shapes))
        for operator in operators:
            operator.py_kernels.update(dict.fromkeys(operator.py_kernels, _shapes))
            operator._dispatch_cache.clear()
        yield
    finally:
        table.update(decompositions)
        for operator, kernels in zip(operators, kept, strict=True):
            operator.py_kernels.update(kernels)
            operator._dispatch_cache.clear()


def _parts(names: Iterable[str]) -> list[tuple[str, str, str]]:
    return [name.partition(".") for name in names]


def _shapes(x: Any, states: Any, *rest: Any) -> tuple[Any, ...]:
    """Return tensors with the shapes of the results of a recurrent layer, for arguments in the order of its schema."""
    *_, is_bidirectional, _is_batch_first = rest
    given = cast("Sequence[Any]", states) if isinstance(states, list | tuple) else [states]
    width = given[0].shape[2] * (2 if is_bidirectional else 1)
    return (x.new_empty((*x.shape[:2], width)), *(state.new_empty(state.shape) for state in given))
