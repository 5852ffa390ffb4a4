"""Dimensions of shapes: numbers, symbolic variables, and strings that name dimensions or compute with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from ...ir import relax, tir
from ...ir.diagnostics import Source
from ...ir.dtype import is_dtype, is_int
from ...ir.signature import describe
from .. import syntax
from ..parser import parse_syntax
from . import relax_values as values
from .context import POISON
from .relax_blocks import BlockBuilder
from .signatures import names_in, quoted

_SHAPE_ARGUMENTS = {
    "Tensor": ("shape", 0), "Shape": ("values", 0), "DTensor": ("shape", 0), "Prim": ("value", 1),
}  # fmt: skip
"""For each kind of struct info that can name symbolic dimensions, the argument that does: its name and position."""
_DIMENSIONS = {**_SHAPE_ARGUMENTS, "shape": ("values", 0), "prim_value": ("value", 0)}
"""The same for all calls that take a dimension, or a list of them."""


def dimensions(builder: BlockBuilder, node: syntax.Expr, or_value: bool = False) -> Any:
    """Return the dimensions that `node` lists; plain numbers become int64 expressions.

    None means unknown dimensions. With `or_value`, any other value is returned unchanged; else it is E0321.
    """
    match node:
        case syntax.Tuple() | syntax.List():
            return tuple(_as_dimension(builder, computed(builder, element), element) for element in node.elements)
        case syntax.Constant(value=None):
            return None
        case _:
            value = computed(builder, node)
    if values.is_tuple(value):
        return tuple(_as_dimension(builder, item, node) for item in value)
    if or_value or value is None:
        return value
    reason = f"{describe(value)} is not a list of dimensions"
    raise builder.context.error("E0321", reason, node, "write them as a tuple: (n, 4), or (n,) for one")


def scalar(builder: BlockBuilder, node: syntax.Expr, dtype: str) -> tir.PrimExpr:
    """Return a known scalar of dtype `dtype`; if that is empty, plain integers are int64."""
    return _as_dimension(builder, computed(builder, node), node, dtype, is_scalar=True)


def computed(builder: BlockBuilder, node: syntax.Expr) -> Any:
    """Return the value of an expression in which each graph-level scalar with a known value is replaced by that value."""
    context = builder.context
    was, context.replaced_by = context.replaced_by, values.known_scalar
    try:
        return values.operand(builder, node)
    finally:
        context.replaced_by = was


def _as_dimension(
    builder: BlockBuilder, value: Any, node: syntax.Expr, dtype: str = "", is_scalar: bool = False
) -> tir.PrimExpr:
    context = builder.context
    value = values.known_scalar(value)
    match value:
        case str():
            written = computed(builder, quoted(context, value, node))
            value = _as_dimension(builder, written, node, dtype, is_scalar)
        case bool():
            value = tir.IntImm("bool", int(value), span=context.span(node))
        case int():
            value = tir.IntImm(dtype or "int64", value, span=context.span(node))
        case float() if is_scalar:
            value = tir.FloatImm(dtype or "float32", value, span=context.span(node))
        case _:
            pass
    if not isinstance(value, tir.PrimExpr) or not (is_scalar or is_int(value.dtype)):
        reason = f"{describe(value)} is not a dimension"
        help = "write an integer, or an expression of int64 variables"
        if isinstance(value, relax.Var) and isinstance(node, syntax.Name):
            help = f"declare the dimension as a variable: {node.id} = T.int64()"
        raise context.error("E0321", reason, node, help)
    if not is_scalar and value.dtype != "int64":
        if not isinstance(value, tir.IntImm):
            reason = f"expected a dimension of dtype int64, got {value.dtype}"
            if isinstance(value, tir.Var):  # reported once
                context.scope.define(value.name, POISON)
            raise context.error(
                "E0321", reason, node, 'declare its variables with T.int64(), or write T.Cast("int64", …)'
            )
        value = tir.IntImm("int64", value.value, span=value.span)
    return value


def scalars_used_as_dimensions(builder: BlockBuilder, definition: syntax.Definition) -> dict[str, str]:
    """Return the parameters `n: R.Prim("int64")`, with their dtypes, that the function computes with as with a dimension.

    That is what such a parameter is in the newest TVM. `R.prim_value(n)` and `n + 1` compute with it, `R.add(n, n)` does not.
    """
    scalars = {
        param.name: dtype
        for param in definition.params or ()
        if param.annotation is not None and (dtype := _scalar_dtype(builder, param.annotation))
    }
    used = set(_names_computed_with(builder, definition)) if scalars else set[str]()
    for statement in reversed(definition.body):
        match statement:
            case syntax.Assign(target=syntax.Name(id=alias), value=syntax.Name(id=name)) if alias in used:
                used.add(name)
            case _:
                pass
    return {name: dtype for name, dtype in scalars.items() if name in used}


def _scalar_dtype(builder: BlockBuilder, annotation: syntax.Expr) -> str | None:
    """Return the dtype of `R.Prim("int64")` or `T.int64`; None for anything else."""
    match annotation:
        case syntax.Call(func=func, args=(syntax.Constant(value=str(dtype)),), keywords=()):
            is_scalar = values.dotted(builder, func) == "R.Prim"
        case syntax.Attribute(attr=dtype):
            is_scalar = values.dotted(builder, annotation) == f"T.{dtype}"
        case _:
            return None
    return dtype if is_scalar and is_dtype(dtype) and is_int(dtype) else None


def _names_computed_with(builder: BlockBuilder, definition: syntax.Definition) -> Iterator[str]:
    stack: list[tuple[Any, bool]] = [(definition, False)]
    while stack:
        part, is_dimension = stack.pop()
        match part:
            case tuple() | list():
                stack.extend((item, is_dimension) for item in cast("tuple[Any, ...]", part))
            case syntax.Name(id=name) if is_dimension:
                yield name
            case syntax.Constant(value=str(text)) if is_dimension:
                yield from names_in(parse_syntax(Source("", text))[0].body)
            case syntax.Binary():
                stack.extend((side, True) for side in (part.left, part.right))
            case syntax.Call(func=syntax.Attribute(attr=kind)):
                name, position = _DIMENSIONS.get(kind, ("", -1))
                inside = is_dimension and position < 0  # as in T.max(n, 1)
                stack.extend((argument, inside or index == position) for index, argument in enumerate(part.args))
                stack.extend((keyword.value, inside or keyword.name == name) for keyword in part.keywords)
            case syntax.Syntax():
                stack.extend((getattr(part, name), is_dimension) for name in part.__struct_fields__)
            case _:
                pass


def symbolic_names(annotation: syntax.Expr) -> Iterator[str]:
    """Yield the names of the dimensions that `annotation` defines: identifiers in strings within shapes."""
    if isinstance(annotation, syntax.Tuple | syntax.List):
        for element in annotation.elements:
            yield from symbolic_names(element)
    if not isinstance(annotation, syntax.Call) or not isinstance(annotation.func, syntax.Attribute):
        return
    keywords = {keyword.name: keyword.value for keyword in annotation.keywords}
    kind = annotation.func.attr
    if kind == "Tuple":
        for field in annotation.args:
            yield from symbolic_names(field)
    elif kind == "Callable":
        params = annotation.args[0] if annotation.args else keywords.get("params")
        if params is not None:
            yield from symbolic_names(params)
    elif kind in _SHAPE_ARGUMENTS:
        name, position = _SHAPE_ARGUMENTS[kind]
        given = annotation.args[position] if position < len(annotation.args) else keywords.get(name)
        yield from _named_dimensions(given, alone=kind == "Prim")


def _named_dimensions(node: syntax.Expr | None, alone: bool) -> Iterator[str]:
    """Yield the identifiers given as strings: the elements of `node`, or `node` itself if `alone`."""
    elements = (node,) if alone else node.elements if isinstance(node, syntax.Tuple | syntax.List) else ()
    for element in elements:
        if isinstance(element, syntax.Constant) and isinstance(element.value, str) and element.value.isidentifier():
            yield element.value
