"""Second names of modules: `tvms.te` for `tvms.ir.te`, the same module object under both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class AliasFinder(MetaPathFinder):
    """Imports the modules that `aliases` maps public names to, and what stands below them."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import `fullname`, or None where no alias covers it."""
        place = self._place(fullname)
        return ModuleSpec(fullname, _AliasLoader(place)) if place else None

    def _place(self, name: str) -> str | None:
        head, rest = name, ""
        while head not in self._aliases:
            head, dot, last = head.rpartition(".")
            if not dot:
                return None
            rest = f".{last}{rest}"
        return self._aliases[head] + rest


class _AliasLoader(Loader):
    def __init__(self, place: str) -> None:
        self._place = place

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module under its own name; its specification stays its own, too."""
        module = import_module(self._place)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do but to undo what the import system wrote onto the module."""
        module.__spec__ = self._own_spec
