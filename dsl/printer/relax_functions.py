"""Graph-level bindings, blocks of bindings, and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Attrs, GlobalVar, Node, StructInfo, Trivia
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_int
from ...ir.equal import structural_equal
from ...ir.infer import infer_struct_info
from ...ir.visit import walk
from .heads import add_function, header
from .printer import Printer, prints_lines
from .relax_expressions import INFERRED_FROM_SINFO_ARGS, scalar
from .struct_info import annotation, symbols_in

# --- Bindings -------------------------------------------------------------------------------------------------


def _annotation(printer: Printer, var: relax.Var, value: relax.Expr | None) -> str:
    """Return the annotation `: info`, or an empty string if the bound value implies it.

    So does a call that declares the struct info of its result and, in the native dialect, any value from
    which it can be inferred.
    """
    info = var.struct_info
    if info is None or (value is not None and not printer.options.show_all_struct_info):
        return ""
    if isinstance(value, relax.Call) and value.op in INFERRED_FROM_SINFO_ARGS and len(value.sinfo_args) == 1:
        given = value.sinfo_args[0]
        if given is info or structural_equal(given, info):
            return ""
    elif (printer.dialect.native and _is_inferred(info, value)) or (
        _names_unnamed(printer, info) and (isinstance(value, relax.PrimValue) or _is_inferred(info, value))
    ):
        return ""
    return f": {annotation(printer, info)}"


def _names_unnamed(printer: Printer, info: StructInfo) -> bool:
    """Return whether struct info holds the value of a scalar, which the dialect has no word for."""
    known = (isinstance(part, relax.PrimStructInfo) and part.value is not None for part in walk(info))
    return printer.dialect.passes_dimensions and any(known)


def _is_inferred(info: StructInfo, value: relax.Expr | None) -> bool:
    """Return whether `info` can be inferred from the bound value alone."""
    if not isinstance(value, relax.Call | relax.Tuple | relax.TupleGetItem | relax.Var | relax.Constant):
        return False
    if isinstance(value, relax.Call) and isinstance(value.op, GlobalVar):
        # The struct info of the callee's result may be unknown when the text is read from its beginning.
        return False
    if not isinstance(value, relax.Var) and not (isinstance(value, relax.Constant) and value.name is not None):
        value = replace(value, struct_info=None)
    try:
        return structural_equal(infer_struct_info(value), info)
    except TvmsError:
        return False


def _right_side(printer: Printer, value: relax.Expr) -> str:
    """Return a bound value; a tuple of several elements has no parentheses, as in TVM."""
    if isinstance(value, relax.Tuple) and len(value.fields) > 1:
        return printer.expr(value)[1:-1]
    return printer.expr(value)


def _add_statement(printer: Printer, node: relax.VarBinding) -> None:
    """Add a binding of the empty tuple as its value alone; if its variable is used later, make the line a binding."""
    var, frame, text = node.var, printer.frames[-1], printer.expr(node.value)
    printer.add(text, node.trivia)
    place = len(frame.lines) - 1

    def name_it() -> str:
        del printer.names[var]
        name = printer.define(var, var.name_hint or "v", frame)
        binding = f"{frame.indent}{name}: {printer.expr(var.struct_info)} = {text}"
        frame.lines[place] = frame.lines[place].replace(frame.indent + text, binding, 1)
        return name

    printer.define_as(var, name_it, frame)


def _is_statement(var: relax.Var, value: relax.Expr) -> bool:
    """Return whether a binding is printed as its value alone, which must be the empty tuple."""
    info = var.struct_info
    if not isinstance(info, relax.TupleStructInfo) or info.fields:
        return False
    if isinstance(value, relax.Call) and isinstance(value.op, GlobalVar):
        return isinstance(value.struct_info, relax.TupleStructInfo) and not value.struct_info.fields
    return isinstance(value, relax.Call) and _is_inferred(info, value)


@prints_lines(relax.VarBinding)
def _var_binding(printer: Printer, node: relax.VarBinding) -> None:
    var, value = node.var, node.value
    if isinstance(value, relax.If):
        said = _annotation(printer, var, value)
        name = printer.define(var, var.name_hint or "v")
        _if(printer, value, node.trivia, lambda text: f"{name}{said} = {text}")
    elif isinstance(value, relax.Function):
        printer.function_name = printer.define(var, var.name_hint or "v")
        _nested_function(printer, value, node.trivia)
    elif _is_statement(var, value):
        _add_statement(printer, node)
    elif (text := scalar(printer, value)) is not None and var.struct_info == infer_struct_info(value):
        kind = annotation(printer, relax.PrimStructInfo(cast("relax.PrimValue", value).value.dtype))
        printer.add(f"{printer.define(var, var.name_hint or 'v')}: {kind} = {text}", node.trivia)
    else:
        text = _right_side(printer, value)
        said = _annotation(printer, var, value)
        name = printer.define(var, var.name_hint or "v")
        printer.add(f"{name}{said} = {text}", node.trivia)


@prints_lines(relax.MatchCast)
def _match_cast(printer: Printer, node: relax.MatchCast) -> None:
    said = _annotation(printer, node.var, None)
    if printer.dialect.native and node.var.struct_info is not None:
        said = "" if structural_equal(node.var.struct_info, node.struct_info) else said
    text = f"{printer.relax('match_cast')}({printer.joined((node.value, node.struct_info))})"
    name = printer.define(node.var, node.var.name_hint or "v")
    printer.add(f"{name}{said} = {text}", node.trivia)


@prints_lines(relax.BindingBlock)
def _binding_block(printer: Printer, node: relax.BindingBlock) -> None:
    frame = printer.frames[-1]
    trivia = node.trivia or Trivia()
    frame.lines.extend([frame.indent + comment for comment in trivia.before])
    for binding in node.bindings:
        printer.statement(binding)
    frame.lines.extend([frame.indent + comment for comment in trivia.end])


@prints_lines(relax.DataflowBlock)
def _dataflow_block(printer: Printer, node: relax.DataflowBlock) -> None:
    outer = printer.frames[-1]
    with printer.frame(node) as frame:
        for binding in node.bindings:
            printer.statement(binding)
        variables = [cast("relax.VarBinding", binding).var for binding in node.bindings]
        outputs = [var for var in variables if not isinstance(var, relax.DataflowVar)]
        frame.line(f"{printer.relax('output')}({printer.joined(outputs)})")
        # The names outlive the block, because its variables may be returned.
        outer.defined += frame.defined
        frame.defined = []
    printer.add(f"with {printer.relax('dataflow')}():", node.trivia, frame)


# --- Sequences ------------------------------------------------------------------------------------------------


def _sequence(printer: Printer, node: relax.SeqExpr, result: Callable[[str], str]) -> None:
    """Add the bindings of a sequence and the line for its value, which `result` builds from its text."""
    for block in node.blocks:
        printer.statement(block)
    text = scalar(printer, node.body) or printer.expr(node.body)
    printer.frames[-1].line(result(text))


@prints_lines(relax.SeqExpr)
def _seq_expr(printer: Printer, node: relax.SeqExpr) -> None:
    with printer.frame(node, indented=False) as frame:
        _sequence(printer, node, str)
    printer.frames[-1].lines.append(frame.lines)


def _if(printer: Printer, node: relax.If, trivia: Trivia | None, result: Callable[[str], str]) -> None:
    condition = printer.expr(node.cond)
    branches: list[Any] = []
    for branch in (node.true_branch, node.false_branch):
        with printer.frame(branch) as frame:
            _sequence(printer, branch, result)
        branches.append(frame)
    printer.add(f"if {condition}:", trivia and Trivia(trivia.before, trivia.after), branches[0])
    printer.add("else:", trivia and Trivia(end=trivia.end), branches[1])


@prints_lines(relax.If)
def _bare_if(printer: Printer, node: relax.If) -> None:
    _if(printer, node, None, str)


# --- Functions ------------------------------------------------------------------------------------------------


def _signature(printer: Printer, node: relax.Function) -> tuple[list[str], str]:
    """Return the parameters and the result's struct info; the symbolic dimensions that they bind are quoted.

    The result's struct info is omitted if it has variables that no parameter binds; it follows from the body.
    """
    frame = printer.frames[-1]
    frame.function_vars = set()
    passed = _define_passed(printer, node) if printer.dialect.passes_dimensions else {}
    info = node.ret_struct_info
    bound = {symbol for param in node.params for symbol in symbols_in(param.struct_info)}
    returns = ""
    if info is not None and symbols_in(info) <= bound:
        is_known = _names_unnamed(printer, info) and structural_equal(info, infer_struct_info(node.body))
        returns = "" if is_known else annotation(printer, info)
    params: list[str] = []
    for param in node.params:
        if param in passed:
            kind = relax.PrimStructInfo(param.struct_info.dtype)  # type: ignore[reportAttributeAccessIssue]
            params.append(f"{passed[param]}: {annotation(printer, kind)}")
            continue
        name = printer.define(param, param.name_hint or "v")
        params.append(f"{name}{_annotation(printer, param, None)}")
    frame.function_vars = None
    return params, returns


def _define_passed(printer: Printer, node: relax.Function) -> dict[relax.Var, str]:
    """Return the parameters that have the name of a dimension that they pass; the function computes with it elsewhere too."""
    passed: dict[tir.Var, relax.Var] = {}
    for param in node.params:
        info = param.struct_info
        if not isinstance(info, relax.PrimStructInfo) or not is_int(info.dtype):
            continue
        if isinstance(info.value, tir.Var) and info.value not in printer.names:
            passed.setdefault(info.value, param)
    if not passed:
        return {}
    others = [param.struct_info for param in node.params if param not in passed.values()]
    used = {symbol for info in (*others, node.ret_struct_info) for symbol in symbols_in(info)}
    used.update(_shown_dimensions(printer, node.body))
    frame, names = printer.frames[-1], dict[relax.Var, str]()
    for dimension, param in passed.items():
        if dimension in used:
            names[param] = name = printer.define(dimension, dimension.name or "n", frame)
            printer.define_as(param, lambda name=name: name, frame)
            printer.passed.add(dimension)
            if frame.function_vars is not None:
                frame.function_vars.add(dimension)
    return names


def _shown_dimensions(printer: Printer, body: relax.Expr) -> Iterator[tir.Var]:
    """Yield the dimensions in the text of a body: not those of struct info that no annotation says."""
    stack: list[Any] = [body]
    while stack:
        match item := stack.pop():
            case relax.VarBinding(var=var, value=value):
                info = None if isinstance(value, relax.Function) else var.struct_info
                stack += [value, info if info is not None and not _names_unnamed(printer, info) else None]
            case relax.Function():
                stack += [*[param.struct_info for param in item.params], item.ret_struct_info, item.body]
            case relax.Var() | None:
                pass
            case StructInfo() | tir.PrimExpr():
                yield from (node for node in walk(item) if isinstance(node, tir.Var))
            case tuple():
                stack.extend(cast("tuple[Any, ...]", item))
            case Node():
                stack.extend(getattr(item, name) for name in item.__struct_fields__ if name != "struct_info")
            case _:
                pass


def _function(printer: Printer, node: relax.Function, trivia: Trivia | None, is_nested: bool) -> None:
    name = printer.function_name or str(node.attrs.get("global_symbol", "main"))
    printer.function_name = None
    keywords = {} if node.is_pure else {"pure": "False"}
    if not is_nested and "global_symbol" not in node.attrs:
        keywords["private"] = "True"
    with printer.frame(node, is_function=True) as frame:
        params, returns = _signature(printer, node)
        attrs: Attrs = {
            key: value for key, value in node.attrs.items() if is_nested or key != "global_symbol" or value != name
        }
        if attrs:
            frame.line(f"{printer.relax('func_attr')}({printer.attrs(attrs)})")
        with printer.frame(node.body, indented=False) as body:
            _sequence(printer, node.body, lambda text: f"return {text}")
        frame.lines.extend(body.lines)
    add_function(printer, printer.relax("function"), keywords, name, params, returns, trivia, frame)


def _nested_function(printer: Printer, node: relax.Function, trivia: Trivia | None) -> None:
    """Print a nested function; TVM repeats the header above it."""
    printer.relax("function")
    frame = printer.frames[-1]
    for line in header(printer):
        frame.lines.append(frame.indent + line if line else "")
    _function(printer, node, trivia or node.trivia, is_nested=True)


@prints_lines(relax.Function)
def _relax_function(printer: Printer, node: relax.Function) -> None:
    was, printer.in_relax = printer.in_relax, True
    _function(printer, node, node.trivia, is_nested=any(frame.is_function for frame in printer.frames))
    printer.in_relax = was
