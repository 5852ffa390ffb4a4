"""Instructions of a trace, and their inputs and attributes as TVM arranges them.

TVM sorts the arguments of a primitive into inputs, which may be handles, and attributes, which are plain values.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from msgspec import Struct

from .. import tir
from ..diagnostics import error
from .declaration import PRIMITIVES, Argument, Primitive
from .handles import BlockRV, ExprRV, LoopRV

_INPUTS = (
    "Block",
    "Loop",
    "BlockOrLoop",
    "Location",
    "Blocks",
    "LoopOrBlocks",
    "Factors",
    "Expression",
    "Attribute",
    "IndexMap",
)
"""Kinds of arguments that are inputs, which may contain handles; all others are attributes."""
_KINDS = {"rfactor": "RFactor", "reindex": "ReIndex", "unsafe_set_dtype": "UnsafeSetDType"}
"""TVM's names of instructions that are not the name of the primitive in camel case."""
_OURS = {"get_block": ("reads", "writes")}
"""Arguments that TVM's instructions lack."""
_FLATTENED = ("Factors",)
_AS_ATTRIBUTES = ("transform_block_layout",)
"""Primitives whose index maps are attributes."""


class InstructionKind(Struct, frozen=True, eq=False):
    """Primitive of an instruction under TVM's name of it (TVM: `tir.schedule.InstructionKind`)."""

    primitive: Primitive

    @staticmethod
    def get(name: str) -> InstructionKind:
        """Return the kind called `name`, such as "GetBlock" or "GetSBlock". Raises E0569 if there is none."""
        older = name.replace("SBlock", "Block")  # names of 0.27
        found = next((one for one in PRIMITIVES.values() if _name_of(one) in (name, older)), None)
        if found is None:
            raise no_trace(f"unknown instruction '{name}'")
        return kind_of(found)

    @property
    def name(self) -> str:
        """TVM's name, such as "ComputeInline"."""
        return _name_of(self.primitive)

    @property
    def is_pure(self) -> bool:
        """Whether it leaves the program unchanged."""
        return self.primitive.is_query

    def same_as(self, other: object) -> bool:
        """Return whether `other` is this kind."""
        return self is other


