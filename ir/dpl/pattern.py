"""Patterns of expressions and their matching.

Matching follows `var2val` from variables to their values, unless a pattern wants the variable itself.
A pattern that occurs twice within another one matches the same expression in both places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from .. import relax, tir
from ..base import GlobalVar, Node, Op, RelaxExpr, StructInfo
from ..equal import structural_equal
from ..infer import infer_struct_info
from ..ops.dims import is_equal
from ..ops.inference import dims_of
from .context import PatternContext, PatternSequence
from .matcher import Bindings, Matcher

COMMUTATIVE = frozenset(("relax.add", "relax.multiply", "relax.maximum", "relax.minimum"))
"""Commutative operators: a pattern matches their two operands in either order."""


class DFPattern:
    """Base class of patterns. Patterns are compared by identity."""

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        """Return whether `expr`, with variables replaced by their values, matches."""
        raise TypeError(f"{type(self).__name__} does not define accepts")

    wants_variable = False
    """Whether the pattern matches variables themselves instead of their values."""

    def parts(self) -> Iterator[DFPattern]:
        """Yield the nested patterns, recursively."""
        for held in vars(self).values():
            for item in held if isinstance(held, tuple) else (held,):  # type: ignore[reportUnknownVariableType]
                if isinstance(item, DFPattern):
                    yield item
                    yield from item.parts()

    def __call__(
        self, *args: DFPattern, varg_default_wildcard: bool = False, add_constraint: bool = True
    ) -> CallPattern:
        """Return a pattern for calls of this with `args`, and any further arguments if `varg_default_wildcard`.

        The pattern is registered with the active `PatternContext`, if any, unless `add_constraint` is false.
        """
        call = CallPattern(self, args, varg_default_wildcard)
        if add_constraint:
            PatternContext.add_call(call)
        return call

    def __or__(self, other: DFPattern) -> DFPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> DFPattern:
        return AndPattern(self, other)

    def __invert__(self) -> DFPattern:
        return NotPattern(self)

    def used_by(self, other: DFPattern | PatternSequence, index: int = -1) -> PatternSequence:
        """Require that `other` uses this, as its operand number `index` unless that is -1; needs an active context."""
        return PatternSequence([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSequence, index: int = -1) -> PatternSequence:
        """Require that `other` is the only user of this; needs an active context."""
        return PatternSequence([self]).only_used_by(other, index)

    def fork_to(self, *others: DFPattern | PatternSequence) -> None:
        """Require that all `others` use this."""
        for other in others:
            self.used_by(other)

    def __xor__(self, other: DFPattern | PatternSequence) -> PatternSequence:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSequence) -> PatternSequence:
        return self.only_used_by(other)

    def has_attr(self, attrs: Mapping[str, Any]) -> DFPattern:
        """Match a call or a function whose attributes include these."""
        return AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: StructInfo) -> DFPattern:
        """Match an expression whose struct info implies this one; symbolic dimensions match any size."""
        return StructInfoPattern(self, struct_info)

    def has_ty(self, ty: StructInfo) -> DFPattern:
        """Return `has_struct_info(ty)`, which has this name in TVM 0.27."""
        return self.has_struct_info(ty)

    def dup(self) -> DFPattern:
        """Return a new pattern that matches the same."""
        return copy(self)

    def has_dtype(self, dtype: str) -> DFPattern:
        """Match a tensor of this dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[int | tir.PrimExpr]) -> DFPattern:
        """Match a tensor of this shape."""
        return ShapePattern(self, shape)

    def same_shape_as(self, *others: DFPattern) -> None:
        """Require that this and all `others` match tensors of the same shape; needs an active context."""
        PatternContext.current().same_shapes.append((self, *others))

    def match(self, expr: relax.Expr, var2val: Bindings | None = None) -> bool:
        """Return whether `expr` matches, with variables replaced by their values in `var2val`."""
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(
        self, expr: relax.Expr, var2val: Bindings | None = None
    ) -> dict[DFPattern, relax.Expr] | None:
        """Return the expression that each nested pattern matched in `expr`, or None if `expr` does not match."""
        matcher = Matcher(var2val or {})
        return dict(matcher.found) if matcher.match(self, expr) and matcher.holds() else None


def _info(expr: Node) -> StructInfo:
    return infer_struct_info(expr) if isinstance(expr, RelaxExpr) else relax.ObjectStructInfo()


def _has_attrs(expr: Node, attrs: Mapping[str, Any]) -> bool:
    own: Mapping[str, Any] = expr.attrs if isinstance(expr, relax.Call | relax.Function) else {}
    return all(key in own and _plain(own[key]) == _plain(value) for key, value in attrs.items())


def _plain(value: Any) -> Any:
    match value:
        case tir.IntImm() | tir.FloatImm() | tir.StringImm():
            return value.value
        case list() | tuple():
            return tuple(map(_plain, value))  # type: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        case _:
            return value


def _has_shape(info: StructInfo, shape: Sequence[int | tir.PrimExpr]) -> bool:
    known = dims_of(info) if isinstance(info, relax.TensorStructInfo | relax.ShapeStructInfo) else None
    if known is None or len(known) != len(shape):
        return False
    wanted = [tir.IntImm("int64", dim) if isinstance(dim, int) else dim for dim in shape]
    return all(map(is_equal, known, wanted))


class WildcardPattern(DFPattern):
    """Pattern that matches any expression."""

    wants_variable = True

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return True


