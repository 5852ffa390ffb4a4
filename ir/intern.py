"""Hash consing of expressions: equal expressions become one node, so that `is` compares them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from . import tir
from .base import Node, Op
from .dtype import is_int, is_vector
from .ops.tir import get
from .visit import children, field_names, post_order, rewrite_recording, walk


def is_scalar_int(dtype: str) -> bool:
    return is_int(dtype) and not is_vector(dtype)


def has_effects(expr: tir.PrimExpr) -> bool:
    """Whether evaluating `expr` may have an effect, so that the number of evaluations matters."""
    return any(isinstance(node, tir.Call) and not _only_reads(node) for node in walk(expr))


def may_fault(node: Node) -> bool:
    """Whether an operator may fault for some operands: a division by zero, or a shift by a negative amount."""
    match node:
        case tir.FloorDiv() | tir.FloorMod() | tir.Div() | tir.Mod():
            divisor = node.b.value if isinstance(node.b, tir.Broadcast) else node.b
            return is_int(node.dtype) and not (isinstance(divisor, tir.IntImm) and divisor.value)
        case tir.Call(op=Op(name="tir.shift_left" | "tir.shift_right"), args=(_, amount)):
            return not (isinstance(amount, tir.IntImm) and amount.value >= 0)
        case _:
            return False


def nodes_with_effects(expr: tir.PrimExpr) -> set[tir.PrimExpr]:
    """Return the expressions in `expr`, including itself, that have side effects."""
    found: set[Node] = set()
    for node in post_order(expr):
        if any(child in found for child in children(node)) or (isinstance(node, tir.Call) and not _only_reads(node)):
            found.add(node)
    return {node for node in found if isinstance(node, tir.PrimExpr)}


def _only_reads(call: tir.Call) -> bool:
    row = get(call.op.name) if isinstance(call.op, Op) else None
    return row is not None and (row.is_pure or row.effect == "read")


class Nodes:
    """A table with one node for each class of equal expressions."""

    def __init__(self) -> None:
        self.by_key: dict[Any, tir.PrimExpr] = {}
        self.total: dict[tir.PrimExpr, bool] = {}
        """The results of `Simplifier.is_total`."""
        self._known: dict[tir.PrimExpr, tir.PrimExpr] = {}

    def intern(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the interned node equal to `expr`, whose operands must be interned."""
        return self.by_key.setdefault(self._key(expr), expr)

    def number(self, value: int, dtype: str) -> tir.PrimExpr:
        """Return the interned constant of a scalar integer dtype."""
        found = self.by_key.get((tir.IntImm, dtype, value))
        return self.intern(tir.IntImm(dtype, value)) if found is None else found

    def intern_all(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the interned node equal to `expr`; its operands need not be interned. Buffers stay the same objects."""
        found = expr if isinstance(expr, tir.Var) else self._known.get(expr)
        if found is None:
            buffers = {node: node for node in walk(expr) if isinstance(node, tir.Buffer)}
            found, _ = rewrite_recording(
                expr, lambda node: self.intern(node) if isinstance(node, tir.PrimExpr) else None, buffers
            )
            self._known[expr] = found
        return found

    def _key(self, expr: tir.PrimExpr) -> Any:
        match expr:
            case tir.IntImm():
                return (tir.IntImm, expr.dtype, expr.value)
            case tir.Var() | tir.Let() | tir.Reduce() | tir.ProducerLoad():
                return expr
            case tir.Mul() if is_int(expr.dtype) and len(few_factors(expr)) > 1:
                return (tir.Mul, expr.dtype, frozenset(Counter(factors(expr)).items()))
            case tir.Min() | tir.Max() if is_int(expr.dtype):
                return (type(expr), frozenset(joined(type(expr), expr)))
            case tir.EQ() | tir.NE():
                return (type(expr), frozenset((expr.a, expr.b)))
            case tir.FloatImm():
                return (tir.FloatImm, expr.dtype, repr(expr.value))
            case tir.Call():
                return expr if expr.annotations or not is_pure_call(expr) else (expr.dtype, expr.op, expr.args)
            case _:
                return (type(expr), *[getattr(expr, name) for name in field_names(type(expr))])


def joined(kind: type[tir.BinaryOp], expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return the operands of nested operations of one kind in `expr`, in order; `expr` itself if it is of another kind."""
    found: list[tir.PrimExpr] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, tir.BinaryOp) and type(node) is kind:
            stack += [node.b, node.a]
        else:
            found.append(node)
    return found


def factors(expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return the factors of `expr`; `expr` itself if it is not a product."""
    return joined(tir.Mul, expr)


MOST_FACTORS = 32
"""Maximum number of factors of a product whose factors may be in any order."""


def few_factors(expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return the factors of `expr`, or only `expr` itself if there are more than `MOST_FACTORS`."""
    found: list[tir.PrimExpr] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, tir.Mul):
            stack += [node.b, node.a]
        else:
            found.append(node)
        if len(found) + len(stack) > MOST_FACTORS:
            return [expr]
    return found


def is_pure_call(call: tir.Call) -> bool:
    """Whether a call has no effect and always the same result."""
    row = get(call.op.name) if isinstance(call.op, Op) else None
    return row is not None and row.is_pure
