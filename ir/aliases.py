"""Aliases of modules: `tvms.tir` and `tvms.ir.api.tir` are the same module object. Modules left out say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .left_out import LEFT_OUT, message_for, reason_for

PARTS = {
    "tvms.relax.analysis": "analysis",
    "tvms.relax.op": (
        "base binary create datatype index linear_algebra manipulate mask qdq sampling search set sorting statistical ternary "
        "unary"
    ),
    "tvms.target": "detect_target tag target",
    "tvms.te": "operation tag tensor",
    "tvms.tir": "block_scope data_layout generic",
    "tvms.tir.analysis": "analysis",
    "tvms.tir.transform": "function_pass",
    "tvms.topi": "scan scatter signal tag unique",
    "tvms.topi.nn": "correlation deformable_conv2d depthwise_conv2d local_response_norm loss qnn",
    "tvms.runtime": "module object script_printer support",
}
"""Modules of TVM whose names are those of their package here, for each package."""

NAMESPACES = ("builtin", "ccl", "grad", "image", "linalg", "memory", "nn", "vision", "vm")
"""Groups of operators that are modules of `relax.op`; a module of the same name is below each of them in TVM."""


def with_parts(aliases: Mapping[str, str]) -> dict[str, str]:
    """Return `aliases`, the modules of `PARTS`, and those of groups of operators."""
    found = dict(aliases)
    for package, names in PARTS.items():
        found |= {f"{package}.{name}": _resolved(aliases, package) for name in names.split()}
    operators = _resolved(aliases, "tvms.relax.op")
    for name in NAMESPACES:
        found |= dict.fromkeys((f"tvms.relax.op.{name}", f"tvms.relax.op.{name}.{name}"), f"{operators}.{name}")
    found["tvms.relax.op.distributed"] = f"{operators}.dist"
    return found


def _resolved(aliases: Mapping[str, str], name: str) -> str:
    """Return the module that `name` is an alias of, or lies below one of."""
    parent, _, last = name.rpartition(".")
    return aliases[name] if name in aliases else f"{_resolved(aliases, parent)}.{last}"


class AliasFinder(MetaPathFinder):
    """Imports the public names of modules that `aliases` lists, and their submodules."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self.aliases = aliases
        self._parents = {name.rpartition(".")[0] for name in aliases}
        self._with_children = self._parents | {f"tvms.{name}".rpartition(".")[0] for name in LEFT_OUT}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the import spec of `fullname`, or None if no alias covers it.

        A module of TVM that tvms leaves out is empty, so that a program that imports it runs until it uses it: an attribute
        access is an AttributeError, and the import of a module below it a ModuleNotFoundError, with the reason.
        """
        # `from tvms.contrib import tvmjs` looks below the own name of the module.
        parent, _, name = fullname.rpartition(".")
        publics = [alias for alias, target in self.aliases.items() if target == parent] or [parent]
        for known in (f"{public}.{name}" for public in publics):
            if known.removeprefix("tvms.") in LEFT_OUT:
                return ModuleSpec(fullname, _LeftOutLoader(known), is_package=True)
        if fullname.startswith("tvms.") and (reason := reason_for(fullname)):
            raise ModuleNotFoundError(f"tvms has no module '{fullname}': {reason}")
        target_name = self._target(fullname)
        if target_name is None:
            return None
        return ModuleSpec(fullname, _AliasLoader(self, target_name), is_package=fullname in self._parents)

    def _target(self, name: str) -> str | None:
        head, rest = name, ""
        while head not in self.aliases:
            head, dot, last = head.rpartition(".")
            if not dot:
                return None
            rest = f".{last}{rest}"
        return self.aliases[head] + rest

    def add_children(self, public: str, module: ModuleType) -> None:
        """Make the aliases right below the name `public` attributes of `module`, imported on first use; others say why not."""
        if public not in self._with_children:
            return
        own: Any = vars(module).get("__getattr__")

        def attribute(name: str) -> Any:
            child = f"{public}.{name}"
            if child in self.aliases or child in self._parents:
                return import_module(child)
            if own is not None and not reason_for(child):
                return own(name)
            raise AttributeError(message_for(child), name=name, obj=module)

        module.__getattr__ = attribute


class _AliasLoader(Loader):
    def __init__(self, finder: AliasFinder, target_name: str) -> None:
        self._finder = finder
        self._target = target_name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module under its real name; its own spec is kept."""
        module = import_module(self._target)
        self._own_spec = module.__spec__
        self._name = spec.name
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec that the import system has overwritten, and add the aliases below this one."""
        module.__spec__ = self._own_spec
        self._finder.add_children(self._name, module)


class _LeftOutLoader(Loader):
    def __init__(self, public: str) -> None:
        self._public = public

    def exec_module(self, module: ModuleType) -> None:
        """Make every attribute access an error that gives the reason."""

        def attribute(name: str) -> Any:
            raise AttributeError(message_for(f"{self._public}.{name}"), name=name, obj=module)

        module.__getattr__ = attribute
