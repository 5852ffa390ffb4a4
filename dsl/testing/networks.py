"""Parts of neural networks for random graphs: convolutions, pooling, normalization, branches and inner functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from textwrap import indent

from hypothesis import strategies as st

from ...ir import relax
from ...ir.base import IRModule
from ...ir.programs import as_module
from ..load import parse
from .choices import Choices, drawn
from .graph import Graph, Operator, Value
from .graph_operators import OPERATORS, listed, pair
from .graphs import graph_text
from .overwriting import overwriting


def image(graph: Graph) -> Value:
    """Choose a small batch of images, existing or new."""
    sizes = (1, graph.choose.number(1, 3), graph.choose.number(2, 4), graph.choose.number(2, 4))
    known = [value for value in graph.values if len(value.shape) == 4 and value.is_static and value.dtype == "float32"]
    fitting = [value for value in known if all(isinstance(size, int) and size >= 2 for size in value.shape[2:])]
    return fitting[-1] if fitting and graph.choose.number(0, 3) else graph.parameter(sizes, "float32")


def convolution(graph: Graph) -> None:
    """Add a 2-D convolution that keeps the size."""
    x = image(graph)
    channels, (_, inputs, height, width) = graph.choose.pick((1, 2, 3, 8)), x.shape
    w = graph.parameter((channels, inputs, 3, 3), "float32")
    graph.bind(
        f"R.nn.conv2d({x.name}, {w.name}, padding=[1, 1, 1, 1])", (x.shape[0], channels, height, width), "float32"
    )
    if graph.choose.rarely(2):
        shape = graph.choose.pick(((1, channels, 1, 1), (channels, 1, 1), (width,)))
        bias = graph.parameter(shape, "float32")
        graph.bind(f"R.add({graph.values[-2].name}, {bias.name})", (x.shape[0], channels, height, width), "float32")
    if channels == 8 and graph.choose.rarely(2):
        place = graph.choose.pick((4, 2, 6))
        part = graph.choose.fresh("lv")
        graph.lines.append(f"{part} = R.split({graph.values[-1].name}, [{place}], axis=1)")
        graph.bind(f"{part}[1]", (x.shape[0], 8 - place, height, width), "float32")


def pooling(graph: Graph) -> None:
    """Add a 2-D pooling that keeps the size."""
    x = image(graph)
    kind = graph.choose.pick(("max_pool2d", "avg_pool2d"))
    graph.bind(f"R.nn.{kind}({x.name}, pool_size=[3, 3], padding=[1, 1, 1, 1])", x.shape, "float32")


def batch_norm(graph: Graph, training: bool | None = None) -> None:
    """Add a batch normalization of images, in training or not, and use its result or its moments. The variance is positive."""
    x = image(graph)
    channels = (x.shape[1],)
    gamma, beta, mean, variance = (graph.parameter(channels, "float32") for _ in range(4))
    positive, norm = graph.choose.fresh("lv"), graph.choose.fresh("norm")
    graph.lines.append(f"{positive} = R.exp({variance.name})")
    args = f"{x.name}, {gamma.name}, {beta.name}, {mean.name}, {positive}"
    is_training = graph.choose.pick((False, True)) if training is None else training
    graph.lines.append(f"{norm} = R.nn.batch_norm({args}, axis=1, training={is_training})")
    place = graph.choose.pick((0, 0, 1, 2))
    graph.bind(f"{norm}[{place}]", channels if place else x.shape, "float32")


def layer_norm(graph: Graph) -> None:
    """Add a normalization over the last axis."""
    x = graph.operand(lambda value: value.dtype == "float32" and len(value.shape) >= 1 and value.is_static)
    if x.dtype != "float32" or not x.is_static:
        return
    gamma, beta = graph.parameter(x.shape[-1:], "float32"), graph.parameter(x.shape[-1:], "float32")
    graph.bind(f"R.nn.layer_norm({x.name}, {gamma.name}, {beta.name}, axes=[-1])", x.shape, "float32")


def products(graph: Graph) -> None:
    """Add several matrix products that rewrites can combine or reorder."""
    x = graph.operand(lambda value: value.dtype == "float32" and len(value.shape) == 2 and value.is_static)
    if x.dtype != "float32" or len(x.shape) != 2 or not x.is_static:
        x = graph.parameter((graph.choose.number(1, 4), graph.choose.number(1, 4)), "float32")
    (rows, inner), width = x.shape, graph.choose.number(1, 3)
    a, b = (graph.parameter((inner, width), "float32") for _ in range(2))
    match graph.choose.number(0, 8):
        case 7:
            order, shape = graph.choose.pick(
                (
                    ("[1, 2, 0]", (width, rows, inner)),
                    ("[2, 0, 1]", (inner, width, rows)),
                    ("[0, 2, 1]", (rows, width, inner)),
                )
            )
            batch, weights, turned = (
                graph.parameter((rows, 2, inner), "float32"),
                graph.parameter(shape, "float32"),
                graph.choose.fresh("lv"),
            )
            graph.lines.append(f"{turned} = R.permute_dims({weights.name}, axes={order})")
            graph.bind(f"R.matmul({batch.name}, {turned})", (rows, 2, width), "float32")
        case 8:
            product = graph.choose.fresh("lv")
            graph.lines.append(f"{product} = R.matmul({x.name}, {a.name})")
            name, number = graph.choose.pick((("add", 1e5), ("maximum", 7e4), ("minimum", 65504.0), ("subtract", -1e5)))
            graph.bind(f'R.{name}({product}, R.const({number}, "float32"))', (rows, width), "float32")
        case 6:
            c, d = graph.parameter((2, width), "float32"), graph.parameter((width, inner), "float32")
            product, turned = graph.choose.fresh("lv"), graph.choose.fresh("lv")
            graph.lines += [f"{product} = R.matmul({c.name}, {d.name})", f"{turned} = R.permute_dims({product})"]
            graph.bind(f"R.matmul({x.name}, {turned})", (rows, 2), "float32")
        case 0:
            c = graph.parameter((width, 2), "float32")
            product = graph.choose.fresh("lv")
            graph.lines.append(f"{product} = R.matmul({a.name}, {c.name})")
            graph.bind(f"R.matmul({x.name}, {product})", (rows, 2), "float32")
        case 1:
            c = graph.parameter((width, 2), "float32")
            graph.bind(f"R.matmul({x.name}, {a.name})", (rows, width), "float32")
            graph.bind(f"R.matmul({graph.values[-1].name}, {c.name})", (rows, 2), "float32")
        case 2:
            total = graph.choose.fresh("lv")
            graph.lines.append(f"{total} = R.add({a.name}, {b.name})")
            graph.bind(f"R.matmul({x.name}, {total})", (rows, width), "float32")
        case 3:
            _parallel_products(graph, x, (a, b), (rows, width))
        case 4:
            columns = graph.choose.fresh("lv")
            graph.lines.append(f'{columns} = R.take({a.name}, R.arange(0, {width}, 1, "int64"), axis=1)')
            graph.bind(f"R.matmul({x.name}, {columns})", (rows, width), "float32")
        case _:
            parts = [graph.choose.fresh("lv") for _ in range(2)]
            graph.lines += [f"{part} = R.permute_dims({w.name})" for part, w in zip(parts, (a, b), strict=True)]
            graph.bind(f"R.concat(({', '.join(parts)}), axis=0)", (2 * width, inner), "float32")


def _parallel_products(graph: Graph, x: Value, weights: tuple[Value, Value], shape: tuple[int | str, ...]) -> None:
    """Add two products of `x`, perhaps with an activation each, and their difference. Other values may use the products."""
    for weight in weights:
        graph.bind(f"R.matmul({x.name}, {weight.name})", shape, "float32")
    found = graph.values[-2:]
    if graph.choose.rarely(2):
        name = graph.choose.pick(("nn.relu", "nn.gelu", "nn.silu"))
        for product in found:
            graph.bind(f"R.{name}({product.name})", shape, "float32")
    found += graph.values[-2:]
    first, second = (found[-2], found[-1]) if graph.choose.number(0, 2) else (found[-2], graph.choose.pick(found))
    graph.bind(f"R.subtract({first.name}, {second.name})", shape, "float32")
    if graph.choose.rarely(3):
        graph.bind(f"R.maximum({graph.values[-1].name}, {found[0].name})", shape, "float32")


def _condition(graph: Graph, x: Value) -> str:
    """Return the name of a boolean parameter, or of a comparison of the greatest element."""
    if graph.choose.rarely(2):
        greatest, condition = graph.choose.fresh("lv"), graph.choose.fresh("lv")
        graph.lines += [f"{greatest} = R.max({x.name})", f'{condition} = R.less({greatest}, R.const(0.5, "{x.dtype}"))']
        return condition
    return graph.parameter((), "bool").name


def branch(graph: Graph) -> None:
    """Add a branch with a condition that is a parameter or computed."""
    x = graph.operand(lambda value: value.is_float and value.is_static)
    if not x.is_float or not x.is_static:
        return
    condition, name = _condition(graph, x), graph.choose.fresh("lv")
    inner = graph.choose.fresh("branch")
    graph.lines += [
        f"if {condition}:",
        f"    {inner} = R.negative({x.name})",
        f"    {name} = R.add({inner}, {x.name})",
    ]
    graph.lines += ["else:", f"    {name} = R.multiply({x.name}, {x.name})"]
    graph.values.append(Value(name, x.shape, x.dtype))
    graph.may_be_dataflow = False


def inner_function(graph: Graph) -> None:
    """Add a call of an inner function, which may capture a variable, or be declared as impure."""
    x = graph.operand(lambda value: value.is_float and value.is_static)
    if not x.is_float or not x.is_static:
        return
    name, param, result = graph.choose.fresh("inner"), graph.choose.fresh("p"), graph.choose.fresh("q")
    other = graph.operand(lambda value: value == x, x.shape) if graph.choose.rarely(2) else None
    used = other.name if other is not None and other.dtype == x.dtype else param
    declared = "(pure=False)" if graph.choose.rarely(5) else ""
    graph.is_pure &= not declared
    graph.lines += [
        f"R.function{declared} {name}({param}: {x.struct_info()}) -> {x.struct_info()}:",
        f"    {result} = R.add({param}, {used})",
        f"    return {result}",
    ]
    graph.bind(f"{name}({x.name})", x.shape, x.dtype)
    graph.may_be_dataflow = False


_NETWORKS: tuple[Operator, ...] = (
    convolution, pooling, batch_norm, layer_norm, products, products, products, products, pair, branch, inner_function,
    *[operator for operator in OPERATORS if operator is not listed],
)  # fmt: skip


def network_functions(
    training: bool | None = None, only: Sequence[Operator] | None = None
) -> st.SearchStrategy[relax.Function]:
    """Generate functions of one to five operators, including those of networks.

    `training` says whether batch normalization uses the statistics of its data; None allows both. `only` restricts the
    operators.
    """

    def drawn_function(choose: Choices) -> relax.Function:
        function = parse(graph_text(choose, operators=_operators(training, only))).functions["main"]
        assert isinstance(function, relax.Function)
        return function

    return drawn(drawn_function)


def network_modules(
    training: bool | None = None, only: Sequence[Operator] | None = None, overwrites: bool | None = None
) -> st.SearchStrategy[IRModule]:
    """Generate modules of a function like those of `network_functions`, which also overwrites operands by calls of other
    functions: always, never, or, by default, sometimes.
    """

    def drawn_module(choose: Choices) -> IRModule:
        operators, callees = _operators(training, only), list[str]()
        is_chosen = overwrites is None and choose.rarely(4)
        if (overwrites or is_chosen) and overwriting not in operators:
            operators += (overwriting,) * (len(operators) // 2 + 1)
        text = "\n".join([graph_text(choose, operators=operators, callees=callees), *callees])
        return as_module(parse(f"I.ir_module Module:\n{indent(text, '    ')}" if callees else text))

    return drawn(drawn_module)


def _operators(training: bool | None, only: Sequence[Operator] | None) -> tuple[Operator, ...]:
    return tuple([partial(batch_norm, training=training) if item is batch_norm else item for item in only or _NETWORKS])
