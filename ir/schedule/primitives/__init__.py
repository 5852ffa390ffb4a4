"""The primitives: one file each, declared once. Every module in this folder is loaded with the schedule."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules


@cache
def load() -> None:
    """Declare all primitives."""
    for module in iter_modules(__path__):
        import_module(f".{module.name}", __name__)
