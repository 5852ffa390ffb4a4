"""Traversal and rewriting of programs of any depth; every function is iterative.

The children of a node are the nodes in its fields, except in its span and comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter, is_
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import replace

from . import relax, tir
from .base import Node

_T = TypeVar("_T")

_OUTSIDE = frozenset(("span", "trivia"))
_ATOMS = ("str", "int", "float", "bool", "str | None", "int | None", "ForKind", "BufferType", "IterVarType")
_ENTERED_ONCE = (tir.Buffer, relax.Var)
"""Nodes that are referenced by identity; a traversal enters each of them once."""


@cache
def field_names(kind: type[Node]) -> tuple[str, ...]:
    """Return the fields of a kind of node that belong to the program, in the order of the constructor's parameters."""
    return tuple([name for name in kind.__struct_fields__ if name not in _OUTSIDE])


@cache
def part_names(kind: type[Node]) -> tuple[str, ...]:
    """Return the fields of a kind of node that may hold other nodes, by their annotations."""
    types = field_types(kind)
    return tuple([name for name in field_names(kind) if types[name] not in _ATOMS])


@cache
def field_types(kind: type[Node]) -> dict[str, str]:
    """Return the annotation of each field of a kind of node."""
    bases = [getattr(base, "__annotations__", {}) for base in reversed(kind.__mro__)]
    return {name: text for annotations in bases for name, text in annotations.items()}


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes in the fields of `node`, also those within tuples and dicts (including keys), in order."""
    return _READERS[type(node)](node)


_Reader: TypeAlias = Callable[[Any], tuple[Node, ...]]


def _reader(kind: type[Any]) -> _Reader:
    """Return a function that lists the children of a kind of node, the fastest that the types of its fields allow."""
    names = part_names(kind) if issubclass(kind, Node) else ()
    if not names:
        return _no_children
    get: Callable[[Any], Any] = attrgetter(*names)
    types = field_types(kind)
    shape = "".join([_shape_of(types[name]) for name in names])
    return _SHAPED[shape](get) if shape in _SHAPED else _mixed(get, shape)


def _shape_of(annotation: str) -> str:
    """Return the kind of a field by its annotation: "n" a node, "o" a node or None, "t" a tuple of nodes, "?" otherwise."""
    if all(map(_is_node_type, annotation.split(" | "))):
        return "n"
    if annotation.endswith(" | None") and _is_node_type(annotation.removesuffix(" | None")):
        return "o"
    if annotation.startswith("tuple[") and annotation.endswith(", ...]") and _shape_of(annotation[6:-6]) == "n":
        return "t"
    return "?"


def _all_of(value: Any) -> tuple[Node, ...]:
    """Return the nodes in a value that should be a tuple of nodes."""
    return value if type(value) is tuple else _collected((value,))  # type: ignore[reportUnknownVariableType]


def _of_optional(get: Callable[[Any], Any]) -> _Reader:
    def read(node: Any) -> tuple[Node, ...]:
        value = get(node)
        return () if value is None else (value,)

    return read


def _of_choice(get: Callable[[Any], Any]) -> _Reader:
    def read(node: Any) -> tuple[Node, ...]:
        found = get(node)
        return found[:2] if found[2] is None else found

    return read


def _of_tuple(get: Callable[[Any], Any]) -> _Reader:
    return lambda node: _all_of(get(node))


def _of_load(get: Callable[[Any], Any]) -> _Reader:
    def read(node: Any) -> tuple[Node, ...]:
        buffer, indices, predicate = get(node)
        return (buffer, *_all_of(indices)) if predicate is None else (buffer, *_all_of(indices), predicate)

    return read


def _of_store(get: Callable[[Any], Any]) -> _Reader:
    def read(node: Any) -> tuple[Node, ...]:
        buffer, value, indices, predicate = get(node)
        found = (buffer, value, *_all_of(indices))
        return found if predicate is None else (*found, predicate)

    return read


def _of_call(get: Callable[[Any], Any]) -> _Reader:
    def read(node: Any) -> tuple[Node, ...]:
        op, args, annotations = get(node)
        found = (op, *_all_of(args))
        return (*found, *_collected((annotations,))) if annotations else found

    return read


def _of_loop(get: Callable[[Any], Any]) -> _Reader:
    def read(node: Any) -> tuple[Node, ...]:
        found = get(node)
        return found[:4] if found[4] is None and not found[5] else _collected(found)

    return read


_SHAPED: dict[str, Callable[[Callable[[Any], Any]], _Reader]] = {
    "n": lambda get: lambda node: (get(node),),
    **dict.fromkeys(("nn", "nnn", "nnnn"), lambda get: get),
    "o": _of_optional,
    "t": _of_tuple,
    "nno": _of_choice,
    "nto": _of_load,
    "nnto": _of_store,
    "nt?": _of_call,
    "nnnno?": _of_loop,
}
"""Factories of readers by the kinds of the fields; each takes the getter of the fields."""


def _mixed(get: Callable[[Any], Any], shape: str) -> _Reader:
    def read(node: Any) -> tuple[Node, ...]:
        found: list[Any] = []
        values = get(node) if len(shape) > 1 else (get(node),)
        for how, value in zip(shape, values, strict=True):
            if how == "t":
                found += _all_of(value)
            elif how == "?":
                _collect(value, found)
            elif value is not None or how == "n":
                found.append(value)
        return tuple(found)

    return read


def _no_children(_: Node) -> tuple[Node, ...]:
    return ()


def _is_node_type(name: str) -> bool:
    """Whether a field with this annotation always holds one node."""
    kind = getattr(tir, name.removeprefix("tir."), None) or getattr(relax, name, None)
    return isinstance(kind, type) and issubclass(kind, Node)


class ByKind(dict[Any, _T]):
    """A value for each kind of node, computed on first use."""

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute

    def __missing__(self, kind: type) -> _T:
        self[kind] = found = self._compute(kind)
        return found


_READERS = ByKind(_reader)
_PARTS = ByKind(part_names)
_IS_NODE = ByKind(lambda kind: issubclass(kind, Node))


def _collected(values: Iterable[Any]) -> tuple[Node, ...]:
    """Return the nodes in the values of fields; optimized for nodes, tuples of nodes, and None."""
    found: list[Node] = []
    for value in values:
        if value.__class__ is tuple:
            for element in value:
                if isinstance(element, Node):
                    found.append(element)
                else:
                    _collect(element, found)
        elif isinstance(value, Node):
            found.append(value)
        elif isinstance(value, (tuple, list, dict)):
            _collect(value, found)
    return tuple(found)


def _collect(value: Any, found: list[Node]) -> None:
    if isinstance(value, Node):
        found.append(value)
    elif isinstance(value, (tuple, list)):
        for element in value:  # type: ignore[reportUnknownVariableType]
            _collect(element, found)
    elif isinstance(value, dict):
        for key, element in value.items():  # type: ignore[reportUnknownVariableType]
            _collect(key, found)
            _collect(element, found)


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all its descendants, parents first, at every occurrence.

    A buffer or graph-level variable is entered only at its first occurrence.
    """
    stack: list[Node] = [node]
    entered: set[int] = set()
    readers = _READERS
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _ENTERED_ONCE):
            if id(node) in entered:
                continue
            entered.add(id(node))
        below = readers[node.__class__](node)
        if below:
            stack += below[::-1]


