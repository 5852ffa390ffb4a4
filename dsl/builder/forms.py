"""What a name can stand for besides a value: a dialect (`T`), a form in it (`T.grid`), a module, a lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from .. import syntax


class Namespace(Struct, frozen=True, eq=False):
    """A dialect or a part of one, such as `T` and `T.axis`: its members by name."""

    name: str
    members: dict[str, Any]


class Form(Struct, frozen=True, eq=False):
    """A form of the language: what to do where `T.name(…)` is called. `build(site, *arguments)` returns its value."""

    name: str
    build: Callable[..., Any]


class ModuleReference(Struct, frozen=True, eq=False):
    """The module that is being built (`Module.f`, `cls.f`)."""

    name: str


class Closure(Struct, frozen=True, eq=False):
    """A lambda, and how to call it: on values, it returns the value of its body."""

    node: syntax.Lambda
    call: Callable[..., Any]
