"""The gradients that `Gradient` computes agree with finite differences.

Half of the functions are one call, alone, whose elements are weighted at random; the others are several, and end in the sum of
the elements. Along a random direction, it must change at the rate that
the gradients give, within the error of rounding and of the second derivative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from msgspec import Struct

from ....ir import relax
from ....ir.base import IRModule, Source
from ....ir.passes.gradient import gradient
from ...load import parse, parse_source
from ..choices import Choices
from ..data import random_inputs
from ..oracle import Execute
from .law import Law, module_constructs

UNARY = (
    "negative", "exp", "square", "sin", "cos", "tanh", "atan", "sigmoid", "erf", "sinh", "cosh", "abs", "nn.relu", "nn.silu", "nn.gelu",
)  # fmt: skip
POSITIVE = ("log", "sqrt", "rsqrt")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
_STEP, _TOLERANCE, _GREATEST = 1e-6, 1e-5, 1e4


class _Example(Struct, frozen=True):
    module: IRModule
    seed: int


SINGLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    *[(f"R.{name}({{0}})", ("a,b",)) for name in (*UNARY, "tan", "atan", "nn.softplus", "flatten", "nn.leakyrelu")],
    *[(f"R.{name}(R.add(R.square({{0}}), R.const(0.5, 'float64')))", ("a,b",)) for name in POSITIVE],
    *[(f"R.{name}({{0}}, {{1}})", shapes) for name in BINARY[:3] for shapes in (("a,b", "b"), ("a,1", "b"), ("a", "c,a"), ("a,b,c", "b,1"))],
    *[("R.matmul({0}, {1})", shapes) for shapes in (
        ("a,b", "b,c"), ("b", "b,c"), ("a,b", "b"), ("b", "b"), ("b", "3,b,c"), ("2,a,b", "b"), ("2,a,b", "b,c"), ("a,b", "2,b,c"),
        ("2,1,a,b", "3,b,c"), ("2,a,b", "1,b,c"),
    )],
    *[(f"R.{name}({{0}}, axis={axis}, keepdims={keep})", ("a,b,c",)) for name in ("sum", "mean", "max", "min", "variance")
      for axis, keep in (("[1]", "False"), ("[0, 2]", "True"), ("[-1]", "False"), ("None", "False"))],
    *[(f"R.nn.{name}({{0}}, axis={axis})", ("a,b,c",)) for name in ("softmax", "log_softmax") for axis in (-1, 0, 1)],
    *[("R.nn.cross_entropy_with_logits({0}, {1})", (shape, shape)) for shape in ("b", "a,b", "3,b")],
    *[(f"R.nn.nll_loss(R.nn.log_softmax({{0}}, axis=1), R.const([1, 0, 1], 'int64'), R.const([0.5, 2.0], 'float64'), reduction='{reduction}')", ("3,2",))
      for reduction in ("sum", "mean", "none")],
    ("R.cumsum({0}, axis=1)", ("a,b",)), ("R.cumsum({0}, axis=0, exclusive=True)", ("a,b",)), ("R.cumsum({0})", ("a,b",)),
    ("R.permute_dims({0}, axes=[1, 2, 0])", ("a,b,c",)), ("R.permute_dims({0}, axes=[2, 0, 1])", ("a,b,c",)),
    ("R.permute_dims({0})", ("a,b,c",)), ("R.squeeze({0}, axis=[1])", ("a,1,b",)), ("R.expand_dims({0}, axis=[0, -1])", ("a,b",)),
    ("R.concat(({0}, {1}, {0}), axis=1)", ("a,b", "a,c")), ("R.concat(({0}, {1}), axis=-2)", ("a,b", "c,b")),
    ("R.split({0}, [1, 3], axis=1)[1]", ("a,4",)), ("R.split({0}, 2, axis=0)[0]", ("4,b",)), ("R.take({0}, R.const([1, 0, 1], 'int64'), axis=0)", ("2,b",)),
    ("R.take({0}, R.const([[1, 0], [2, 1]], 'int64'), axis=1)", ("a,3",)), ("R.broadcast_to({0}, R.shape([2, 3, 4]))", ("3,1",)),
    ("R.collapse_sum_to({0}, R.shape([3, 1]))", ("2,3,a",)), ("R.collapse_sum_to({0}, R.shape([]))", ("a,b",)),
    ("R.where(R.greater({0}, {1}), {0}, R.square({1}))", ("a,b", "b")), ("R.where(R.greater({0}, {1}), {1}, {0})", ("a,1", "b")),
    ("R.power(R.add(R.square({0}), R.const(0.5, 'float64')), {1})", ("a,b", "b")), ("R.divide({0}, R.add(R.square({1}), R.const(0.5, 'float64')))", ("a,b", "a,1")),
    ("R.nn.softplus({0}, beta=2.0, threshold=1.0)", ("a,b",)), ("R.nn.leakyrelu({0}, -0.5)", ("a,b",)), ("R.reshape({0}, R.shape([-1]))", ("a,b,c",)),
    *[(f"R.nn.conv2d({{0}}, {{1}}, strides={strides}, padding={padding}, dilation={dilation})", ("2,2,5,6", "3,2,2,3"))
      for strides, padding, dilation in (("[1, 1]", "[0, 0, 0, 0]", "[1, 1]"), ("[2, 1]", "[1, 0, 2, 1]", "[1, 2]"), ("[1, 3]", "[0, 2, 1, 0]", "[2, 1]"))],
    *[(f"R.nn.{kind}_pool2d({{0}}, [2, 3], strides={strides}, padding={padding}, count_include_pad={whole}, ceil_mode={ceil})", ("1,2,5,6",))
      for kind in ("avg", "max") for strides, padding in (("[1, 1]", "[0, 0, 0, 0]"), ("[2, 1]", "[1, 0, 1, 1]"))
      for whole in ((False, True) if kind == "avg" else (False,)) for ceil in (False, True)],
)  # fmt: skip
"""Calls with a gradient, alone: their text, and the shapes of their operands, in which a letter is a random size."""


def _single(choose: Choices) -> IRModule:
    """Return a function of one call whose result is weighted by a parameter, so that no partial derivative cancels another."""
    text, operands = choose.pick(SINGLE)
    sizes = {letter: choose.number(1, 4) for letter in "abc"}
    shapes = [tuple([sizes.get(axis) or int(axis) for axis in operand.split(",")]) for operand in operands]
    infos = [f'R.Tensor({_text(shape)}, "float64")' for shape in shapes]
    call = text.format(*[f"x{at}" for at in range(len(shapes))])
    head = ", ".join(f"x{at}: {info}" for at, info in enumerate(infos))
    function = parse(f"R.function f({head}):\n    y = {call}\n    return y\n").functions["f"]
    assert isinstance(function, relax.Function)
    info = function.ret_struct_info
    return parse(
        f'I.ir_module Module:\n    R.function main({head}, u: {info}) -> R.Tensor((), "float64"):\n'
        f"        with R.dataflow():\n            y = {call}\n            weighted = R.multiply(y, u)\n"
        "            total = R.sum(weighted)\n            R.output(total)\n        return total\n"
    )


@st.composite
def _differentiable(draw: st.DrawFn) -> IRModule:
    choose = Choices(draw)
    if choose.number(0, 1):
        return _single(choose)
    rows, columns = choose.number(1, 3), choose.number(1, 4)
    shapes = [(rows, columns), *[choose.pick(((columns,), (rows, 1), (1, columns), (rows, columns))) for _ in range(choose.number(0, 2))]]  # fmt: skip
    head = ", ".join(f'x{at}: R.Tensor({_text(shape)}, "float64")' for at, shape in enumerate(shapes))
    lines, last = list[str](), "x0"
    for at in range(choose.number(1, 4)):
        line = _operation(choose, last, len(shapes), rows, columns)
        last = f"lv{at}"
        lines.append(f"{last} = {line}")
    if choose.rarely(3):
        lines.append(f"last = {_image_operation(choose, last, shapes)}")
        head, last = head + ', w: R.Tensor((1, 1, 2, 2), "float64")', "last"
    reduced = choose.pick(("sum", "mean"))
    lines += [f"total = R.{reduced}({last})", "R.output(total)"]
    body = "".join(f"\n        {line}" for line in lines)
    text = f'R.function main({head}) -> R.Tensor((), "float64"):\n    with R.dataflow():{body}\n    return total\n'
    return parse(f"I.ir_module Module:\n{_indented(text)}")


def _image_operation(choose: Choices, last: str, shapes: Sequence[tuple[int, ...]]) -> str:
    """Choose an operation on a value as an image, which may have another shape."""
    image = f"R.reshape({last}, R.shape([1, 1, {shapes[0][0]}, {shapes[0][1]}]))"
    strides, dilation = ([choose.number(1, 2) for _ in range(2)] for _ in range(2))
    padding = [choose.number(1, 2) for _ in range(4)]
    match choose.number(0, 3):
        case 0 | 1:
            return f"R.nn.conv2d({image}, w, strides={strides}, padding={padding}, dilation={dilation})"
        case 2:
            kind = choose.pick(("avg", "max"))
            return f"R.nn.{kind}_pool2d({image}, [2, 2], strides={strides}, padding=[1, 1, 1, 1])"
        case _:
            return f'R.take({last}, R.const([0, 0, {shapes[0][1] - 1}], "int64"), axis=1)'


def _text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _operation(choose: Choices, last: str, count: int, rows: int, columns: int) -> str:
    """Choose an operation that keeps the shape (rows, columns)."""
    other = f"x{choose.number(0, count - 1)}"
    match choose.number(0, 7):
        case 0 | 1 | 2:
            return f"R.{choose.pick(UNARY)}({last})"
        case 3:
            return f'R.{choose.pick(POSITIVE)}(R.add(R.square({last}), R.const(0.5, "float64")))'
        case 4 | 5:
            name = choose.pick(BINARY)
            right = f'R.add(R.square({other}), R.const(0.5, "float64"))' if name == "divide" else other
            return f"R.{name}({last}, {right})"
        case 6:
            kind = choose.pick(("sum", "mean", "max", "min", "variance"))
            return f"R.subtract({last}, R.{kind}({last}, axis=[{choose.number(0, 1)}], keepdims=True))"
        case _:
            form = choose.pick((
                "R.permute_dims(R.sin(R.permute_dims({0})))", "R.reshape(R.reshape({0}, R.shape([{1}])), R.shape([{2}, {3}]))",
                "R.matmul(R.matmul({0}, R.permute_dims({0})), {0})", "R.nn.softmax({0}, axis=-1)", "R.nn.log_softmax({0}, axis=-1)",
                "R.cumsum({0}, axis=1)", "R.cumsum({0}, axis=0, exclusive=True)", "R.nn.leakyrelu({0}, 0.25)", "R.nn.softplus({0})",
                "R.nn.softplus({0}, beta=2.0)", "R.nn.softplus({0}, beta=0.5, threshold=1.0)", "R.nn.leakyrelu({0}, -0.5)",
                "R.reshape(R.multiply(R.permute_dims(R.reshape({0}, R.shape([{2}, {3}, 1])), axes=[1, 2, 0]), R.reshape(x0, R.shape([{3}, 1, {2}]))), R.shape([{2}, {3}]))",
                "R.concat(R.split({0}, 2, axis=1), axis=1)", "R.power(R.add(R.square({0}), R.const(0.5, 'float64')), R.sin({0}))", "R.where(R.greater({0}, x0), {0}, R.square({0}))",
            ))  # fmt: skip
            return form.format(last, rows * columns, rows, columns)


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    programs = _differentiable() if file is None else st.just(parse_source(file))
    return st.builds(_Example, programs, st.integers(0, 999))


@np.errstate(invalid="ignore")
def _check(example: _Example, execute: Execute) -> None:
    from ....ir.interp import run

    differentiated = gradient(example.module, "main")
    random = np.random.default_rng(example.seed)
    shapes = [np.shape(operand) for operand in random_inputs(example.module.functions["main"], random)]  # type: ignore[arg-type]
    point = [np.asarray(random.uniform(-1.5, 1.5, shape)) for shape in shapes]
    direction = [np.asarray(random.standard_normal(shape)) for shape in shapes]
    value, gradients = run(differentiated, "main_adjoint", point)
    ahead, behind = (
        float(
            run(
                example.module,
                "main",
                [np.asarray(x + sign * _STEP * d) for x, d in zip(point, direction, strict=True)],
            )
        )
        for sign in (1, -1)
    )
    found = float(sum(np.sum(g * d) for g, d in zip(gradients, direction, strict=True)))
    slopes = (ahead - float(value)) / _STEP, (float(value) - behind) / _STEP
    if not np.isfinite([found, *slopes]).all() or max(map(abs, slopes)) > _GREATEST:
        return
    if abs(slopes[0] - slopes[1]) > 1e-3 * max(1.0, abs(slopes[0])):
        return  # the function has a kink in between
    expected = (ahead - behind) / (2 * _STEP)
    allowed = _TOLERANCE * max(1.0, abs(expected), abs(float(value)))
    assert abs(found - expected) <= allowed, f"the gradients say {found:.8g}, finite differences {expected:.8g} (seed {example.seed})"  # fmt: skip


def _constructs(example: _Example) -> Iterable[str]:
    return module_constructs(example.module)


def _read(source: Source) -> Any:
    return _Example(parse_source(source), 0)


LAW = Law(
    _examples, _check, show=lambda example: str(example.module), read=_read, constructs=_constructs,
    expected=frozenset(f"op:relax.{name}" for name in (*UNARY, *POSITIVE, *BINARY, "matmul", "nn.softmax", "sum", "max")),
)  # fmt: skip
