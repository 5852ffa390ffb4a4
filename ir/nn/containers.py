"""Modules that hold parameters or modules by number or by name (TVM: `relax.frontend.nn.core`)."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, TypeVar, cast

from .core import Module
from .tensor import Parameter

_Part = TypeVar("_Part", Module, Parameter)


def _checked(owner: object, kind: type[_Part], part: Any) -> _Part:
    if not isinstance(part, kind):
        raise TypeError(f"expected nn.{kind.__name__} in {type(owner).__name__}, got {type(part).__name__}")
    return part


class ParameterList(Module):
    """Parameters in a list, named by numbers. TypeError for other values."""

    def __init__(self, params: Iterable[Parameter] | None = None) -> None:
        self.params: list[Parameter] = []
        self.extend(params or ())

    def _parts(self) -> Iterator[tuple[str, object]]:
        for number, parameter in enumerate(self.params):
            yield str(number), parameter

    def _replace(self, name: str, part: Any) -> None:
        self[int(name)] = part

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.params)

    def __getitem__(self, idx: int) -> Parameter:
        return self.params[idx]

    def __setitem__(self, idx: int, param: Parameter) -> None:
        self.params[idx] = _checked(self, Parameter, param)

    def __len__(self) -> int:
        return len(self.params)

    def append(self, param: Parameter) -> None:
        """Add a parameter at the end."""
        self.params.append(_checked(self, Parameter, param))

    def extend(self, params: Iterable[Parameter]) -> None:
        """Add parameters at the end."""
        for param in params:
            self.append(param)


class _Dict(Module, Generic[_Part]):
    """Parts by name, in the order in which they were added. TypeError for other values and for names that are not strings."""

    _kind: type[_Part]

    def __init__(self, parts: Mapping[str, _Part] | None = None) -> None:
        self._items: dict[str, _Part] = {}
        self.update(parts or {})

    def _parts(self) -> Iterator[tuple[str, object]]:
        yield from self._items.items()

    def _replace(self, name: str, part: Any) -> None:
        self[name] = part

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def __getitem__(self, key: str) -> _Part:
        return self._items[key]

    def __setitem__(self, key: str, part: _Part) -> None:
        if not isinstance(cast("Any", key), str):
            raise TypeError(f"expected a name in {type(self).__name__}, got {type(key).__name__}")
        self._items[key] = _checked(self, self._kind, part)

    def __len__(self) -> int:
        return len(self._items)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._items.keys()

    def values(self) -> ValuesView[_Part]:
        """Return the parts."""
        return self._items.values()

    def items(self) -> ItemsView[str, _Part]:
        """Return the parts with their names."""
        return self._items.items()

    def get(self, key: str, default: _Part | None = None) -> _Part | None:
        """Return the part `key`, or `default` if there is none."""
        return self._items.get(key, default)

    def update(self, parts: Mapping[str, _Part]) -> None:
        """Add the parts of a mapping."""
        for key, part in parts.items():
            self[key] = part

    def pop(self, key: str) -> _Part:
        """Remove the part `key`, and return it; KeyError if there is none."""
        return self._items.pop(key)

    def clear(self) -> None:
        """Remove all parts."""
        self._items.clear()


class ParameterDict(_Dict[Parameter]):
    """Parameters by name, which is part of the names that they have in the module around it. TypeError for other values."""

    _kind = Parameter

    def __init__(self, params: Mapping[str, Parameter] | None = None) -> None:
        super().__init__(params)


class ModuleDict(_Dict[Module]):
    """Modules by name, which is part of the names of their parameters. TypeError for other values."""

    _kind = Module

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__(modules)
