"""Rows for recurrent networks: LSTM, GRU and plain ones."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from ..recurrence import Cell, Layer, run_layer
from ..values import dims_of
from .converter import Convert, Converter
from .library import library

_LSTM = Cell(
    "lstm",
    4,
    (
        ("cells", "T.sigmoid({x1} + {s1}) * {cell} + T.sigmoid({x0} + {s0}) * T.tanh({x2} + {s2})"),
        ("outputs", "T.sigmoid({x3} + {s3}) * T.tanh({next_cell})"),
    ),
    has_cells=True,
)
_GRU = Cell(
    "gru",
    3,
    (
        ("update", "T.sigmoid({x1} + {s1})"),
        ("new", "T.tanh({x2} + T.sigmoid({x0} + {s0}) * {s2})"),
        ("outputs", "{update} * {last} + ({one} - {update}) * {new}"),
    ),
)
_TANH = Cell("rnn_tanh", 1, (("outputs", "T.tanh({x0} + {s0})"),))
_RELU = Cell("rnn_relu", 1, (("outputs", "T.max({x0} + {s0}, {zero})"),))


def _recurrent(cell: Cell) -> Convert:
    def convert(c: Converter, a: Any) -> list[Any]:
        x = op.permute_dims(a.input, [1, 0, 2]) if a.batch_first else a.input
        initial: list[relax.Expr] = list(a.hx) if cell.has_cells else [a.hx]
        directions = 2 if a.bidirectional else 1
        weights = list(a.params)
        if any(d.value_of(dim) is None for given in (*weights, *initial) for dim in dims_of(given)[-1:]):
            raise c.unsupported("has weights of unknown sizes", "make the sizes of the weights static")
        count = len(weights) // (a.num_layers * directions)
        final: list[list[relax.Expr]] = [[] for _ in initial]
        for layer in range(a.num_layers):
            results: list[relax.Expr] = []
            for direction in range(directions):
                place = layer * directions + direction
                own = _layer(weights[place * count : (place + 1) * count], a.has_biases)
                start = [op.squeeze(op.strided_slice(s, [0], [place], [place + 1]), [0]) for s in initial]
                outputs, last = run_layer(c, cell, own, x, start, backwards=direction == 1)
                results.append(outputs)
                for kind, value in enumerate(last):
                    final[kind].append(value)
            x = results[0] if len(results) == 1 else c.emit(op.concat(results, -1), "_outputs")
        output = op.permute_dims(x, [1, 0, 2]) if a.batch_first else x
        return [output, *(_stacked(values) for values in final)]

    return convert


def _stacked(values: list[relax.Expr]) -> Callable[[], relax.Expr]:
    return lambda: op.stack(values, 0)


def _layer(weights: Sequence[relax.Expr], has_biases: bool) -> Layer:
    biases = weights[2:4] if has_biases else (None, None)
    rest = weights[4 if has_biases else 2 :]
    return Layer(weights[0], weights[1], biases[0], biases[1], rest[0] if rest else None)


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
