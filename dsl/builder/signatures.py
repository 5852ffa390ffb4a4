"""Symbolic dimensions that a signature introduces: expressions in strings, `TypeVar`s, and names in brackets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Source
from ...ir.dtype import is_dtype
from .. import syntax
from ..parser import parse_syntax
from .context import Context
from .convert import is_tuple

_HELP = 'write the name of a dimension, such as "n", or an expression of names, such as "n * 2"'


def type_variable(node: syntax.Stmt) -> str | None:
    """Return the name that a statement `n = TypeVar("n")` of a file declares; None for any other statement."""
    match node:
        case syntax.Assign(target=syntax.Name(id=name), value=syntax.Call(func=syntax.Name(id="TypeVar"))):
            return name
        case _:
            return None


def type_variables(context: Context, definition: syntax.Definition) -> dict[str, tir.Var]:
    """Return the dimensions, by name, that `TypeVar`s above a definition and the brackets in its head declare."""
    taken = {param.name for param in definition.params or ()}
    found = {name: tir.Var("int64", name) for name in context.type_variables if name not in taken}
    for param in definition.type_params:
        found[param.name] = tir.Var("int64", param.name, span=context.span(param))
    return found


def check_no_value(context: Context, param: syntax.Param) -> None:
    """Raise E0013 if a parameter of a function has a default: only those of a schedule may."""
    if param.default is not None:
        message = "parameters cannot have default values"
        raise context.error("E0013", message, param, "pass the value in every call")


def check_private(context: Context, definition: syntax.Definition) -> None:
    """Report E0209 for a private function with a global_symbol."""
    name = syntax.Name(definition.name, start=definition.name_start, end=definition.name_end)
    message = f"private function '{definition.name}' has a global_symbol"
    context.error("E0209", message, name, "remove private=True, or the attribute")


def quoted(context: Context, text: str, node: syntax.Expr) -> syntax.Expr:
    """Return the expression in a string, with the span of the string `node`; raise E0321 if it is not an expression."""
    if text.isidentifier():
        return syntax.Name(text, start=node.start, end=node.end)
    file, diagnostics = parse_syntax(Source(context.source.name, text))
    match file.body:
        case (syntax.ExprStmt(value=value),) if not diagnostics:
            return _placed(value, node)
        case _:
            raise context.error("E0321", f"'{text}' is not an expression", node, _HELP)


def _placed(part: Any, node: syntax.Expr) -> Any:
    """Return `part` of a syntax tree with all its nodes moved to the span of `node`."""
    if is_tuple(part):
        return tuple(_placed(item, node) for item in part)
    if not isinstance(part, syntax.Syntax):
        return part
    fields = {name: _placed(getattr(part, name), node) for name in part.__struct_fields__}
    return replace(part, **{**fields, "start": node.start, "end": node.end})


def names_in(part: Any) -> Iterator[str]:
    """Yield every name that a part of the syntax tree mentions."""
    stack = [part]
    while stack:
        item = stack.pop()
        if is_tuple(item):
            stack.extend(item)
        elif isinstance(item, syntax.Name):
            yield item.id
        elif isinstance(item, syntax.Syntax):
            stack.extend(getattr(item, field) for field in item.__struct_fields__)


def matched_annotation(context: Context, definition: syntax.Definition, annotation: syntax.Expr) -> syntax.Expr:
    """Return the annotation `T.Buffer(("n", "n * 2"))` with expressions for the strings in its shape.

    New names become dimensions, with the dtype of the parameter of that name, or int32.
    """
    if not isinstance(annotation, syntax.Call) or not _is_buffer(annotation.func):
        return annotation
    if annotation.args:
        shape, *rest = annotation.args
        return replace(annotation, args=(_matched_shape(context, definition, shape), *rest))
    keywords = [
        replace(keyword, value=_matched_shape(context, definition, keyword.value))
        if keyword.name == "shape"
        else keyword
        for keyword in annotation.keywords
    ]
    return replace(annotation, keywords=tuple(keywords))


def _is_buffer(node: syntax.Expr) -> bool:
    return isinstance(node, syntax.Attribute) and node.attr == "Buffer"


def _matched_shape(context: Context, definition: syntax.Definition, shape: syntax.Expr) -> syntax.Expr:
    if isinstance(shape, syntax.Tuple | syntax.List):
        elements = tuple(_matched_shape(context, definition, element) for element in shape.elements)
        return replace(shape, elements=elements)
    if not isinstance(shape, syntax.Constant) or not isinstance(shape.value, str):
        return shape
    extent = quoted(context, shape.value, shape)
    for name in names_in(extent):
        if name not in context.scope:
            var = tir.Var(_param_dtype(definition, name), name, span=context.span(shape))
            context.tir.dimensions[name] = var
            context.scope.define(name, var)
    return extent


def _param_dtype(definition: syntax.Definition, name: str) -> str:
    for param in definition.params or ():
        if param.name == name and isinstance(param.annotation, syntax.Attribute) and is_dtype(param.annotation.attr):
            return param.annotation.attr
    return "int32"
