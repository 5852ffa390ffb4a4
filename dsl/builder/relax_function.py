"""Builds graph functions, global and local: signature, body and return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import StructInfo
from ...ir.dtype import is_dtype
from ...ir.infer import infer_struct_info, replace_dims
from ...ir.visit import walk
from .. import syntax
from ..comments import with_comments
from . import expressions, relax_statements
from . import relax_values as values
from .context import Context, Failed, target_names
from .macros import define_macro, is_macro
from .relax_annotations import struct_info
from .relax_arguments import bind, parameters
from .relax_bindings import Target, new_var
from .relax_bindings import bind as bind_value
from .relax_blocks import BlockBuilder
from .relax_dataflow import output_names
from .relax_dimensions import scalars_used_as_dimensions, symbolic_names
from .signatures import check_no_value, check_private, names_in, type_variables

HEAD = parameters("f?", "pure?", "private?", "check_well_formed?")
"""The parameters of `R.function`."""


class Signature(Struct, frozen=True):
    """The signature of a function: its parameters and, if annotated, its return value."""

    params: tuple[relax.Var, ...]
    ret: StructInfo | None
    is_pure: bool
    is_private: bool

    @property
    def struct_info(self) -> relax.FuncStructInfo:
        """The struct info of the function; an unannotated return value is any object."""
        params = tuple(param.struct_info or relax.ObjectStructInfo() for param in self.params)
        return relax.FuncStructInfo(params, self.ret or relax.ObjectStructInfo(), self.is_pure)


def declare_function(
    context: Context, definition: syntax.Definition, symbols: dict[str, tir.Var] | None = None
) -> relax.FuncStructInfo | None:
    """Return the struct info of a function whose body is not built yet; None if its signature is wrong.

    Nothing is reported here: `build_function` reads the signature again and reports. Given the same `symbols`, both readings
    have the same symbolic dimensions.
    """
    reported = len(context.diagnostics)
    try:
        with context.scope.frame():
            info = _signature(BlockBuilder(context, set()), definition, symbols).struct_info
            return info if len(context.diagnostics) == reported else None
    except Failed:
        return None
    finally:
        del context.diagnostics[reported:]


def _check_level(context: Context, definition: syntax.Definition) -> None:
    """Raise E0315 if all parameters are buffers or pointers: the whole function belongs at the loop level."""
    kinds = [param.annotation for param in definition.params or ()]
    texts = [context.source.text[kind.start : kind.end] if kind else "" for kind in kinds]
    if len(texts) > 1 and all(text.startswith(("T.Buffer", "T.handle")) for text in texts):
        message = f"'{definition.name}' is a graph function, but all its parameters are buffers"
        raise context.error("E0315", message, definition.head or definition, "open it with T.prim_func")


def build_function(
    context: Context,
    definition: syntax.Definition,
    is_local: bool = False,
    symbols: dict[str, tir.Var] | None = None,
) -> relax.Function:
    """Return the graph function that `definition` defines; report all its errors, then raise Failed."""
    _check_level(context, definition)
    reported = len(context.diagnostics)
    builder = BlockBuilder(context, set(names_in(definition)))
    with context.scope.frame():
        signature = _signature(builder, definition, symbols)
        known = _known_dimensions(context, signature)
        builder.begin()
        result = _body(builder, definition)
    if signature.is_private and "global_symbol" in builder.attrs:
        check_private(context, definition)
    if result is None or len(context.diagnostics) > reported:
        raise Failed
    body = builder.end(result)
    ret = signature.ret or replace_dims(infer_struct_info(body), {var: var for var in known}, all_known=False)
    attrs = dict(builder.attrs)
    if not (signature.is_private or is_local):
        attrs.setdefault("global_symbol", definition.name)
    info = replace(signature, ret=ret).struct_info
    return relax.Function(
        signature.params, body, ret, signature.is_pure,
        attrs=attrs, struct_info=info, span=context.span(definition),
        trivia=with_comments(definition.trivia, end=builder.take_comments(), parts=builder.parts),
    )  # fmt: skip


def build_local_function(builder: BlockBuilder, definition: syntax.Definition, leaves: bool) -> None:
    """Bind a nested function to a variable of its name; it may call itself. A nested macro only defines its name."""
    context = builder.context
    if definition.head is not None and is_macro(expressions.opener(context, definition.head)):
        return define_macro(context, definition)
    if definition.head is None or values.dotted(builder, _callee(definition.head)) != "R.function":
        help = "write R.function before it"
        raise context.error("E0207", "only graph functions can be nested in a graph function", definition, help)
    place = syntax.Name(definition.name, start=definition.name_start, end=definition.name_end)
    target = Target(definition.name, place, leaves)
    if definition.name not in names_in(definition):
        bind_value(builder, target, build_function(context, definition, is_local=True))
        return None
    symbols: dict[str, tir.Var] = {}
    info = declare_function(context, definition, symbols)
    var = new_var(builder, target, info or relax.ObjectStructInfo())
    context.scope.define(definition.name, var)
    function = build_function(context, definition, True, symbols)
    return builder.append(relax.VarBinding(var, function, span=function.span))


def _signature(
    builder: BlockBuilder, definition: syntax.Definition, symbols: dict[str, tir.Var] | None = None
) -> Signature:
    """Define the parameters and symbolic dimensions of a function in the open frame, and return its signature."""
    context = builder.context
    scalars = scalars_used_as_dimensions(builder, definition)
    for name, var in _symbolic_variables(builder, definition, scalars):
        context.scope.define(name, var if symbols is None else symbols.setdefault(name, var))
    known = {name: context.scope.get(name) for name in scalars}
    ret = None
    with context.recover(), context.signature():
        ret = None if definition.returns is None else struct_info(builder, definition.returns)
    params: list[relax.Var] = []
    for param in definition.params or ():
        with context.recover([param.name]), context.signature():
            params.append(_parameter(builder, param, known.get(param.name)))
    return Signature(
        tuple(params), ret, _flag(context, definition, "pure", True), _flag(context, definition, "private", False)
    )


def _parameter(builder: BlockBuilder, param: syntax.Param, known: tir.Var | None = None) -> relax.Var:
    """Define a parameter; `known` is the dimension that it passes."""
    context = builder.context
    check_no_value(context, param)
    if param.annotation is None:
        help = f"write {param.name}: R.Tensor(…), or R.Object if nothing is known"
        raise context.error("E0305", f"parameter '{param.name}' has no struct info", param, help)
    info = struct_info(builder, param.annotation)
    if known is not None:
        info = relax.PrimStructInfo(known.dtype, known, span=info.span)
    var = relax.Var(param.name, struct_info=info, span=context.span(param))
    context.scope.define(param.name, var)
    return var


def _symbolic_variables(
    builder: BlockBuilder, definition: syntax.Definition, scalars: Mapping[str, str]
) -> Iterator[tuple[str, tir.Var]]:
    """Yield the dimensions that the parameters name in strings: int64 unless the body declares another dtype; and `scalars`,
    parameters that pass dimensions, of the dtypes given.
    """
    declared = type_variables(builder.context, definition)
    declared |= {name: tir.Var(dtype, name, span=builder.context.span(definition)) for name, dtype in scalars.items()}
    yield from declared.items()
    for statement in definition.body:
        if isinstance(statement, syntax.Assign):
            for name, var in _declared(builder, statement):
                declared.setdefault(name, var)
    for param in definition.params or ():
        for name in symbolic_names(param.annotation) if param.annotation else ():
            yield name, declared.setdefault(name, tir.Var("int64", name, span=builder.context.span(param)))


def _declared(builder: BlockBuilder, statement: syntax.Assign) -> Iterator[tuple[str, tir.Var]]:
    """Yield the variables that a statement such as `n, m = T.int64(), T.int64()` declares."""
    value = statement.value
    calls = value.elements if isinstance(value, syntax.Tuple) else (value,)
    for name, call in zip(target_names(statement.target), calls, strict=False):
        if isinstance(call, syntax.Call) and not call.args:
            form = values.dotted(builder, call.func) or ""
            if form.startswith("T.") and is_dtype(form[2:]):
                var = expressions.evaluate(builder.context, call)
                yield name, replace(var, name=name, span=builder.context.span(statement.target))


def _known_dimensions(context: Context, signature: Signature) -> set[tir.Var]:
    """Return the symbolic dimensions that are defined outside the body: the struct info of the result may use them."""
    nodes = [node for param in signature.params for node in walk(param)]
    return context.scope.variables() | {node for node in nodes if isinstance(node, tir.Var)}


def _flag(context: Context, definition: syntax.Definition, name: str, default: bool) -> bool:
    """Return an option of the head, as in `R.function(private=True)`."""
    if not isinstance(definition.head, syntax.Call):
        return default
    node = bind(context, "R.function", HEAD, definition.head).get(name)
    if node is None:
        return default
    if not isinstance(node, syntax.Constant) or not isinstance(node.value, bool):
        raise context.error("E0321", f"expected True or False for '{name}' of R.function", node)
    return node.value


def _callee(node: syntax.Expr) -> syntax.Expr:
    return node.func if isinstance(node, syntax.Call) else node


def _body(builder: BlockBuilder, definition: syntax.Definition) -> relax.Expr | None:
    """Build all statements; return the value of the final return, or None if that fails."""
    context = builder.context
    *statements, last = definition.body
    if isinstance(last, syntax.With) and isinstance(last.body[-1], syntax.Return):
        relax_statements.build_statements(builder, statements)
        return _dataflow_return(builder, last, last.body[-1])
    if isinstance(last, syntax.Return):
        relax_statements.build_statements(builder, statements)
        return _returned(builder, last)
    found = len(context.diagnostics)
    relax_statements.build_statements(builder, definition.body)
    is_misplaced = any(diagnostic.code == "E0106" for diagnostic in context.diagnostics)  # perhaps the return
    if (
        not is_misplaced
        and (isinstance(last, syntax.With | syntax.Assign) or len(context.diagnostics) == found)  # else last may be it
        and not any(isinstance(statement, syntax.Return) for statement in definition.body)
    ):
        place = syntax.Name(definition.name, start=definition.name_start, end=definition.name_end)
        help = "end it with `return value`, or with `return R.tuple()` to return nothing"
        context.error("E0306", f"function '{definition.name}' has no return", place, help)
    return None


def _returned(builder: BlockBuilder, statement: syntax.Return) -> relax.Expr | None:
    context = builder.context
    builder.keep_comments(statement)
    with context.recover():
        if statement.value is None:
            raise context.error(
                "E0306", "return has no value", statement, "write `return R.tuple()` if there is no result"
            )
        value = values.evaluate(builder, statement.value)
        return value if isinstance(value, relax.Call) else values.to_expr(builder, value, statement.value)
    return None


def _dataflow_return(builder: BlockBuilder, block: syntax.With, statement: syntax.Return) -> relax.Expr | None:
    """Build a dataflow block that ends in a return: the names that it returns leave the block (TVM: `FuncRetValue`)."""
    relax_statements.check_dataflow(builder, block)
    outputs = {node.id for node in output_names(builder, block.body)} | set(names_in(statement))
    with builder.dataflow(block.trivia):
        relax_statements.build_dataflow_body(builder, block.body[:-1], outputs)
        builder.leaving = True
        return _returned(builder, statement)


relax_statements.LOCAL_FUNCTION.append(build_local_function)
