"""Indices of 32 bits (TVM: `ForceNarrowIndexToInt32`)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.diagnostics import error
from ...ir.visit import rewrite, walk

_LIMIT = 2**31


def narrow_indices(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with int32 variables and constants in place of all of int64. Sums and products must fit int32.

    Raises TvmsError E0906 if a buffer holds int64, or a constant does not fit int32.
    """
    for node in walk(func):
        if isinstance(node, tir.Buffer) and node.dtype.startswith(("int64", "uint64")):
            help = "indices are narrowed only if no data is of int64"
            raise error("E0906", f"buffer '{node.name}' holds {node.dtype}", node.span, help)
    variables: dict[tir.Var, tir.Var] = {}

    def narrow(node: Any) -> Any:
        match node:
            case tir.Var(dtype="int64"):
                return variables.setdefault(node, replace(node, dtype="int32"))
            case tir.IntImm(dtype="int64"):
                if not -_LIMIT <= node.value < _LIMIT:
                    raise error("E0906", f"the constant {node.value} does not fit int32", node.span)
                return replace(node, dtype="int32")
            case tir.Cast(dtype="int64"):
                return make.cast(node.value, "int32")
            case tir.Cast() if node.dtype == node.value.dtype:
                return node.value
            case tir.BinaryOp() if not isinstance(node, tir.CmpOp) and node.dtype == "int64":
                return replace(node, dtype="int32")
            case tir.Select() | tir.Call() | tir.Let() if node.dtype == "int64":
                return replace(node, dtype="int32")
            case _:
                return None

    return rewrite(func, narrow)
