"""Passes that replace the values that a pattern matches (TVM: `relax.dpl.PatternMatchingRewriter`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from .. import relax
from ..base import BaseFunc, GlobalVar, IRModule, Node
from ..deep import deep
from ..diagnostics import error
from ..equal import structural_equal
from ..function_table import mentions_of, numbered, unused_name
from ..infer import function_struct_info
from ..passes.calls import with_names
from ..passes.canonicalize_bindings import canonicalize_bindings
from ..passes.common_subexpressions import eliminate_common_subexpr
from ..passes.dead_code import is_public, remove_unused_bindings, remove_unused_functions
from ..passes.inline_private_functions import inline_functions
from ..passes.instrument import PassInfo
from ..passes.rewriter import ValueRewriter
from ..passes.transform import Pass, PassContext
from ..purity import is_pure_call
from ..visit import walk
from .function_patterns import pattern_of
from .pattern import DFPattern, Matcher, OrPattern, TuplePattern, WildcardPattern

Rewriter = Callable[[Any, Mapping[DFPattern, Any]], Any]
Values = Mapping[relax.Var, relax.Expr]

MOST_ROUNDS = 1000
"""The largest number of rounds in one function."""


class Rewrites(Struct):
    """New values of variables; each variable of `later` is bound again right before another one of its block."""

    values: dict[relax.Var, relax.Expr]
    later: dict[relax.Var, relax.Var]


class PatternMatchingRewriter(Pass):
    """Replaces values that match, also the new values, until nothing changes. Applies to a function or a module.

    `a | b` tries `a` first, and `b` where that changes nothing. Values before and after an impure call never match together.
    """

    def __init__(self) -> None:
        super().__init__(PassInfo(type(self).__name__, 0, (), False))

    @staticmethod
    def from_pattern(pattern: DFPattern, func: Rewriter) -> PatternMatchingRewriter:
        """Return the rewriter that replaces each value that `pattern` matches by the result of `func`.

        `func` gets the value and what each nested pattern matched; With None or the value itself, nothing is replaced.
        """
        return _from_pattern(pattern, func, ())

    @staticmethod
    def from_module(mod: IRModule) -> PatternMatchingRewriter:
        """Return the rewriter that replaces what the function `pattern` of `mod` computes by a use of `replacement`.

        Private functions that `replacement` calls are added to a module where they are used. Raise KeyError, TypeError or
        ValueError if the functions do not describe a rule.
        """
        return _rule_of(mod)

    @abstractmethod
    def rewrites(self, bindings: Sequence[relax.Binding], known: Values) -> Rewrites:
        """Return new values for the variables of `bindings`; `known` has the values of variables bound before."""

    def finished(self, mod: IRModule) -> IRModule:
        """Return a rewritten module with what its new values refer to."""
        return mod

    def __call__(self, obj: Any) -> Any:
        """Return a function or a module with its values replaced."""
        return super().__call__(obj) if isinstance(obj, IRModule) else self._function(obj)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return a module with the values of its functions replaced."""
        new = mod
        for name, function in mod.functions.items():
            if isinstance(function, relax.Function):
                new = self._rewritten(new, name)
        return new

    def _function(self, function: relax.Function) -> relax.Function:
        name = str(function.attrs.get("global_symbol", "main"))
        new = self._rewritten(IRModule({name: function}), name)
        added = [other for other in new.functions if other != name]
        if added:
            help = "apply the rewriter to the module of the function"
            raise error("E0913", f"the new values call '{added[0]}', which a function alone does not have", None, help)
        return cast("relax.Function", new[name])

    @deep
    def _rewritten(self, mod: IRModule, name: str) -> IRModule:
        for _ in range(MOST_ROUNDS):
            old = cast("relax.Function", mod[name])
            changed = _Applier(old, self, mod).function(old)
            if changed is old:
                return mod
            new = self.finished(replace(mod, functions={**mod.functions, name: changed}))
            new = _simplified(new, name)
            if structural_equal(new[name], old):
                return mod
            mod = new
        help = "a replacement must not contain what the pattern matches"
        raise error("E0913", f"'{name}' still changes after {MOST_ROUNDS} rounds of the rewriter", None, help)

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        return OrRewriter(self, other)


