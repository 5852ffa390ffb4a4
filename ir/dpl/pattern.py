"""Patterns of expressions and their matching.

Matching follows `var2val` from variables to their values, unless a pattern wants the variable itself.
A pattern that occurs twice within another one matches the same expression in both places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from .. import relax, tir
from ..base import GlobalVar, Node, Op, RelaxExpr, StructInfo
from ..equal import structural_equal
from ..infer import bind_dims, infer_struct_info, join, replace_dims
from ..ops.dims import is_equal
from ..ops.inference import dims_of
from .context import PatternContext, PatternSequence

Bindings: TypeAlias = Mapping[relax.Var, relax.Expr]

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
        return Constrained(self, lambda expr: _has_attrs(expr, attrs))

    def has_struct_info(self, struct_info: StructInfo) -> DFPattern:
        """Match an expression whose struct info implies this one; symbolic dimensions match any size."""
        return Constrained(self, lambda expr: _is_within(_info(expr), struct_info))

    def has_dtype(self, dtype: str) -> DFPattern:
        """Match a tensor of this dtype."""
        return Constrained(self, lambda expr: getattr(_info(expr), "dtype", None) == dtype)

    def has_shape(self, shape: Sequence[int | tir.PrimExpr]) -> DFPattern:
        """Match a tensor of this shape."""
        return Constrained(self, lambda expr: _has_shape(_info(expr), shape))

    def match(self, expr: relax.Expr, var2val: Bindings | None = None) -> bool:
        """Return whether `expr` matches, with variables replaced by their values in `var2val`."""
        return Matcher(var2val or {}).match(self, expr)

    def extract_matched_expr(
        self, expr: relax.Expr, var2val: Bindings | None = None
    ) -> dict[DFPattern, relax.Expr] | None:
        """Return the expression that each nested pattern matched in `expr`, or None if `expr` does not match."""
        matcher = Matcher(var2val or {})
        return dict(matcher.found) if matcher.match(self, expr) else None


class Matcher:
    """State of one match; `found` maps the patterns matched so far to their expressions."""

    def __init__(self, var2val: Bindings) -> None:
        self._values = var2val
        self.found: dict[DFPattern, Any] = {}

    def match(self, pattern: DFPattern, expr: Any) -> bool:
        """Return whether `expr` matches `pattern`. If it does not, `found` is unchanged."""
        value = expr if pattern.wants_variable else self.value(expr)
        if pattern in self.found:
            return self.found[pattern] is value
        before = dict(self.found)
        if pattern.accepts(self, value):
            self.found[pattern] = value
            return True
        self.found = before
        return False

    def value(self, expr: Any) -> Any:
        """Return the value of a variable, or the variable if its value is unknown."""
        while isinstance(expr, relax.Var) and expr in self._values:
            expr = self._values[expr]
        return expr

    def match_all(self, patterns: Sequence[DFPattern], exprs: Sequence[Any]) -> bool:
        """Return whether the numbers of patterns and expressions are equal and each expression matches its pattern."""
        return len(patterns) == len(exprs) and all(map(self.match, patterns, exprs))


def _info(expr: Node) -> StructInfo:
    return infer_struct_info(expr) if isinstance(expr, RelaxExpr) else relax.ObjectStructInfo()


def _is_within(info: StructInfo, wanted: StructInfo) -> bool:
    """Return whether `info` implies `wanted` for some sizes of its symbolic dimensions."""
    sizes: dict[tir.Var, tir.PrimExpr] = {}
    if bind_dims(wanted, info, sizes) is not None:
        return False
    wanted = replace_dims(wanted, sizes)
    return structural_equal(join(wanted, info), wanted)


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


class PredicatePattern(DFPattern):
    """Pattern that matches expressions for which `predicate` holds; with `wants_variable` it is asked of variables."""

    def __init__(self, predicate: Callable[[Any], bool], wants_variable: bool = False) -> None:
        self._predicate, self.wants_variable = predicate, wants_variable

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return self._predicate(expr)


class Constrained(DFPattern):
    """Pattern that matches what `pattern` matches, if `predicate` also holds."""

    def __init__(self, pattern: DFPattern, predicate: Callable[[Any], bool]) -> None:
        self._pattern, self._predicate = pattern, predicate
        self.wants_variable = pattern.wants_variable

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self._pattern, expr) and self._predicate(expr)


class ExprPattern(DFPattern):
    """Pattern that matches expressions structurally equal to `expr`."""

    def __init__(self, expr: Node) -> None:
        self._expr = expr

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return expr == self._expr if isinstance(expr, Op | GlobalVar) else structural_equal(expr, self._expr)


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
    """Pattern of a tuple by its fields, in any order if `is_ordered` is false."""

    def __init__(self, fields: Sequence[DFPattern], is_ordered: bool = True) -> None:
        self.fields, self._is_ordered = tuple(fields), is_ordered

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        return TupleGetItemPattern(self, index)

    def __len__(self) -> int:
        return len(self.fields)

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.Tuple):
            return False
        if self._is_ordered:
            return matcher.match_all(self.fields, expr.fields)
        return len(self.fields) == len(expr.fields) and _match_any_order(matcher, self.fields, expr.fields)


def _match_any_order(matcher: Matcher, patterns: Sequence[DFPattern], exprs: Sequence[relax.Expr]) -> bool:
    if not patterns:
        return True
    before = dict(matcher.found)
    for index, expr in enumerate(exprs):
        rest = (*exprs[:index], *exprs[index + 1 :])
        if matcher.match(patterns[0], expr) and _match_any_order(matcher, patterns[1:], rest):
            return True
        matcher.found = dict(before)
    return False


class TupleGetItemPattern(DFPattern):
    """Pattern of a field of a tuple; an `index` of None matches any field."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self._tuple, self._index = tuple_value, index

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.TupleGetItem) or self._index not in (None, expr.index):
            return False
        return matcher.match(self._tuple, expr.tuple_value)


class FunctionPattern(DFPattern):
    """Pattern of a function by its parameters and result."""

    def __init__(self, params: Sequence[DFPattern], body: DFPattern) -> None:
        self._params, self._body = tuple(params), body

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.Function) or not matcher.match_all(self._params, expr.params):
            return False
        inner = {binding.var: binding.value for block in expr.body.blocks for binding in block.bindings}
        return Matcher(inner).match(self._body, expr.body.body)


class OrPattern(DFPattern):
    """Alternative of two patterns; the left one is tried first."""

    wants_variable = True

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self._left, self._right = left, right

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self._left, expr) or matcher.match(self._right, expr)


class AndPattern(DFPattern):
    """Conjunction of two patterns."""

    wants_variable = True

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self._left, self._right = left, right

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self._left, expr) and matcher.match(self._right, expr)


class NotPattern(DFPattern):
    """Negation of a pattern."""

    wants_variable = True

    def __init__(self, to_reject: DFPattern) -> None:
        self._rejected = to_reject

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        found = dict(matcher.found)
        is_rejected = matcher.match(self._rejected, expr)
        matcher.found = found
        return not is_rejected
