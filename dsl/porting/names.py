"""Names of TVM's Python interface, from 0.13 to today, and where tvms has them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ...ir.left_out import left_out_part, reason_for
from ...ir.spelling import did_you_mean

ROOTS = {"tvm": "tvms", "tvm_ffi": "tvms"}
"""The packages of TVM, and ours."""

_REGISTRIES = ("tvm._ffi", "tvm._ffi.registry", "tvm.ffi", "tvm.ffi.registry")
_REGISTERED = ("get_global_func", "register_func", "register_global_func")
RENAMES = {
    **{f"{registry}.{name}": f"tvms.{name}" for registry in _REGISTRIES for name in _REGISTERED},
    **{f"{module}.from_dlpack": "tvms.nd.from_dlpack" for module in ("tvm.ffi", "tvm_ffi")},
    "tvm._ffi.base": "tvms.error",
    "tvm.build": "tvms.compile",
    "tvm.driver.build": "tvms.compile",
    "tvm.driver.build_module.build": "tvms.compile",
    **{f"tvm.ir.base.{name}": f"tvms.ir.{name}" for name in ("load_json", "save_json")},
    "tvm.s_tir.dlight": "tvms.dlight",
    "tvm.s_tir.meta_schedule": "tvms.meta_schedule",
}
"""Modules and names of TVM whose place in tvms is not that under `tvms` instead of `tvm`."""


class Missing(NamedTuple):
    """A dotted name that tvms lacks: the shortest prefix that does not exist, and why or what to use instead."""

    name: str
    reason: str | None


def is_of_tvm(name: str) -> bool:
    """Return whether a dotted name is one of TVM's packages, or below one."""
    return name.partition(".")[0] in ROOTS


def renamed(name: str) -> str:
    """Return the dotted name in tvms of the dotted name `name` in TVM."""
    head, rest = name, ""
    while head not in RENAMES:
        head, dot, last = head.rpartition(".")
        if not dot:
            return f"{ROOTS[last]}{rest}"
        rest = f".{last}{rest}"
    return RENAMES[head] + rest


@cache
def missing(name: str) -> Missing | None:
    """Return the part of the dotted name `name` that tvms lacks; None if it has the whole name.

    A module that cannot be imported because an optional package is absent counts as present.
    """
    if left_out := left_out_part(name):
        return Missing(left_out, reason_for(left_out))
    parts = name.split(".")
    value: Any = import_module(parts[0])
    for length in range(2, len(parts) + 1):
        path = ".".join(parts[:length])
        try:
            value = _member(value, parts[length - 1], path)
        except ModuleNotFoundError as problem:
            is_ours = problem.name is None or problem.name.startswith("tvms")
            return _explained(path, value, str(problem)) if is_ours else None
        except Exception as problem:  # a module decides by itself how it refuses a name
            return _explained(path, value, str(problem))
    return None


def _member(value: Any, name: str, path: str) -> Any:
    """Return an attribute of a module or class, or a module below a package."""
    try:
        return getattr(value, name)
    except AttributeError as problem:
        if not hasattr(value, "__path__"):
            raise
        try:
            return import_module(path)
        except ModuleNotFoundError as absent:
            if absent.name == path:
                raise problem from None
            raise


def _explained(path: str, parent: Any, problem: str) -> Missing:
    """Return the missing name with a similar name, or else with the reason that its module gives."""
    suggestion = did_you_mean(path.rpartition(".")[2], _public(parent))
    is_generic = "has no attribute" in problem or "No module named" in problem
    return Missing(path, suggestion or (None if is_generic else problem.partition("\n")[0].strip() or None))


def _public(parent: Any) -> Iterable[str]:
    return [name for name in dir(parent) if not name.startswith("_")]


def dotted(node: ast.expr) -> tuple[ast.Name, list[ast.Attribute]] | None:
    """Return the name and the attributes, innermost first, of an expression such as `a.b.c`; None if it is another."""
    attributes: list[ast.Attribute] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node)
        node = node.value
    return (node, attributes[::-1]) if isinstance(node, ast.Name) else None