def _from_pattern(pattern: DFPattern, func: Rewriter, outer: tuple[DFPattern, ...]) -> PatternMatchingRewriter:
    """Return the rewriter of a pattern that is an alternative of the patterns `outer`."""
    match pattern:
        case OrPattern(left=left, right=right):
            outer = (*outer, pattern)
            return OrRewriter(_from_pattern(left, func, outer), _from_pattern(right, func, outer))
        case TuplePattern(fields=fields) if fields and not any(
            isinstance(_inner(field), WildcardPattern) for field in fields
        ):
            return OrRewriter(ExprPatternRewriter(pattern, func, outer), TupleRewriter(fields, func, (*outer, pattern)))
        case _:
            return ExprPatternRewriter(pattern, func, outer)


def _inner(pattern: Any) -> DFPattern:
    """Return a pattern without the conditions on what it matches."""
    while (inner := getattr(pattern, "pattern", None)) is not None:
        pattern = inner
    return pattern


class ExprPatternRewriter(PatternMatchingRewriter):
    """Rewriter of each value that a pattern matches."""

    def __init__(self, pattern: DFPattern, func: Rewriter, outer: tuple[DFPattern, ...] = ()) -> None:
        super().__init__()
        self.pattern, self.func, self._outer = pattern, func, outer

    def rewrites(self, bindings: Sequence[relax.Binding], known: Values) -> Rewrites:
        values, found = dict(known), Rewrites({}, {})
        for binding in bindings:
            new = self._new(binding.value, values)
            if new is None or isinstance(binding, relax.MatchCast):
                values[binding.var] = binding.value
            else:
                found.values[binding.var] = new
        return found

    def _new(self, value: relax.Expr, known: Values) -> relax.Expr | None:
        matched = self.pattern.extract_matched_expr(value, known)
        new = None if matched is None else self.func(value, matched | dict.fromkeys(self._outer, value))
        return None if new is value else new


class TupleRewriter(PatternMatchingRewriter):
    """Rewriter of values of one block that match the fields of a tuple, if they could be computed together.

    That is, if none of them is used before the last one is bound.
    """

    def __init__(self, patterns: Sequence[DFPattern], func: Rewriter, outer: tuple[DFPattern, ...] = ()) -> None:
        super().__init__()
        self.patterns, self.func, self._outer = tuple(patterns), func, outer

    def rewrites(self, bindings: Sequence[relax.Binding], known: Values) -> Rewrites:
        values = {**known, **{binding.var: binding.value for binding in bindings}}
        own = [binding.var for binding in bindings if isinstance(binding, relax.VarBinding)]
        places = {binding.var: place for place, binding in enumerate(bindings)}
        uses = [set(_variables(binding.value)) for binding in bindings]
        alone = [[var for var in own if pattern.match(values[var], values)] for pattern in self.patterns]
        found = Rewrites({}, {})
        for variables, matched in self._matches(alone, values):
            last = max(variables, key=places.__getitem__)
            first = min(places[var] for var in variables)
            between = [place for place in range(first + 1, places[last] + 1) if bindings[place].var not in variables]
            is_used = any(not uses[place].isdisjoint(variables) for place in (*between, places[last]))
            if is_used or not found.values.keys().isdisjoint(variables):
                continue
            whole = relax.Tuple(tuple(variables))
            new = self.func(whole, matched | dict.fromkeys(self._outer, whole))
            if new is not None and new is not whole:
                found.values |= {var: _field(new, index) for index, var in enumerate(variables)}
                found.later |= {var: last for var in variables if var is not last}
        return found

    def _matches(
        self, alone: Sequence[Sequence[relax.Var]], values: Values
    ) -> Iterator[tuple[list[relax.Var], dict[DFPattern, Any]]]:
        """Yield different variables that match the fields together, with what each pattern matched."""
        matcher = Matcher(values)
        chosen: list[relax.Var] = []

        def extended() -> Iterator[tuple[list[relax.Var], dict[DFPattern, Any]]]:
            if len(chosen) == len(self.patterns):
                if matcher.holds():
                    yield list(chosen), dict(matcher.found)
                return
            for var in alone[len(chosen)]:
                before = matcher.state()
                if var not in chosen and matcher.match(self.patterns[len(chosen)], values[var]):
                    chosen.append(var)
                    yield from extended()
                    chosen.pop()
                matcher.restore(before)

        return extended()


