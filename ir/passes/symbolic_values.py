"""Symbolic dimensions with known values (TVM: first half of `CanonicalizeBindings`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax, tir
from ..base import Node
from ..diagnostics import error
from ..infer import bind_dims, infer_struct_info
from ..ops.dims import is_different, show_one, simplify
from ..variables import defined_variables
from ..visit import rewrite, substitute
from .rewriter import forgotten


def use_known_dims(function: relax.Function) -> relax.Function:
    """Return `function` with symbolic dimensions replaced by the values that a `match_cast` gives them.

    Those inside branches are ignored, as they only hold there. Raises TvmsError E0909 if two contradict each other.
    """
    given, known = set(defined_variables(function)), dict[tir.Var, tir.PrimExpr]()
    found_by: dict[tir.Var, relax.Var] = {}
    for block in function.body.blocks:
        for binding in block.bindings:
            if isinstance(binding, relax.MatchCast) and binding.value.struct_info is not None:
                found: dict[tir.Var, tir.PrimExpr] = {}
                bind_dims(binding.struct_info, binding.value.struct_info, found)
                for dim, value in found.items():
                    if dim not in given:
                        _learn(dim, simplify(substitute(value, known)), binding.var, known, found_by)
    known = {dim: value for dim, value in known.items() if value is not dim}
    return with_simple_dims(substitute(forgotten(function), known)) if known else function


def _learn(
    dim: tir.Var,
    value: tir.PrimExpr,
    var: relax.Var,
    known: dict[tir.Var, tir.PrimExpr],
    found_by: dict[tir.Var, relax.Var],
) -> None:
    if dim not in known:
        known[dim], found_by[dim] = value, var
    elif is_different(known[dim], value):
        reason = f"'{dim.name}' is {show_one(known[dim])} by '{found_by[dim].name_hint}'"
        reason += f", and {show_one(value)} by '{var.name_hint}'"
        raise error("E0909", reason, var.span, "give different dimensions different names")


def with_simple_dims(function: relax.Function) -> relax.Function:
    """Return `function` with the sizes in it simplified."""

    def new(node: Node) -> Node | None:
        match node:
            case relax.ShapeExpr(values=values):
                simple = relax.ShapeExpr(tuple(map(simplify, values)), span=node.span)
            case relax.PrimValue(value=value):
                simple = relax.PrimValue(simplify(value), span=node.span)
            case relax.PrimStructInfo(value=tir.PrimExpr() as value):
                return replace(node, value=simplify(value))
            case _:
                return None
        return replace(simple, struct_info=infer_struct_info(simple))

    return rewrite(function, new)
