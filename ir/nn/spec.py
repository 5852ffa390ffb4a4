"""Specifications of the arguments of methods (TVM: `relax.frontend.nn.spec`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, cast

from msgspec import Struct

from .effects import Effect
from .tensor import Parameter

Mode: TypeAlias = Literal["plain", "packed", "none"]


class Int(Struct, frozen=True):
    """An integer that is a symbolic dimension."""


class Tensor:
    """A tensor of `shape` and `dtype`; strings in the shape are symbolic dimensions, equal if they have the same name."""

    def __init__(self, shape: Sequence[Any], dtype: str) -> None:
        self.shape = list(shape)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], '{self.dtype}')"


class Object(Struct, frozen=True):
    """A value other than a tensor, passed to the method as an `object_type`."""

    object_type: Any


class Tuple(Struct, frozen=True):
    """A tuple or a list of values."""

    elements: tuple[Any, ...] | list[Any]


class MethodSpec(Struct, frozen=True):
    """A method and its arguments. `param_mode` tells how parameters of the module become parameters of the function: each
    separately ("plain"), in one tuple ("packed"), or not at all ("none"). `effect_mode` tells the same of its effects.
    """

    method: Callable[..., Any]
    arg_names: tuple[str, ...]
    arg_specs: tuple[Any, ...]
    param_mode: Mode = "plain"
    effect_mode: Mode = "plain"

    @staticmethod
    def from_raw(spec: Any, method: Callable[..., Any]) -> MethodSpec:
        """Return the specification in a dict of arguments; its key "$" holds `param_mode` and `effect_mode`."""
        if isinstance(spec, MethodSpec):
            return spec
        given = dict(cast("Mapping[str, Any]", spec))
        modes: dict[str, Any] = {"param_mode": "plain", "effect_mode": "plain", **given.pop("$", {})}
        for name, mode in modes.items():
            if mode not in ("plain", "packed", "none"):
                raise ValueError(f'{name} is one of "plain", "packed", "none", not {mode!r}')
        names = [name for name in inspect.signature(method).parameters if name in given]
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"'{method.__name__}' has no parameter '{unknown[0]}'")
        return MethodSpec(method, tuple(names), tuple(_spec(name, given[name]) for name in names), **modes)


def _spec(name: str, value: Any) -> Any:
    if value in (Int, int, "int"):
        return Int()
    if isinstance(value, Int | Tensor | Object):
        return value
    elements = value.elements if isinstance(value, Tuple) else value
    if isinstance(elements, tuple | list):
        inner = [_spec(f"{name}_{number}", item) for number, item in enumerate(cast("Sequence[Any]", elements))]
        return Tuple(tuple(inner) if isinstance(elements, tuple) else inner)
    raise TypeError(
        f"argument '{name}' cannot be {value!r}: give nn.spec.Tensor, nn.spec.Object, int or a tuple of them"
    )


class HasParameters(Protocol):
    """What the specification of a module needs of `Module`."""

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]: ...
    def named_effects(self) -> Iterator[tuple[str, Effect]]: ...


class ModuleSpec(Struct, frozen=True):
    """A module and the methods to export as functions."""

    module: HasParameters
    methods: dict[str, MethodSpec]

    @staticmethod
    def from_raw(spec: Any, module: HasParameters) -> ModuleSpec:
        """Return the specification in a dict of methods."""
        if isinstance(spec, ModuleSpec):
            return spec
        given = cast("Mapping[str, Any]", spec)
        return ModuleSpec(
            module, {name: MethodSpec.from_raw(item, getattr(module, name)) for name, item in given.items()}
        )
