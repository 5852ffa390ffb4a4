"""Graph-level functions, generated as text: one line per operator, on operands of matching shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from hypothesis import strategies as st
from msgspec import Struct

from ...ir import relax, tir
from ...ir.diagnostics import error
from ..load import parse
from .choices import Choices
from .operator_calls import drawn_call
from .options import check_names

Shape: TypeAlias = tuple[int | str, ...]
"""Sizes of the dimensions. A string names a symbolic size."""

FLOATS = ("float32", "float64", "float16")
SMOOTH = (
    "nn.relu", "negative", "abs", "tanh", "sigmoid", "exp", "nn.gelu", "nn.silu", "sin", "cos", "erf", "atan", "square",
)  # fmt: skip
STEPS = ("floor", "ceil", "round", "trunc", "sign")
"""Discontinuous operators. They are applied to inputs only, whose values are the same in every executor."""


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


class GraphOptions(Struct, frozen=True):
    """Options of graph-level functions."""

    constants: tuple[float, ...] = (2.0, -0.5, 1.0, 0.0, -1.0, 3.0)
    shapes: tuple[Shape, ...] = ()
    """Shapes of new parameters whose rank is open. If empty, they are small and arbitrary."""
    broadcasting: bool | None = None
    """Whether operands of other shapes are broadcast: always if possible, never, or sometimes."""


DEFAULT = GraphOptions()


class Graph:
    """A function under construction."""

    def __init__(self, choose: Choices, functions: Sequence[str] = (), options: GraphOptions = DEFAULT) -> None:
        self.choose, self.options = choose, options
        self.functions = functions
        """Loop-level functions of the module that double a vector of 4 float32."""
        self.callees: list[str] | None = None
        """The texts of the other loop functions that it calls; None if there is no module to hold them."""
        self.params: list[Value] = []
        self.values: list[Value] = []
        self.lines: list[str] = []
        self.is_pure = True
        """Whether no line calls an impure function."""
        self.may_be_dataflow = True
        """Whether all lines are allowed in a dataflow block. Branches are not."""

    def size(self) -> int | str:
        return "n" if self.choose.rarely(5) else 0 if self.choose.rarely(24) else self.choose.number(1, 4)

    def operand(self, wanted: Callable[[Value], bool] = lambda value: True, shape: Shape | None = None) -> Value:
        """Choose a value: an existing one, or a new float parameter of `shape`."""
        known = [v for v in self.values if wanted(v) and shape in (None, v.shape)]
        if known and self.choose.number(0, 4):
            return known[-1 - self.choose.number(0, len(known) - 1)]
        if shape is None and self.options.shapes:
            shape = self.choose.pick(self.options.shapes)
        sizes = tuple([self.size() for _ in range(self.choose.number(1, 3))]) if shape is None else shape
        return self.parameter(sizes, self.choose.pick(("float32", "float32", *FLOATS)))

    def input(self) -> Value:
        """Choose a float parameter. Its elements contain equal numbers and zeros, and have no rounding errors."""
        return self.operand(lambda value: value.is_float and value in self.params)

    def exact(self, shape: Shape, dtype: str) -> str:
        """Choose a parameter of a shape and dtype, existing or new. Return its name."""
        known = [param for param in self.params if (param.shape, param.dtype) == (shape, dtype)]
        return known[-1].name if known and self.choose.number(0, 1) else self.parameter(shape, dtype).name

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
    """Add an element-wise unary operator."""
    if graph.choose.rarely(5):
        x, names = graph.input(), STEPS
    else:
        x, names = graph.operand(lambda value: value.is_float), SMOOTH
    graph.bind(f"R.{graph.choose.pick(names)}({x.name})", x.shape, x.dtype)


def binary(graph: Graph) -> None:
    """Add an element-wise operator on two tensors, or on a tensor and a scalar."""
    x = graph.operand(lambda value: value.dtype != "bool")
    kinds = ("add", "subtract", "multiply", "maximum", "minimum")
    name = graph.choose.pick(kinds)
    if graph.choose.rarely(3) and x.is_float:
        scalar = graph.choose.pick(graph.options.constants)
        graph.bind(f'R.{name}({x.name}, R.const({scalar}, "{x.dtype}"))', x.shape, x.dtype)
        return
    wants = graph.options.broadcasting
    if wants or (wants is None and graph.choose.rarely(3)):
        graph.bind(f"R.{name}({', '.join(broadcast(graph, x))})", x.shape, x.dtype)
        return
    y = graph.operand(lambda value: value.dtype == x.dtype, x.shape)
    if y.dtype == x.dtype:
        graph.bind(f"R.{name}({x.name}, {y.name})", x.shape, x.dtype)


def broadcast(graph: Graph, x: Value) -> tuple[str, str]:
    """Choose an operand that is broadcast to the shape of `x`, a new parameter or a constant. Return both in random order."""
    rank = len(x.shape)
    kept = x.shape[graph.choose.number(0, max(rank - 1, 0)) :]
    shape = tuple([1 if graph.choose.rarely(3) else size for size in kept])
    if len(shape) == 1 and shape[0] in (1, 2, 3) and graph.choose.rarely(2):
        numbers = [graph.choose.pick(graph.options.constants) for _ in range(int(shape[0]))]
        values = numbers if x.is_float else [abs(int(number)) if x.dtype.startswith("u") else int(number) for number in numbers]  # fmt: skip
        other = f'R.const({values}, "{x.dtype}")'
    else:
        other = graph.parameter(shape, x.dtype).name
    return (x.name, other) if graph.choose.number(0, 1) == 0 else (other, x.name)


def integers(graph: Graph) -> None:
    """Add an operator on integers or booleans."""
    sizes = tuple([graph.size() for _ in range(graph.choose.number(1, 2))])
    if graph.choose.rarely(3):
        x, y = (graph.parameter(sizes, "bool") for _ in range(2))
        name = graph.choose.pick(("logical_and", "logical_or", "logical_xor"))
        graph.bind(f"R.{name}({x.name}, R.logical_not({y.name}))", sizes, "bool")
        return
    dtype = graph.choose.pick(("int32", "int64", "int8", "uint8"))
    x = graph.operand(lambda value: value.dtype == dtype, sizes)
    x = x if x.dtype == dtype else graph.parameter(sizes, dtype)
    match graph.choose.number(0, 3):
        case 0:
            name = graph.choose.pick(("floor_divide", "floor_mod", "multiply", "maximum"))
            graph.bind(f'R.{name}({x.name}, R.const({graph.choose.pick((3, 2, 7))}, "{dtype}"))', sizes, dtype)
        case 1:
            name = graph.choose.pick(("bitwise_and", "bitwise_or", "bitwise_xor"))
            other = graph.parameter(sizes, dtype)
            graph.bind(f"R.{name}({x.name}, {other.name})", sizes, dtype)
        case 2:
            graph.bind(f"R.{graph.choose.pick(('abs', 'negative', 'bitwise_not'))}({x.name})", sizes, dtype)
        case _:
            graph.bind(f"R.add({', '.join(broadcast(graph, x))})", sizes, dtype)


def compare(graph: Graph) -> None:
    """Add a comparison with a tensor or a scalar, and a `where` on its result."""
    x = graph.input()
    name = graph.choose.pick(("less", "greater", "equal", "not_equal", "less_equal", "greater_equal"))
    other = f'R.const({graph.choose.pick(("0.5", "0.0", "-1.0"))}, "{x.dtype}")'
    if graph.choose.pick((False, True)):
        other = graph.parameter(x.shape, x.dtype).name
    graph.bind(f"R.{name}({x.name}, {other})", x.shape, "bool")
    graph.bind(f"R.where({graph.values[-1].name}, {x.name}, R.exp({x.name}))", x.shape, x.dtype)


def matmul(graph: Graph) -> None:
    """Add a matrix product with a new parameter."""
    x = graph.operand(lambda value: value.is_float and len(value.shape) >= 2)
    if len(x.shape) < 2:
        return
    columns = graph.choose.number(1, 4)
    w = graph.parameter((x.shape[-1], columns), x.dtype)
    graph.bind(f"R.matmul({x.name}, {w.name})", (*x.shape[:-1], columns), x.dtype)


def reduce(graph: Graph) -> None:
    """Add a reduction over one axis."""
    x = graph.operand(lambda value: value.is_float and len(value.shape) >= 1)
    axis = graph.choose.number(0, len(x.shape) - 1)
    name, keep = graph.choose.pick(("sum", "max", "min", "mean")), graph.choose.pick((False, True))
    shape = (*x.shape[:axis], *((1,) if keep else ()), *x.shape[axis + 1 :])
    if shape:
        graph.bind(f"R.{name}({x.name}, axis=[{axis}], keepdims={keep})", shape, x.dtype)


def arrange(graph: Graph) -> None:
    """Add an operator that reorders, drops or repeats elements."""
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


def normalize(graph: Graph) -> None:
    """Add a softmax."""
    x = graph.operand(lambda value: value.is_float)
    name = graph.choose.pick(("softmax", "log_softmax"))
    graph.bind(f"R.nn.{name}({x.name}, axis=-1)", x.shape, x.dtype)


def pair(graph: Graph) -> None:
    """Add a tuple of one or two values, possibly with its elements in another order, and one of its elements."""
    x, y = graph.operand(), graph.operand()
    name, place = graph.choose.fresh("pair"), graph.choose.number(0, 1)
    if graph.choose.rarely(4):
        graph.lines.append(f"{name} = ({x.name},)")
        graph.bind(f"{name}[0]", x.shape, x.dtype)
        return
    if graph.choose.rarely(3):
        outer = graph.choose.fresh("pair")
        graph.lines.append(f"{outer} = (({x.name}, {y.name}), ({y.name}, {x.name}))")
        graph.lines.append(f"{name} = {outer}[1]")
        place = 1 - place
        graph.bind(f"{name}[{1 - place}]", (x, y)[place].shape, (x, y)[place].dtype)
        return
    graph.lines.append(f"{name} = ({x.name}, {y.name})")
    if graph.choose.rarely(4):
        swapped = graph.choose.fresh("pair")
        graph.lines.append(f"{swapped} = ({name}[1], {name}[0])")
        name, x, y = swapped, y, x
    graph.bind(f"{name}[{place}]", (x, y)[place].shape, (x, y)[place].dtype)


def call(graph: Graph) -> None:
    """Add a call of a loop-level function of the module, or, if there is none, an addition."""
    if not graph.functions:
        binary(graph)
        return
    x = graph.operand(lambda value: value.dtype == "float32", (4,))
    if x.dtype == "float32":
        info = 'R.Tensor((4,), "float32")'
        name = graph.choose.pick(graph.functions)
        graph.bind(f"R.call_tir(cls.{name}, ({x.name},), out_sinfo={info})", (4,), "float32")


def matched(graph: Graph) -> None:
    """Add a check at run time that a value has the shape and dtype that it is known to have."""
    x = graph.operand()
    info = x.struct_info().replace('"n"', "n")
    graph.bind(f"R.match_cast({x.name}, {info})", x.shape, x.dtype)


def listed(graph: Graph) -> None:
    """Add a call of an operator of `operator_calls`, on parameters: some of the operators are discontinuous."""
    found = drawn_call(graph.choose, graph.exact)
    if found is not None:
        graph.bind(*found)


OPERATORS: tuple[Operator, ...] = (
    unary,
    binary,
    matmul,
    reduce,
    arrange,
    compare,
    normalize,
    pair,
    call,
    arrange,
    reduce,
    binary,
    integers,
    matched,
    listed,
    listed,
    listed,
)
OPERATOR_KINDS: dict[str, Operator] = {
    "unary": unary, "binary": binary, "matmul": matmul, "reduce": reduce, "arrange": arrange, "compare": compare,
    "normalize": normalize, "pair": pair, "call": call, "integers": integers, "matched": matched, "listed": listed,
}  # fmt: skip
"""Kinds of operators by name."""


def _sizes(shape: Shape) -> str:
    return ", ".join(map(str, shape))


def graph_text(
    choose: Choices,
    name: str = "main",
    functions: Sequence[str] = (),
    is_private: bool = False,
    operators: Sequence[Operator] = OPERATORS,
    options: GraphOptions = DEFAULT,
    pattern: relax.Function | None = None,
    callees: list[str] | None = None,
) -> str:
    """Generate a function of a few operators as text without indentation. Add the functions that it calls to `callees`."""
    graph = Graph(choose, functions, options)
    graph.callees = callees
    for _ in range(choose.number(0 if pattern else 1, 2 if pattern else 5)):
        choose.pick(operators)(graph)
    kept: list[Value] = []
    if pattern is not None:
        kept.append(_contained(graph, pattern))
        for _ in range(choose.number(0, 3)):
            choose.pick(operators)(graph)
    if not graph.lines:
        unary(graph)
    results = [graph.values[-1], *[value for value in kept if value is not graph.values[-1]]]
    if not functions and not kept and len(graph.values) > 1 and choose.rarely(5):
        results.append(choose.pick(graph.values[:-1]))
    is_dataflow = choose.pick((True, False)) and graph.may_be_dataflow
    infos = [result.struct_info() for result in results]
    info = infos[0] if len(infos) == 1 else f"R.Tuple({', '.join(infos)})"
    symbolic = ["n = T.int64()"] if any("n" in value.shape for value in graph.params) else []
    head = ", ".join(f"{value.name}: {value.struct_info()}" for value in graph.params)
    said = ", ".join([*(["private=True"] if is_private else []), *([] if graph.is_pure else ["pure=False"])])
    lines = [f"R.function{said and f'({said})'} {name}({head}) -> {info}:"]
    lines += [f"    {line}" for line in (*symbolic, *(["cls = Module"] if functions or callees else []))]
    if is_dataflow:
        names = [f"gv{at or ''}" for at in range(len(results))]
        cut = choose.number(0, len(graph.lines)) if choose.rarely(4) else 0
        last = [*graph.lines[cut:], *[f"{name} = {result.name}" for name, result in zip(names, results, strict=True)]]
        is_first = cut > 0 and choose.rarely(2)
        lines += _dataflow(graph.lines[:cut], last) if is_first else _plain(graph.lines[:cut])
        lines += _plain(last) if is_first else _dataflow(last, names)
    else:
        names = [result.name for result in results]
        lines += _plain(graph.lines)
    returned = names[0] if len(names) == 1 else f"({', '.join(names)})"
    lines.append(f"    return {returned}")
    return "\n".join(lines) + "\n"


def _dataflow(lines: Sequence[str], following: Sequence[str]) -> list[str]:
    """Return a dataflow block that outputs the variables which `following` uses, or plain bindings if it uses none."""
    used = {*_NAME.findall("\n".join(following))}
    outputs = [name for line in lines if (name := line.partition(" = ")[0]) in used]
    if not outputs:
        return _plain(lines)
    return ["    with R.dataflow():", *[f"        {line}" for line in lines], f"        R.output({', '.join(outputs)})"]


def _plain(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _contained(graph: Graph, pattern: relax.Function) -> Value:
    """Add the bindings of a function, applied to values of the same struct info or to new parameters. Return its result."""
    names: dict[str, str] = {}
    for param in pattern.params:
        shape, dtype = _tensor(param.struct_info)
        known = [value for value in graph.values if (value.shape, value.dtype) == (shape, dtype)]
        is_known = known and graph.choose.number(0, 2)
        names[param.name_hint] = (graph.choose.pick(known) if is_known else graph.parameter(shape, dtype)).name
    for block in pattern.body.blocks:
        for binding in block.bindings:
            text = _NAME.sub(lambda match: names.get(match[0], match[0]), str(binding.value))
            names[binding.var.name_hint] = graph.choose.fresh("lv")
            graph.lines.append(f"{names[binding.var.name_hint]} = {text}")
    result = Value(names[str(pattern.body.body)], *_tensor(pattern.ret_struct_info))
    graph.values.append(result)
    return result


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def _tensor(info: object) -> tuple[Shape, str]:
    """Return the shape and dtype of a tensor; E0818 if a size is not static."""
    values = (
        info.shape.values
        if isinstance(info, relax.TensorStructInfo) and isinstance(info.shape, relax.ShapeExpr)
        else ()
    )
    sizes = tuple([value.value for value in values if isinstance(value, tir.IntImm)])
    if not isinstance(info, relax.TensorStructInfo) or len(sizes) != len(values) or info.ndim not in (-1, len(sizes)):
        raise error("E0818", "the parameters and the result of a pattern must be tensors of static shape")
    return sizes, info.dtype


def graph_functions(
    operators: Collection[str] | None = None,
    constants: Collection[float] = DEFAULT.constants,
    shapes: Collection[Shape] = (),
    broadcasting: bool | None = None,
    pattern: relax.Function | None = None,
) -> st.SearchStrategy[relax.Function]:
    """Generate functions of one to five operators, usually on small shapes; one dimension may be symbolic.

    `operators` are kinds of operators (`OPERATOR_KINDS` lists all), `constants` are the numbers in the text, `shapes`
    are those of new parameters, in which a string names a symbolic size. `broadcasting` says whether the operands of
    binary operators have different shapes: always, never, or, by default, sometimes. Each function contains the
    bindings of `pattern`, a function of tensors of static sizes, and also returns its result. An unknown name is E0818.
    """
    for info in () if pattern is None else (*[param.struct_info for param in pattern.params], pattern.ret_struct_info):
        _tensor(info)
    names = OPERATOR_KINDS if operators is None else check_names("operator", operators, OPERATOR_KINDS)
    known = OPERATORS if operators is None else tuple(OPERATOR_KINDS[name] for name in names)
    if not constants:
        raise error("E0818", "graph functions need a constant")
    options = GraphOptions(tuple(map(float, constants)), tuple(tuple(shape) for shape in shapes), broadcasting)
    return _graph_functions(known, options, pattern)


@st.composite
def _graph_functions(
    draw: st.DrawFn, operators: Sequence[Operator], options: GraphOptions, pattern: relax.Function | None
) -> relax.Function:
    text = graph_text(Choices(draw), operators=operators, options=options, pattern=pattern)
    function = parse(text).functions["main"]
    assert isinstance(function, relax.Function)
    return function
