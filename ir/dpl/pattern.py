"""Patterns, and how an expression matches one.

A variable stands for what it is bound to: matching follows `var2val`, from variables to their values, wherever a pattern
does not want the variable itself. A pattern that occurs twice in another matches one expression in both places.
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
"""Operators whose two operands a pattern finds in either order."""


class DFPattern:
    """What an expression may look like. Patterns are compared by identity."""

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        """Whether `expr`, after following variables, is what this pattern says."""
        raise TypeError(f"{type(self).__name__} says not what it accepts")

    wants_variable = False
    """Whether it looks at a variable itself, not at what the variable is bound to."""

    def parts(self) -> Iterator[DFPattern]:
        """Yield the patterns that this one is made of, and theirs."""
        for held in vars(self).values():
            for each in held if isinstance(held, tuple) else (held,):  # type: ignore[reportUnknownVariableType]
                if isinstance(each, DFPattern):
                    yield each
                    yield from each.parts()

    def __call__(
        self, *args: DFPattern, varg_default_wildcard: bool = False, add_constraint: bool = True
    ) -> CallPattern:
        """Match a call of this with `args`; with `varg_default_wildcard`, further arguments may be anything.

        The `PatternContext` that this stands in, if any, looks for it, unless `add_constraint` is false.
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
        """Let `other` use this, as its variable number `index` where that is not -1; in a `PatternContext`."""
        return PatternSequence([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSequence, index: int = -1) -> PatternSequence:
        """The same, where nothing else may use it."""
        return PatternSequence([self]).only_used_by(other, index)

    def fork_to(self, *others: DFPattern | PatternSequence) -> None:
        """Let all `others` use this."""
        for other in others:
            self.used_by(other)

    def __xor__(self, other: DFPattern | PatternSequence) -> PatternSequence:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSequence) -> PatternSequence:
        return self.only_used_by(other)

    def has_attr(self, attrs: Mapping[str, Any]) -> DFPattern:
        """Match a call (or a function) that has these attributes among its own."""
        return Constrained(self, lambda expr: _has_attrs(expr, attrs))

    def has_struct_info(self, struct_info: StructInfo) -> DFPattern:
        """Match an expression of which this, at least, is known; a symbolic dimension stands for any."""
        return Constrained(self, lambda expr: _is_within(_info(expr), struct_info))

    def has_dtype(self, dtype: str) -> DFPattern:
        """Match a tensor of this dtype."""
        return Constrained(self, lambda expr: getattr(_info(expr), "dtype", None) == dtype)

    def has_shape(self, shape: Sequence[int | tir.PrimExpr]) -> DFPattern:
        """Match a tensor of this shape."""
        return Constrained(self, lambda expr: _has_shape(_info(expr), shape))

    def match(self, expr: relax.Expr, var2val: Bindings | None = None) -> bool:
        """Whether `expr` matches, where variables stand for their values in `var2val`."""
        return Matcher(var2val or {}).match(self, expr)

    def extract_matched_expr(
        self, expr: relax.Expr, var2val: Bindings | None = None
    ) -> dict[DFPattern, relax.Expr] | None:
        """Return what each part of this pattern matched in `expr`, or None where `expr` does not match."""
        matcher = Matcher(var2val or {})
        return dict(matcher.found) if matcher.match(self, expr) else None


class Matcher:
    """One attempt at matching; `found` maps the patterns that matched so far to what they matched."""

    def __init__(self, var2val: Bindings) -> None:
        self._values = var2val
        self.found: dict[DFPattern, Any] = {}

    def match(self, pattern: DFPattern, expr: Any) -> bool:
        """Whether `expr` matches `pattern`; leaves `found` as it was where it does not."""
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
        """Return what a variable is bound to, itself where that is not known."""
        while isinstance(expr, relax.Var) and expr in self._values:
            expr = self._values[expr]
        return expr

    def match_all(self, patterns: Sequence[DFPattern], exprs: Sequence[Any]) -> bool:
        """Whether as many expressions match as many patterns, in order."""
        return len(patterns) == len(exprs) and all(map(self.match, patterns, exprs))


def _info(expr: Node) -> StructInfo:
    return infer_struct_info(expr) if isinstance(expr, RelaxExpr) else relax.ObjectStructInfo()


def _is_within(info: StructInfo, wanted: StructInfo) -> bool:
    """Whether `info` says what `wanted` does, with some sizes for its symbolic dimensions."""
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
    """Anything."""

    wants_variable = True

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return True


class PredicatePattern(DFPattern):
    """Whatever `predicate` holds of; of variables themselves with `wants_variable`."""

    def __init__(self, predicate: Callable[[Any], bool], wants_variable: bool = False) -> None:
        self._predicate, self.wants_variable = predicate, wants_variable

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return self._predicate(expr)


class Constrained(DFPattern):
    """What `pattern` matches and `predicate` holds of."""

    def __init__(self, pattern: DFPattern, predicate: Callable[[Any], bool]) -> None:
        self._pattern, self._predicate = pattern, predicate
        self.wants_variable = pattern.wants_variable

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self._pattern, expr) and self._predicate(expr)


class ExprPattern(DFPattern):
    """An expression that is structurally equal to `expr`."""

    def __init__(self, expr: Node) -> None:
        self._expr = expr

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return expr == self._expr if isinstance(expr, Op | GlobalVar) else structural_equal(expr, self._expr)


class CallPattern(DFPattern):
    """A call whose callee and arguments match; of a commutative operator, in either order."""

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
    """A tuple whose fields match, in order or, with `is_ordered` false, in any."""

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
    """A field of a tuple; `index` None stands for any."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self._tuple, self._index = tuple_value, index

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.TupleGetItem) or self._index not in (None, expr.index):
            return False
        return matcher.match(self._tuple, expr.tuple_value)


class FunctionPattern(DFPattern):
    """A function whose parameters and result match."""

    def __init__(self, params: Sequence[DFPattern], body: DFPattern) -> None:
        self._params, self._body = tuple(params), body

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        if not isinstance(expr, relax.Function) or not matcher.match_all(self._params, expr.params):
            return False
        inner = {binding.var: binding.value for block in expr.body.blocks for binding in block.bindings}
        return Matcher(inner).match(self._body, expr.body.body)


class OrPattern(DFPattern):
    """What either pattern matches, the left one first."""

    wants_variable = True

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self._left, self._right = left, right

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self._left, expr) or matcher.match(self._right, expr)


class AndPattern(DFPattern):
    """What both patterns match."""

    wants_variable = True

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self._left, self._right = left, right

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        return matcher.match(self._left, expr) and matcher.match(self._right, expr)


class NotPattern(DFPattern):
    """What the pattern does not match."""

    wants_variable = True

    def __init__(self, to_reject: DFPattern) -> None:
        self._rejected = to_reject

    def accepts(self, matcher: Matcher, expr: Node) -> bool:
        found = dict(matcher.found)
        is_rejected = matcher.match(self._rejected, expr)
        matcher.found = found
        return not is_rejected
