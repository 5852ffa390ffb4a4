"""Values of a Python program around a definition: modules, functions and objects that its text mentions by name.

They occur only in decorated functions and classes (`tvms.script`), which belong to a Python program. Their attributes are read and
their functions called when the text is read, so that `np.zeros((2, 2))`, `topi.add` and `shape_of(model)` have the meaning that they
have in the program. A text alone has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from msgspec import Struct

from ...ir.base import Attrs
from ...ir.diagnostics import TvmsError
from .. import syntax
from .context import Context
from .convert import is_tuple


class HostValue(Struct, frozen=True, eq=False):
    """A Python object without an equivalent in the language; `convert` returns others as values of the builders."""

    kind: ClassVar[str] = "a Python object"

    value: Any
    convert: Callable[[Any], Any]

    @property
    def name(self) -> str:
        """The name of a function or a module, or the name of the type of another object."""
        return getattr(self.value, "__name__", type(self.value).__name__)


def attribute(context: Context, owner: HostValue, node: syntax.Attribute) -> Any:
    """Return `owner.attr`; raise E0103 if there is no such attribute, or if its name starts with two underscores."""
    missing = f"'{owner.name}' has no attribute '{node.attr}'"
    if node.attr.startswith("__"):
        raise context.error("E0103", missing, node)
    try:
        return owner.convert(getattr(owner.value, node.attr))
    except AttributeError:
        raise context.error("E0103", missing, node) from None


def item(context: Context, owner: HostValue, key: Any, node: syntax.Subscript) -> Any:
    """Return `owner[key]`; raise E0205 if there is no such element."""
    try:
        return owner.convert(owner.value[plain(key)])
    except (TypeError, LookupError) as problem:
        raise context.error("E0205", f"'{owner.name}' has no such element: {problem}", node) from None


def call(
    context: Context, function: HostValue, node: syntax.Call, args: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Return the result of a Python function; raise E0207 if it raises an exception."""
    given = [as_written(value, place) for value, place in zip(args, node.args, strict=True)]
    try:
        return function.convert(function.value(*given, **{name: plain(value) for name, value in named.items()}))
    except TvmsError as problem:
        raise context.report(problem, node) from None
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise context.error("E0207", f"the Python function '{function.name}' raised {reason}", node) from None


def as_written(value: Any, node: syntax.Expr) -> Any:
    """Return an argument as Python has it: a list for one that was written as a list."""
    found = plain(value)
    return list(found) if isinstance(node, syntax.List) and is_tuple(found) else found


def plain(value: Any) -> Any:
    """Return a value with the Python objects in it unwrapped."""
    if isinstance(value, HostValue):
        return value.value
    if is_tuple(value):
        return tuple(plain(element) for element in value)
    if isinstance(value, dict):
        return {key: plain(element) for key, element in cast("Attrs", value).items()}
    return value
