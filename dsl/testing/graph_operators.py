"""Random operators of graph-level functions: each adds a line or a few on values of matching shapes."""

from __future__ import annotations

from .graph import Graph, Operator, Shape, Value
from .operator_calls import NAMES, drawn_call
from .varied_calls import varied_call

SMOOTH = (
    "nn.relu", "negative", "abs", "tanh", "sigmoid", "exp", "nn.gelu", "nn.silu", "sin", "cos", "erf", "atan", "square",
)  # fmt: skip
STEPS = ("floor", "ceil", "round", "trunc", "sign")
"""Discontinuous operators. They are applied to inputs only, whose values are the same in every executor."""


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
    if x.shape and x.shape[0] in (2, 4) and graph.choose.rarely(2):  # a tuple whose elements are known by nothing else
        half = (int(x.shape[0]) // 2, *x.shape[1:])
        swapped = graph.choose.fresh("pair")
        graph.lines.append(f"{name} = R.split({x.name}, 2, axis=0)")
        graph.lines.append(f"{swapped} = ({name}[{place}], {name}[{graph.choose.pick((1 - place, place))}])")
        graph.bind(f"{swapped}[{graph.choose.number(0, 1)}]", half, x.dtype)
        return
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
    x = x if x.dtype == "float32" else graph.parameter((4,), "float32")
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
    name = graph.choose.pick(NAMES)
    found = varied_call(graph.choose, name, graph.exact) if graph.choose.number(0, 3) else None
    found = found or drawn_call(graph.choose, name, graph.exact)
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
