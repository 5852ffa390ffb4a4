"""Schedules."""

from __future__ import annotations

from typing import Any

from ...ir import tir
from ...ir.base import Attrs, Trivia
from ...ir.schedule.text import (
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
from .expressions import COMPARISON, function_text
from .literals import string
from .printer import Frame, Printer, prints, prints_lines


@prints(Name)
def _name(printer: Printer, node: Name, level: int) -> str:
    return node.name


@prints(Element)
def _element(printer: Printer, node: Element, level: int) -> str:
    return f"{printer.expr(node.owner)}[{_position(printer, node.index)}]"


def _position(printer: Printer, index: tir.PrimExpr | int | None) -> str:
    if index is None:
        return ""
    return printer.value(index) if isinstance(index, int) else printer.expr(index)


@prints(Part)
def _part(printer: Printer, node: Part, level: int) -> str:
    return f"{printer.expr(node.owner)}[{_position(printer, node.start)}:{_position(printer, node.stop)}]"


@prints(Spread)
def _spread(printer: Printer, node: Spread, level: int) -> str:
    return f"*{printer.expr(node.owner)}"


@prints(TextComparison)
def _comparison(printer: Printer, node: TextComparison, level: int) -> str:
    text = f"{printer.expr(node.value)} {'==' if node.is_equal else '!='} {string(node.text)}"
    return f"({text})" if level > COMPARISON else text


@prints(Result)
def _result(printer: Printer, node: Result, level: int) -> str:
    return _call(printer, node.step)


@prints_lines(ScheduleText)
def _schedule(printer: Printer, node: ScheduleText) -> None:
    head = [node.function, *_defaults(printer, node.parameters)]
    if node.target is not None:
        head.append(f"target={printer.value(node.target)}")
    with printer.frame(node) as frame:
        _body(printer, frame, node.steps)
    printer.add(f"S.schedule {node.name}({', '.join(head)}):", node.trivia, frame)
    printer.frames[-1].lines.append("")


@prints_lines(ScheduleFunction)
def _function(printer: Printer, node: ScheduleFunction) -> None:
    plain = [name for name in node.params if name not in node.defaults]
    with printer.frame(node) as frame:
        if node.steps or node.result is None:
            _body(printer, frame, node.steps)
        if node.result is not None:
            frame.line(f"return {_values(printer, node.result)}")
    printer.add(
        f"S.function {node.name}({', '.join([*plain, *_defaults(printer, node.defaults)])}):", node.trivia, frame
    )
    printer.frames[-1].lines.append("")


def _defaults(printer: Printer, defaults: Attrs) -> list[str]:
    return [f"{name}={_argument(printer, value)}" for name, value in defaults.items()]


def _body(printer: Printer, frame: Frame, statements: tuple[Statement, ...]) -> None:
    for statement in statements:
        printer.statement(statement)
    if not statements:
        frame.line("pass")


@prints_lines(Step)
def _step(printer: Printer, node: Step) -> None:
    names, call = _names(node.results, node.unpacks), _call(printer, node)
    printer.add(f"{names} = {call}" if names else call, node.trivia)


@prints_lines(Assignment)
def _assignment(printer: Printer, node: Assignment) -> None:
    printer.add(f"{_names(node.names, node.unpacks)} = {_values(printer, node.value)}", node.trivia)


@prints_lines(ForEach)
def _for_each(printer: Printer, node: ForEach) -> None:
    with printer.frame(node) as frame:
        _body(printer, frame, node.body)
    head = f"for {_names(node.names, node.unpacks)} in {_argument(printer, node.values)}:"
    printer.add(head, node.trivia, frame)


@prints_lines(Branch)
def _branch(printer: Printer, node: Branch) -> None:
    word = "if"
    while True:
        with printer.frame(node) as frame:
            _body(printer, frame, node.then)
        trivia, head = node.trivia, f"{word} {_argument(printer, node.condition)}:"
        if not node.otherwise:
            printer.add(head, trivia, frame)
            return
        printer.add(head, trivia and Trivia(trivia.before, trivia.after), frame)
        following = _elif_of(node)
        if following is None:
            break
        node, word = following, "elif"
    with printer.frame(node) as other:
        _body(printer, other, node.otherwise)
    printer.add("else:", trivia and Trivia(end=trivia.end), other)


def _elif_of(node: Branch) -> Branch | None:
    """Return the condition that prints as `elif`: the only statement of `else`, without comments of the two between them."""
    (*others, last) = node.otherwise
    has_end = node.trivia is not None and bool(node.trivia.end)
    if others or has_end or not isinstance(last, Branch) or (last.trivia is not None and last.trivia.before):
        return None
    return last


@prints_lines(Assertion)
def _assertion(printer: Printer, node: Assertion) -> None:
    message = f", {printer.value(node.message)}" if node.message else ""
    printer.add(f"assert {_argument(printer, node.condition)}{message}", node.trivia)


def _names(names: tuple[str, ...], unpacks: bool) -> str:
    return f"({names[0]},)" if unpacks and len(names) == 1 else ", ".join(names)


def _call(printer: Printer, node: Step) -> str:
    arguments = [_argument(printer, value) for value in node.args]
    arguments += [f"{name}={_argument(printer, value)}" for name, value in node.named.items()]
    return f"{'S.' if node.function is None else ''}{node.primitive}({', '.join(arguments)})"


def _values(printer: Printer, value: Any) -> str:
    """Return a value; a list of at least two as a tuple without parentheses."""
    if isinstance(value, tuple) and len(value) > 1:  # type: ignore[reportUnknownArgumentType]
        return ", ".join([_argument(printer, item) for item in value])  # type: ignore[reportUnknownVariableType]
    return _argument(printer, value)


def _argument(printer: Printer, value: Any) -> str:
    """Return an argument; an index map is a lambda if that describes it completely."""
    if isinstance(value, tir.IndexMap) and value.inverse_index_map is None:
        parameters = value.initial_indices
        if all(parameter.dtype == "int64" for parameter in parameters):
            return function_text(printer, value, parameters, value.final_indices, single=True)
    return printer.attr_value(value)
