"""Graph functions as flat lists of steps over a frame.

A frame is a list with one slot for every variable of the function, and for every symbolic size. A step
reads slots, calls a kernel or a Python function, and writes a slot. The tree is walked only once, at
compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...ir import relax
from ...ir.base import GlobalVar, Node, Op, Span
from ...ir.deep import nested
from ...ir.diagnostics import error
from ...ir.functions import find_function
from ...ir.numpy_dtype import numpy_dtype
from ...ir.visit import walk
from ..runtime.ndarray import unwrap, wrap
from ..runtime.prim_entry import bind_names
from ..runtime.sizes import Frame, Slots, compile_size
from ..runtime.specs import ArgumentContext, entry_repr
from .home import Home
from .specs import Shape, Spec, declare_sizes, make_spec

Value: TypeAlias = Callable[[Frame], Any]
Step: TypeAlias = Callable[[Frame], None]
Entries: TypeAlias = Mapping[str, Callable[..., Any]]
Operator: TypeAlias = "Callable[[GraphCompiler, relax.Call], Value]"
"""Compiles a call of an operator."""


class GraphEntry:
    """A compiled graph function. Calls check their arguments, then execute the steps."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[tuple[Spec, ArgumentContext, int]],
        slots: Slots,
        steps: Sequence[Step],
        result: Value,
        span: Span | None = None,
    ) -> None:
        self.name, self.parameters = name, tuple(parameters)
        self._slots, self._steps, self._result = slots, tuple(steps), result
        self.run = nested(self._run, name, span)
        """Call in a given frame, which may hold variables of an enclosing function."""

    def __repr__(self) -> str:
        return entry_repr(self, self.name, [context for _, context, _ in self.parameters])

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call with arrays, shapes, numbers and tuples, by position or by name; return the value of the function.

        Raises TvmsError: E0701 to E0706 and E0718 if an argument does not fit, and faults at run time.
        """
        return self.run([None] * len(self._slots), args, named)

    def _run(self, frame: Frame, args: Sequence[Any], named: dict[str, Any]) -> Any:
        if named or len(args) != len(self.parameters):
            args = bind_names(self.name, [place.argument for _, place, _ in self.parameters], args, named)
        for (spec, place, slot), value in zip(self.parameters, args, strict=True):
            frame[slot] = spec.check(value, place, frame)
        for spec, place, slot in self.parameters:
            spec.check_deferred(frame[slot], place, frame)
        for step in self._steps:
            step(frame)
        return self._result(frame)


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

    def __init__(self, entries: Entries, external: Entries, home: Home, operator: Operator) -> None:
        self.entries, self.external, self.home, self._operator = entries, external, home, operator
        self.slots: Slots = {}
        self._rules: dict[type[Node], Callable[[Any], Value]] = {
            relax.Var: self._variable, relax.DataflowVar: self._variable, relax.Constant: self._constant,
            relax.Tuple: self._tuple, relax.TupleGetItem: self._item, relax.ShapeExpr: self._shape,
            relax.PrimValue: self._number, relax.StringImm: self._literal, relax.DataTypeImm: self._literal,
            relax.ExternFunc: self._external, relax.If: self._if, relax.SeqExpr: self._sequence,
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
        steps, result = self.steps(function.body)
        for number, dead in enumerate(_last_uses(function)):
            if dead:
                steps[number] = _forgetting(steps[number], [self.slots[variable] for variable in dead])
        return GraphEntry(name, parameters, self.slots, steps, result, function.span)

    def slot(self, variable: Any) -> int:
        """Return the slot of a variable, allocated on first use."""
        return self.slots.setdefault(variable, len(self.slots))

    def value(self, expr: relax.Expr) -> Value:
        """Return the function that computes the value of `expr` from a frame."""
        return self._rules[type(expr)](expr)

    def steps(self, body: relax.SeqExpr) -> tuple[list[Step], Value]:
        """Return the steps of a body, and the function that computes its value after them."""
        return [self._binding(binding) for binding in _bindings(body)], self.value(body.body)

    def _binding(self, binding: relax.Binding) -> Step:
        assert isinstance(binding, relax.VarBinding | relax.MatchCast)
        if isinstance(binding.value, relax.Function):
            slot, value = self.slot(binding.var), self.value(binding.value)  # the slot first: it may be recursive
        else:
            value, slot = self.value(binding.value), self.slot(binding.var)
        if isinstance(binding, relax.VarBinding):

            def assign(frame: Frame) -> None:
                frame[slot] = value(frame)

            return assign
        declare_sizes(binding.struct_info, self.slots)
        spec = make_spec(binding.struct_info, self.slots, self.home)
        place = ArgumentContext(f"match_cast of '{binding.var.name_hint}'", "", binding.span)

        def match(frame: Frame) -> None:
            frame[slot] = spec.check(value(frame), place, frame)
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

    def _if(self, expr: relax.If) -> Value:
        condition, yes, no = map(self.value, (expr.cond, expr.true_branch, expr.false_branch))
        test = self.home.on_host(bool)
        return lambda frame: yes(frame) if test(condition(frame)) else no(frame)

    def _sequence(self, expr: relax.SeqExpr) -> Value:
        steps, result = self.steps(expr)

        def run(frame: Frame) -> Any:
            for step in steps:
                step(frame)
            return result(frame)

        return run

    def _closure(self, expr: relax.Function) -> Value:
        """Compile a nested function: it captures the variables of the enclosing one, and every call has its own
        frame.
        """
        entry = self.function(expr.attrs.get("global_symbol", "the function"), expr)

        def close(outer: Frame) -> Any:
            def call(*args: Any) -> Any:
                return entry.run(list(outer), args, {})

            return call

        return close

    def _call(self, expr: relax.Call) -> Value:
        if isinstance(expr.op, Op):
            return self._operator(self, expr)
        function, args = self.value(expr.op), tuple(map(self.value, expr.args))
        return lambda frame: function(frame)(*[arg(frame) for arg in args])


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


def _forgetting(step: Step, slots: Sequence[int]) -> Step:
    """Return `step` followed by clearing `slots`."""

    def run(frame: Frame) -> None:
        step(frame)
        for slot in slots:
            frame[slot] = None

    return run
