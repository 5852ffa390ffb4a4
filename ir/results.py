"""Declared types of results that a program does not imply: they are checked where the function returns."""

from __future__ import annotations

from msgspec.structs import replace

from . import relax
from .base import Node, StructInfo
from .equal import structural_equal
from .infer import infer_struct_info, join
from .visit import rewrite, walk


def with_checked_results(function: relax.Function) -> relax.Function:
    """Return a function whose result, and those of the functions in it, are checked as by `R.match_cast` (TVM: `VMShapeLower`).

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
