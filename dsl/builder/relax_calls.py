"""Calls in a graph function: operators, other forms of `R`, functions, and methods of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Attrs, GlobalVar, Op, StructInfo
from ...ir.building.call_te import call_te
from ...ir.diagnostics import TvmsError
from ...ir.infer import ANY_FUNCTION
from ...ir.ops.binding import bind as bind_operator
from ...ir.ops.binding import signature_of
from ...ir.ops.registry import Param, RelaxOp, find, relax_ops
from ...ir.signature import Parameter, Signature, describe
from ...ir.spelling import did_you_mean
from .. import syntax
from ..printer.dialects import FUNCTIONS
from . import expressions, host, remedies
from . import relax_values as values
from .context import Context
from .convert import Text
from .forms import NAMESPACES, Closure, Form, FormUse, Method, Namespace, form
from .host import HostValue
from .relax_annotations import FORMS, build_struct_info, check_ndim, dtype_of, struct_info, struct_infos
from .relax_arguments import Arguments, bind, parameters
from .relax_blocks import BlockBuilder
from .relax_constants import build_const, build_dist_const, build_named_constant
from .relax_dimensions import computed, dimensions
from .relax_distributed import device_mesh, placement, vdevice

_NAMED_IN_THE_MODULE = {"dst_vdevice": vdevice, "device_mesh": device_mesh, "placement": placement}
"""Parameters of operators whose arguments are strings that name an object of the module."""


class MatchCastRequest(Struct, frozen=True):
    """The value of `R.match_cast(value, struct_info)`; the assignment creates the binding."""

    value: relax.Expr
    struct_info: StructInfo


class GraphMacro(Struct, frozen=True, eq=False):
    """A macro of graph functions; `expand` adds its bindings to the open block and returns its value."""

    kind: ClassVar[str] = "a macro of graph functions"

    name: str
    expand: Callable[[BlockBuilder, syntax.Call], Any]


def _call(builder: BlockBuilder, node: syntax.Call) -> Any:
    """Return the value of a call; raise E0301 if there is no such operator, E0207 if the callee is not a function."""
    name = values.dotted(builder, node.func)
    return _call_value(builder, node) if name is None else _call_named(builder, name, node)


def _call_named(builder: BlockBuilder, name: str, node: syntax.Call) -> Any:
    if name in FORMS:
        return build_struct_info(builder, name, node)
    if name in VALUE_FORMS:
        expected, build = VALUE_FORMS[name]
        return build(builder, bind(builder.context, name, expected, node), node)
    operator = find(f"relax.{name[2:]}") if name.startswith("R.") else None
    if operator is not None:
        return _call_operator(builder, operator, node)
    _check_level(builder, name, node)
    forms = (f"R.{form}" for form in NAMESPACES["R"].members)
    known = [*(f"R.{op.script_name}" for op in relax_ops().values()), *VALUE_FORMS, *FORMS, *forms]
    if name.startswith("R.") and not _is_form(builder, node.func):
        raise builder.context.error(
            "E0301",
            f"there is no operator '{name}'",
            node.func,
            remedies.foreign_form(name) or remedies.foreign_operator(name) or did_you_mean(name, known),
        )
    return expressions.evaluate_call(builder.context, node)


def _check_level(builder: BlockBuilder, name: str, node: syntax.Call) -> None:
    """Refuse an operation on elements whose argument is a tensor, if there is an operator for tensors (E0206)."""
    operator = name.removeprefix("T.")
    if operator == name or find(f"relax.{operator}") is None:
        return
    for argument in node.args:
        value = builder.context.scope.get(argument.id) if isinstance(argument, syntax.Name) else None
        if isinstance(value, relax.Var) and isinstance(value.struct_info, relax.TensorStructInfo):
            message = f"{name} computes one element, but '{value.name_hint}' is a tensor"
            raise builder.context.error("E0206", message, node.func, f"write R.{operator}(…)")


def _is_form(builder: BlockBuilder, node: syntax.Expr) -> bool:
    """Return whether a name in the namespace `R` is a form that is declared like those of the loop level."""
    if isinstance(node, syntax.Name):
        return True
    assert isinstance(node, syntax.Attribute)
    return _is_form(builder, node.value) and node.attr in expressions.evaluate(builder.context, node.value).members


def _call_operator(builder: BlockBuilder, operator: RelaxOp, node: syntax.Call) -> relax.Expr:
    context, span = builder.context, builder.context.span(node)
    params = {param.name: param for param in operator.params}
    given = bind(context, f"R.{operator.script_name}", signature_of(operator), node)
    arguments = {name: _argument(builder, params[name], value) for name, value in given.values.items()}
    for name, param in params.items():
        if param.kind == "exprs" and name not in arguments:
            arguments[name] = tuple(values.operand(builder, value) for value in given.rest)
    try:
        expr = bind_operator(operator, (), arguments, span)
    except TvmsError as error:
        raise context.report(error, node) from None
    return _normal(builder, expr)


def _argument(builder: BlockBuilder, param: Param, node: syntax.Expr) -> Any:
    """Return an argument of an operator; a string that names an object of the module is resolved."""
    named = _NAMED_IN_THE_MODULE.get(param.name)
    if named is not None:
        return named(builder, node)
    value = values.operand(builder, node)
    return _index_map(builder, value, node) if isinstance(value, Closure) else host.plain(value)


def _index_map(builder: BlockBuilder, closure: Closure, node: syntax.Expr) -> tir.IndexMap:
    """Return a lambda as an index map of int64 indices (TVM: `R.layout_transform`)."""
    params = [tir.Var("int64", param.name, span=builder.context.span(param)) for param in closure.node.params]
    result = closure.call(params)
    final: tuple[Any, ...] = result if values.is_tuple(result) else (result,)
    exprs = tuple(expressions.to_expr(builder.context, item, node, "int64") for item in final)
    return tir.IndexMap(tuple(params), exprs, span=builder.context.span(node))


def _normal(builder: BlockBuilder, expr: relax.Expr) -> relax.Expr:
    """Return a call with its operands in normal form; the operands are calls if the operator is built from several."""
    if not isinstance(expr, relax.Call):
        return expr
    return replace(expr, args=tuple(builder.operand(_normal(builder, arg)) for arg in expr.args))


def _call_value(builder: BlockBuilder, node: syntax.Call) -> Any:
    """Return a call of a function of the module, of a local or external function, or of a value's method `astype`."""
    context = builder.context
    if isinstance(node.func, syntax.Attribute) and node.func.attr == "astype":
        receiver = values.operand(builder, node.func.value)
        if isinstance(receiver, relax.Expr):
            given = bind(context, "astype", parameters("dtype"), node)
            operator = find("relax.astype")
            assert operator is not None
            return bind_operator(operator, (receiver, dtype_of(builder, given["dtype"])), {}, context.span(node))
    callee = values.operand(builder, node.func)
    if isinstance(callee, Namespace):  # `relax.op.add` of the Python program
        return _call_named(builder, callee.name, node)
    if isinstance(callee, GraphMacro):
        return callee.expand(builder, node)
    if not isinstance(callee, GlobalVar | relax.Var | relax.ExternFunc):
        if isinstance(callee, Form | Closure | Method):
            return expressions.evaluate_call(context, node)
        if isinstance(callee, HostValue):
            args = [values.operand(builder, arg) for arg in node.args]
            named = {keyword.name: values.operand(builder, keyword.value) for keyword in node.keywords}
            return host.call(context, callee, node, args, named)
        help = "call a function of the module as Module.f(…), an external one with R.call_packed(…)"
        if isinstance(callee, tir.PrimExpr):
            help = "remove the parentheses after it"
        raise context.error("E0207", f"{describe(callee)} cannot be called", node.func, help)
    for keyword in node.keywords:
        raise context.error("E0105", "a function takes its arguments by position", keyword, "remove the name")
    args = tuple(values.to_expr(builder, values.evaluate(builder, arg), arg) for arg in node.args)
    return relax.Call(callee, args, span=context.span(node))


