"""Declaration of primitives. Method, `S.` form, trace entry, documentation and completion are derived from it.

@primitive(requires=(PLAIN_LOOP, STARTS_AT_ZERO), results=("outer loop", "inner loop"))
def split(program: Program, loop: Loop, factors: Factors, preserve_unit_iters: Flag = True) -> list[tir.For]:
    '''Divide a loop into nested loops …

    Preserves: how often, and in which order, every block below runs.
    '''
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from .. import hooks
from ..signature import BadArguments, Parameter, Signature
from .arguments import KINDS, Kind, Mismatch, Reading
from .conditions import ALIVE, ARGUMENT, EXISTS, KNOB, SIGNATURE, Change, Condition, Refused

_Apply = TypeVar("_Apply", bound=Callable[..., Any])
_ANY_PRIMITIVE = (SIGNATURE, ARGUMENT, EXISTS, ALIVE, KNOB)


class Argument(Struct, frozen=True):
    """Parameter of a primitive: TVM's name, its kind, its default, and whether it is variadic."""

    name: str
    kind: Kind
    required: bool
    default: Any
    optional: bool
    variadic: bool
    keyword_only: bool


class Knob(Struct, frozen=True):
    """Argument by which a composite step is tuned: its meaning, and the values for which the program stays correct."""

    meaning: str
    least: int = 0
    most: int = 1
    is_power: bool = False
    """Whether it must be a power of two, unless it is 0."""
    choices: tuple[str, ...] = ()
    """The values of a knob that is not a number."""

    @property
    def range(self) -> str:
        """Values, in words."""
        if self.choices:
            return " or ".join(map(repr, self.choices))
        return f"{'a power of two' if self.is_power else 'an integer'} from {self.least} to {self.most}"

    def takes(self, value: int | str) -> bool:
        """Return whether the knob may have a value."""
        if self.choices or isinstance(value, str):
            return value in self.choices
        return self.least <= value <= self.most and not (self.is_power and value & (value - 1))


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
    is_value: bool = False
    """Whether it only returns a plain value, or checks the program: it is not part of traces."""
    knobs: Mapping[str, Knob] = {}
    """Ranges of its knobs, if it is a composite step."""

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
            refused = SIGNATURE.refuse(wrong.message.removeprefix(f"{self.name}: "), help=wrong.help)
            refused.at = wrong.at
            raise refused from None
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
        without those that equal their defaults, unless they are knobs.
        """
        args: tuple[Any, ...] = ()
        named: dict[str, Any] = {}
        for index, argument in enumerate(self.arguments):
            is_default = not (argument.required or argument.variadic) and given.get(argument.name) is argument.default
            is_default = is_default and not (argument.name in self.knobs and argument.default is not None)
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
            is_list = argument.variadic and isinstance(value, list | tuple)
            help = f"write S.{self.name}(*…), which gives the elements of a list one by one" if is_list else None
            if "None" in expected and isinstance(value, int):
                help = f"write {argument.name}=[None, {value}]"
            help = help or self._binding.usage(f"S.{self.name}")
            change = Change("*{}") if is_list else None
            raise ARGUMENT.refuse(
                reason, help=help, argument=argument.name, position=index + 1, change=change
            ) from None
        except Refused as refused:
            if refused.argument is None and not refused.places:
                refused.argument, refused.position = argument.name, index + 1
            raise

    def run(self, program: Any, arguments: dict[str, Any]) -> Any:
        """Apply the primitive to `program`. It may only refuse with conditions that it declares."""
        self._check_knobs(arguments)
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

    def _check_knobs(self, arguments: dict[str, Any]) -> None:
        for name, knob in self.knobs.items():
            value = arguments.get(name)
            if value is not None and not knob.takes(value):
                help = f"it is {knob.meaning}; choose a value in this range"
                raise KNOB.refuse(f"expected {knob.range}, got {value!r}", help=help, argument=name)


PRIMITIVES: dict[str, Primitive] = {}
"""All primitives by name, in the order of declaration."""
COMPOSITES: dict[str, Primitive] = {}
"""All composite steps by name, in the order of declaration; `codegen` declares them (`load_composites`)."""


def load_composites() -> None:
    """Let the rooms above declare their composite steps."""
    if hooks.is_defined("composite_steps"):
        hooks.call("composite_steps")


def primitive_called(name: str) -> Primitive | None:
    """Return the primitive or composite step of a name, None if unknown.

    The names of TVM are those before and since 0.27, where blocks are called "sblock".
    """
    found = PRIMITIVES.get(name) or PRIMITIVES.get(name.replace("sblock", "block")) or COMPOSITES.get(name)
    if found is None:
        load_composites()
        found = COMPOSITES.get(name)
    return found


def primitive(
    requires: tuple[Condition, ...] = (),
    results: tuple[str, ...] = ("result",),
    query: bool = False,
    value: bool = False,
) -> Callable[[_Apply], _Apply]:
    """Declare the decorated function as the primitive with its name.

    `requires` lists the conditions that it may refuse with, besides those of every primitive; `results` names its
    results. A query leaves the program unchanged; a value query is not part of traces.
    """

    def declare(apply: _Apply) -> _Apply:
        name = apply.__name__.rstrip("_")
        PRIMITIVES[name] = Primitive(name, apply, _arguments_of(apply), requires, results, query or value, value)
        return apply

    return declare


def composite(
    requires: tuple[Condition, ...] = (), results: tuple[str, ...] = ("result",), knobs: Mapping[str, Knob] = {}
) -> Callable[[_Apply], _Apply]:
    """Declare the decorated function as the composite step with its name: a change of the program that is proven as a unit.

    Texts, traces and messages treat it like a primitive. `knobs` are the ranges of its numbers: in them, the result is
    correct, and E0594 refuses others.
    """

    def declare(apply: _Apply) -> _Apply:
        name = apply.__name__
        COMPOSITES[name] = Primitive(name, apply, _arguments_of(apply), requires, results, is_query=False, knobs=knobs)
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
