"""Evaluates syntax expressions to values.

Names, numbers and containers have Python's meaning. Operators between plain numbers are computed at once; operators
on IR nodes build nodes. Lists are tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir import make, relax, tir
from ...ir.base import GlobalVar, Metadata, Span
from ...ir.buffers import elem_offset_of
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_dtype
from ...ir.schedule.text import Element, Name, Part, Result, Spread
from ...ir.signature import describe
from ...ir.spelling import did_you_mean
from .. import syntax
from . import host, operators, remedies, tile
from .budget import TEXT
from .context import Context, Failed
from .convert import Mismatch, constant, expression, is_dict, is_tuple
from .forms import Closure, Form, FormFamily, FormUse, MetadataTable, Method, ModuleReference, Namespace
from .remedies import elsewhere, foreign_form, holds_operators
from .tir_access import access, no_buffer
from .tir_literals import dtype_form
from .tir_methods import BUFFER_METHODS, EXPRESSION_METHODS

__all__ = ["binary", "build_expr", "evaluate", "evaluate_call", "to_expr", "unary"]

_OF_SCHEDULES = (Name, Element, Part, Result)
"""Values of schedules, which may be lists."""

binary = operators.binary
unary = operators.unary


def evaluate(context: Context, node: syntax.Expr) -> Any:
    """Return the value of `node`: a plain Python value, an IR node, or an object of `forms`."""
    return _EVALUATORS[type(node)](context, node)


def build_expr(context: Context, node: syntax.Expr, dtype_hint: str | None = None) -> tir.PrimExpr:
    """Return `node` as a scalar expression; plain numbers get `dtype_hint`, or TVM's own dtype (int32, float32, bool)."""
    return to_expr(context, evaluate(context, node), node, dtype_hint)


def to_expr(context: Context, value: Any, node: syntax.Expr, dtype_hint: str | None = None) -> tir.PrimExpr:
    """Return an evaluated `value` as a scalar expression; raise E0202 at `node` if it is not one."""
    if isinstance(value, tir.PrimExpr):
        return value
    span = Span(context.source, node.start, node.end)
    try:
        if type(value) is int or type(value) is float:
            return constant(value, span, dtype_hint)
        return expression(value, span, dtype_hint)
    except Mismatch as mismatch:
        message = f"expected {mismatch.expected}, got {describe(value)}"
        raise context.error("E0202", message, node, mismatch.help) from None
    except TvmsError as error:
        raise context.report(error, node) from None


def evaluate_all(context: Context, nodes: Sequence[syntax.Expr]) -> tuple[list[Any], Sequence[syntax.Expr]]:
    """Return the values of `nodes`, and the node of each value: a starred node yields all elements of its value."""
    if not any(type(node) is syntax.Starred for node in nodes):
        return [evaluate(context, node) for node in nodes], nodes
    values: list[Any] = []
    origins: list[syntax.Expr] = []
    for node in nodes:
        if isinstance(node, syntax.Starred):
            spread: Any = evaluate(context, node.value)
            if isinstance(spread, _OF_SCHEDULES):
                values.append(Spread(spread, span=context.span(node)))
                origins.append(node)
                continue
            if not is_tuple(spread):
                raise context.error("E0202", f"expected a tuple after '*', got {describe(spread)}", node)
            context.pay(len(spread), node)
            values.extend(spread)
            origins.extend([node] * len(spread))
        else:
            values.append(evaluate(context, node))
            origins.append(node)
    return values, origins


def evaluate_call(context: Context, node: syntax.Call, target: syntax.Expr | None = None) -> Any:
    """Return the value of a call; the values that it creates are named after `target`, the target of its assignment."""
    func = evaluate(context, node.func)
    values, nodes = evaluate_all(context, node.args)
    if isinstance(func, Form):
        named = [(keyword, evaluate(context, keyword.value)) for keyword in node.keywords]
        return apply(FormUse(context, node, func.name, target), func, values, nodes, named)
    if isinstance(func, Method):
        named = [(keyword, evaluate(context, keyword.value)) for keyword in node.keywords]
        site = FormUse(context, node, func.form.name, target)
        return apply(site, func.form, [func.receiver, *values], [node.func, *nodes], named)
    if isinstance(func, host.HostValue):
        keywords = {keyword.name: evaluate(context, keyword.value) for keyword in node.keywords}
        return host.call(context, func, node, values, keywords)
    of_tiles = _tile_name(func)
    if of_tiles is not None:
        keywords = {keyword.name: evaluate(context, keyword.value) for keyword in node.keywords}
        return tile.call(context, of_tiles.name, node, values, keywords, target)
    if node.keywords:
        raise context.error("E0105", "only forms of the language take arguments by name", node.keywords[0])
    if isinstance(func, GlobalVar):
        return call_function(context, node, func, [to_expr(context, *pair) for pair in zip(values, nodes, strict=True)])
    if isinstance(func, Closure):
        return func.call(values)
    help = f"write {func.name}[…] for an element" if isinstance(func, tir.Buffer) else None
    if isinstance(func, Namespace):
        help = f"call one of its forms, such as {func.name}.{min(func.members, key=len)}(…)"
        help = "write T.axis.spatial(…), or T.axis.reduce(…)" if func.name == "T.axis" else help
    raise context.error("E0207", f"{describe(func)} cannot be called", node.func, help)


