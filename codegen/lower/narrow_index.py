"""Indices of 32 bits (TVM: `ForceNarrowIndexToInt32`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.dtype import parse_dtype, with_lanes_of
from ...ir.index_dtype import SAME_IN_ANY_WIDTH
from ...ir.visit import walk
from .rewriter import Rewriter

_LIMIT = 2**31


def narrow_indices(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with int32 variables and constants in place of all of int64. Sums and products must fit int32.

    Other calls, such as `T.clz`, still get operands of int64. Raises TvmsError E0906 if a buffer holds int64, or a constant
    does not fit int32.
    """
    for node in walk(func):
        if isinstance(node, tir.Buffer) and node.dtype.startswith(("int64", "uint64")):
            help = "indices are narrowed only if no data is of int64"
            raise error("E0906", f"buffer '{node.name}' holds {node.dtype}", node.span, help)
    return _Narrower().rewrite(func)


def _is_wide(dtype: str) -> bool:
    return parse_dtype(dtype).name == "int64"


class _Narrower(Rewriter):
    def __init__(self) -> None:
        operations = (
            tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max, tir.Select, tir.Let, tir.Ramp,
            tir.Broadcast, tir.Shuffle,
        )  # fmt: skip
        rules: dict[type[Any], Callable[[Any], Any]] = {
            tir.Var: self._narrow_variable, tir.SizeVar: self._narrow_variable, tir.IntImm: self._constant, tir.Cast: self._cast,
            tir.Call: self._call, tir.Evaluate: self._evaluate, **dict.fromkeys(operations, self._operation),
        }  # fmt: skip
        super().__init__(rules)

    def _narrow_variable(self, var: tir.Var) -> tir.PrimExpr:
        if not _is_wide(var.dtype):
            return var
        return self.values.setdefault(var, replace(var, dtype=with_lanes_of("int32", var.dtype)))

    def _constant(self, node: tir.IntImm) -> tir.PrimExpr:
        if node.dtype != "int64":
            return node
        if not -_LIMIT <= node.value < _LIMIT:
            raise error("E0906", f"the constant {node.value} does not fit int32", node.span)
        return replace(node, dtype="int32")

    def _cast(self, node: tir.Cast) -> tir.PrimExpr:
        value = self.rewrite(node.value)
        if _is_wide(node.dtype):
            return make.cast(value, with_lanes_of("int32", node.dtype))
        return value if value.dtype == node.dtype else self.rebuild(node)

    def _operation(self, node: Any) -> tir.PrimExpr:
        rebuilt = self.rebuild(node)
        return replace(rebuilt, dtype=with_lanes_of("int32", node.dtype)) if _is_wide(node.dtype) else rebuilt

    def _call(self, node: tir.Call) -> tir.PrimExpr:
        if not isinstance(node.op, Op) or node.op.name in SAME_IN_ANY_WIDTH:
            return self._operation(node)
        call = self._kept(node)
        return make.cast(call, with_lanes_of("int32", node.dtype)) if _is_wide(node.dtype) else call

    def _kept(self, node: tir.Call) -> tir.Call:
        """Return the call with operands of their own dtypes."""
        pairs = zip(self.rewrite(node.args), node.args, strict=True)
        args = tuple(
            make.cast(new, old.dtype)
            if new is not old and isinstance(old, tir.PrimExpr) and _is_wide(old.dtype)
            else new
            for new, old in pairs
        )
        return replace(node, args=args)

    def _evaluate(self, node: tir.Evaluate) -> tir.Stmt:
        match node.value:
            case tir.Call(op=Op()) as call:
                return replace(node, value=self._kept(call))
            case _:
                return self.rebuild(node)
