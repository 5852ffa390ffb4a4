"""Pictures of graph functions: a box for every computed value, an arrow for every use."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ...ir import relax
from ...ir.base import GlobalVar, Node, Op, StructInfo
from ...ir.visit import children
from .layout import Layout, place
from .svg import Drawing, box, size_of, text

_KERNEL_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed", "relax.call_pure_packed")


class _Box(Struct, frozen=True):
    kind: str
    lines: tuple[str, ...]
    line: int | None = None


def draw_function(function: relax.Function, line: Callable[[Node], int | None]) -> Drawing:
    """Return the picture of `function`: inputs at the top, results at the bottom. `line` returns the source line of a node."""
    graph = _Graph(line)
    for param in function.params:
        graph.values[param] = (graph.add("input", param.name_hint, param.struct_info, node=param),)
    graph.body(function.body)
    graph.add("output", "return", function.ret_struct_info, graph.sources(function.body.body))
    return _draw(graph.boxes, list(dict.fromkeys(graph.edges)))


class _Graph:
    """Collects boxes, in the order of execution, and the edges between them."""

    def __init__(self, line: Callable[[Node], int | None]) -> None:
        self._line = line
        self.boxes: list[_Box] = []
        self.edges: list[tuple[int, int]] = []
        self.values: dict[Node, tuple[int, ...]] = {}
        """The boxes of a variable: several if it is a tuple."""

    def add(
        self, kind: str, title: str, info: StructInfo | None, sources: tuple[int, ...] = (), node: Node | None = None
    ) -> int:
        """Add a box for `node` that uses `sources`; return its number."""
        self.boxes.append(_Box(kind, (title, *_said(info)), None if node is None else self._line(node)))
        self.edges += [(source, len(self.boxes) - 1) for source in sources]
        return len(self.boxes) - 1

    def body(self, body: relax.SeqExpr) -> None:
        """Add the values that the bindings of a body compute."""
        for block in body.blocks:
            for binding in block.bindings:
                self.values[binding.var] = self._binding(binding)

    def _binding(self, binding: relax.Binding) -> tuple[int, ...]:
        value, info = binding.value, binding.var.struct_info
        match value:
            case relax.Call():
                return (self.add(*_called(value), info, self.sources(value), binding),)
            case relax.If():
                self.body(value.true_branch)
                self.body(value.false_branch)
                parts = (value.cond, value.true_branch.body, value.false_branch.body)
                sources = tuple(source for part in parts for source in self.sources(part))
                return (self.add("choice", "if … else", info, sources, binding),)
            case relax.Function():
                return (self.add("choice", f"function {binding.var.name_hint}", info, self.sources(value), binding),)
            case _:
                return self.sources(value)

    def sources(self, expr: Node) -> tuple[int, ...]:
        """Return the boxes that `expr` uses, each once; add one for a constant."""
        found: dict[int, None] = {}
        stack = [expr]
        while stack:
            node = stack.pop()
            if node in self.values:
                found.update(dict.fromkeys(self.values[node]))
            elif isinstance(node, relax.Constant):
                found[self.add("constant", node.name or "constant", node.struct_info)] = None
            elif not isinstance(node, StructInfo):
                stack += reversed(list(children(node)))
        return tuple(found)


def _called(call: relax.Call) -> tuple[str, str]:
    """Return the kind and the name of a call."""
    target = call.args[0] if isinstance(call.op, Op) and call.op.name in _KERNEL_CALLS else call.op
    match target:
        case GlobalVar(name_hint=name) | relax.ExternFunc(global_symbol=name):
            return "kernel", name
        case Op(name=name):
            return "operator", f"R.{name.removeprefix('relax.')}"
        case relax.Var(name_hint=name):
            return "kernel", name
        case _:
            return "operator", "call"


def _said(info: StructInfo | None) -> tuple[str, ...]:
    """Return lines that describe a value, as `(1, 256) float32`; none if nothing is known."""
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values), dtype=dtype):
            inner = ", ".join(str(getattr(value, "value", value)) for value in values)
            return (f"({inner}{',' if len(values) == 1 else ''}) {dtype}",)
        case relax.TensorStructInfo(dtype=dtype, ndim=ndim):
            return (f"{'any' if ndim < 0 else ndim} dimensions, {dtype}",)
        case relax.TupleStructInfo(fields=fields):
            return tuple(line for field in fields for line in _said(field))
        case _:
            return ()


def _draw(boxes: list[_Box], edges: list[tuple[int, int]]) -> Drawing:
    sizes = {number: size_of(item.lines) for number, item in enumerate(boxes)}
    layout: Layout = place(sizes, edges)
    elements = [f'<path d="{_curve(route)}"/>' for route in layout.routes.values()]
    for number, item in enumerate(boxes):
        (x, y), (width, height) = layout.corners[number], sizes[number]
        elements.append(box(item.kind, x, y, width, height, item.line))
        elements += text(item.lines, x + 8, y + 8)
    return Drawing(layout.width, layout.height, tuple(elements))


def _curve(route: tuple[tuple[float, float], ...]) -> str:
    (x, y), *rest = route
    parts = [f"M{x:g},{y:g}"]
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        parts.append(f"C{x:g},{middle:g} {next_x:g},{middle:g} {next_x:g},{next_y:g}")
        x, y = next_x, next_y
    return " ".join(parts)