class Constrained(DFPattern):
    """Pattern that matches what `pattern` matches, if the expression also fulfils a condition."""

    def __init__(self, pattern: DFPattern) -> None:
        self.pattern = pattern
        self.wants_variable = pattern.wants_variable

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self.pattern, expr) and self.fulfils(expr)

    def fulfils(self, expr: Node) -> bool:
        """Return whether `expr` fulfils the condition."""
        raise TypeError(f"{type(self).__name__} does not define fulfils")


class AttrPattern(Constrained):
    """Pattern of a call or a function whose attributes include `attrs`."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        super().__init__(pattern)
        self.attrs = attrs

    def fulfils(self, expr: Node) -> bool:
        return _has_attrs(expr, self.attrs)


class StructInfoPattern(Constrained):
    """Pattern of an expression whose struct info implies `struct_info`; symbolic dimensions match any size."""

    def __init__(self, pattern: DFPattern, struct_info: StructInfo) -> None:
        super().__init__(pattern)
        self.struct_info = struct_info

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self.pattern, expr) and matcher.implies(_info(expr), self.struct_info)


class DataTypePattern(Constrained):
    """Pattern of a tensor of the dtype `dtype`."""

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        super().__init__(pattern)
        self.dtype = dtype

    def fulfils(self, expr: Node) -> bool:
        return getattr(_info(expr), "dtype", None) == self.dtype


class ShapePattern(Constrained):
    """Pattern of a tensor of the shape `shape`."""

    def __init__(self, pattern: DFPattern, shape: Sequence[int | tir.PrimExpr]) -> None:
        super().__init__(pattern)
        self.shape = tuple(shape)

    def fulfils(self, expr: Node) -> bool:
        return _has_shape(_info(expr), self.shape)


class ExprPattern(DFPattern):
    """Pattern that matches expressions structurally equal to `expr`."""

    def __init__(self, expr: Node) -> None:
        self.expr = expr

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return expr == self.expr if isinstance(expr, Op | GlobalVar) else structural_equal(expr, self.expr)


class CallPattern(DFPattern):
    """Pattern of a call by its callee and arguments; arguments of commutative operators match in either order."""

    def __init__(self, op: DFPattern, args: Sequence[DFPattern], varg_default_wildcard: bool = False) -> None:
        self.op, self.args, self.varg_default_wildcard = op, tuple(args), varg_default_wildcard

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.Call) or not matcher.match(self.op, expr.op):
            return False
        args = expr.args[: len(self.args)] if self.varg_default_wildcard else expr.args
        if matcher.match_all(self.args, args):
            return True
        is_commutative = isinstance(expr.op, Op) and expr.op.name in COMMUTATIVE and len(args) == 2
        return is_commutative and matcher.match_all(self.args, args[::-1])


class TuplePattern(DFPattern):
    """Pattern of a tuple by its fields."""

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        self.fields = tuple(fields)

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        """Return the pattern of a field, counted from the end if `index` is negative, or of any field for None."""
        if index is None:
            return TupleGetItemPattern(self, None)
        if not -len(self) <= index < len(self):
            raise IndexError(f"the pattern has {len(self)} fields; there is no field {index}")
        return TupleGetItemPattern(self, index % len(self))

    def __len__(self) -> int:
        return len(self.fields)

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return isinstance(expr, relax.Tuple) and matcher.match_all(self.fields, expr.fields)


class UnorderedTuplePattern(DFPattern):
    """Pattern of a tuple by its fields, in any order."""

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        self.fields = tuple(fields)

    def __len__(self) -> int:
        return len(self.fields)

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.Tuple) or len(self.fields) != len(expr.fields):
            return False
        return _match_any_order(matcher, self.fields, expr.fields)


def _match_any_order(matcher: Matcher, patterns: Sequence[DFPattern], exprs: Sequence[relax.Expr]) -> bool:
    if not patterns:
        return True
    before = matcher.state()
    for index, expr in enumerate(exprs):
        rest = (*exprs[:index], *exprs[index + 1 :])
        if matcher.match(patterns[0], expr) and _match_any_order(matcher, patterns[1:], rest):
            return True
        matcher.restore(before)
    return False


class TupleGetItemPattern(DFPattern):
    """Pattern of a field of a tuple; an `index` of None matches any field."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple, self.index = tuple_value, index

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.TupleGetItem) or self.index not in (None, expr.index):
            return False
        return matcher.match(self.tuple, expr.tuple_value)


class FunctionPattern(DFPattern):
    """Pattern of a function by its parameters and result."""

    def __init__(self, params: Sequence[DFPattern], body: DFPattern) -> None:
        self.params, self.body = tuple(params), body

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.Function) or not matcher.match_all(self.params, expr.params):
            return False
        inner = {binding.var: binding.value for block in expr.body.blocks for binding in block.bindings}
        return Matcher(inner).match(self.body, expr.body.body)


class OrPattern(DFPattern):
    """Alternative of two patterns; the left one is tried first."""

    wants_variable = True

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = left, right

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self.left, expr) or matcher.match(self.right, expr)


class AndPattern(DFPattern):
    """Conjunction of two patterns."""

    wants_variable = True

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = left, right

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self.left, expr) and matcher.match(self.right, expr)


class NotPattern(DFPattern):
    """Negation of a pattern."""

    wants_variable = True

    def __init__(self, to_reject: DFPattern) -> None:
        self.reject = to_reject

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        before = matcher.state()
        is_rejected = matcher.match(self.reject, expr)
        matcher.restore(before)
        return not is_rejected
