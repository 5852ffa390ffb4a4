"""One dtype for all indices of a function (TVM: `index_dtype_override`, `tir/ir/data_type_rewriter.cc`)."""

from __future__ import annotations

from typing import Any, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from . import make, tir
from .base import Op
from .visit import rewrite

_INDEX_DTYPES = ("int32", "int64")

SAME_IN_ANY_WIDTH = {
    f"tir.{name}"
    for name in (
        "if_then_else", "likely", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right",
    )
}  # fmt: skip
"""Intrinsics that compute the same in int32 and int64 if their operands and results fit; `T.clz`, for example, does not."""

_OWN_DTYPE = Op("tir.reinterpret")
"""Marks an operand that keeps its dtype while variables in it get another one."""


def with_marked_operands(expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return `expr` with marked operands in calls that depend on the width of their operands."""

    def marked(node: Any) -> Any:
        match node:
            case tir.Call(op=Op(name=name)) if name not in SAME_IN_ANY_WIDTH and any(map(_is_index, node.args)):
                return replace(node, args=tuple(_marked(arg) if _is_index(arg) else arg for arg in node.args))
            case _:
                return None

    return rewrite(expr, marked)


def _is_index(arg: object) -> TypeGuard[tir.PrimExpr]:
    return isinstance(arg, tir.PrimExpr) and arg.dtype in _INDEX_DTYPES and not isinstance(arg, tir.IntImm)


def _marked(arg: tir.PrimExpr) -> tir.PrimExpr:
    return tir.Call(arg.dtype, _OWN_DTYPE, (arg,))


class IndexDtype(Struct):
    """Converts index expressions and their variables to `dtype`; None leaves them unchanged."""

    dtype: str | None
    variables: dict[tir.Var, tir.Var]

    def variable(self, var: tir.Var) -> tir.Var:
        """Return the replacement of `var`: itself unless its dtype changes."""
        if self.dtype is None or var.dtype == self.dtype or var.dtype not in _INDEX_DTYPES:
            return var
        return self.variables.setdefault(var, replace(var, dtype=self.dtype))

    def index(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return an index, a size or a bound in this dtype."""

        def turn(node: Any) -> Any:
            return self.variable(node) if isinstance(node, tir.Var) else self.fit(node)

        return expr if self.dtype is None else self._cast(rewrite(with_marked_operands(expr), turn))

    def domain(self, domain: tir.Range) -> tir.Range:
        return tir.Range(self.index(domain.min), self.index(domain.extent))

    def fit(self, node: Any) -> tir.PrimExpr | None:
        """Return `node` rebuilt if variables in it changed their dtype, else None."""
        if self.dtype is None:
            return None
        match node:
            case tir.ProducerLoad() | tir.BufferLoad():
                indices = tuple(self._cast(index) for index in node.indices)
                return replace(node, indices=indices) if _differ(indices, node.indices) else None
            case tir.BinaryOp() | tir.CmpOp() if self._is_mixed(node.a, node.b):
                a, b = self._pair(node.a, node.b)
                dtype = node.dtype if isinstance(node, tir.CmpOp) else a.dtype
                return replace(node, dtype=dtype, a=a, b=b)
            case tir.BinaryOp() if not isinstance(node, tir.CmpOp) and node.dtype != node.a.dtype:
                return replace(node, dtype=node.a.dtype)
            case tir.Cast() if node.dtype == node.value.dtype:
                return node.value
            case tir.Select() if self._is_mixed(node.true_value, node.false_value):
                then, otherwise = self._pair(node.true_value, node.false_value)
                return make.select(node.condition, then, otherwise)
            case tir.Call(op=op, args=(condition, then, otherwise)) if getattr(op, "name", "") == "tir.if_then_else":
                return self._if_then_else(node, condition, then, otherwise)
            case tir.Call(op=op, args=(tir.PrimExpr() as value,)) if op == _OWN_DTYPE and node.dtype in _INDEX_DTYPES:
                return make.cast(value, node.dtype) if value.dtype in _INDEX_DTYPES else None
            case tir.Call(op=Op(name=name)) if name in SAME_IN_ANY_WIDTH and node.dtype in _INDEX_DTYPES:
                return self._of_one_dtype(node)
            case _:
                return None

    def _of_one_dtype(self, call: tir.Call) -> tir.Call | None:
        dtypes = {arg.dtype for arg in call.args if isinstance(arg, tir.PrimExpr)}
        if dtypes == {call.dtype} or self.dtype is None:
            return None
        args = tuple(self._cast(arg) if isinstance(arg, tir.PrimExpr) else arg for arg in call.args)
        return replace(call, dtype=self.dtype, args=args)

    def _if_then_else(self, node: tir.Call, condition: Any, then: Any, otherwise: Any) -> tir.PrimExpr | None:
        if not self._is_mixed(then, otherwise) and node.dtype == then.dtype:
            return None
        return make.if_then_else(condition, *self._pair(then, otherwise))

    def _is_mixed(self, a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
        return a.dtype != b.dtype and a.dtype in _INDEX_DTYPES and b.dtype in _INDEX_DTYPES

    def _pair(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        return (self._cast(a), self._cast(b)) if self._is_mixed(a, b) else (a, b)

    def _cast(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        if self.dtype is None or expr.dtype == self.dtype or expr.dtype not in _INDEX_DTYPES:
            return expr
        return make.cast(expr, self.dtype)


def computed_in_int64(index: tir.PrimExpr) -> tir.PrimExpr:
    """Return an index, which loads nothing, computed in int64 from its variables. It is equal unless `index` overflows."""
    wide = IndexDtype("int64", {})

    def turn(node: Any) -> Any:
        return make.cast(node, "int64") if isinstance(node, tir.Var) and node.dtype == "int32" else wide.fit(node)

    return make.cast(rewrite(with_marked_operands(index), turn), "int64")


def _differ(new: tuple[Any, ...], old: tuple[Any, ...]) -> bool:
    return any(a is not b for a, b in zip(new, old, strict=True))
