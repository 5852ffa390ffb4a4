"""Constructors of nodes for Python programs: they take TVM's arguments and convert Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast

from .. import make, tir
from ..base import Node, RelaxExpr
from ..building.values import plain_nodes
from ..te.expr import operand

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


class Constructor(Generic[Arguments, Made]):
    """A callable that creates nodes; `isinstance(node, constructor)` tests the kind of a node.

    `members` are other members of TVM's class: alternative constructors and constants.
    """

    def __init__(self, make: Callable[Arguments, Made], *kinds: type, **members: Any) -> None:
        self._make = make
        self._kinds = kinds
        self._members = tuple(members)
        self.__doc__ = make.__doc__
        self.__dict__.update(members)

    def __call__(self, *args: Arguments.args, **keywords: Arguments.kwargs) -> Made:
        return self._make(*args, **keywords)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._kinds)

    def __or__(self, other: Any) -> Constructor[..., Any]:
        """Return the union of kinds, for annotations and `isinstance`, as in `relax.Function | IRModule`."""
        kinds = _kinds_of(other)
        return NotImplemented if kinds is None else Constructor(self._make, *self._kinds, *kinds)

    __ror__ = __or__

    @property
    def kinds(self) -> tuple[type, ...]:
        """The kinds of nodes that it creates."""
        return self._kinds

    @property
    def make(self) -> Callable[Arguments, Made]:
        """The function that makes a node."""
        return self._make

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the other members of TVM's class."""
        return self._members

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self!r} has no attribute '{name}'")

    def __repr__(self) -> str:
        return self._kinds[0].__name__


def _kinds_of(value: Any) -> tuple[type, ...] | None:
    if isinstance(value, Constructor):
        return cast("Constructor[..., Any]", value).kinds
    return (type(None) if value is None else value,) if value is None or isinstance(value, type) else None


def constructor(*kinds: type, **members: Any) -> Callable[[Callable[Arguments, Made]], Constructor[Arguments, Made]]:
    """Decorate a function that makes nodes of `kinds`."""
    return lambda make: Constructor(make, *kinds, **members)


def plain_node(value: Any, dtype: str = "int32") -> Any:
    """Return `value` as a field of a node: an axis becomes its variable, a number a constant of `dtype`, a list a tuple,
    an object with `asobject` the node that this returns.
    """
    match value:
        case bool() | int() | float():
            return make.const(value, "bool" if isinstance(value, bool) else getattr(value, "dtype", dtype))
        case tir.IterVar():
            return value.var
        case list() | tuple():
            return tuple(plain_node(item, dtype) for item in cast("Sequence[Any]", value))
        case _:
            return value.asobject() if hasattr(value, "asobject") else value


def node_constructor(kind: type[Node], **converters: Callable[[Any], Any]) -> Constructor[..., Any]:
    """Return the constructor of a kind whose fields are TVM's arguments, in their order.

    `converters` convert arguments by name; the others are converted by `plain_node`. None means the default of a field.
    Raises TypeError if an argument is missing or unknown.
    """
    inherited = ("span", "trivia", "struct_info") if issubclass(kind, RelaxExpr) else ("span", "trivia")
    names = [name for name in kind.__struct_fields__ if name not in inherited]

    def make(*args: Any, **keywords: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{kind.__name__} takes {', '.join(names)}, but {len(args)} arguments are given")
        given = {**dict(zip(names, args, strict=False)), **keywords}
        given.pop("span", None)
        fields = {name: _field(name, value, converters) for name, value in given.items() if value is not None}
        return kind(**fields)

    make.__doc__ = f"{kind.__doc__ or kind.__name__} Its arguments are {', '.join(names)}."
    return Constructor(make, kind)


def _field(name: str, value: Any, converters: Mapping[str, Callable[[Any], Any]]) -> Any:
    if name in converters:
        return converters[name](value)
    return plain_nodes(value) if isinstance(value, dict) else plain_node(value)


def condition(value: Any) -> tir.PrimExpr:
    """Return a condition as a node; it may be a Python bool."""
    return make.cast(operand(value, "bool"), "bool") if isinstance(value, int) else operand(value, "bool")