def _field(value: relax.Expr, index: int) -> relax.Expr:
    return value.fields[index] if isinstance(value, relax.Tuple) else relax.TupleGetItem(value, index)


class OrRewriter(PatternMatchingRewriter):
    """Rewriter that applies `rhs` to the values that `lhs` keeps."""

    def __init__(self, lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter) -> None:
        super().__init__()
        self.lhs, self.rhs = lhs, rhs

    def rewrites(self, bindings: Sequence[relax.Binding], known: Values) -> Rewrites:
        first = self.lhs.rewrites(bindings, known)
        left = [binding for binding in bindings if binding.var not in first.values]
        second = self.rhs.rewrites(left, known)
        return Rewrites(first.values | second.values, first.later | second.later)

    def finished(self, mod: IRModule) -> IRModule:
        return self.rhs.finished(self.lhs.finished(mod))


_PARTS = ("pattern", "replacement")


def _rule_of(mod: IRModule) -> PatternMatchingRewriter:
    """Return the rewriter that a module describes."""
    pattern, replacement = (_part(mod, name) for name in _PARTS)
    infos = [function_struct_info(function) for function in (pattern, replacement)]
    if not structural_equal(*infos, map_free_vars=True):
        raise ValueError(f"pattern and replacement must have the same signature, not {infos[0]} and {infos[1]}")
    for name, function in mod.functions.items():
        if name not in _PARTS and is_public(function):
            raise ValueError(
                f"function '{name}' is publicly exposed; the functions that a replacement calls are private"
            )
    return _Rule(mod, pattern, replacement)


def _part(mod: IRModule, name: str) -> relax.Function:
    if name not in mod:
        raise KeyError(f"a rewriter needs a function '{name}'")
    function = mod[name]
    if not isinstance(function, relax.Function):
        raise TypeError(f"'{name}' of a rewriter is a graph function (R.function), not a {type(function).__name__}")
    return function


class _Rule(PatternMatchingRewriter):
    """Rewriter that binds a call of the replacement, and inlines it at the end of a round."""

    def __init__(self, mod: IRModule, pattern: relax.Function, replacement: relax.Function) -> None:
        super().__init__()
        self._replacement = replacement
        self._callee = GlobalVar(f"replacement at {id(self):x}", struct_info=function_struct_info(replacement))
        own = remove_unused_functions(mod, ("replacement",))
        self._others = {name: function for name, function in own.functions.items() if name != "replacement"}
        params, body = pattern_of(pattern)

        def call(_: Any, matched: Mapping[DFPattern, Any]) -> relax.Call:
            return relax.Call(self._callee, tuple([matched[param] for param in params]))

        self._rewriter = PatternMatchingRewriter.from_pattern(body, call)

    def rewrites(self, bindings: Any, known: Values) -> Rewrites:
        return self._rewriter.rewrites(bindings, known)

    def finished(self, mod: IRModule) -> IRModule:
        """Return `mod` with the replacement inlined, and with the private functions that it calls."""
        name = self._callee.name_hint
        callers = [key for key, function in mod.functions.items() if name in mentions_of(function).called]
        if not callers:
            return mod
        names = self._names(mod.functions)
        renamed = with_names(IRModule({name: self._replacement, **self._others}), names)
        new = {
            key: inline_functions(cast("relax.Function", mod[key]), {name: cast("relax.Function", renamed[name])})
            for key in callers
        }
        added = {key: function for key, function in renamed.functions.items() if key != name}
        return replace(mod, functions={**mod.functions, **new, **added})

    def _names(self, taken: Mapping[str, BaseFunc]) -> dict[str, str]:
        """Return the names in a module of the functions that the replacement calls: that of the same function, or a free one."""
        names: dict[str, str] = {}
        for name, function in self._others.items():
            free = (hint for hint in numbered(name, "_") if taken.get(hint, function) is function)
            names[name] = next(free)
        return names


