"""Aliases of modules: `tvms.tir` and `tvms.ir.api.tir` are the same module object. Modules left out say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from .left_out import reason_for


class AliasFinder(MetaPathFinder):
    """Imports the public names of modules that `aliases` lists, and their submodules."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the import spec of `fullname`, or None if no alias covers it.

        Raises ModuleNotFoundError, with the reason, for a module of TVM that tvms leaves out.
        """
        if fullname.startswith("tvms.") and (reason := reason_for(fullname)):
            raise ModuleNotFoundError(f"tvms has no module '{fullname}': {reason}")
        target_name = self._target(fullname)
        return ModuleSpec(fullname, _AliasLoader(target_name)) if target_name else None

    def _target(self, name: str) -> str | None:
        head, rest = name, ""
        while head not in self._aliases:
            head, dot, last = head.rpartition(".")
            if not dot:
                return None
            rest = f".{last}{rest}"
        return self._aliases[head] + rest


class _AliasLoader(Loader):
    def __init__(self, target_name: str) -> None:
        self._target = target_name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module under its real name; its own spec is kept."""
        module = import_module(self._target)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec that the import system has overwritten."""
        module.__spec__ = self._own_spec