class Instruction:
    """Application of a primitive, with its arguments and results (TVM: `tir.schedule.Instruction`).

    It is made of TVM's parts, or by `of`. It does not change.
    """

    __slots__ = ("arguments", "decision", "names", "primitive", "results")

    def __init__(
        self, kind: InstructionKind, inputs: Sequence[Any], attrs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        self.primitive = kind.primitive
        self.arguments = arguments_of(self.primitive, _plain(inputs), _plain(attrs))
        is_list = str(inspect.signature(self.primitive.apply).return_annotation).startswith(("list", "tuple"))
        self.results: Any = tuple(outputs) if is_list else outputs[0] if outputs else None
        """None, a handle, or a tuple of handles."""
        self.names = tuple([letter_of(handle) for handle in outputs])
        """Base names of the results in texts."""
        self.decision: Any = None
        """Decision of a sampling primitive."""

    @classmethod
    def of(
        cls, primitive: Primitive, arguments: dict[str, Any], results: Any, names: tuple[str, ...], decision: Any = None
    ) -> Instruction:
        """Return the application of a primitive to arguments by name."""
        made = object.__new__(cls)
        made.primitive, made.arguments, made.results = primitive, arguments, results
        made.names, made.decision = names, decision
        return made

    def with_decision(self, decision: Any) -> Instruction:
        """Return the instruction with another decision."""
        return Instruction.of(self.primitive, self.arguments, self.results, self.names, decision)

    def with_arguments(self, arguments: dict[str, Any]) -> Instruction:
        """Return the instruction with other arguments."""
        return Instruction.of(self.primitive, arguments, self.results, self.names, self.decision)

    @property
    def kind(self) -> InstructionKind:
        """Primitive, under TVM's name."""
        return kind_of(self.primitive)

    @property
    def inputs(self) -> list[Any]:
        """Arguments that may be handles, in TVM's order."""
        return self._arranged()[0]

    @property
    def attrs(self) -> list[Any]:
        """Other arguments, in TVM's order."""
        return self._arranged()[1]

    @property
    def outputs(self) -> list[Any]:
        """Handles that it returned, in order."""
        return list(self.results) if isinstance(self.results, tuple) else [] if self.results is None else [self.results]  # type: ignore[reportUnknownArgumentType]

    def same_as(self, other: object) -> bool:
        """Return whether `other` is this instruction."""
        return self is other

    def __str__(self) -> str:
        """Return a call in Python, with `_` for each handle, as TVM."""
        return self.line({})

    def line(self, names: Mapping[Any, str]) -> str:
        """Return a call of a method of the schedule `sch` in Python; `_` denotes handles that `names` lacks."""
        parts: list[str] = []
        for argument in self.primitive.arguments:
            if self._omits(argument):
                continue
            is_decision = argument.name == "decision"
            value = self.decision if is_decision else self.arguments.get(argument.name, argument.default)
            if argument.variadic:
                parts.extend([_text(item, names) for item in value])
            elif not is_decision or value is not None:
                parts.append(f"{argument.name}={_text(value, names)}")
        outputs = ["_" if handle is None else names.get(handle, "_") for handle in self.outputs]
        is_list = len(outputs) == 1 and isinstance(self.results, tuple)
        left = f"{outputs[0]}, = " if is_list else ", ".join(outputs) + " = "
        return f"{left if outputs else ''}sch.{self.primitive.name}({', '.join(parts)})"

    def _omits(self, argument: Argument) -> bool:
        """Return whether TVM's form of the instruction leaves this argument out, because it has no value."""
        return argument.name in _OURS.get(self.primitive.name, ()) and self.arguments.get(argument.name) is None

    def _arranged(self) -> tuple[list[Any], list[Any]]:
        inputs: list[Any] = []
        attributes: list[Any] = []
        for argument in self.primitive.arguments:
            if argument.name == "decision" or self._omits(argument):
                continue
            value = self.arguments.get(argument.name, argument.default)
            if argument.kind.name == "Blocks" and value is None:
                inputs.append([])
            elif argument.kind.name == "AccessedBuffer" and isinstance(value, tuple | list):
                access, index = cast(Sequence[Any], value)
                attributes += [index, int(access == "write")]
            elif not _is_input(self.primitive, argument):
                attributes.append(value)
            elif argument.variadic or argument.kind.name in _FLATTENED:
                inputs.extend(value)
            else:
                inputs.append(value)
        return inputs, attributes


def arguments_of(primitive: Primitive, inputs: Sequence[Any], attributes: Sequence[Any]) -> dict[str, Any]:
    """Return arguments by name, of inputs and attributes in TVM's order."""
    given: dict[str, Any] = {}
    inputs, attributes = list(inputs), list(attributes)
    for argument in primitive.arguments:
        if argument.name == "decision":
            continue
        rest = inputs if _is_input(primitive, argument) else attributes
        if not rest and argument.kind.name == "IndexMap":
            rest = inputs  # older traces of ours
        if argument.variadic or argument.kind.name in _FLATTENED:
            given[argument.name] = tuple(rest)
            rest.clear()
        elif rest:
            value = rest.pop(0)
            if argument.kind.name == "Blocks" and value == []:
                value = None  # TVM writes None as an empty list
            elif argument.kind.name == "AccessedBuffer" and isinstance(value, int) and rest:
                value = ["write" if rest.pop(0) else "read", value]  # TVM: index and kind are two attributes
            elif argument.kind.name == "Flag" and not isinstance(value, tir.PrimExpr):
                value = bool(value)
            given[argument.name] = value
    return given


@cache
def kind_of(primitive: Primitive) -> InstructionKind:
    """Return the kind of the instructions that apply a primitive."""
    return InstructionKind(primitive)


def _is_input(primitive: Primitive, argument: Argument) -> bool:
    return argument.kind.name in _INPUTS and not (argument.kind.name == "IndexMap" and primitive.name in _AS_ATTRIBUTES)


def _name_of(primitive: Primitive) -> str:
    return _KINDS.get(primitive.name) or "".join([part.capitalize() for part in primitive.name.split("_")])


def letter_of(handle: Any) -> str:
    """Return the first letter of TVM's names of a handle; `_` for None."""
    if handle is None:
        return "_"
    return "b" if isinstance(handle, BlockRV) else "l" if isinstance(handle, LoopRV) else "v"


def _plain(value: Any) -> Any:
    """Return a value with numbers and strings for constants of the loop level."""
    match value:
        case tir.IntImm():
            return bool(value.value) if value.dtype == "bool" else value.value
        case tir.FloatImm() | tir.StringImm():
            return value.value
        case list() | tuple():
            return [_plain(item) for item in value]  # type: ignore[reportUnknownVariableType]
        case _:
            return value


def _text(value: Any, names: Mapping[Any, str]) -> str:
    match value:
        case BlockRV() | LoopRV() | ExprRV():
            return names.get(value, "_")
        case list() | tuple():
            return f"[{', '.join([_text(item, names) for item in value])}]"  # type: ignore[reportUnknownVariableType]
        case dict():
            return f"{{{', '.join([f'{_text(key, names)}: {_text(item, names)}' for key, item in value.items()])}}}"  # type: ignore[reportUnknownVariableType]
        case str():
            return f'"{value}"'
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def no_trace(reason: str) -> Exception:
    """Return the error of something that is not a trace (E0569)."""
    return error("E0569", f"invalid trace: {reason}", None, "pass the result of trace.as_json()")