def distinct(node: Node) -> Iterator[Node]:
    """Yield `node` and its descendants, parents first, each object only at its first occurrence.

    Unrolled loops share most of their expressions, so that there are far fewer objects than occurrences.
    """
    stack: list[Node] = [node]
    seen: set[int] = set()
    readers = _READERS
    while stack:
        node = stack.pop()
        number = id(node)
        if number not in seen:
            seen.add(number)
            yield node
            below = readers[node.__class__](node)
            if below:
                stack += below[::-1]


def post_order(node: Node) -> Iterator[Node]:
    """Yield the nodes of `walk`, children first."""
    stack: list[Node] = [node]
    waiting: list[Node | None] = [None]  # the nodes whose children are above them on the stack, innermost last
    entered: set[int] = set()
    readers = _READERS
    while stack:
        node = stack[-1]
        if node is waiting[-1]:
            waiting.pop()
        elif not (isinstance(node, _ENTERED_ONCE) and id(node) in entered):
            below = readers[node.__class__](node)
            if below:
                entered.add(id(node))
                waiting.append(node)
                stack += below[::-1]
                continue
        yield stack.pop()


def rewrite(node: Any, function: Callable[[Any], Node | None]) -> Any:
    """Return `node` with `function` applied to all its descendants and to itself, children first.

    `function` gets a node whose children are already rewritten, and returns its replacement, or None to keep it. Unchanged
    parts are shared with the old program. Each object is rewritten once: all occurrences of a buffer or variable become the
    same new object.
    """
    return _rewrite(node, function, {})


