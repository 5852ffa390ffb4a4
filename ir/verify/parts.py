"""The law of nodes: every field of a node, at any depth, holds a value of its declared type.

E0440: a value that is not a node, or a node of another kind, in a field for nodes; a dtype that does not exist; a constant
out of the range of its dtype. Passes would not traverse it, and it cannot be compiled.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from itertools import chain
from typing import Any, SupportsFloat, SupportsIndex, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from .. import relax, tir
from ..base import Node
from ..diagnostics import Diagnostic
from ..dtype import int_range, is_bool, is_dtype, is_float, is_int
from ..visit import part_names

Holds: TypeAlias = Callable[[Any], bool]


_Field: TypeAlias = tuple[str, Holds, set[type], set[type]]
"""A field that may hold nodes: its name, its check, and caches of the types of valid values and of valid tuple elements."""


def check_parts(function: Node, nodes: Sequence[Node]) -> list[Diagnostic]:
    """Check the fields of `function`, and of `nodes`, which are all its descendants."""
    found = _check_values(function, nodes)
    if _are_known((function, *nodes)):
        return found
    near = function
    for node in (function, *nodes):
        near = near if getattr(node, "span", None) is None else node
        for name, holds, known, elements in _fields(type(node)):
            value = getattr(node, name)
            held = cast("type[Any]", type(value))
            if held is tuple:
                if elements.issuperset(map(type, value)):
                    continue
            elif held in known:
                continue
            if not holds(value):
                found.append(_wrong(node, name, value, near))
            elif held is tuple:
                elements.update(type(item) for item in cast("tuple[Any, ...]", value) if isinstance(item, Node))
            elif not issubclass(held, Mapping | list):
                known.add(held)  # type: ignore[reportUnknownArgumentType]
    return found


def _are_known(nodes: Iterable[Node]) -> bool:
    """Return whether all fields hold values of types that were valid before: true for most programs, and fast, as no
    Python function is called per node.
    """
    kinds: dict[type[Node], list[Node]] = {}
    for node in nodes:
        kinds.setdefault(type(node), []).append(node)
    for kind, some in kinds.items():
        for name, _, known, elements in _fields(kind):
            values: list[Any] = [*map(operator.attrgetter(name), some)]
            held = set(map(type, values))
            if tuple in held:
                held.remove(tuple)
                tuples = cast("list[tuple[Any, ...]]", [value for value in values if type(value) is tuple])
                if not elements.issuperset(map(type, chain.from_iterable(tuples))):
                    return False
            if not held <= known:
                return False
    return True


_TYPED = (tir.PrimExpr, tir.Buffer, relax.TensorStructInfo)
_CONSTANTS = (tir.IntImm, tir.FloatImm, tir.StringImm)


def _check_values(function: Node, nodes: Sequence[Any]) -> list[Diagnostic]:
    """Check dtypes, and that constants have values of theirs: each of them once."""
    kinds = {kind for kind in set(map(type, nodes)) if issubclass(kind, _TYPED)}
    dtypes = {node.dtype for node in nodes if type(node) in kinds}
    if all(map(_is_dtype, dtypes)):
        constants: dict[Any, Any] = {
            (type(node.value), node.value, node.dtype): node for node in nodes if type(node) in _CONSTANTS
        }
        if all(map(_is_value, constants.values())):
            return []
    found: list[Diagnostic] = []
    near = function
    for node in nodes:
        near = near if getattr(node, "span", None) is None else node
        if isinstance(node, _TYPED) and not _is_dtype(node.dtype):
            found.append(_unfit(node, "dtype", near, f"{node.dtype!r}, which is not a dtype"))
        elif isinstance(node, _CONSTANTS) and not _is_value(node):
            found.append(_unfit(node, "value", near, f"{node.value!r}, which {node.dtype} does not hold"))
    return found


def _is_dtype(value: object) -> bool:
    return isinstance(value, str) and is_dtype(value)


def _is_value(node: tir.IntImm | tir.FloatImm | tir.StringImm) -> bool:
    """Whether the dtype of a constant holds its value."""
    value: object = node.value
    if isinstance(node, tir.StringImm):
        return isinstance(value, str)
    if isinstance(node, tir.FloatImm):
        return isinstance(value, float | SupportsFloat) and is_float(node.dtype)
    if not isinstance(value, int | SupportsIndex):  # a protocol is slow to check
        return False
    if is_int(node.dtype) or is_bool(node.dtype):
        low, high = int_range(node.dtype)
        return low <= operator.index(value) <= high
    return node.dtype == "handle"


def _unfit(node: Node, name: str, near: Node, what: str) -> Diagnostic:
    return Diagnostic("E0440", f"field '{name}' of a {type(node).__name__} holds {what}", near.span)


def _wrong_parts(value: Any) -> Iterator[Any]:
    """Yield the members of a collection that are neither nodes nor plain data."""
    if isinstance(value, tuple | list):
        yield from (item for item in cast("Sequence[Any]", value) if not isinstance(item, Node))
    elif isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        yield from (entry for entry in (*items, *items.values()) if not _plain(entry))


def _wrong(node: Node, name: str, value: Any, near: Node) -> Diagnostic:
    wrong = next(_wrong_parts(value), value)
    message = f"field '{name}' of a {type(node).__name__} holds {_described(wrong)}"
    help = "build nodes with tvms.ir.make or with operators"
    return Diagnostic("E0440", message, near.span, help)


@cache
def _fields(kind: type) -> tuple[_Field, ...]:
    if not issubclass(kind, Node):  # reported at the field that holds it
        return ()
    hints = get_type_hints(kind)
    found = [(name, _holds(hints[name])) for name in part_names(kind)]
    return tuple([(name, holds, set(), set()) for name, holds in found if holds is not _anything])


def _anything(value: object) -> bool:
    return True


@cache
def _holds(hint: Any) -> Holds:
    """Return whether a value matches an annotation; `Any` and plain types are not checked."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _any_of([_holds(argument) for argument in arguments])
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _tuple_of(_holds(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_of(_holds(arguments[0]), _plain if arguments[1] is Any else _holds(arguments[1]))
    if isinstance(hint, type) and (issubclass(hint, Node) or hint is type(None)):
        return lambda value: isinstance(value, hint)
    if hint in (str, int, float, bool):
        return lambda value: isinstance(value, hint)
    return _anything


def _plain(value: Any) -> bool:
    """Whether a value is a node or plain data, as attributes must be."""
    if isinstance(value, tuple | list):
        return all(map(_plain, value))  # type: ignore[reportUnknownArgumentType]
    if isinstance(value, Mapping):
        return all(_plain(key) and _plain(item) for key, item in value.items())  # type: ignore[reportUnknownVariableType]
    is_array = type(value).__module__.partition(".")[0] in ("numpy", "ml_dtypes")
    return value is None or is_array or isinstance(value, Node | str | bytes | bool | int | float | Enum)


def _any_of(alternatives: list[Holds]) -> Holds:
    return _anything if _anything in alternatives else lambda value: any(holds(value) for holds in alternatives)


def _tuple_of(holds: Holds) -> Holds:
    if holds is _anything:
        return _anything
    return lambda value: isinstance(value, tuple | list) and all(map(holds, value))  # type: ignore[reportUnknownArgumentType]


def _mapping_of(key: Holds, item: Holds) -> Holds:
    return lambda value: isinstance(value, Mapping) and all(key(k) and item(v) for k, v in value.items())  # type: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _described(value: object) -> str:
    kind = type(value)
    if isinstance(value, Node):
        return f"a {kind.__name__}, which does not belong there"
    return f"a value of '{kind.__module__.removeprefix('tvms.')}.{kind.__qualname__}', which is not a node"
