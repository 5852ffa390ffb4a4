"""Rows for recurrent networks: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..recurrence import Cell, Layer, run_layer
from ..values import dims_of, dtype_of
from .converter import Converter
from .rows import Family

ROWS = Family()

_FUNCTIONS: dict[str, tuple[str, float, float]] = {
    "relu": ("T.max({x}, {zero})", 0, 0),
    "tanh": ("T.tanh({x})", 0, 0),
    "sigmoid": ("T.sigmoid({x})", 0, 0),
    "affine": ("({alpha} * {x} + {beta})", 1, 0),
    "leakyrelu": ("T.Select({x} < {zero}, {alpha} * {x}, {x})", 0.01, 0),
    "thresholdedrelu": ("T.Select({x} < {alpha}, {zero}, {x})", 1, 0),
    "scaledtanh": ("({alpha} * T.tanh({beta} * {x}))", 1, 1),
    "hardsigmoid": ("T.min(T.max({alpha} * {x} + {beta}, {zero}), {one})", 0.2, 0.5),
    "elu": ("T.Select({x} < {zero}, {alpha} * (T.exp({x}) - {one}), {x})", 1, 0),
    "softsign": ("({x} / ({one} + T.abs({x})))", 0, 0),
    "softplus": ("(T.max({x}, {zero}) + T.log1p(T.exp({zero} - T.abs({x}))))", 0, 0),
}
"""Activations by name in lower case, with the defaults of alpha and beta."""
_TAKES_ALPHA = {"affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu"}
_TAKES_BETA = {"affine", "scaledtanh", "hardsigmoid"}


def _functions(c: Converter, a: Any, defaults: Sequence[str], direction: int) -> list[str]:
    """Return the activations of one direction as forms of `{x}`; their arguments are clipped."""
    names = [name.lower() for name in a.activations or list(defaults) * 2]
    alphas, betas = list(a.activation_alpha or ()), list(a.activation_beta or ())
    forms: list[str] = []
    for name in names:
        if name not in _FUNCTIONS:
            raise c.unsupported(f"the activation '{name}' is unknown", f"use one of {', '.join(_FUNCTIONS)}")
        form, alpha, beta = _FUNCTIONS[name]
        alpha = alphas.pop(0) if name in _TAKES_ALPHA and alphas else alpha
        beta = betas.pop(0) if name in _TAKES_BETA and betas else beta
        numbers = {"alpha": _number(alpha, a.X), "beta": _number(beta, a.X), "zero": "{zero}", "one": "{one}"}
        forms.append(form.format(x="{x}", **numbers).replace("{x}", _clipped(a)))
    count = len(defaults)
    return forms[direction * count : (direction + 1) * count]


def _number(value: float, like: relax.Expr) -> str:
    return f"T.{'float64' if dtype_of(like) == 'float64' else 'float32'}({float(value)!r})"


def _clipped(a: Any) -> str:
    """Return the form of the argument of an activation."""
    if not a.clip:
        return "({x})"
    low, high = _number(-a.clip, a.X), _number(a.clip, a.X)
    return f"T.max(T.min({{x}}, {high}), {low})"


def _of(form: str, argument: str) -> str:
    return form.replace("{x}", argument)


@ROWS.row("RNN")
def _rnn(c: Converter, a: Any) -> list[Any]:
    def cell(direction: int) -> Cell:
        (f,) = _functions(c, a, ("Tanh",), direction)
        return Cell("rnn", 1, (("outputs", _of(f, "{x0} + {s0}")),))

    return _recurrent(c, a, cell)


@ROWS.row("GRU")
def _gru(c: Converter, a: Any) -> list[Any]:
    """The gates are update, reset and new state."""
    is_reset_after = bool(getattr(a, "linear_before_reset", 0))

    def cell(direction: int) -> Cell:
        f, g = _functions(c, a, ("Sigmoid", "Tanh"), direction)
        first = ("update", _of(f, "{x0} + {s0}"))
        last = ("outputs", "({one} - {update}) * {new} + {update} * {last}")
        if is_reset_after:
            reset = _of(f, "{x1} + {s1}")
            return Cell("gru", 3, (first, ("reset", reset), ("new", _of(g, "{x2} + {reset} * {s2}")), last))
        reset = f"{_of(f, '{x1} + {s1}')} * {{last}}"
        return Cell("gru", 3, (first, ("reset", reset), ("new", _of(g, "{x2} + {inner}")), last), inner="reset")

    return _recurrent(c, a, cell)


@ROWS.row("LSTM")
def _lstm(c: Converter, a: Any) -> list[Any]:
    """The gates are input, output, forget and new cell; peepholes are vectors for input, output and forget."""

    def cell(direction: int) -> Cell:
        f, g, h = _functions(c, a, ("Sigmoid", "Tanh", "Tanh"), direction)
        has_peepholes = a.P is not None
        seen = [f" + {{{name}}} * {state}" if has_peepholes else "" for name, state in _PEEPHOLES.items()]
        forget = "({one} - {admit})" if a.input_forget else "{forget}"
        step = [
            ("admit", _of(f, "{x0} + {s0}" + seen[0])),
            ("forget", _of(f, "{x2} + {s2}" + seen[2])),
            ("cells", f"{forget} * {{cell}} + {{admit}} * {_of(g, '{x3} + {s3}')}"),
            ("outputs", f"{_of(f, '{x1} + {s1}' + seen[1])} * {_of(h, '{next_cell}')}"),
        ]
        step = [item for item in step if item[0] != "forget" or not a.input_forget]
        return Cell("lstm", 4, step, has_cells=True, vectors=tuple(_PEEPHOLES) if has_peepholes else ())

    return _recurrent(c, a, cell)


_PEEPHOLES = {"peep_input": "{cell}", "peep_output": "{next_cell}", "peep_forget": "{cell}"}
"""The vectors of peepholes in the order of the model, with the cell state that each multiplies."""


def _recurrent(c: Converter, a: Any, cell: Any) -> list[Any]:
    """Return the outputs of all steps, (length, directions, batch, width), and the last states, (directions, batch, width)."""
    is_batch_first = bool(getattr(a, "layout", 0))
    x = op.permute_dims(a.X, [1, 0, 2]) if is_batch_first else a.X
    x = c.emit(x, "_input") if isinstance(x, relax.Call) else x
    if any(d.value_of(dim) is None for weight in (a.W, a.R) for dim in dims_of(weight)):
        raise c.unsupported("the sizes of its weights are not known", "make the sizes of the weights static")
    directions, hidden = d.value_of(dims_of(a.W)[0]) or 0, d.value_of(dims_of(a.R)[2]) or 0
    expected = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(a.direction)
    if expected != directions:
        raise ValueError(f"the direction is '{a.direction}', but the weights are for {directions} directions")
    state = (directions, dims_of(x)[1], hidden)
    lengths = None if a.sequence_lens is None else c.cast(a.sequence_lens, "int64")
    starts = [a.initial_h] + ([a.initial_c] if hasattr(a, "initial_c") else [])
    starts = [_start(c, given, state, is_batch_first, x) for given in starts]
    made = [
        run_layer(
            c, cell(place), _layer(c, a, place), x, [_part(c, given, place) for given in starts],
            backwards=a.direction == "reverse" or place == 1, lengths=lengths,
        )
        for place in range(directions)
    ]  # fmt: skip
    outputs = op.stack([_masked(c, y, lengths) for y, _ in made], 1)
    last = [op.stack([states[kind] for _, states in made], 0) for kind in range(len(starts))]
    if is_batch_first:
        return [op.permute_dims(outputs, [2, 0, 1, 3]), *(op.permute_dims(value, [1, 0, 2]) for value in last)]
    return [outputs, *last]


def _start(c: Converter, given: Any, shape: Sequence[Any], is_batch_first: bool, like: relax.Expr) -> relax.Expr:
    """Return the first states, (directions, batch, width); zero if the model does not give them."""
    if given is None:
        return c.emit(op.zeros(c.shape(shape), dtype_of(like)), "_start")
    return c.emit(op.permute_dims(given, [1, 0, 2]), "_start") if is_batch_first else given


def _masked(c: Converter, outputs: relax.Expr, lengths: relax.Expr | None) -> relax.Expr:
    """Return outputs that are zero in the steps beyond the length of a sequence."""
    if lengths is None:
        return outputs
    steps = op.reshape(op.arange(relax.PrimValue(dims_of(outputs)[0]), dtype="int64"), c.shape((-1, 1)))
    return op.where(op.expand_dims(op.less(steps, lengths), [2]), outputs, c.tensor(0, outputs))


def _part(c: Converter, value: relax.Expr, place: int) -> relax.Expr:
    """Return the part of a tensor for one direction."""
    if isinstance(value, relax.Constant):
        return const(value.data[place], dtype_of(value))
    return c.emit(op.squeeze(op.strided_slice(value, [0], [place], [place + 1]), [0]), "_part")


def _layer(c: Converter, a: Any, place: int) -> Layer:
    weights = [_part(c, value, place) for value in (a.W, a.R)]
    bias, gates = None if a.B is None else _part(c, a.B, place), dims_of(weights[0])[0]
    halves: list[Any] = [None, None]
    if bias is not None:
        halves = [_slice(c, bias, half, gates) for half in range(2)]
    given = getattr(a, "P", None)
    peepholes = (
        ()
        if given is None
        else [_slice(c, _part(c, given, place), third, dims_of(weights[1])[1]) for third in range(3)]
    )
    return Layer(*weights, *halves, vectors=peepholes)


def _slice(c: Converter, value: relax.Expr, place: int, width: Any) -> relax.Expr:
    """Return the part `place` of a vector whose parts have `width` elements."""
    start, end = d.multiply(width, place), d.multiply(width, place + 1)
    return c.emit(op.strided_slice(value, [0], [start], [end]), "_part")
