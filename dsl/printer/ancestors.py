"""Which part of a program holds all uses of a variable: where it must be declared if no statement defines it."""

from __future__ import annotations

from ...ir import tir
from ...ir.base import Node
from .printer import Frame, Printer


def common_ancestors(root: Node) -> dict[object, tuple[object, ...]]:
    """Return, for each variable and buffer, the nodes that hold all its uses in `root`, outermost first.

    Shared nodes are entered once (TVM: `IRDocsifierNode::SetCommonPrefix`). Iterative.
    """
    found: dict[object, tuple[object, ...]] = {}
    entered: set[int] = set()
    path: list[object] = []
    stack: list[tuple[object, int]] = [(root, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, tuple | list):
            stack.extend((child, depth) for child in reversed(item))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        elif isinstance(item, dict):
            stack.extend((child, depth) for pair in item.items() for child in pair)  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(item, Node):
            del path[depth:]
            if isinstance(item, tir.Var | tir.Buffer):
                found[item] = _common(found[item], path) if item in found else tuple(path)
            if id(item) not in entered:
                entered.add(id(item))
                path.append(item)
                names = type(item).__struct_fields__
                stack.extend(
                    (getattr(item, name), depth + 1) for name in reversed(names) if name not in ("span", "trivia")
                )
    return found


def _common(one: tuple[object, ...], other: list[object]) -> tuple[object, ...]:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a is not b:
            break
        length += 1
    return one[:length]


def uses_under(printer: Printer, node: object) -> tuple[object, ...]:
    """Return the nodes that hold all uses of a variable or buffer, outermost first; () where it is not used."""
    if printer.ancestors is None:
        printer.ancestors = common_ancestors(printer.root) if printer.root is not None else {}
    return printer.ancestors.get(node, ())


def frame_to_declare_in(printer: Printer, node: object) -> Frame:
    """Return the innermost open frame that holds all uses of `node` (TVM: `FindLowestVarDef`)."""
    frames = {id(frame.node): frame for frame in reversed(printer.frames)}
    for ancestor in reversed(uses_under(printer, node)):
        if id(ancestor) in frames:
            return frames[id(ancestor)]
    return printer.frames[0]