def opener(context: Context, head: syntax.Expr) -> Any:
    """Return the value of the head of a definition, as in `T.prim_func(private=True)`: a form if the head is valid."""
    return evaluate(context, head.func if isinstance(head, syntax.Call) else head)


def apply(
    site: FormUse,
    form: Form,
    values: Sequence[Any],
    nodes: Sequence[syntax.Expr],
    named: Sequence[tuple[syntax.Keyword, Any]] = (),
) -> Any:
    """Return the value of `form` at `site`; errors of `ir` are reported there."""
    try:
        return form.call(site, values, nodes, named)
    except TvmsError as error:
        raise site.context.report(error, site.node) from None


def _constant(context: Context, node: syntax.Constant) -> Any:
    return node.value


def _attribute(context: Context, node: syntax.Attribute) -> Any:
    owner = evaluate(context, node.value)
    if type(owner) is Namespace:
        member = owner.members.get(node.attr)
        if member is None and owner.name == "T" and is_dtype(node.attr):
            return dtype_form(node.attr)
        member = member if member is not None else tile.member(owner, node.attr)
        if member is None:
            raise _no_member(context, owner, node)
        return member
    if isinstance(owner, tile.TileName):
        return tile.attribute(owner, node.attr)
    if isinstance(owner, ModuleReference):
        return context.global_var(node.attr, node)
    if isinstance(owner, host.HostValue):
        return host.attribute(context, owner, node)
    return _attribute_of(context, owner, node)


def _tile_name(value: Any) -> tile.TileName | None:
    """Return a name of the tile level; a namespace can be one as well, as `T.ptx.cp` is."""
    if isinstance(value, Namespace):
        owner, _, name = value.name.rpartition(".")
        value = tile.member(Namespace(owner, {}), name)
    return value if isinstance(value, tile.TileName) else None


def _no_member(context: Context, owner: Namespace, node: syntax.Attribute) -> Failed:
    from ...ir.schedule.declaration import primitive_called
    from ...ir.schedule.primitives import load

    load()
    name, place = f"{owner.name}.{node.attr}", _attribute_name(context, node)
    if owner.name == "S" and primitive_called(node.attr) is not None:
        return context.error("E0103", f"{name} is a step of a schedule", place, "write it in an S.schedule")
    nearest = elsewhere(node.attr, owner.name)
    if nearest == f"did you mean '{name}'?":
        if context.tir is None:
            return context.error("E0207", f"{name} has to be called", node, f"write {name}(…)")
        remedy = 'write T.Buffer((16,), "float32")' if node.attr == "Tensor" else "open one with R.function"
        return context.error("E0201", f"{name} belongs in a graph function", node, remedy)
    if owner.name == "R" and context.tir is not None and holds_operators(node.attr):
        remedy = "compute the elements, as in T.max(x, T.float32(0)), or call it in an R.function"
        return context.error("E0201", f"operators of {name} belong in a graph function", node, remedy)
    help = foreign_form(name) or did_you_mean(node.attr, owner.members) or nearest
    return context.error("E0103", f"'{owner.name}' has no form '{node.attr}'", place, help)


def _attribute_name(context: Context, node: syntax.Attribute) -> syntax.Syntax:
    start = context.source.text.rfind(node.attr, node.start, node.end)
    return syntax.Name(node.attr, start=start, end=start + len(node.attr))