class _Applier(ValueRewriter):
    """Applies a rewriter once to each run of bindings between impure calls."""

    def __init__(self, function: relax.Function, rewriter: PatternMatchingRewriter, mod: IRModule) -> None:
        super().__init__(function)
        self._rewriter, self._mod = rewriter, mod
        self._known: dict[relax.Var, relax.Expr] = {}
        self._values: dict[relax.Var, relax.Expr] = {}

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Rewrite a body and its result; its variables are only known inside of it."""
        outer = dict(self._known)
        named = isinstance(body.body, relax.Var)
        result = relax.Var(unused_name("gv", self._names), struct_info=body.body.struct_info)
        extra = () if named else (relax.BindingBlock((relax.VarBinding(result, body.body),)),)
        given = body if named else replace(body, blocks=(*body.blocks, *extra), body=result)
        new = super().sequence(given)
        self._known = outer
        if named or new is given:
            return body if new is given else new
        last = new.blocks[-1].bindings[-1]
        if last.var is not result or last.value is not body.body:
            return new
        kept = new.blocks[-1].bindings[:-1]
        blocks = (*new.blocks[:-1], *((replace(new.blocks[-1], bindings=kept),) if kept else ()))
        return replace(body, blocks=blocks)

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Rewrite a block; variables of dataflow blocks are forgotten at its end."""
        bindings: list[relax.Binding] = []
        run: list[relax.Binding] = []
        for binding in block.bindings:
            run.append(binding)
            if self._is_impure(binding.value):
                bindings += self._in_new_order(run[:-1])
                bindings.append(binding)
                self._known.clear()
                run.clear()
        bindings += self._in_new_order(run)
        is_same = all(a is b for a, b in zip(bindings, block.bindings, strict=True))
        new = super().block(block if is_same else replace(block, bindings=tuple(bindings)))
        if isinstance(block, relax.DataflowBlock):
            for binding in block.bindings:
                self._known.pop(binding.var, None)
        return new

    def _in_new_order(self, run: Sequence[relax.Binding]) -> list[relax.Binding]:
        """Return the bindings between two impure calls in their new order, and note their new values."""
        found = self._rewriter.rewrites(run, self._known)
        self._values |= found.values
        self._known |= {binding.var: binding.value for binding in run}
        moved: dict[relax.Var, list[relax.Binding]] = {}
        for binding in run:
            if binding.var in found.later:
                moved.setdefault(found.later[binding.var], []).append(binding)
        kept = [binding for binding in run if binding.var not in found.later]
        return [item for binding in kept for item in (*moved.get(binding.var, ()), binding)]

    def value(self, binding: relax.Binding) -> relax.Expr:
        return self._values.get(binding.var, binding.value)

    def _is_impure(self, value: relax.Expr) -> bool:
        return any(isinstance(node, relax.Call) and not is_pure_call(node, self._mod) for node in walk(value))


def _variables(node: Node) -> Iterator[relax.Var]:
    return (below for below in walk(node) if isinstance(below, relax.Var))


def _simplified(mod: IRModule, name: str) -> IRModule:
    """Return `mod` with function `name` without aliases, repeated and unused values."""
    while True:
        alone = eliminate_common_subexpr(canonicalize_bindings(replace(mod, functions={name: mod[name]})))
        live = remove_unused_bindings(cast("relax.Function", alone[name]), mod)
        if live is mod[name]:
            return mod
        mod = replace(mod, functions={**mod.functions, name: live})
