"""Variables of expressions, and the place to declare a variable that no statement defines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from ...ir import tir
from ...ir.base import Node
from .printer import Frame, Printer


def variables_in(value: object) -> Iterator[tir.Var]:
    """Yield the variables of an expression, or of nested tuples of them, once per occurrence. Iterative."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, tir.Var):
            yield item
        elif isinstance(item, tuple):
            stack.extend(cast("tuple[object, ...]", item))
        elif isinstance(item, tir.PrimExpr):
            stack.extend([getattr(item, name) for name in item.__struct_fields__[1:]])


class TreePath(Struct, frozen=True, eq=False):
    """A node other than an expression, and its parent."""

    node: object
    outer: TreePath | None
    depth: int


def common_places(root: Node) -> dict[object, TreePath | None]:
    """Return, for each variable and buffer, the innermost place in `root` that holds all its uses.

    Shared nodes are entered once (TVM: `IRDocsifierNode::SetCommonPrefix`). Iterative.
    """
    found: dict[object, TreePath | None] = {}
    entered: set[int] = set()
    path: list[TreePath] = []
    stack: list[tuple[object, int]] = [(root, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, tuple | list):
            stack.extend((child, depth) for child in reversed(cast("list[object]", item)))
        elif isinstance(item, dict):
            stack.extend((child, depth) for pair in cast("dict[Any, Any]", item).items() for child in pair)
        elif isinstance(item, Node):
            del path[depth:]
            if isinstance(item, tir.Var | tir.Buffer):
                found[item] = _common(found[item], path) if item in found else path[-1] if path else None
            if id(item) in entered:
                continue
            entered.add(id(item))
            if not isinstance(item, tir.PrimExpr | tir.Buffer):
                path.append(TreePath(item, path[-1] if path else None, depth))
            names = item.__struct_fields__
            stack.extend((getattr(item, name), len(path)) for name in reversed(names) if name not in _ASIDE)
    return found


_ASIDE = ("span", "trivia")


def _common(place: TreePath | None, path: list[TreePath]) -> TreePath | None:
    while place is not None and not (place.depth < len(path) and path[place.depth] is place):
        place = place.outer
    return place


def places_of(printer: Printer, node: object) -> Iterator[object]:
    """Yield the nodes that hold all uses of a variable or buffer, innermost first."""
    if printer.places is None:
        printer.places = common_places(printer.root) if printer.root is not None else {}
    place = printer.places.get(node)
    while place is not None:
        yield place.node
        place = place.outer


def frame_to_declare_in(printer: Printer, node: object) -> Frame:
    """Return the innermost open frame that holds all uses of `node` (TVM: `FindLowestVarDef`)."""
    frames = {id(frame.node): frame for frame in reversed(printer.frames)}
    return next((frames[id(place)] for place in places_of(printer, node) if id(place) in frames), printer.frames[0])
