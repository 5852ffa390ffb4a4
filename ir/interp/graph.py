"""Evaluation of graph-level expressions. Each is compiled once, to a function from a frame to a value.

A tensor is a NumPy array, a tuple a Python tuple, a shape a `Shape`, a scalar a NumPy scalar of its dtype, a function
a callable. Frames hold symbolic dimensions as well as graph-level variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from .. import relax, tir
from ..base import BaseFunc, GlobalVar, Node
from ..deep import nested
from ..diagnostics import error
from ..numpy_dtype import numpy_dtype
from ..run_time_checks import with_checked_result, with_checked_sizes
from .arguments import check_count, settle
from .expressions import compile_expr
from .frame import Frame, World, fault
from .observer import is_observed, observing
from .prim_func import call_in
from .struct_info import Shape, sizes_in, variables_in

Value: TypeAlias = Any
Evaluate: TypeAlias = Callable[[Frame], Value]

_rules: dict[type[relax.Expr], Callable[[Any], Evaluate]] = {}
_Rule = TypeVar("_Rule", bound=Callable[[Any], Evaluate])


def meaning_of(*kinds: type[relax.Expr]) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of these kinds of expressions."""

    def register(rule: _Rule) -> _Rule:
        _rules.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def compile_graph(expr: relax.Expr) -> Evaluate:
    """Return a function that evaluates `expr`."""
    return _rules[type(expr)](expr)


# --- Values ---------------------------------------------------------------------------------------------------


@meaning_of(relax.Var, relax.DataflowVar)
def _variable(expr: relax.Var) -> Evaluate:
    return itemgetter(expr)


@meaning_of(relax.Constant)
def _constant(expr: relax.Constant) -> Evaluate:
    if isinstance(expr.data, Node):
        raise fault("E0712", "the value of this constant is not given", expr)
    return lambda frame: expr.data


@meaning_of(relax.Tuple)
def _tuple(expr: relax.Tuple) -> Evaluate:
    fields = tuple(map(compile_graph, expr.fields))
    return lambda frame: tuple([field(frame) for field in fields])


@meaning_of(relax.TupleGetItem)
def _item(expr: relax.TupleGetItem) -> Evaluate:
    value = compile_graph(expr.tuple_value)

    def pick(frame: Frame) -> Value:
        fields = value(frame)
        if not 0 <= expr.index < len(fields):
            raise fault("E0707", f"index {expr.index} is outside a tuple of {len(fields)}", expr)
        return fields[expr.index]

    return pick


@meaning_of(relax.ShapeExpr)
def _shape(expr: relax.ShapeExpr) -> Evaluate:
    sizes = tuple(map(compile_expr, expr.values))
    return lambda frame: Shape([size(frame) for size in sizes])


@meaning_of(relax.PrimValue)
def _prim_value(expr: relax.PrimValue) -> Evaluate:
    value, kind = compile_expr(expr.value), numpy_dtype(expr.value.dtype).type
    return lambda frame: kind(value(frame))


@meaning_of(relax.StringImm, relax.DataTypeImm)
def _literal(expr: relax.StringImm | relax.DataTypeImm) -> Evaluate:
    return lambda frame: expr.value


@meaning_of(relax.ExternFunc)
def _external(expr: relax.ExternFunc) -> Evaluate:
    return lambda frame: frame.world.external(expr.global_symbol, expr)


# --- Control flow and bindings --------------------------------------------------------------------------------


@meaning_of(relax.If)
def _if(expr: relax.If) -> Evaluate:
    condition, yes, no = map(compile_graph, (expr.cond, expr.true_branch, expr.false_branch))
    return lambda frame: yes(frame) if bool(condition(frame)) else no(frame)


@meaning_of(relax.SeqExpr)
def _sequence(expr: relax.SeqExpr) -> Evaluate:
    expr = with_checked_sizes(expr)
    steps = tuple(_compile_binding(binding) for block in expr.blocks for binding in block.bindings)
    body = compile_graph(expr.body)

    def run(frame: Frame) -> Value:
        for step in steps:
            step(frame)
        return body(frame)

    return run


def _compile_binding(binding: relax.Binding) -> Callable[[Frame], None]:
    assert isinstance(binding, relax.VarBinding | relax.MatchCast)
    value, variable = compile_graph(binding.value), binding.var
    if isinstance(binding, relax.VarBinding):

        def bind(frame: Frame) -> None:
            frame[variable] = value(frame)

        return _told(binding, bind)
    declared, subject = binding.struct_info, f"the value of '{variable.name_hint}'"
    free = variables_in(declared)

    def match(frame: Frame) -> None:
        given = frame[variable] = value(frame)
        settle(frame, sizes_in(given, declared, frame, subject, binding), free - frame.keys())

    return _told(binding, match)


def _told(binding: relax.Binding, bind: Callable[[Frame], None]) -> Callable[[Frame], None]:
    """Return `bind` for a run: it first tells the observer, if there is one."""
    if not is_observed():
        return bind

    def observed(frame: Frame) -> None:
        assert frame.world.observer is not None
        frame.world.observer.binding(binding, frame)
        bind(frame)

    return observed


# --- Functions ------------------------------------------------------------------------------------------------


@meaning_of(relax.Function)
def _function(expr: relax.Function) -> Evaluate:
    """Compile a closure: it can refer to the variables around it and to itself."""
    body = compile_graph((with_checked_result(expr) or expr).body)
    name = expr.attrs.get("global_symbol", "the function")

    def close(frame: Frame) -> Value:
        def call(*args: Value) -> Value:
            inner = frame.fork()
            bind_parameters(inner, expr, args, name)
            observer = frame.world.observer
            if observer is None:
                return body(inner)
            observer.enter(expr, name, inner)
            result = body(inner)
            observer.leave(expr, inner)
            return result

        return call

    return close


def bind_parameters(frame: Frame, function: relax.Function, args: Sequence[Value], name: str) -> None:
    """Bind parameters and symbolic dimensions to arguments; E0701 to E0705 if an argument does not fit."""
    check_count(name, function.params, args, function)
    free: set[tir.Var] = set()
    sizes: list[Any] = []
    for param, value in zip(function.params, args, strict=True):
        frame[param] = value
        if param.struct_info is not None:
            free |= variables_in(param.struct_info)
            sizes.extend(sizes_in(value, param.struct_info, frame, f"argument '{param.name_hint}'", param))
    settle(frame, sizes, free - frame.keys())


@meaning_of(GlobalVar)
def _global(expr: GlobalVar) -> Evaluate:
    return lambda frame: module_function(frame.world, expr.name_hint, expr)


def module_function(world: World, name: str, node: Node | None = None) -> Callable[..., Value]:
    """Return function `name` of the module as a callable; E0102 if there is none."""
    function = world.module.functions.get(name)
    if function is None:
        raise error("E0102", f"the module has no function '{name}'", None if node is None else node.span)
    if isinstance(function, tir.PrimFunc):
        return lambda *args: call_in(world, function, args, name)
    if isinstance(function, relax.ExternFunc):
        return world.external(function.global_symbol, function)
    if function not in world.compiled:
        with observing(world.observer):
            world.compiled[function] = _compile_named(function, name)
    return world.compiled[function](Frame(world))


def _compile_named(function: BaseFunc, name: str) -> Evaluate:
    close = compile_graph(function)

    return lambda frame: nested(close(frame), name, function.span)
