"""Graph functions as flat lists of steps over a frame.

A frame is a list with one slot for every variable of the function, and for every symbolic size. A step
reads slots, calls a kernel or a Python function, and writes a slot. The tree is walked only once, at
compile time. Calls of graph functions and branches run on the explicit stack of `calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace

from ...ir import relax
from ...ir.base import GlobalVar, Node, Op, Span
from ...ir.diagnostics import error
from ...ir.functions import find_function
from ...ir.numpy_dtype import numpy_dtype
from ...ir.visit import walk
from ..runtime.ndarray import unwrap, wrap
from ..runtime.sizes import Frame, Slots, compile_size
from ..runtime.specs import ArgumentContext
from .calls import Body, Closure, Done, GraphEntry, Start, Step, Value, run_to_end, started
from .home import Home
from .specs import Shape, declare_sizes, make_spec

Entries: TypeAlias = Mapping[str, Callable[..., Any]]
Operator: TypeAlias = "Callable[[GraphCompiler, relax.Call], Value]"
"""Compiles a call of an operator."""
BeforeStep: TypeAlias = Callable[[Span | None], None]
"""Gets the span of each binding before it is executed."""


def packed(name: str, span: Span | None = None) -> Callable[..., Any]:
    """Return a function that calls a registered function, which may be registered later.

    Its arrays have the methods of TVM's, such as `numpy` and `copyfrom`.
    """

    def call(*args: Any) -> Any:
        return unwrap(find_function(name, span)(*map(wrap, args)))

    return call


class GraphCompiler:
    """Compiles one function and the functions nested in it, which share its frame layout; `operator` compiles calls of
    operators.
    """

    def __init__(
        self,
        entries: Entries,
        external: Entries,
        home: Home,
        operator: Operator,
        start_operator: Callable[[GraphCompiler, relax.Call], Start | None],
        before_step: BeforeStep | None = None,
    ) -> None:
        """`start_operator` compiles calls of operators that may call graph functions; it returns None for others."""
        self.entries, self.external, self.home, self._operator = entries, external, home, operator
        self._start_operator, self._before_step = start_operator, before_step
        self.slots: Slots = {}
        self._rules: dict[type[Node], Callable[[Any], Value]] = {
            relax.Var: self._variable, relax.DataflowVar: self._variable, relax.Constant: self._constant,
            relax.Tuple: self._tuple, relax.TupleGetItem: self._item, relax.ShapeExpr: self._shape,
            relax.PrimValue: self._number, relax.StringImm: self._literal, relax.DataTypeImm: self._literal,
            relax.ExternFunc: self._external, relax.If: self._at_once, relax.SeqExpr: self._at_once,
            relax.Function: self._closure, relax.Call: self._call, GlobalVar: self._global,
        }  # fmt: skip

    def function(self, name: str, function: relax.Function) -> GraphEntry:
        """Compile a function with this frame layout."""
        for param in function.params:
            declare_sizes(param.struct_info, self.slots)
        parameters = [
            (
                make_spec(param.struct_info, self.slots, self.home),
                ArgumentContext(param.name_hint, name, param.span),
                self.slot(param),
            )
            for param in function.params
        ]
        body, last_uses = self.body(function.body), _last_uses(function)
        steps = tuple(
            replace(step, dead=tuple([self.slots[variable] for variable in dead])) if dead else step
            for step, dead in zip(body.steps, last_uses, strict=True)
        )
        return GraphEntry(name, parameters, self.slots, replace(body, steps=steps), function.span)

    def slot(self, variable: Any) -> int:
        """Return the slot of a variable, allocated on first use."""
        return self.slots.setdefault(variable, len(self.slots))

    def value(self, expr: relax.Expr) -> Value:
        """Return the function that computes the value of `expr` from a frame."""
        return self._rules[type(expr)](expr)

    def start(self, expr: relax.Expr) -> Start | None:
        """Return the function that starts the evaluation of `expr`, if that may call graph functions; None otherwise."""
        match expr:
            case relax.If():
                return self._start_if(expr)
            case relax.SeqExpr():
                return self.body(expr).start
            case relax.Call(op=Op()):
                return self._start_operator(self, expr)
            case relax.Call(op=relax.Expr() as callee):
                function, args = self.value(callee), tuple(map(self.value, expr.args))
                return lambda frame: started(function(frame), [arg(frame) for arg in args])
            case _:
                return None

    def body(self, body: relax.SeqExpr) -> Body:
        """Return the steps and the value of a sequence."""
        steps = tuple([self._binding(binding) for binding in _bindings(body)])
        start = self.start(body.body)
        return Body(steps, _unused if start else self.value(body.body), start)

    def _binding(self, binding: relax.Binding) -> Step:
        assert isinstance(binding, relax.VarBinding | relax.MatchCast)
        if isinstance(binding.value, relax.Function):
            self.slot(binding.var)  # before the value: it may be recursive
        start = self.start(binding.value)
        value = _unused if start else self.value(binding.value)
        store = self._store(binding, self.slot(binding.var))
        before, span = self._before_step, binding.value.span

        def run(frame: Frame) -> None:
            if before is not None:
                before(span)
            store(frame, value(frame))

        return Step(None if start else run, start, store)

    def _store(self, binding: relax.VarBinding | relax.MatchCast, slot: int) -> Callable[[Frame, Any], None]:
        """Return the function that stores the value of a binding, after the check of a `match_cast`."""
        if isinstance(binding, relax.VarBinding):

            def assign(frame: Frame, value: Any) -> None:
                frame[slot] = value

            return assign
        declare_sizes(binding.struct_info, self.slots)
        spec = make_spec(binding.struct_info, self.slots, self.home)
        place = ArgumentContext(f"match_cast of '{binding.var.name_hint}'", "", binding.span)

        def match(frame: Frame, value: Any) -> None:
            frame[slot] = spec.check(value, place, frame)
            spec.check_deferred(frame[slot], place, frame)

        return match

    # --- Values

    def _variable(self, expr: relax.Var) -> Value:
        if expr not in self.slots:
            raise error("E0709", f"'{expr.name_hint}' has no value here", expr.span)
        slot = self.slots[expr]
        return lambda frame: frame[slot]

    def _constant(self, expr: relax.Constant) -> Value:
        if isinstance(expr.data, Node):
            raise error("E0606", "the value of this constant is not in the program", expr.span)
        data: np.ndarray = np.asarray(expr.data, order="C").view()
        data.flags.writeable = False
        find = self.home.constant(data)
        return lambda frame: find()

    def _tuple(self, expr: relax.Tuple) -> Value:
        fields = tuple(map(self.value, expr.fields))
        return lambda frame: tuple([field(frame) for field in fields])

    def _item(self, expr: relax.TupleGetItem) -> Value:
        value, index = self.value(expr.tuple_value), expr.index
        return lambda frame: value(frame)[index]

    def _shape(self, expr: relax.ShapeExpr) -> Value:
        sizes = tuple(compile_size(size, self.slots) for size in expr.values)
        return lambda frame: Shape([size(frame) for size in sizes])

    def _number(self, expr: relax.PrimValue) -> Value:
        kind = numpy_dtype(expr.value.dtype).type
        if hasattr(expr.value, "value") and not isinstance(expr.value, relax.Expr):
            number = kind(getattr(expr.value, "value"))  # noqa: B009
            return lambda frame: number
        size = compile_size(expr.value, self.slots)
        return lambda frame: kind(size(frame))

    def _literal(self, expr: relax.StringImm | relax.DataTypeImm) -> Value:
        text = expr.value
        return lambda frame: text

    def _external(self, expr: relax.ExternFunc) -> Value:
        call = self.home.on_host(self.outside(expr), may_write=True)
        return lambda frame: call

    def outside(self, expr: relax.ExternFunc) -> Callable[..., Any]:
        """Return the library function or registered function that `expr` names."""
        return self.external.get(expr.global_symbol) or packed(expr.global_symbol, expr.span)

    def _global(self, expr: GlobalVar) -> Value:
        name, span, entries = expr.name_hint, expr.span, self.entries

        def find(frame: Frame) -> Any:
            if name not in entries:
                raise error("E0102", f"the module has no function '{name}'", span)
            return entries[name]

        return find

    # --- Control

    def _start_if(self, expr: relax.If) -> Start:
        condition, test = self.value(expr.cond), self.home.on_host(bool)
        yes, no = self.body(expr.true_branch), self.body(expr.false_branch)
        return lambda frame: (yes if test(condition(frame)) else no).start(frame)

    def _at_once(self, expr: relax.If | relax.SeqExpr) -> Value:
        """Compile control flow inside of an expression."""
        start, span = self.start(expr), expr.span
        assert start is not None

        def run(frame: Frame) -> Any:
            running = start(frame)
            return running.value if isinstance(running, Done) else run_to_end(running, "the branch", span)

        return run

    def _closure(self, expr: relax.Function) -> Value:
        """Compile a nested function: it captures the variables of the enclosing one, and every call has its own
        frame.
        """
        entry = self.function(expr.attrs.get("global_symbol", "the function"), expr)
        return lambda outer: Closure(entry, outer)

    def _call(self, expr: relax.Call) -> Value:
        if isinstance(expr.op, Op):
            return self._operator(self, expr)
        function, args = self.value(expr.op), tuple(map(self.value, expr.args))
        return lambda frame: function(frame)(*[arg(frame) for arg in args])


def _unused(frame: Frame) -> Any:
    """Stand for a value that is computed on the stack."""
    raise AssertionError


def _bindings(body: relax.SeqExpr) -> list[relax.Binding]:
    return [binding for block in body.blocks for binding in block.bindings]


def _last_uses(function: relax.Function) -> list[list[relax.Var]]:
    """Return, for each binding of the body, the variables whose last use it is, so that their memory can be
    freed.

    Variables that nested functions capture are kept, since these may be called at any time.
    """
    bindings = _bindings(function.body)
    last: dict[Node, int] = {binding.var: number for number, binding in enumerate(bindings)}
    last |= dict.fromkeys(function.params, 0)
    kept: set[Node] = set(walk(function.body.body))
    for number, binding in enumerate(bindings):
        for node in walk(binding.value):
            if node in last:
                last[node] = number
            elif isinstance(node, relax.Function):
                kept.update(walk(node))
    found: list[list[relax.Var]] = [[] for _ in bindings]
    for variable, number in last.items():
        if isinstance(variable, relax.Var) and variable not in kept and bindings:
            found[number].append(variable)
    return found
