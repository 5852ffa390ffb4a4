"""What inference assumes but cannot prove is checked at run time: sizes that an operator requires to be equal, and declared results.

Both become `R.match_cast`, so that the interpreter and compiled code check in the same way (TVM: `VMShapeLower`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from . import relax, tir
from .base import Node, Op, StructInfo
from .equal import structural_equal
from .infer import assumed_equal, infer_struct_info, join
from .visit import rewrite, walk


def with_checked_sizes(body: relax.SeqExpr) -> relax.SeqExpr:
    """Return a sequence that checks the sizes of each operator before it."""
    checked = tuple(_checked(block) for block in body.blocks)
    last = tuple(checks_of_sizes(body.body, relax.Var))
    return replace(body, blocks=(*checked, relax.BindingBlock(last)) if last else checked)


def _checked(block: relax.BindingBlock) -> relax.BindingBlock:
    kind = relax.DataflowVar if isinstance(block, relax.DataflowBlock) else relax.Var
    bindings: list[relax.Binding] = []
    for binding in block.bindings:
        bindings += checks_of_sizes(binding.value, kind)
        bindings.append(binding)
    return block if len(bindings) == len(block.bindings) else replace(block, bindings=tuple(bindings))


def checks_of_sizes(value: relax.Expr, kind: type[relax.Var]) -> Iterator[relax.MatchCast]:
    """Yield the checks of the sizes that a call, and the calls in its arguments, require to be equal and that are not proven equal.

    `kind` is the kind of variables at that place.
    """
    if not isinstance(value, relax.Call):
        return
    for arg in value.args:
        yield from checks_of_sizes(arg, kind)
    if not isinstance(value.op, Op) or not _has_symbolic_sizes(value):
        return
    pairs = assumed_equal(value)
    if pairs:
        given, needed = (tuple(side) for side in zip(*pairs, strict=True))
        info = relax.ShapeStructInfo(needed)
        var = kind(f"sizes_of_{value.op.name.rpartition('.')[2]}", struct_info=info, span=value.span)
        yield relax.MatchCast(var, relax.ShapeExpr(given, span=value.span), info, span=value.span)


def _has_symbolic_sizes(call: relax.Call) -> bool:
    infos = (infer_struct_info(arg) for arg in call.args)
    return any(isinstance(node, tir.Var) for info in infos for node in walk(info))


def with_checked_results(function: relax.Function) -> relax.Function:
    """Return a function whose result, and those of the functions in it, are checked.

    A result is not checked if its declared type follows from what is known of the value.
    """
    return rewrite(function, with_checked_result)


def with_checked_result(function: Node) -> relax.Function | None:
    """Return a function whose result is checked, or None if that is not necessary."""
    if not isinstance(function, relax.Function) or function.ret_struct_info is None:
        return None
    body, declared = function.body, function.ret_struct_info
    if _follows(declared, infer_struct_info(body.body)):
        return None
    span = body.body.span or function.span
    checked = relax.Var("return_value", struct_info=declared, span=span)
    block = relax.BindingBlock((relax.MatchCast(checked, body.body, declared, span=span),))
    body = replace(body, blocks=(*body.blocks, block), body=checked, struct_info=declared)
    return replace(function, body=body)


def _follows(declared: StructInfo, known: StructInfo) -> bool:
    """Return whether every value of `known` matches `declared`. Types of functions are not checked at run time."""
    if any(isinstance(node, relax.FuncStructInfo) for node in walk(declared)):
        return True
    return structural_equal(declared, known) or structural_equal(join(declared, known), declared)
