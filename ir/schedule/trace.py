"""Traces: the instructions of a schedule, which can be printed as an `S.schedule`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from .. import tir
from ..base import Attrs, Trivia
from ..make import const
from ..simplify import simplify
from ..visit import substitute, walk
from .handles import BlockRV, ExprRV, Handle, LoopRV
from .instruction import Instruction
from .text import Element, Name, ScheduleText, Step
from .trace_forms import apply_json, as_json, as_python


class Trace:
    """Instructions of a schedule (TVM: `tir.schedule.Trace`).

    `Schedule.trace` returns a copy; changing it does not affect the schedule. `decisions` maps instructions that sample
    to what they chose; `function` is the name of the scheduled function.
    """

    def __init__(
        self,
        insts: Sequence[Instruction] = (),
        decisions: Mapping[Instruction, Any] | None = None,
        *,
        function: str = "main",
    ) -> None:
        chosen = decisions or {}
        self.insts = tuple([inst.with_decision(chosen[inst]) if inst in chosen else inst for inst in insts])
        self.function = function

    @property
    def decisions(self) -> dict[Instruction, Any]:
        """Decisions of the sampling instructions."""
        return {inst: inst.decision for inst in self.insts if inst.decision is not None}

    def get_decision(self, inst: Instruction) -> Any:
        """Return the decision of an instruction, or None."""
        return inst.decision

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Append an instruction, optionally with a decision."""
        self.insts = (*self.insts, inst if decision is None else inst.with_decision(decision))

    def pop(self) -> Instruction | None:
        """Remove and return the last instruction; return None if there is none."""
        last = self.insts[-1] if self.insts else None
        self.insts = self.insts[:-1]
        return last

    def show(self, **options: Any) -> None:
        """Print the trace as the text of a schedule (TVM: `Trace.show`)."""
        self.as_text("schedule").show(**options)

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """Return the trace without queries whose results are unused."""
        kept: list[Instruction] = []
        used: set[Any] = set()
        for instruction in reversed(list(_until_postproc(self.insts, remove_postproc))):
            if not instruction.primitive.is_query or any(handle in used for handle in instruction.outputs):
                kept.append(instruction)
                used.update(_handles_in(instruction.arguments))
        return Trace(tuple(reversed(kept)), function=self.function)

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """Return the trace as lists, strings and numbers, as TVM. Raises E0569 if it names variables of the program."""
        return as_json(list(_until_postproc(self.insts, remove_postproc)))

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Any) -> None:
        """Apply the result of `as_json` to a schedule. Raises E0569 if it is not a trace."""
        apply_json(json_obj, sch)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """Return the trace as lines of Python that call methods of the schedule `sch`."""
        return as_python(list(_until_postproc(self.insts, remove_postproc)))

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool = False) -> Trace:
        """Return the trace with another decision for one instruction."""
        insts = [
            instruction.with_decision(decision) if instruction is inst else instruction
            for instruction in _until_postproc(self.insts, remove_postproc)
        ]
        return Trace(tuple(insts), function=self.function)

    def decided(self) -> Trace:
        """Return the trace with the numbers that it has drawn as constants; steps that draw only numbers are left out."""
        known: dict[Any, int] = {}
        kept: list[Instruction] = []
        for instruction in self.insts:
            drawn = _drawn(instruction)
            if drawn is not None:
                known.update((handle, value) for handle, value in zip(*drawn, strict=True) if handle is not None)
            else:
                given = {name: _settled(value, known) for name, value in instruction.arguments.items()}
                kept.append(instruction.with_arguments(given))
        return Trace(tuple(kept), function=self.function)

    def __str__(self) -> str:
        """Return the trace as the text of a schedule."""
        return self.as_text("schedule").script()

    def as_text(
        self,
        name: str,
        target: str | Attrs | None = None,
        written: Mapping[int, Step] | None = None,
        trivia: Trivia | None = None,
    ) -> ScheduleText:
        """Return the trace as a schedule for a text; instructions keep the names and comments of the steps that wrote them."""
        namer, found = _Namer(), written or {}
        steps = [namer.step(inst, found.get(index)) for index, inst in enumerate(self.insts)]
        return ScheduleText(name, self.function, target, tuple(steps), trivia=trivia)

    def apply_to_schedule(
        self, sch: Any, remove_postproc: bool = False, decision_provider: Callable[..., Any] | None = None
    ) -> None:
        """Apply the instructions to another schedule, with the decisions of this trace.

        `decision_provider` may replace them: it gets an instruction, its arguments, attributes and decision, and
        returns the decision to use.
        """
        known: dict[Handle, Any] = {}
        for instruction in _until_postproc(self.insts, remove_postproc):
            given = {name: _renamed(value, known) for name, value in instruction.arguments.items()}
            decision = instruction.decision
            if decision_provider is not None and decision is not None:
                decision = decision_provider(instruction, list(given.values()), [], decision)
            if decision is not None:
                given["decision"] = decision
            args, named = instruction.primitive.as_call(given)
            results = sch.apply(instruction.primitive.name, *args, **named)
            known.update(zip(_flat(instruction.results), _flat(results), strict=True))