# --- The forms of `R` that are not operators ----------------------------------------------------------------------


def _emit_te(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Expr:
    """`R.emit_te(topi.add, x, y)`: a call of the loop function that a Python function builds from tensors."""
    context, func = builder.context, host.plain(values.operand(builder, given["func"]))
    if not callable(func):
        raise context.error("E0202", f"expected a Python function of tensors, got {describe(func)}", given["func"])
    args = [host.as_written(values.operand(builder, arg), arg) for arg in given.rest]
    named = {
        keyword.name: host.as_written(values.operand(builder, keyword.value), keyword.value) for keyword in given.extra
    }
    name = named.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
    attrs: Attrs = named.pop("primfunc_attrs", None) or {}
    try:
        made = call_te(func, args, named)
    except TvmsError as error:
        raise context.report(error, node) from None
    except (TypeError, ValueError) as problem:
        raise context.error("E0207", f"'{name}' cannot build a loop function: {problem}", node) from None
    function = replace(made.function, attrs={**made.function.attrs, **attrs})
    return replace(made.call(context.add_function(function, name)), span=context.span(node))


def _call_packed(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Call:
    """`R.call_packed("f", *args, sinfo_args=…)`: a call whose result has the struct info `sinfo_args`."""
    callee = values.to_expr(builder, _extern(builder, given["func"]), given["func"])
    args = tuple(values.to_expr(builder, values.evaluate(builder, arg), arg) for arg in given.rest)
    infos = given.get("sinfo_args")
    sinfo_args = () if infos is None else struct_infos(builder, infos)
    attrs = {keyword.name: expressions.evaluate(builder.context, keyword.value) for keyword in given.extra}
    return relax.Call(callee, args, attrs, sinfo_args, span=builder.context.span(node))


def _emit_with_type(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Expr:
    """`R.emit_with_sinfo("relax.add", (x, y), (R.Tensor((4,), "float32"),))`: a call of an operator that has types as arguments."""
    context = builder.context
    name = values.operand(builder, given["op"])
    operator = find(name) if isinstance(name, str) else None
    if operator is None:
        shown = f"'{name}'" if isinstance(name, str) else describe(name)
        raise context.error("E0301", f"there is no operator {shown}", given["op"], 'name it in full, as "relax.add"')
    args = values.to_expr(builder, values.evaluate(builder, given["args"]), given["args"])
    if not isinstance(args, relax.Tuple):
        raise context.error("E0321", "the arguments of an operator are a tuple", given["args"], "write (x, y)")
    infos = given.get("sinfo_args")
    made = () if infos is None else struct_infos(builder, infos)
    return builder.inferred(relax.Call(Op(operator.name), args.fields, {}, made, span=context.span(node)))


def _extern(builder: BlockBuilder, node: syntax.Expr) -> Any:
    value = values.operand(builder, node)
    if not isinstance(value, str):
        return value
    return relax.ExternFunc(FUNCTIONS.get(value, value), struct_info=ANY_FUNCTION, span=builder.context.span(node))


def _extern_func(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.ExternFunc:
    """`R.ExternFunc("f", struct_info)`: a function that is registered by name at run time."""
    function = _extern(builder, given["global_symbol"])
    if not isinstance(function, relax.ExternFunc):
        raise builder.context.error("E0321", f"{describe(function)} is not the name of a function", node)
    info = given.get("struct_info")
    return function if info is None else replace(function, struct_info=struct_info(builder, info))


@form("R.ExternFunc")
def extern_func(site: FormUse, global_symbol: Text) -> relax.ExternFunc:
    """`f = R.ExternFunc("f")` among the functions of a module; `R.ExternFunc("f", struct_info)` states its type."""
    name = FUNCTIONS.get(global_symbol, global_symbol)
    return relax.ExternFunc(name, struct_info=ANY_FUNCTION, span=site.span)


def extern_func_of_module(context: Context, call: syntax.Call) -> Any:
    """Return the value of `R.ExternFunc("f", struct_info)` among the functions of a module."""
    builder = BlockBuilder(context, set())
    builder.begin()
    return values.evaluate(builder, call)


def _match_cast(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> MatchCastRequest:
    """`y = R.match_cast(x, R.Tensor((n, 4), "float32"))`: checked at run time; binds new dimensions."""
    value = values.to_expr(builder, values.evaluate(builder, given["value"]), given["value"])
    return MatchCastRequest(value, struct_info(builder, given["struct_info"]))


def _shape(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.ShapeExpr:
    """`R.shape([n, 4])`: dimensions as a value."""
    dims = dimensions(builder, given["values"])
    if dims is None:
        raise builder.context.error(
            "E0321", "None is not a list of dimensions", given["values"], "write R.shape([n, 4])"
        )
    info = relax.ShapeStructInfo(dims, len(dims))
    check_ndim(builder, info, node)
    return relax.ShapeExpr(dims, struct_info=info, span=builder.context.span(node))


def _prim_value(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Expr:
    """`R.prim_value(n)`: a scalar of the loop level as a value."""
    value = values.known_scalar(computed(builder, given["value"]))
    if isinstance(value, str | tuple):
        raise builder.context.error("E0321", f"{describe(value)} is not a scalar", given["value"])
    return values.to_expr(builder, value, given["value"])


def _string(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Expr:
    """`R.str("text")`: a string as a value."""
    value = values.evaluate(builder, given["value"])
    if not isinstance(value, str):
        raise builder.context.error("E0321", f"{describe(value)} is not a string", given["value"])
    return relax.StringImm(value, span=builder.context.span(node))


def _dtype(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Expr:
    """`R.dtype("float32")`: a dtype as a value."""
    return relax.DataTypeImm(dtype_of(builder, given["value"]), span=builder.context.span(node))


def _tuple(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Expr:
    """`R.tuple(a, b)`: the same as `(a, b)`."""
    fields = tuple(values.to_expr(builder, values.evaluate(builder, field), field) for field in given.rest)
    return builder.inferred(relax.Tuple(fields, span=builder.context.span(node)))


def _tuple_get_item(builder: BlockBuilder, given: Arguments, node: syntax.Call) -> relax.Expr:
    """`R.TupleGetItem(t, 0)`: the same as `t[0]`."""
    index = values.evaluate(builder, given["index"])
    if not isinstance(index, int):
        raise builder.context.error("E0321", f"{describe(index)} is not an index", given["index"])
    return values.tuple_item(builder, values.operand(builder, given["tuple_value"]), index, node)


_Build: TypeAlias = Callable[[BlockBuilder, Arguments, syntax.Call], Any]
VALUE_FORMS: dict[str, tuple[Signature[Parameter], _Build]] = {
    "R.emit_te": (parameters("func", "*args", "**keywords"), _emit_te),
    **dict.fromkeys(
        ("R.emit_with_sinfo", "R.emit_with_type", "R.emit_with_ty"),
        (parameters("op", "args", "sinfo_args?"), _emit_with_type),
    ),
    "R.call_packed": (parameters("func", "*args", "sinfo_args?", "**attrs"), _call_packed),
    "R.ExternFunc": (parameters("global_symbol", "struct_info?"), _extern_func),
    "R.match_cast": (parameters("value", "struct_info"), _match_cast),
    "R.const": (parameters("value", "dtype?"), build_const),
    "R.dist.const": (parameters("value", "struct_info"), build_dist_const),
    "I.constant": (parameters("name", "struct_info?"), build_named_constant),
    "R.shape": (parameters("values"), _shape),
    "R.ShapeExpr": (parameters("values"), _shape),
    "R.prim_value": (parameters("value"), _prim_value),
    "R.str": (parameters("value"), _string),
    "R.dtype": (parameters("value"), _dtype),
    "R.tuple": (parameters("*fields"), _tuple),
    "R.TupleGetItem": (parameters("tuple_value", "index"), _tuple_get_item),
}

values.RULES[syntax.Call] = _call
remedies.FORMS.append(lambda: VALUE_FORMS)
