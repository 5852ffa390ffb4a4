"""Graph-level functions, generated as text: one line per operator, on operands of matching shapes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from hypothesis import strategies as st

from ...ir import relax, tir
from ...ir.diagnostics import error
from ..load import parse
from .choices import Choices
from .graph import DEFAULT, Graph, GraphOptions, Operator, Shape, Value
from .graph_operators import OPERATOR_KINDS, OPERATORS, call, unary
from .options import check_names


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
        operator = call if functions and choose.rarely(4) else choose.pick(operators)
        operator(graph)
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
