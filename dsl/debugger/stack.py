"""The functions and blocks that are active at a step, innermost first, and the variables of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ...ir import relax, tir
from .places import Name, Place
from .timeline import Step
from .values import brief

SCOPES = ("Block axes", "Loop variables", "Scalars", "Buffers", "Tensors")


class Level(Struct, frozen=True):
    """One level of the stack: a function, or a block in it with the values of its axes; `step` is where it is."""

    title: str
    place: Place
    step: Step


class Variable(Struct, frozen=True):
    """A variable and its value: a scalar, a view of a buffer, or a value of a graph."""

    name: str
    value: Any


def levels(step: Step) -> Iterator[Level]:
    """Yield the levels of the stack at a step."""
    at: Step | None = step
    while at is not None:
        values = dict(zip(at.place.names, at.values, strict=True))
        place, loops = at.place, list[str]()
        for around in at.place.around():
            match around.node:
                case tir.Block(iter_vars=axes, name_hint=name) if axes:
                    said = ", ".join([f"{axis.var.name} = {brief(values.get(axis.var))}" for axis in axes])
                    yield Level(f"block {name} ({said})", place, at)
                    place = around
                case tir.For(loop_var=variable) if around is not at.place and variable in values:
                    loops.insert(0, f"{variable.name} = {brief(values[variable])}")
                case _:
                    pass
        iteration = f" ({', '.join(loops)})" if loops else ""
        yield Level(at.activation.name + iteration, place, at)
        at = at.activation.caller


def scopes(step: Step) -> dict[str, list[Variable]]:
    """Return the visible variables of a step by their kind; later definitions hide earlier ones of the same name."""
    kinds = _kinds(step.place)
    found: dict[str, tuple[str, Any]] = {}
    for name, value in zip(step.place.names, step.values, strict=True):
        if isinstance(name, relax.Var):
            found[name.name_hint] = "Tensors", value
        elif value is not None and not (isinstance(name, tir.Var) and name.dtype == "handle"):
            found[name.name] = kinds.get(name, "Buffers" if isinstance(name, tir.Buffer) else "Scalars"), value
    result: dict[str, list[Variable]] = {kind: [] for kind in SCOPES}
    for name, (kind, value) in found.items():
        result[kind].append(Variable(name, value))
    return {kind: variables for kind, variables in result.items() if variables}


def _kinds(place: Place) -> dict[Name, str]:
    kinds: dict[Name, str] = {}
    for around in place.around():
        match around.node:
            case tir.For(loop_var=variable):
                kinds[variable] = "Loop variables"
            case tir.Block(iter_vars=axes):
                kinds.update(dict.fromkeys([axis.var for axis in axes], "Block axes"))
            case _:
                pass
    return kinds


def numbers(step: Step) -> str:
    """Return the scalars of a step as one line: `i = 0, vi = 0`."""
    kinds = ("Scalars", "Loop variables", "Block axes")
    found = scopes(step)
    order = {name.name: None for name in step.place.names if isinstance(name, tir.Var)}
    values = {variable.name: variable.value for kind in kinds for variable in found.get(kind, ())}
    return ", ".join([f"{name} = {brief(values[name])}" for name in order if name in values])