def _subscript(context: Context, node: syntax.Subscript) -> Any:
    owner: Any = evaluate(context, node.value)
    if isinstance(owner, tir.Buffer):
        return access(context, owner, node, evaluate_indices(context, node))
    if isinstance(owner, Form):
        values, nodes = evaluate_all(context, node.indices)
        return apply(FormUse(context, node, owner.name), owner, values, nodes)
    if isinstance(owner, Method) and owner.form.name in ("sub", "tile[]"):
        given = evaluate_indices(context, node)
        site = FormUse(context, node, owner.form.name)
        return apply(site, owner.form, [owner.receiver, *given], [node.value, *[node] * len(given)])
    of_tiles = _tile_name(owner)
    if of_tiles is not None:
        return tile.subscript(context, of_tiles, evaluate_indices(context, node), node)
    if isinstance(owner, _OF_SCHEDULES) and len(node.indices) == 1 and isinstance(node.indices[0], syntax.Slice):
        return _part(context, owner, node, node.indices[0])
    keys, _ = evaluate_all(context, node.indices)
    key = keys[0] if len(keys) == 1 else tuple(keys)
    if isinstance(owner, host.HostValue):
        return host.item(context, owner, key, node)
    if isinstance(owner, MetadataTable) and owner.key is None and isinstance(key, str):
        return MetadataTable(key)
    if isinstance(owner, MetadataTable) and owner.key is not None and isinstance(key, int):
        return Metadata(owner.key, key, span=context.span(node))
    if is_dict(owner) and key in owner:
        return owner[key]
    if isinstance(key, tir.IntImm):
        key = key.value
    if (is_tuple(owner) or isinstance(owner, str)) and isinstance(key, int) and -len(owner) <= key < len(owner):
        return owner[key]
    if isinstance(owner, _OF_SCHEDULES) and isinstance(key, int | tir.PrimExpr):
        return Element("int32", owner, key, span=context.span(node))
    if isinstance(owner, tir.PrimExpr):
        raise no_buffer(context, owner, node.value)
    raise context.error("E0205", f"{describe(owner)} has no such element", node)


def _part(context: Context, owner: tir.PrimExpr, node: syntax.Subscript, part: syntax.Slice) -> Part:
    if part.step is not None:
        raise context.error(
            "E0207", "a step is not allowed here", part.step, "write one position before ':', and one after it"
        )
    start, stop = (None if bound is None else evaluate(context, bound) for bound in (part.lower, part.upper))
    for bound, place in ((start, part.lower), (stop, part.upper)):
        if place is not None and not isinstance(bound, int | tir.PrimExpr):
            raise context.error("E0202", f"expected a number, got {describe(bound)}", place)
    return Part("int32", owner, start, stop, span=context.span(node))


def evaluate_indices(context: Context, node: syntax.Subscript) -> list[Any]:
    """Return the indices of an access: values, and a `slice` of values for each slice. `A[loops]` of a tuple has an index for each loop."""
    nodes = node.indices
    if len(nodes) == 1 and isinstance(nodes[0], syntax.Tuple):
        nodes = nodes[0].elements
    result: list[Any] = []
    for index in nodes:
        if type(index) is syntax.Slice:
            parts = (index.lower, index.upper, index.step)
            result.append(slice(*[None if part is None else evaluate(context, part) for part in parts]))
        elif type(index) is syntax.Starred:
            result.extend(evaluate_all(context, (index,))[0])
        else:
            result.append(evaluate(context, index))
    return list(result[0]) if len(result) == 1 and is_tuple(result[0]) else result


def _tuple(context: Context, node: syntax.Tuple | syntax.List) -> Any:
    return tuple(evaluate_all(context, node.elements)[0])


def _dict(context: Context, node: syntax.Dict) -> Any:
    values = [evaluate(context, value) for value in node.values]
    keys = [evaluate(context, key) for key in node.keys]
    for key, place in zip(keys, node.keys, strict=True):
        if not isinstance(key, str | int | float | tir.Var | None):
            raise context.error("E0202", f"expected a string or a variable as a key, got {describe(key)}", place)
    return dict(zip(keys, values, strict=True))


def _unary(context: Context, node: syntax.Unary) -> Any:
    return unary(context, node, evaluate(context, node.operand))


def _binary(context: Context, node: syntax.Binary) -> Any:
    return binary(context, node, evaluate(context, node.left), evaluate(context, node.right))


def conditional(context: Context, node: syntax.Conditional, choose: Callable[[syntax.Expr], Any]) -> Any:
    """Return a conditional expression; if the condition is a constant, the value that `choose` gives for its branch."""
    condition = evaluate(context, node.condition)
    if isinstance(condition, tir.IntImm):
        condition = bool(condition.value)
    if isinstance(condition, bool | int | None):
        return choose(node.then if condition else node.otherwise)
    if not isinstance(condition, tir.PrimExpr):
        raise context.error("E0202", f"expected a condition, got {describe(condition)}", node.condition)
    sides = (build_expr(context, node.then), build_expr(context, node.otherwise))
    try:
        return make.if_then_else(condition, *sides, context.span(node))
    except TvmsError as error:
        raise context.report(error, node) from None


def _conditional(context: Context, node: syntax.Conditional) -> Any:
    return conditional(context, node, lambda branch: evaluate(context, branch))


