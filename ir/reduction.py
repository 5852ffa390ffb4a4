"""Reduction of failing programs: delta debugging of modules (Zeller and Hildebrandt, `Simplifying and Isolating
Failure-Inducing Input`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from . import relax, tir
from .base import BaseFunc, IRModule, Node
from .equal import structural_equal
from .infer import infer_struct_info
from .visit import rewrite, substitute, walk

_T = TypeVar("_T")
_F = TypeVar("_F", bound=BaseFunc)
Fails: TypeAlias = Callable[[IRModule], bool]
"""Predicate: whether a module, which may be malformed, still shows the failure."""


def reduce_module(mod: IRModule, fails: Fails, tries: int = 2000) -> IRModule:
    """Return a module that is as small as possible and for which `fails` is true, as it is for `mod`.

    Functions, schedules, bindings, parameters and statements are removed while `fails` stays true; the variable of a removed
    binding becomes a parameter. `fails` is called at most `tries` times.
    """
    reducer, mod = _Reducer(fails, tries), rewrite(mod, _without_comments)
    before = None
    while before is None or _size(mod) < before:
        before = _size(mod)
        mod = reducer.whole(mod)
        for name in mod.functions:
            mod = reducer.function(mod, name)
    return mod


def _without_comments(node: Node) -> Node | None:
    return replace(node, trivia=None) if getattr(node, "trivia", None) is not None else None


def _size(mod: IRModule) -> int:
    return sum(1 for function in mod.functions.values() for _ in walk(function))


class _Reducer:
    def __init__(self, fails: Fails, tries: int) -> None:
        self._fails, self._left = fails, tries

    def _still_fails(self, mod: IRModule) -> bool:
        self._left -= 1
        return self._left >= 0 and self._fails(mod)

    def whole(self, mod: IRModule) -> IRModule:
        """Remove schedules, attributes and functions."""
        for smaller in (replace(mod, schedules={}), replace(mod, attrs={}), replace(mod, global_infos={})):
            if smaller != mod and self._still_fails(smaller):
                mod = smaller

        def of(names: Sequence[str]) -> IRModule:
            return replace(mod, functions={name: mod.functions[name] for name in names})

        return of(self._fewest(list(mod.functions), lambda names: self._still_fails(of(names))))

    def function(self, mod: IRModule, name: str) -> IRModule:
        """Reduce one function."""

        def having(function: BaseFunc) -> IRModule:
            return replace(mod, functions={**mod.functions, name: function})

        def accepted(function: BaseFunc) -> bool:
            return self._still_fails(having(function))

        function = mod.functions[name]
        bare = replace(function, attrs={key: function.attrs[key] for key in function.attrs if key == "global_symbol"})
        if len(bare.attrs) < len(function.attrs) and accepted(bare):
            function = bare
        if isinstance(function, relax.Function):
            return having(self._graph(function, accepted))
        return having(self._loops(function, accepted)) if isinstance(function, tir.PrimFunc) else having(function)

    def _graph(self, function: relax.Function, accepted: Callable[[BaseFunc], bool]) -> relax.Function:
        function = next((result for result in _with_other_results(function) if accepted(result)), function)
        function = self._simplest(function, accepted, _with_operands_for_results)
        bindings = [binding for block in function.body.blocks for binding in block.bindings]
        kept = self._fewest(bindings, lambda kept: accepted(_with_bindings(function, kept)))
        return _with_bindings(function, kept) if len(kept) < len(bindings) else function

    def _loops(self, function: tir.PrimFunc, accepted: Callable[[BaseFunc], bool]) -> tir.PrimFunc:
        return self._simplest(function, accepted, _with_simpler_statements)

    def _simplest(
        self, function: _F, accepted: Callable[[BaseFunc], bool], simpler: Callable[[_F], Iterator[_F]]
    ) -> _F:
        """Repeatedly replace the function by the first simpler one that still fails."""
        while self._left > 0:
            found = next((f for f in simpler(function) if accepted(f)), None)
            if found is None:
                break
            function = found
        return function

    def _fewest(self, items: list[_T], accepted: Callable[[list[_T]], bool]) -> list[_T]:
        """Return as few of `items` as are accepted, by removing runs of decreasing length."""
        length = len(items)
        while length and self._left > 0:
            start = 0
            while start < len(items):
                rest = items[:start] + items[start + length :]
                if accepted(rest):
                    items = rest
                else:
                    start += length
            length //= 2
        return items


def _with_other_results(function: relax.Function) -> Iterator[relax.Function]:
    """Yield variants that return one of the function's variables, the earliest first."""
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    for number, binding in enumerate(bindings[:-1]):
        yield _with_bindings(function, bindings[: number + 1], binding.var)


