"""The law of graph-level values: struct info agrees with the operands, and pure functions have no side effects.

E0437: a call with side effects in a pure function or a dataflow block · E0438: struct info that contradicts its
value · E0439: metadata that the text does not contain.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from .. import relax
from ..base import GlobalVar, IRModule, Metadata, Node, Op, StructInfo
from ..contradiction import contradiction
from ..diagnostics import Diagnostic, Note, TvmsError
from ..infer import infer_struct_info
from ..purity import FORCE_PURE, is_pure_call
from ..visit import children


def check_values(function: relax.Function, module: IRModule | None) -> Iterator[Diagnostic]:
    """Check every binding of `function` and of its nested functions."""
    stack: list[tuple[Node, relax.Function, bool]] = [(function.body, function, False)]
    yield from _check_result(function)
    while stack:
        node, owner, in_dataflow = stack.pop()
        match node:
            case relax.Function():
                yield from _check_result(node)
                stack.append((node.body, node, False))
                continue
            case relax.BindingBlock():
                in_dataflow = isinstance(node, relax.DataflowBlock)
            case relax.VarBinding():
                yield from _check_struct_info(node)
            case relax.Constant(data=Metadata() as data, name=None):
                yield missing(data, node)
            case relax.Call() if not is_pure_call(node, module):
                yield from _check_purity(node, owner, in_dataflow)
            case _:
                pass
        graph = (relax.Expr, relax.Binding, relax.BindingBlock)
        stack.extend([(child, owner, in_dataflow) for child in reversed(children(node)) if isinstance(child, graph)])


def missing(data: Metadata, place: Node) -> Diagnostic:
    """Return the message for metadata that a text names but does not contain."""
    message = f'the text does not contain metadata["{data.key}"][{data.index}]'
    return Diagnostic(
        "E0439", message, place.span or data.span, 'name a tensor of the sidecar file: I.constant("name")'
    )


def _check_struct_info(binding: relax.VarBinding) -> Iterator[Diagnostic]:
    value, said, name = binding.value, binding.var.struct_info, binding.var.name_hint
    if said is None or not isinstance(value, relax.Call | relax.Tuple | relax.TupleGetItem | relax.Var):
        return
    try:
        known = (
            value.struct_info if isinstance(value, relax.Var) else infer_struct_info(replace(value, struct_info=None))
        )
    except TvmsError as error:
        yield from error.diagnostics
        return
    reason = known and contradiction(said, known)
    if known is not None and reason is not None:
        message = f"the annotation of '{name}' contradicts its value: {reason}"
        help, note = f"annotate it as {known}, or leave it out", Note(f"the value is {known}", value.span)
        yield Diagnostic("E0438", message, binding.var.span or value.span, help, (note,))


def _check_result(function: relax.Function) -> Iterator[Diagnostic]:
    said, known = function.ret_struct_info, function.body.struct_info
    reason = contradiction(said, known) if said is not None and known is not None else None
    if said is not None and known is not None and reason is not None:
        message = f"function {_function_name(function)}does not return its declared type: {reason}"
        note = Note(f"the value is {known}", function.body.body.span)
        yield Diagnostic("E0438", message, said.span or function.span, _remedy(function, said, known), (note,))


def _remedy(function: relax.Function, said: StructInfo, known: StructInfo) -> str:
    """Return a remedy for a result of the wrong type: an output of the dataflow block, if one fits, else the type to declare."""
    if isinstance(function.body.body, relax.DataflowVar):
        bound = [binding.var for block in function.body.blocks for binding in block.bindings]
        outputs = [var for var in bound if not isinstance(var, relax.DataflowVar)]
        for var in reversed(outputs):
            if var.struct_info is not None and contradiction(said, var.struct_info) is None:
                return f"return '{var.name_hint}', which the block outputs"
    return f"write {known}"


def _function_name(function: relax.Function) -> str:
    name = function.attrs.get("global_symbol")
    return f"'{name}' " if isinstance(name, str) else ""


def _check_purity(call: relax.Call, owner: relax.Function, in_dataflow: bool) -> Iterator[Diagnostic]:
    name = _name(call)
    if in_dataflow:
        message = f"{name} has side effects, which a dataflow block cannot have"
        yield Diagnostic("E0437", message, call.span, "move the call out of the dataflow block")
    elif owner.is_pure and not owner.attrs.get(FORCE_PURE):
        message = f"{name} has side effects, but the function that calls it is pure"
        yield Diagnostic("E0437", message, call.span, "write R.function(pure=False)")


def _name(call: relax.Call) -> str:
    match call.op:
        case Op(name=name):
            return "R." + name.removeprefix("relax.")
        case GlobalVar(name_hint=name) | relax.Var(name_hint=name):
            return f"'{name}'"
        case _:
            return "this call"
