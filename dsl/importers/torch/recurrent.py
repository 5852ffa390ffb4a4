"""Rows for recurrent networks: LSTM, GRU and plain ones, with their steps unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from .converter import Convert, Converter, dims_of
from .elementwise import number

Step = Callable[[relax.Expr, relax.Expr, list[relax.Expr]], list[relax.Expr]]
"""Computes the next state from the gates of the input, the gates of the state, and the state."""


class _Layer(Struct):
    """The weights of one direction of a layer."""

    input_weight: relax.Expr
    state_weight: relax.Expr
    input_bias: relax.Expr | None
    state_bias: relax.Expr | None
    projection: relax.Expr | None


def _lstm_step(inputs: relax.Expr, states: relax.Expr, state: list[relax.Expr]) -> list[relax.Expr]:
    gates: Any = op.split(op.add(inputs, states), 4, -1)
    cell = op.add(op.multiply(op.sigmoid(gates[1]), state[1]), op.multiply(op.sigmoid(gates[0]), op.tanh(gates[2])))
    return [op.multiply(op.sigmoid(gates[3]), op.tanh(cell)), cell]


def _gru_step(inputs: relax.Expr, states: relax.Expr, state: list[relax.Expr]) -> list[relax.Expr]:
    of_input: Any = op.split(inputs, 3, -1)
    of_state: Any = op.split(states, 3, -1)
    reset = op.sigmoid(op.add(of_input[0], of_state[0]))
    update = op.sigmoid(op.add(of_input[1], of_state[1]))
    new = op.tanh(op.add(of_input[2], op.multiply(reset, of_state[2])))
    return [op.add(op.multiply(update, state[0]), op.multiply(op.subtract(number(1, update), update), new))]


def _plain_step(activation: Callable[[relax.Expr], relax.Expr]) -> Step:
    return lambda inputs, states, state: [activation(op.add(inputs, states))]


def _recurrent(step: Step, states: int, per_layer: int) -> Convert:
    def convert(c: Converter, a: Any) -> list[Any]:
        x = op.permute_dims(a.input, [1, 0, 2]) if a.batch_first else a.input
        initial: list[relax.Expr] = list(a.hx) if states == 2 else [a.hx]
        directions = 2 if a.bidirectional else 1
        weights = list(a.params)
        count = per_layer if a.has_biases else 2
        count += 1 if states == 2 and len(weights) == a.num_layers * directions * (count + 1) else 0
        final: list[list[relax.Expr]] = [[] for _ in range(states)]
        for layer in range(a.num_layers):
            results: list[relax.Expr] = []
            for direction in range(directions):
                place = layer * directions + direction
                own = _layer(weights[place * count : (place + 1) * count], a.has_biases)
                start = [op.squeeze(op.strided_slice(s, [0], [place], [place + 1]), [0]) for s in initial]
                outputs, last = _run(c, step, own, x, start, direction == 1)
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
    c: Converter, step: Step, layer: _Layer, x: relax.Expr, start: list[relax.Expr], backwards: bool
) -> tuple[relax.Expr, list[relax.Expr]]:
    """Return the outputs of all steps, (length, batch, width), and the last state."""
    length = d.value_of(dims_of(x)[0])
    if length is None:
        raise c.unsupported("runs over a sequence whose length is not known", "make the length static")
    gates = c.emit(_affine(x, layer.input_weight, layer.input_bias), "_gates")
    weight = c.emit(op.permute_dims(layer.state_weight), "_state_weight")
    steps: Any = c.emit(op.split(gates, length, 0), "_steps") if length > 1 else [gates]
    state: list[relax.Expr] = [c.emit(part, "_state") for part in start]
    outputs: dict[int, relax.Expr] = {}
    for time in reversed(range(length)) if backwards else range(length):
        inputs = op.squeeze(steps[time], [0])
        states = op.matmul(state[0], weight)
        if layer.state_bias is not None:
            states = op.add(states, layer.state_bias)
        made = step(c.emit(inputs, "_inputs"), c.emit(states, "_states"), state)
        state = [c.emit(part, "_state") for part in made]
        if layer.projection is not None:
            state[0] = c.emit(op.matmul(state[0], op.permute_dims(layer.projection)), "_state")
        outputs[time] = state[0]
    return c.emit(op.stack([outputs[time] for time in range(length)], 0), "_outputs"), state


def _affine(x: relax.Expr, weight: relax.Expr, bias: relax.Expr | None) -> relax.Expr:
    product = op.matmul(x, op.permute_dims(weight))
    return product if bias is None else op.add(product, bias)


ROWS: dict[str, Convert] = {
    "lstm.input": _recurrent(_lstm_step, 2, 4),
    "gru.input": _recurrent(_gru_step, 1, 4),
    "rnn_tanh.input": _recurrent(_plain_step(lambda x: op.tanh(x)), 1, 4),
    "rnn_relu.input": _recurrent(_plain_step(lambda x: op.nn.relu(x)), 1, 4),
}
