"""Execution of the statements of a schedule: names, lists, conditions, calls of functions. Steps apply primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from msgspec.structs import replace

from .. import make, tir
from ..base import Node, Span
from ..diagnostics import Diagnostic, Edit, Note, TvmsError, error
from ..signature import BadArguments, Parameter, Signature
from ..simplify import simplify
from ..visit import children, substitute
from .declaration import Primitive, primitive_called
from .error import ScheduleError
from .handles import BlockRV, ExprRV, Handle, LoopRV
from .text import (
    Assertion,
    Assignment,
    Branch,
    Element,
    ForEach,
    Name,
    Part,
    Result,
    ScheduleFunction,
    ScheduleText,
    Spread,
    Statement,
    Step,
    TextComparison,
)

_MAX_STEPS = 100_000
_OWN = (Name, Element, Part, Result, TextComparison)
"""Values of a schedule in expressions."""


class Scheduled(Protocol):
    """What a runner needs of a schedule."""

    @property
    def trace(self) -> Any: ...

    def apply_at(
        self, place: Span | str | None, primitive: Primitive, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any: ...

    def number(self, value: tir.PrimExpr) -> Any: ...


class Runner:
    """Runs statements on a schedule."""

    def __init__(self, schedule: Scheduled, known: dict[str, Any]) -> None:
        self.schedule = schedule
        self.known = known
        self.applied: dict[int, Step] = {}
        """The step that each instruction of the trace was applied by."""
        self._left = [_MAX_STEPS]

    def run(self, statements: Sequence[Statement]) -> None:
        """Run statements in order."""
        for statement in statements:
            self._left[0] -= 1
            if self._left[0] < 0:
                reason = f"the schedule runs more than {_MAX_STEPS} statements"
                raise error("E0597", reason, statement.span, "shorten the lists that it loops over")
            try:
                self._run(statement)
            except TvmsError as wrong:
                wrong.diagnostics = tuple([replace(one, span=one.span or statement.span) for one in wrong.diagnostics])
                if isinstance(wrong, ScheduleError) and wrong.wanted is not None:
                    place, loop = wrong.wanted
                    name, wrong.wanted = self._name_of(loop), None
                    edit = Edit(place, name) if name else None
                    wrong.diagnostics = tuple([replace(one, edit=edit) for one in wrong.diagnostics])
                raise

    def _name_of(self, handle: Handle) -> str | None:
        """Return what denotes a handle in the text: a name, or an element of a list."""
        for name, value in self.known.items():
            if value is handle:
                return name
            if isinstance(value, list | tuple) and any(item is handle for item in cast("Sequence[Any]", value)):
                return f"{name}[{[item is handle for item in cast('Sequence[Any]', value)].index(True)}]"
        return None

    def _run(self, statement: Statement) -> None:
        match statement:
            case Step():
                self._bind(statement.results, statement.unpacks, self.step(statement), statement.span)
            case Assignment(names=names, unpacks=unpacks, value=value):
                self._bind(names, unpacks, self.value(value), statement.span)
            case ForEach():
                self._each(statement)
            case Branch(condition=condition, then=then, otherwise=otherwise):
                self.run(then if self._truth(condition, statement.span) else otherwise)
            case Assertion(condition=condition, message=message):
                if not self._truth(condition, statement.span):
                    reason = "the assertion does not hold" + (f": {message}" if message else "")
                    help = "change the parameters or the program, or remove the assertion"
                    raise error("E0537", reason, statement.span, help)
            case _:
                raise TypeError(statement)

    def _each(self, statement: ForEach) -> None:
        values = self.value(statement.values)
        if not isinstance(values, list | tuple):
            raise error("E0598", f"expected a list, got {_described(values)}", statement.span, "loop over a list")
        for value in list(cast("Sequence[Any]", values)):
            self._bind(statement.names, statement.unpacks, value, statement.span)
            self.run(statement.body)

    def _bind(self, names: tuple[str, ...], unpacks: bool, value: Any, span: Span | None) -> None:
        if unpacks:
            values = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else (value,)
            if len(names) != len(values):
                message = f"expected names for {len(values)} results, got {len(names)}"
                raise error("E0204", message, span, f"bind {len(values)} names")
            self.known.update(zip(names, values, strict=True))
        elif names:
            self.known[names[0]] = value

    def step(self, step: Step) -> Any:
        """Apply the primitive of a step, or run the function that it calls; return the result."""
        args: Any = self.value(step.args)
        named = {name: self.value(value) for name, value in step.named.items()}
        if step.function is not None:
            return self._call(step.function, args, named, step.span)
        called = primitive_called(step.primitive)
        if called is None:
            raise error("E0103", f"no primitive is called '{step.primitive}'", step.span)
        before = len(self.schedule.trace.insts)
        result = self.schedule.apply_at(step.span, called, args, named)
        self.applied[before] = step
        return result

    def _call(
        self, function: ScheduleFunction | ScheduleText, args: Sequence[Any], named: dict[str, Any], span: Span | None
    ) -> Any:
        """Run a function or schedule with its own names; an error in it has a note on the call."""
        if isinstance(function, ScheduleText):
            known, result = {**function.parameters, **named}, None
        else:
            known, result = {**function.defaults, **bound(function, args, named, span)}, function.result
        inner = Runner(self.schedule, known)
        inner.applied, inner._left = self.applied, self._left
        try:
            inner.run(function.steps)
            return inner.value(result)
        except TvmsError as wrong:
            note = Note(f"'{function.name}' is called here", span)
            wrong.diagnostics = tuple([replace(one, notes=(*one.notes, note)) for one in wrong.diagnostics])
            raise

    # --- Values -----------------------------------------------------------------------------------------------------

    def value(self, value: Any) -> Any:
        """Return an argument with the names and calls in it replaced by their values."""
        match value:
            case Name():
                return self._named(value)
            case Result():
                return self.step(value.step)
            case Element():
                return self._element(value)
            case Part():
                return self._part(value)
            case tuple():
                return tuple([element for item in value for element in self._spread(item)])  # type: ignore[reportUnknownVariableType]
            case dict():
                return {key: self.value(item) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
            case TextComparison(value=compared, text=text, is_equal=is_equal):
                return (self.value(compared) == text) is is_equal
            case tir.And(a=a, b=b) | tir.Or(a=a, b=b):
                left = self._truth(a, value.span)
                return left if left is isinstance(value, tir.Or) else self._truth(b, value.span)
            case tir.Not(a=a):
                return not self._truth(a, value.span)
            case tir.PrimExpr() | tir.IndexMap():
                return self._substituted(value)
            case _:
                return value

    def _named(self, name: Name) -> Any:
        if name.name not in self.known:
            help = "assign it on every path, or before the loop or condition"
            raise error("E0401", f"'{name.name}' has no value here", name.span, help)
        return self.known[name.name]

    def _spread(self, item: Any) -> list[Any]:
        if not isinstance(item, Spread):
            return [self.value(item)]
        values = self.value(item.owner)
        if not isinstance(values, list | tuple):
            raise error("E0598", f"expected a list after '*', got {_described(values)}", item.span, "write a list")
        return list(cast("Sequence[Any]", values))

    def _items(self, node: Element | Part) -> Sequence[Any]:
        owner = self.value(node.owner)
        if not isinstance(owner, list | tuple):
            raise error("E0598", f"expected a list before '[', got {_described(owner)}", node.span, "index a list")
        return cast("Sequence[Any]", owner)

    def _part(self, node: Part) -> Any:
        items, bounds = self._items(node), (self.value(node.start), self.value(node.stop))
        for bound in bounds:
            if not isinstance(bound, int | None):
                reason = f"expected a number before or after ':', got {_described(bound)}"
                raise error("E0598", reason, node.span, "count from 0, or from -1 at the end")
        return items[slice(*bounds)]

    def _element(self, node: Element) -> Any:
        items, index = self._items(node), self.value(node.index)
        if not isinstance(index, int) or not -len(items) <= index < len(items):
            reason = f"the list has {len(items)} elements, and no element {index}"
            raise error("E0598", reason, node.span, "count from 0, or from -1 at the end")
        return items[index]

    def _substituted(self, value: tir.PrimExpr | tir.IndexMap) -> Any:
        """Return an expression or index map with its values; an expression without variables is a number."""
        found = {node: self._number(node) for node in _own_in(value)}
        if not found:
            return value
        result = substitute(value, found)
        if isinstance(result, tir.IndexMap) or any(isinstance(number, ExprRV) for number in found.values()):
            return result
        plain = simplify(result)
        if isinstance(plain, tir.IntImm):
            return bool(plain.value) if plain.dtype == "bool" else plain.value
        return plain.value if isinstance(plain, tir.FloatImm) else result

    def _number(self, node: tir.PrimExpr) -> tir.PrimExpr:
        value = self.value(node)
        if isinstance(value, tir.PrimExpr):
            return value
        if isinstance(value, bool):
            return make.const(value, "bool")
        if isinstance(value, int):
            return make.const(value, "int32" if -(2**31) <= value < 2**31 else "int64")
        if isinstance(value, float):
            return make.const(value, "float32")
        raise error("E0598", f"expected a number, got {_described(value)}", node.span, "compute with numbers")

    def _truth(self, condition: Any, span: Span | None) -> bool:
        """Return whether a condition holds; raise E0599 if that is unknown."""
        value = self.value(condition)
        if isinstance(value, tir.PrimExpr):
            value = self.schedule.number(value)
        if isinstance(value, bool | int):
            return bool(value)
        what = f"'{value}' depends on the arguments of the function" if isinstance(value, Node) else _described(value)
        place = getattr(condition, "span", None) or span
        raise error("E0599", f"the condition is not known: {what}", place, "test what is constant, such as an extent")


def bound(function: ScheduleFunction, args: Sequence[Any], named: dict[str, Any], span: Span | None) -> dict[str, Any]:
    """Return the arguments of a function of schedules by name; raise E0105 if they do not fit."""
    signature = Signature([Parameter(name, name not in function.defaults) for name in function.params])
    try:
        return dict(signature.bind(function.name, args, named.items()).values)
    except BadArguments as wrong:
        raise TvmsError(Diagnostic("E0105", wrong.message, span, wrong.help)) from None


def _own_in(value: Node) -> list[Any]:
    """Return the outermost values of a schedule in an expression."""
    if isinstance(value, _OWN):
        return [value]
    return [node for child in children(value) for node in _own_in(child)]


def _described(value: Any) -> str:
    match value:
        case None | bool() | int() | float() | str():
            return repr(value)
        case LoopRV():
            return "a loop"
        case BlockRV():
            return "a block"
        case list() | tuple():
            return "a list"
        case tir.PrimExpr():
            return f"'{value}'"
        case _:
            return "this"