def _with_operands_for_results(function: relax.Function) -> Iterator[relax.Function]:
    """Yield variants without one of the calls: an operand of the same type replaces its result."""
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    for binding in bindings:
        operands = binding.value.args if isinstance(binding.value, relax.Call) else ()
        for operand in operands:
            if isinstance(operand, relax.Var) and structural_equal(operand.struct_info, binding.var.struct_info):
                instead = {binding.var: operand}
                rest = [substitute(item, instead) for item in bindings if item is not binding]
                yield _with_bindings(function, rest, substitute(function.body.body, instead))


def _with_bindings(
    function: relax.Function, kept: Sequence[relax.Binding], result: relax.Expr | None = None
) -> relax.Function:
    """Return a function with these bindings; undefined variables become parameters, and unused parameters are removed."""
    value = result or function.body.body
    defined = {binding.var for binding in kept}
    used = [node for part in (*[binding.value for binding in kept], value) for node in walk(part)]
    known = [node for node in dict.fromkeys(used) if isinstance(node, relax.Var) and node not in defined]
    inner = {node for part in used for node in _bound_inside(part)}
    given = [var for var in known if var not in inner]
    plain: dict[Node, Node] = {
        var: relax.Var(var.name_hint, struct_info=var.struct_info)
        for var in (*given, *defined)
        if isinstance(var, relax.DataflowVar)
    }
    block = relax.BindingBlock(tuple(kept))
    info = infer_struct_info(value)
    body = relax.SeqExpr((block,) if kept else (), value, struct_info=info)
    params = [var for var in function.params if var in given] + [var for var in given if var not in function.params]
    smaller = replace(function, params=tuple(params), body=body, ret_struct_info=info, struct_info=None, trivia=None)
    return substitute(smaller, plain)


def _bound_inside(node: Node) -> tuple[Node, ...]:
    """Return the variables that are defined inside a value."""
    match node:
        case relax.VarBinding(var=var) | relax.MatchCast(var=var):
            return (var,)
        case relax.Function(params=params):
            return params
        case _:
            return ()


def _with_simpler_statements(function: tir.PrimFunc) -> Iterator[tir.PrimFunc]:
    """Yield variants with one statement removed or simplified, outer ones first."""
    for node in walk(function.body):
        for simpler in _simpler(node):
            yield substitute(function, {node: simpler})


def _simpler(node: Node) -> Iterator[Node]:
    match node:
        case tir.SeqStmt(seq=statements):
            for number in range(len(statements)):
                rest = statements[:number] + statements[number + 1 :]
                yield rest[0] if len(rest) == 1 else replace(node, seq=rest)
        case tir.For(loop_var=var, min=start, body=body):
            yield substitute(body, {var: start})
        case tir.IfThenElse(then_case=yes, else_case=no):
            yield yes
            if no is not None:
                yield no
        case tir.LetStmt(var=var, value=value, body=body):
            yield substitute(body, {var: value})
        case tir.Block(init=tir.Stmt()):
            yield replace(node, init=None)
        case tir.BufferStore(buffer=buffer, value=value) if not isinstance(value, tir.IntImm | tir.FloatImm):
            zero = tir.FloatImm(buffer.dtype, 0.0) if "float" in buffer.dtype else tir.IntImm(buffer.dtype, 0)
            yield replace(node, value=zero)
        case _:
            pass
