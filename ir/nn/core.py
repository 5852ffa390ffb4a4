"""Modules: parts of a neural network with parameters (TVM: `relax.frontend.nn.core`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, overload

from ..base import IRModule
from .effects import Effect
from .exporter import Exporter
from .extern import ExternModule
from .spec import ModuleSpec
from .subroutine import SubroutineMixin
from .tensor import Object, Parameter, Tensor, get_default_dtype, set_default_dtype, wrap_nested

__all__ = [
    "Effect", "ExternModule", "Module", "ModuleList", "Object", "Parameter", "SubroutineMixin", "Tensor", "get_default_dtype",
    "set_default_dtype", "wrap_nested",
]  # fmt: skip
_Part = TypeVar("_Part")


class Module(SubroutineMixin):
    """A part of a network. Attributes that are parameters or modules belong to it; subclasses define its computation on
    tensors in `forward(self, x, …)`.
    """

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        forward = getattr(self, "forward", None)
        if forward is None:
            raise TypeError(f"'{type(self).__name__}' has no method 'forward'")
        return forward(*args, **keywords)

    def _parts(self) -> Iterator[tuple[str, object]]:
        yield from vars(self).items()

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters of this module and its submodules, with their names, such as `fc1.weight`."""
        yield from self._named(Parameter, prefix)

    def named_effects(self, prefix: str = "") -> Iterator[tuple[str, Effect]]:
        """Yield the effects of this module and its submodules, with their names."""
        yield from self._named(Effect, prefix)

    def _named(self, kind: type[_Part], prefix: str) -> Iterator[tuple[str, _Part]]:
        for name, part in self._parts():
            if isinstance(part, kind):
                yield prefix + name, part
            elif isinstance(part, Module):
                yield from part._named(kind, f"{prefix}{name}.")

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters of this module and its submodules."""
        for _, parameter in self.named_parameters():
            yield parameter

    def state_dict(self, *, prefix: str = "", destination: dict[str, Parameter] | None = None) -> dict[str, Parameter]:
        """Return the parameters by name; they are added to `destination` if it is given."""
        found = {} if destination is None else destination
        found.update(self.named_parameters(prefix))
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Set the values of the parameters, given as parameters or arrays; return the missing and the unknown names. KeyError if
        there are any and `strict` is set.
        """
        own = self.state_dict()
        unknown = [name for name in state_dict if name not in own]
        missing = [name for name in own if name not in state_dict]
        if strict and (missing or unknown):
            raise KeyError(f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}")
        for name, value in state_dict.items():
            if name in own:
                own[name].data = value.data if isinstance(value, Parameter) else value
        return missing, unknown

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters."""
        for _, part in self._parts():
            if isinstance(part, Parameter | Module | Effect):
                part.to(dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    @overload
    def export_tvm(
        self, spec: Any, debug: bool = False, allow_extern: Literal[False] = False
    ) -> tuple[IRModule, list[tuple[str, Parameter]]]: ...
    @overload
    def export_tvm(
        self, spec: Any, debug: bool = False, *, allow_extern: Literal[True]
    ) -> tuple[IRModule, list[tuple[str, Parameter]], list[ExternModule]]: ...
    def export_tvm(self, spec: Any, debug: bool = False, allow_extern: bool = False) -> tuple[Any, ...]:
        """Return a module with a function for each method that `spec` names, and the parameters by name; with `allow_extern` also
        the external modules that the methods use, which are an error otherwise (ValueError).

        `spec` gives the arguments of each method: `{"forward": {"x": nn.spec.Tensor([1, 784], "float32")}}`. With `debug`, functions
        take and return the effect `_io`, so that `op.print_` and `op.debug_func` can be used; the function `_initialize_effect`
        returns the initial effects.
        """
        module, parameters, externs = Exporter(debug).build(ModuleSpec.from_raw(spec, self))
        if externs and not allow_extern:
            raise ValueError("the module uses external modules; pass allow_extern=True to export_tvm")
        return (module, parameters, externs) if allow_extern else (module, parameters)


class ModuleList(Module):
    """Modules that are called in order; their parameters are named by numbers."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = modules

    def _parts(self) -> Iterator[tuple[str, object]]:
        for number, module in enumerate(self.modules):
            yield str(number), module

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules)

    def __getitem__(self, index: int) -> Module:
        return self.modules[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self.modules[index] = module

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        self.modules.append(module)

    def forward(self, x: Any) -> Any:
        """Return the result of applying all modules to `x`."""
        for module in self.modules:
            x = module(x)
        return x