def rewrite_recording(
    node: Any, function: Callable[[Any], Node | None], mapping: Mapping[Any, Node] = {}
) -> tuple[Any, list[tuple[Node, Node]]]:
    """Return the result of `rewrite` after substituting `mapping`, and the pairs of each changed node and its replacement."""
    changed: list[tuple[Node, Node]] = []
    return _rewrite(node, function, {id(old): new for old, new in mapping.items()}, changed), changed


def _rewrite(
    root: Node,
    function: Callable[[Any], Node | None],
    done: dict[int, Node],
    changed: list[tuple[Node, Node]] | None = None,
) -> Node:
    def result_of(child: Node) -> Node:
        return done[id(child)]

    stack: list[tuple[Node, tuple[Node, ...] | None]] = [(root, None)]
    while stack:
        node, below = stack.pop()
        if id(node) in done:
            continue
        if below is None:
            below = children(node)
            stack.append((node, below))
            stack.extend([(child, None) for child in reversed(below) if id(child) not in done])
            continue
        new = node
        if any(done[id(child)] is not child for child in below):
            new = rebuilt(node, result_of)
        result = function(new)
        done[id(node)] = new if result is None else result
        if changed is not None and done[id(node)] is not node:
            changed.append((node, done[id(node)]))
    return done[id(root)]


def rebuilt(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return `node` with `change` applied to each of its children; the same object if nothing changes."""
    changes: dict[str, Any] | None = None
    for name in _PARTS[node.__class__]:
        value = getattr(node, name)
        if value is None:
            continue
        new = change(value) if _IS_NODE[value.__class__] else _changed(value, change)
        if new is not value:
            changes = changes or {}
            changes[name] = new
    return node if changes is None else replace(node, **changes)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the value of a field with `change` applied to its nodes; `value` itself if nothing changes."""
    kind = value.__class__
    if kind is tuple or isinstance(value, (tuple, list)):
        new = [change(element) if _IS_NODE[element.__class__] else _changed(element, change) for element in value]  # type: ignore[reportUnknownVariableType]
        return value if all(map(is_, new, value)) else tuple(new)  # type: ignore[reportUnknownVariableType]
    if _IS_NODE[kind]:
        return change(value)
    if isinstance(value, dict):
        items = {_changed(key, change): _changed(element, change) for key, element in value.items()}  # type: ignore[reportUnknownVariableType]
        same = all(map(is_, items.keys(), value.keys())) and all(map(is_, items.values(), value.values()))  # type: ignore[reportUnknownVariableType]
        return value if same else items  # type: ignore[reportUnknownVariableType]
    return value


def substitute(node: Any, mapping: Mapping[Any, Node]) -> Any:
    """Return `node` with every key of `mapping` (a variable, a buffer, any node) replaced by its value.

    The values are not rewritten. A buffer whose shape mentions a replaced variable becomes a new buffer at all its
    occurrences. Names are compared by identity, so nothing can be captured.
    """
    return _rewrite(node, _leave, {id(old): new for old, new in mapping.items()}) if mapping else node


class Substitution:
    """`substitute` for many nodes that share parts: shared parts are rewritten once.

    The value of a key must be set before the first node that contains the key is rewritten.
    """

    def __init__(self, mapping: Mapping[Any, Node] = {}) -> None:
        self._done: dict[int, Node] = {}
        self._kept: list[Node] = []
        """References to all rewritten nodes: an `id` is unique only while its node lives."""
        for key, value in mapping.items():
            self[key] = value

    def __setitem__(self, key: Node, value: Node) -> None:
        self._kept.append(key)
        self._done[id(key)] = value

    def __call__(self, node: Any) -> Any:
        found = self._done.get(id(node))
        if found is None:
            self._kept.append(node)
            found = _rewrite(node, _leave, self._done)
        return found


def is_larger(node: Node, most: int) -> bool:
    """Whether `node` contains more than `most` nodes, counting every occurrence."""
    stack, count = [node], 0
    while stack and count <= most:
        count += 1
        stack.extend(children(stack.pop()))
    return count > most


def _leave(_: Node) -> None:
    return None
