"""Graph-level functions, drawn as text: a line for each operator, on operands whose shapes fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st
from msgspec import Struct

from ...ir import relax
from ..load import parse
from .choices import Choices

Shape: TypeAlias = tuple[int | str, ...]
"""Sizes; a string names one that is known at the call."""

FLOATS = ("float32", "float64", "float16")
SMOOTH = (
    "nn.relu", "negative", "abs", "tanh", "sigmoid", "exp", "nn.gelu", "nn.silu", "sin", "cos", "erf", "atan", "square",
)  # fmt: skip
STEPS = ("floor", "ceil", "round", "trunc", "sign")
"""Operators whose result jumps where the operand hardly changes: for inputs, which all ways of computing have alike."""


class Value(Struct, frozen=True):
    """A variable of the function: its name, shape and dtype."""

    name: str
    shape: Shape
    dtype: str

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_static(self) -> bool:
        return not any(isinstance(size, str) for size in self.shape)

    def struct_info(self) -> str:
        """The struct info of the value as text."""
        sizes = "".join(f'"{size}", ' if isinstance(size, str) else f"{size}, " for size in self.shape)
        return f'R.Tensor(({sizes.rstrip(" ") if len(self.shape) == 1 else sizes.rstrip(", ")}), "{self.dtype}")'


class Graph:
    """A function in the making."""

    def __init__(self, choose: Choices, functions: Sequence[str] = ()) -> None:
        self.choose = choose
        self.functions = functions
        """Loop-level functions of the module that double a vector of 4 float32."""
        self.params: list[Value] = []
        self.values: list[Value] = []
        self.lines: list[str] = []
        self.may_be_dataflow = True
        """Whether all lines may stand in a dataflow block: branches may not."""

    def size(self) -> int | str:
        return "n" if self.choose.rarely(5) else self.choose.number(1, 4)

    def operand(self, wanted: Callable[[Value], bool] = lambda value: True, shape: Shape | None = None) -> Value:
        """Choose a value: one that is there, or a new parameter, a float of `shape`."""
        known = [v for v in self.values if wanted(v) and shape in (None, v.shape)]
        if known and self.choose.number(0, 4):
            return known[-1 - self.choose.number(0, len(known) - 1)]
        sizes = tuple([self.size() for _ in range(self.choose.number(1, 3))]) if shape is None else shape
        return self.parameter(sizes, self.choose.pick(("float32", "float32", *FLOATS)))

    def input(self) -> Value:
        """Choose a float that is a parameter: in it are equal numbers, zeros, and no rounding."""
        return self.operand(lambda value: value.is_float and value in self.params)

    def parameter(self, shape: Shape, dtype: str) -> Value:
        """Return a new parameter."""
        value = Value(self.choose.fresh("x"), shape, dtype)
        self.params.append(value)
        self.values.append(value)
        return value

    def bind(self, expression: str, shape: Shape, dtype: str) -> None:
        """Add a line that binds a new variable."""
        value = Value(self.choose.fresh("lv"), shape, dtype)
        self.values.append(value)
        annotation = f": {value.struct_info()}" if self.choose.rarely() and value.is_static else ""
        self.lines.append(f"{value.name}{annotation} = {expression}")


Operator: TypeAlias = Callable[[Graph], None]


def unary(graph: Graph) -> None:
    """An operator on each element."""
    if graph.choose.rarely(5):
        x, names = graph.input(), STEPS
    else:
        x, names = graph.operand(lambda value: value.is_float), SMOOTH
    graph.bind(f"R.{graph.choose.pick(names)}({x.name})", x.shape, x.dtype)


def binary(graph: Graph) -> None:
    """An operator on the elements of two tensors, or of a tensor and a scalar."""
    x = graph.operand(lambda value: value.dtype != "bool")
    kinds = ("add", "subtract", "multiply", "maximum", "minimum")
    name = graph.choose.pick(kinds)
    if graph.choose.rarely(3) and x.is_float:
        scalar = graph.choose.pick(("2.0", "-0.5", "1.0"))
        graph.bind(f'R.{name}({x.name}, R.const({scalar}, "{x.dtype}"))', x.shape, x.dtype)
        return
    y = graph.operand(lambda value: value.dtype == x.dtype, x.shape)
    if y.dtype == x.dtype:
        graph.bind(f"R.{name}({x.name}, {y.name})", x.shape, x.dtype)


def compare(graph: Graph) -> None:
    """A choice between two tensors by a comparison with a third, or with a scalar."""
    x = graph.input()
    name = graph.choose.pick(("less", "greater", "equal", "not_equal", "less_equal", "greater_equal"))
    other = f'R.const({graph.choose.pick(("0.5", "0.0", "-1.0"))}, "{x.dtype}")'
    if graph.choose.pick((False, True)):
        other = graph.parameter(x.shape, x.dtype).name
    graph.bind(f"R.{name}({x.name}, {other})", x.shape, "bool")
    graph.bind(f"R.where({graph.values[-1].name}, {x.name}, R.exp({x.name}))", x.shape, x.dtype)


def matmul(graph: Graph) -> None:
    """A product with a new matrix."""
    x = graph.operand(lambda value: value.is_float and len(value.shape) >= 2)
    if len(x.shape) < 2:
        return
    columns = graph.choose.number(1, 4)
    w = graph.parameter((x.shape[-1], columns), x.dtype)
    graph.bind(f"R.matmul({x.name}, {w.name})", (*x.shape[:-1], columns), x.dtype)


def reduce(graph: Graph) -> None:
    """A reduction over one axis."""
    x = graph.operand(lambda value: value.is_float and len(value.shape) >= 1)
    axis = graph.choose.number(0, len(x.shape) - 1)
    name, keep = graph.choose.pick(("sum", "max", "min", "mean")), graph.choose.pick((False, True))
    shape = (*x.shape[:axis], *((1,) if keep else ()), *x.shape[axis + 1 :])
    if shape:
        graph.bind(f"R.{name}({x.name}, axis=[{axis}], keepdims={keep})", shape, x.dtype)


def arrange(graph: Graph) -> None:
    """The same elements in another order, or more or fewer of them."""
    x = graph.operand(lambda value: len(value.shape) >= 1)
    rank = len(x.shape)
    match graph.choose.number(0, 5):
        case 0:
            order = graph.choose.pick(([*range(1, rank), 0], [*range(rank)][::-1]))
            graph.bind(f"R.permute_dims({x.name}, axes={order})", tuple(x.shape[axis] for axis in order), x.dtype)
        case 1:
            graph.bind(f"R.expand_dims({x.name}, axis=[0])", (1, *x.shape), x.dtype)
        case 2 if x.is_static:
            count = 1
            for size in x.shape:
                count *= int(size)
            graph.bind(f"R.reshape({x.name}, R.shape([{count}]))", (count,), x.dtype)
        case 3 if isinstance(x.shape[0], int):
            graph.bind(f"R.concat(({x.name}, {x.name}), axis=0)", (2 * x.shape[0], *x.shape[1:]), x.dtype)
        case 4:
            dtype = graph.choose.pick(("float32", "int32", "float64", "float16"))
            graph.bind(f'R.astype({x.name}, dtype="{dtype}")', x.shape, dtype)
        case _:
            graph.bind(f"R.broadcast_to({x.name}, R.shape([{_sizes((2, *x.shape))}]))", (2, *x.shape), x.dtype)


def normalise(graph: Graph) -> None:
    """A softmax."""
    x = graph.operand(lambda value: value.is_float)
    name = graph.choose.pick(("softmax", "log_softmax"))
    graph.bind(f"R.nn.{name}({x.name}, axis=-1)", x.shape, x.dtype)


def pair(graph: Graph) -> None:
    """A tuple, and one of its elements."""
    x, y = graph.operand(), graph.operand()
    name, place = graph.choose.fresh("pair"), graph.choose.number(0, 1)
    graph.lines.append(f"{name} = ({x.name}, {y.name})")
    graph.bind(f"{name}[{place}]", (x, y)[place].shape, (x, y)[place].dtype)


def call(graph: Graph) -> None:
    """A call of a loop-level function of the module, else an addition."""
    if not graph.functions:
        binary(graph)
        return
    x = graph.operand(lambda value: value.dtype == "float32", (4,))
    if x.dtype == "float32":
        info = 'R.Tensor((4,), "float32")'
        name = graph.choose.pick(graph.functions)
        graph.bind(f"R.call_tir(cls.{name}, ({x.name},), out_sinfo={info})", (4,), "float32")


OPERATORS: tuple[Operator, ...] = (
    unary,
    binary,
    matmul,
    reduce,
    arrange,
    compare,
    normalise,
    pair,
    call,
    arrange,
    reduce,
)


def _sizes(shape: Shape) -> str:
    return ", ".join(map(str, shape))


def graph_text(
    choose: Choices,
    name: str = "main",
    functions: Sequence[str] = (),
    is_private: bool = False,
    operators: Sequence[Operator] = OPERATORS,
) -> str:
    """Choose a function of a few operators, as text without indentation."""
    graph = Graph(choose, functions)
    for _ in range(choose.number(1, 5)):
        choose.pick(operators)(graph)
    if not graph.lines:
        unary(graph)
    result, is_dataflow = graph.values[-1], choose.pick((True, False)) and graph.may_be_dataflow
    symbolic = ["n = T.int64()"] if any("n" in value.shape for value in graph.params) else []
    head = ", ".join(f"{value.name}: {value.struct_info()}" for value in graph.params)
    lines = [f"R.function{'(private=True)' if is_private else ''} {name}({head}) -> {result.struct_info()}:"]
    lines += [f"    {line}" for line in (*symbolic, *(["cls = Module"] if functions else []))]
    if is_dataflow:
        lines += ["    with R.dataflow():", *[f"        {line}" for line in graph.lines]]
        lines += [f"        gv = {result.name}", "        R.output(gv)", "    return gv"]
    else:
        lines += [*[f"    {line}" for line in graph.lines], f"    return {result.name}"]
    return "\n".join(lines) + "\n"


@st.composite
def graph_functions(draw: st.DrawFn) -> relax.Function:
    """Functions of one to five operators, mostly on small shapes; one dimension may be known only at the call."""
    function = parse(graph_text(Choices(draw))).functions["main"]
    assert isinstance(function, relax.Function)
    return function
