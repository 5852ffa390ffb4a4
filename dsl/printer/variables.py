"""Variables of expressions, and the place to declare a variable that no statement defines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from ...ir import tir
from ...ir.base import Node
from ...ir.visit import walk
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


class TreePath(Struct, eq=False):
    """A node other than an expression, and its parent. Nodes are numbered in the order in which they are entered."""

    outer: TreePath | None
    depth: int
    number: int
    last: int = -1
    """The number of the last node below this one."""


class Places(Struct, frozen=True, eq=False):
    """Where the variables and buffers below a node are used. Shared nodes are entered once."""

    common: dict[object, TreePath | None]
    """The innermost place that holds all uses of a variable or buffer."""
    paths: dict[int, TreePath]
    """The places of nodes, by their identity."""

    def holds(self, node: object, used: object) -> bool:
        """Return whether all uses of `used`, a variable or buffer, are below `node`."""
        outer, inner = self.paths.get(id(node)), self.common.get(used)
        return outer is not None and inner is not None and outer.number <= inner.number <= outer.last


def places_in(root: Node | None) -> Places:
    """Return the places in `root` (TVM: `IRDocsifierNode::SetCommonPrefix`). Iterative.

    A node that several places share is entered at the first one; what it uses is used at all of them.
    """
    places = Places({}, {})
    found, entered, shared = places.common, dict[int, TreePath | None](), dict[int, list[Node]]()
    path: list[TreePath] = []
    stack: list[tuple[object, int]] = [(root, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, tuple | list):
            stack.extend((child, depth) for child in reversed(cast("list[object]", item)))
        elif isinstance(item, dict):
            stack.extend((child, depth) for pair in cast("dict[Any, Any]", item).items() for child in pair)
        elif isinstance(item, Node):
            _leave(path, depth, len(places.paths))
            if isinstance(item, tir.Var | tir.Buffer):
                found[item] = _common(found[item], path) if item in found else path[-1] if path else None
            if id(item) in entered:
                if (path[-1] if path else None) is not entered[id(item)]:
                    for used in shared.get(id(item)) or shared.setdefault(id(item), _used_in(item)):
                        found[used] = _common(found.get(used), path)
                continue
            entered[id(item)] = path[-1] if path else None
            if not isinstance(item, tir.PrimExpr | tir.Buffer):
                path.append(TreePath(path[-1] if path else None, depth, len(places.paths)))
                places.paths[id(item)] = path[-1]
            names = item.__struct_fields__
            stack.extend((getattr(item, name), len(path)) for name in reversed(names) if name not in _ASIDE)
    _leave(path, 0, len(places.paths))
    return places


def _used_in(node: Node) -> list[Node]:
    return [item for item in walk(node) if isinstance(item, tir.Var | tir.Buffer)]


def _leave(path: list[TreePath], depth: int, entered: int) -> None:
    """Shorten `path` to `depth` after `entered` nodes."""
    while len(path) > depth:
        path.pop().last = entered - 1


_ASIDE = ("span", "trivia")


def _common(place: TreePath | None, path: list[TreePath]) -> TreePath | None:
    while place is not None and not (place.depth < len(path) and path[place.depth] is place):
        place = place.outer
    return place


def holds_all_uses(printer: Printer, node: object, used: object) -> bool:
    """Return whether all uses of a variable or buffer are below `node`."""
    return _places(printer).holds(node, used)


def frame_to_declare_in(printer: Printer, node: object) -> Frame:
    """Return the innermost open frame that holds all uses of `node` (TVM: `FindLowestVarDef`)."""
    places, frames = _places(printer), printer.frames
    found = next((frame for frame in reversed(frames) if places.holds(frame.node, node)), frames[0])
    return printer.outer_frame if found is frames[-1] else found


def _places(printer: Printer) -> Places:
    if printer.places is None:
        printer.places = places_in(printer.root)
    return printer.places