def _lambda(context: Context, node: syntax.Lambda) -> Closure:
    names, source = [param.name for param in node.params], context.source

    def call(values: Sequence[Any]) -> Any:
        with context.reading(source):
            return bound(values)

    def bound(values: Sequence[Any]) -> Any:
        if len(values) != len(names):
            message = f"the lambda takes {len(names)} arguments, but {len(values)} are given"
            raise context.error("E0105", message, node)
        context.pay((node.end - node.start) // TEXT, node)
        with context.scope.frame():
            for name, value in zip(names, values, strict=True):
                context.scope.define(name, value)
            return evaluate(context, node.body)

    return Closure(node, call)


def _misplaced(context: Context, node: syntax.Expr) -> Any:
    what = "a slice" if isinstance(node, syntax.Slice) else "'*'"
    raise context.error("E0207", f"{what} is not allowed here", node)


_EVALUATORS: dict[type, Callable[[Context, Any], Any]] = {
    syntax.Name: Context.lookup,
    syntax.Constant: _constant,
    syntax.Attribute: _attribute,
    syntax.Call: evaluate_call,
    syntax.Subscript: _subscript,
    syntax.Slice: _misplaced,
    syntax.Starred: _misplaced,
    syntax.Tuple: _tuple,
    syntax.List: _tuple,
    syntax.Dict: _dict,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Conditional: _conditional,
    syntax.Lambda: _lambda,
}


_BUFFER: dict[str, Callable[[tir.Buffer], Any]] = {
    "data": lambda buffer: buffer.data,
    "shape": lambda buffer: buffer.shape,
    "strides": lambda buffer: buffer.strides,
    "elem_offset": lambda buffer: elem_offset_of(buffer),
    "dtype": lambda buffer: buffer.dtype,
    "name": lambda buffer: buffer.name,
    "ty": lambda buffer: buffer,
    "data_alignment": lambda buffer: buffer.data_alignment,
    "offset_factor": lambda buffer: buffer.offset_factor,
}
_EXPRESSION: dict[str, Callable[[tir.PrimExpr], Any]] = {
    "dtype": lambda expr: expr.dtype,
    "ty": lambda expr: _type(expr),
}
"""In the newest TVM, `A.ty` of a buffer has the attributes of `A`, and `x.ty` of an expression is its type."""
_OTHER: dict[type, dict[str, Callable[[Any], Any]]] = {
    tir.IterVar: {"var": lambda axis: axis.var, "dom": lambda axis: axis.dom},
    tir.Range: {"min": lambda dom: dom.min, "extent": lambda dom: dom.extent},
    tir.BufferRegion: {"buffer": lambda region: region.buffer, "region": lambda region: region.region},
}


def _type(expr: tir.PrimExpr) -> tir.Type:
    kind = expr.type_annotation if isinstance(expr, tir.Var) else None
    return kind or tir.PrimType(expr.dtype)


def _attribute_of(context: Context, owner: Any, node: syntax.Attribute) -> Any:
    """Return `owner.attr`, or the method of that name; raise E0103 if there is neither."""
    readers, methods = _members(owner)
    if node.attr in readers:
        return readers[node.attr](owner)
    if node.attr in methods:
        return Method(methods[node.attr], owner)
    value = getattr(owner, "value", None)
    if isinstance(value, tir.Buffer):  # a view that has no name yet
        return _attribute_of(context, value, node)
    help = did_you_mean(node.attr, (*readers, *methods))
    if isinstance(owner, FormFamily) and node.attr in owner.members:
        return owner.members[node.attr]
    if isinstance(owner, Form):
        help = remedies.limit(owner.name, node.attr) or help
    if help is None and isinstance(owner, tir.PrimExpr):
        start, end = node.value.start, node.value.end
        help = remedies.attribute(node.attr, context.source.text[start:end])
    raise context.error("E0103", f"{describe(owner)} has no attribute '{node.attr}'", node, help)


def _members(owner: Any) -> tuple[dict[str, Callable[[Any], Any]], dict[str, Form]]:
    """Return the attributes and the methods of a value."""
    if isinstance(owner, tir.Buffer):
        return _BUFFER, BUFFER_METHODS
    if isinstance(owner, tir.PrimExpr):
        return _EXPRESSION, EXPRESSION_METHODS
    for kind, readers in _OTHER.items():
        if isinstance(owner, kind):
            return readers, {}
    return {}, {}


def call_function(context: Context, node: syntax.Call, function: GlobalVar, args: list[tir.PrimExpr]) -> tir.Call:
    """Return a call of another loop function of the module; its dtype is that of the function's result."""
    info = function.struct_info
    returned = info.ret if isinstance(info, relax.FuncStructInfo) else None
    dtype = returned.dtype if isinstance(returned, relax.PrimStructInfo) else "void"
    return tir.Call(dtype, function, tuple(args), span=context.span(node))
