"""Schedules."""

from __future__ import annotations

from typing import Any

from ...ir import tir
from ...ir.schedule.text import Element, Name, ScheduleText, Spread, Step
from .expressions import function_text
from .printer import Printer, prints, prints_lines


@prints(Name)
def _name(printer: Printer, node: Name, level: int) -> str:
    return node.name


@prints(Element)
def _element(printer: Printer, node: Element, level: int) -> str:
    return f"{node.id}[{node.index}]"


@prints(Spread)
def _spread(printer: Printer, node: Spread, level: int) -> str:
    return f"*{node.id}"


@prints_lines(ScheduleText)
def _schedule(printer: Printer, node: ScheduleText) -> None:
    target = "" if node.target is None else f", target={printer.value(node.target)}"
    with printer.frame(node) as frame:
        for step in node.steps:
            printer.statement(step)
        if not node.steps:
            frame.line("pass")
    printer.add(f"S.schedule {node.name}({node.function}{target}):", node.trivia, frame)
    printer.frames[-1].lines.append("")


@prints_lines(Step)
def _step(printer: Printer, node: Step) -> None:
    arguments = [_argument(printer, value) for value in node.args]
    arguments += [f"{name}={_argument(printer, value)}" for name, value in node.named.items()]
    names = f"({node.results[0]},)" if node.unpacks and len(node.results) == 1 else ", ".join(node.results)
    call = f"S.{node.primitive}({', '.join(arguments)})"
    printer.add(f"{names} = {call}" if names else call, node.trivia)


def _argument(printer: Printer, value: Any) -> str:
    """Return an argument; an index map is a lambda if that describes it completely."""
    if isinstance(value, tir.IndexMap) and value.inverse_index_map is None:
        parameters = value.initial_indices
        if all(parameter.dtype == "int64" for parameter in parameters):
            return function_text(printer, value, parameters, value.final_indices, single=True)
    return printer.attr_value(value)
