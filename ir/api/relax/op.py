"""Operators as functions of graph-level values (TVM: `relax.op`): `relax.op.add(x, y)`, `relax.op.nn.relu(x)`.

The declaration of each operator documents its arguments and result; `help(relax.op.add)` shows it. Calls get their
struct info immediately. Operands that do not fit raise TvmsError, placed at the call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from ... import relax
from ...building.values import apply
from ...ops.registry import RelaxOp, find, relax_ops


class Namespace(ModuleType):
    """The module of the operators under a prefix, such as `relax.op.nn`."""

    def __init__(self, prefix: str) -> None:
        super().__init__(f"{__name__}.{prefix}", f"Operators `R.{prefix}.*` (TVM: `relax.op.{prefix}`).")
        self._prefix = f"{prefix}."

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return member(f"{self._prefix}{name}")

    def __dir__(self) -> list[str]:
        return members(self._prefix)


_NAMESPACES = ("builtin", "ccl", "dist", "grad", "image", "inspect", "linalg", "memory", "nn", "vision", "vm")
for _name in _NAMESPACES:
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = Namespace(_name)


def members(prefix: str) -> list[str]:
    """Return the names directly under `prefix`."""
    names = (name.removeprefix(f"relax.{prefix}") for name in relax_ops() if name.startswith(f"relax.{prefix}"))
    return sorted({name.partition(".")[0] for name in names})


def member(name: str) -> Any:
    """Return the operator or namespace `name`; AttributeError with the nearest name if there is none."""
    for known in (name, f"vision.{name}"):  # TVM exports those of `relax.op.vision` here
        op = find(f"relax.{known}")
        if op is not None:
            return _function(known, op)
    if any(known.startswith(f"relax.{name}.") for known in relax_ops()):  # operators of the program's own
        return Namespace(name)
    near = get_close_matches(name, [known.removeprefix("relax.") for known in relax_ops()], 1)
    hint = f"; did you mean 'relax.op.{near[0]}'?" if near else ""
    raise AttributeError(f"there is no operator 'relax.op.{name}'{hint}")


def _function(name: str, op: RelaxOp) -> Callable[..., relax.Expr]:
    def call(*args: Any, **keywords: Any) -> relax.Expr:
        return apply(name, *args, **keywords)

    call.__name__ = call.__qualname__ = name.rsplit(".", 1)[-1]
    call.__doc__ = f"{op.signature}\n\n{op.doc}"
    call.__signature__ = op.python_signature()  # type: ignore[attr-defined]
    call.operator = name  # type: ignore[attr-defined]
    return call


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return member(name)


def __dir__() -> list[str]:
    return members("")