def _until_postproc(insts: tuple[Instruction, ...], remove: bool) -> Iterator[Instruction]:
    for inst in insts:
        if remove and inst.primitive.name == "enter_postproc":
            return
        yield inst


def _drawn(instruction: Instruction) -> tuple[list[Any], list[Any]] | None:
    """Return the handles and values of a step that draws numbers; None for other steps."""
    match instruction.primitive.name, instruction.decision:
        case "sample_categorical", int() as index:
            return _flat(instruction.results), [instruction.arguments["candidates"][index]]
        case "sample_perfect_tile" | "sample_partitioned_tile", _:
            return _flat(instruction.results), list(instruction.decision)
        case _:
            return None


def _settled(value: Any, known: Mapping[Any, int]) -> Any:
    """Return an argument with numbers for the handles in `known`."""
    match value:
        case ExprRV():
            return known.get(value, value)
        case list() | tuple():
            return tuple([_settled(item, known) for item in value])  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: _settled(item, known) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
        case tir.PrimExpr() | tir.IndexMap():
            changed = substitute(value, {handle: const(number) for handle, number in known.items()})
            number = simplify(changed) if changed is not value and isinstance(changed, tir.PrimExpr) else changed
            return number.value if isinstance(number, tir.IntImm) and number is not value else number
        case _:
            return value


def _flat(results: Any) -> list[Any]:
    if results is None:
        return []
    return list(results) if isinstance(results, list | tuple) else [results]  # type: ignore[reportUnknownArgumentType]


def _handles_in(value: Any) -> Iterator[Any]:
    """Yield the handles in an argument."""
    match value:
        case BlockRV() | LoopRV():
            yield value
        case list() | tuple():
            for item in value:  # type: ignore[reportUnknownVariableType]
                yield from _handles_in(item)
        case dict():
            for item in value.values():  # type: ignore[reportUnknownVariableType]
                yield from _handles_in(item)
        case tir.PrimExpr() | tir.IndexMap():
            yield from (node for node in walk(value) if isinstance(node, ExprRV))
        case _:
            pass


def _renamed(value: Any, known: Mapping[Any, Any]) -> Any:
    """Return an argument with its handles replaced according to `known`."""
    match value:
        case BlockRV() | LoopRV() | ExprRV():
            return known.get(value, value)
        case list() | tuple():
            return tuple([_renamed(item, known) for item in value])  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: _renamed(item, known) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
        case tir.PrimExpr() | tir.IndexMap():
            return substitute(value, known)
        case _:
            return value


class _Namer:
    """Gives every handle a unique name."""

    def __init__(self) -> None:
        self.names: dict[Handle, Name | Element] = {}
        self.taken: set[str] = set()

    def step(self, inst: Instruction, written: Step | None = None) -> Step:
        given = {name: _renamed(value, self.names) for name, value in inst.arguments.items()}
        if inst.decision is not None:
            given["decision"] = inst.decision
        handles = _flat(inst.results)
        hints = inst.names
        if written is not None and len(written.results) == len(hints):
            hints = written.results
        names = tuple([self.unique(hint) for hint in hints])
        self.names.update({handle: Name("int32", name) for handle, name in zip(handles, names, strict=True)})
        args, named = inst.primitive.as_call(given)
        unpacks = bool(names) and isinstance(inst.results, tuple)
        trivia = None if written is None else written.trivia
        return Step(inst.primitive.name, args, named, names, unpacks, trivia=trivia)

    def unique(self, hint: str) -> str:
        base = "".join([key if key.isalnum() else "_" for key in hint]).lstrip("0123456789") or "v"
        name, count = base, 0
        if base == "_":
            return base
        while name in self.taken or name in ("S", "T", "I", "R") or iskeyword(name):
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        return name
