"""Declaration of primitives. Method, `S.` form, trace entry, documentation and completion are derived from it.

@primitive(requires=(PLAIN_LOOP, STARTS_AT_ZERO), results=("outer loop", "inner loop"))
def split(program: Program, loop: Loop, factors: Factors, preserve_unit_iters: Flag = True) -> list[tir.For]:
    '''Divide a loop into nested loops …

    Preserves: how often, and in which order, every block below runs.
    '''
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from ..signature import BadArguments, Parameter, Signature
from .arguments import KINDS, Kind, Mismatch, Reading
from .conditions import ALIVE, ARGUMENT, EXISTS, SIGNATURE, Condition, Refused

_Apply = TypeVar("_Apply", bound=Callable[..., Any])
_ANY_PRIMITIVE = (SIGNATURE, ARGUMENT, EXISTS, ALIVE)


class Argument(Struct, frozen=True):
    """Parameter of a primitive: TVM's name, its kind, its default, and whether it is variadic."""

    name: str
    kind: Kind
    required: bool
    default: Any
    optional: bool
    variadic: bool
    keyword_only: bool


class Primitive(Struct, frozen=True, eq=False, dict=True):
    """Primitive: its arguments, preconditions and results, and its implementation `apply(program, *arguments)`."""

    name: str
    apply: Callable[..., Any]
    arguments: tuple[Argument, ...]
    requires: tuple[Condition, ...]
    results: tuple[str, ...]
    """Names of the results in messages, such as "outer loop"; the last name also covers any further results."""
    is_query: bool
    """Whether it leaves the program unchanged."""

    @property
    def doc(self) -> str:
        """Documentation: what it does and preserves."""
        return inspect.getdoc(self.apply) or ""

    @property
    def signature(self) -> inspect.Signature:
        """Signature of the method of a schedule."""
        parameters = [
            inspect.Parameter(
                argument.name,
                inspect.Parameter.VAR_POSITIONAL
                if argument.variadic
                else inspect.Parameter.KEYWORD_ONLY
                if argument.keyword_only
                else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if argument.required or argument.variadic else argument.default,
            )
            for argument in self.arguments
        ]
        return inspect.Signature(parameters)

    def bind(self, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Return the given arguments by name, without defaults; refused if they do not fit the signature (E0105)."""
        try:
            bound = self._binding.bind(self.name, args, named.items())
        except BadArguments as wrong:
            raise SIGNATURE.refuse(wrong.message.removeprefix(f"{self.name}: "), help=wrong.help) from None
        variadic = self._binding.variadic
        values = dict(bound.values)
        if variadic is not None and bound.rest:
            values[variadic.name] = bound.rest
        return {argument.name: values[argument.name] for argument in self.arguments if argument.name in values}

    @cached_property
    def _binding(self) -> Signature[Parameter]:
        parameters = [
            Parameter(
                argument.name,
                argument.required,
                "variadic" if argument.variadic else "named" if argument.keyword_only else "plain",
            )
            for argument in self.arguments
        ]
        return Signature(parameters)

    def as_call(self, given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and named arguments in the form of texts.

        The first argument, or all variadic ones, are positional; the others are named, in the order of the declaration,
        without those that equal their defaults.
        """
        args: tuple[Any, ...] = ()
        named: dict[str, Any] = {}
        for index, argument in enumerate(self.arguments):
            is_default = not (argument.required or argument.variadic) and given.get(argument.name) is argument.default
            if argument.name not in given or is_default:
                continue
            value = given[argument.name]
            if argument.variadic:
                args = (*args, *value)
            elif index == 0:
                args = (value,)
            else:
                named[argument.name] = value
        return args, named

    def read(self, reading: Reading, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments in the form that the primitive uses; refused if one does not fit its kind (E0501)."""
        result: dict[str, Any] = {}
        for index, argument in enumerate(self.arguments):
            if argument.variadic:
                values = given.get(argument.name, ())
                result[argument.name] = tuple(
                    [self._read(reading, argument, index + offset, value) for offset, value in enumerate(values)]
                )
            elif argument.name in given:
                result[argument.name] = self._read(reading, argument, index, given[argument.name])
        return result

    def _read(self, reading: Reading, argument: Argument, index: int, value: Any) -> Any:
        if value is None and argument.optional:
            return None
        try:
            return argument.kind.read(reading, value)
        except Mismatch as mismatch:
            expected = str(mismatch) or argument.kind.expected
            reason = f"expected {expected}, got {_described(value)}"
            raise ARGUMENT.refuse(reason, argument=argument.name, position=index + 1) from None

    def run(self, program: Any, arguments: dict[str, Any]) -> Any:
        """Apply the primitive to `program`. It may only refuse with conditions that it declares."""
        named = dict(arguments)
        leading: list[Any] = []
        variadic = next((index for index, argument in enumerate(self.arguments) if argument.variadic), None)
        if variadic is not None:
            leading = [named.pop(argument.name) for argument in self.arguments[:variadic]]
            leading.extend(named.pop(self.arguments[variadic].name))
        try:
            return self.apply(program, *leading, **named)
        except Refused as refused:
            if refused.condition not in (*self.requires, *_ANY_PRIMITIVE):
                raise AssertionError(f"{self.name} does not declare {refused.condition.code}") from refused
            raise


PRIMITIVES: dict[str, Primitive] = {}
"""All primitives by name, in the order of declaration."""


def primitive_called(name: str) -> Primitive | None:
    """Return the primitive of a name of TVM, before or since 0.27, where blocks are called "sblock"; None if unknown."""
    return PRIMITIVES.get(name) or PRIMITIVES.get(name.replace("sblock", "block"))


def primitive(
    requires: tuple[Condition, ...] = (), results: tuple[str, ...] = ("result",), query: bool = False
) -> Callable[[_Apply], _Apply]:
    """Declare the decorated function as the primitive with its name.

    `requires` lists the conditions that it may refuse with, besides those of every primitive; `results` names its
    results. A query leaves the program unchanged.
    """

    def declare(apply: _Apply) -> _Apply:
        name = apply.__name__.rstrip("_")
        PRIMITIVES[name] = Primitive(name, apply, _arguments_of(apply), requires, results, query)
        return apply

    return declare


def _arguments_of(apply: Callable[..., Any]) -> tuple[Argument, ...]:
    arguments: list[Argument] = []
    for parameter in list(inspect.signature(apply).parameters.values())[1:]:
        annotation: str = parameter.annotation
        kind = annotation.removesuffix(" | None")
        variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        has_default = parameter.default is not inspect.Parameter.empty
        arguments.append(
            Argument(
                parameter.name.rstrip("_"),
                KINDS[kind],
                not (variadic or has_default),
                parameter.default if has_default else None,
                kind != annotation,
                variadic,
                parameter.kind is inspect.Parameter.KEYWORD_ONLY,
            )
        )
    return tuple(arguments)


def _described(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join([_described(item) for item in value])}]"  # type: ignore[reportUnknownVariableType]
    return {"BlockRV": "a block", "LoopRV": "a loop", "ExprRV": "a number"}.get(type(value).__name__, "this")


class Instruction(Struct, frozen=True, eq=False):
    """Application of a primitive, with its arguments and results (TVM: `tir.schedule.Instruction`)."""

    primitive: Primitive
    arguments: dict[str, Any]
    results: Any
    """None, a handle, or a tuple of handles."""
    names: tuple[str, ...]
    """Base names of the results in texts."""
    decision: Any = None
    """Decision of a sampling primitive."""
