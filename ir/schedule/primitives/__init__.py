"""The primitives, one file each. Importing the schedule imports every module of this folder."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules


@cache
def load() -> None:
    """Import all primitives, which declares them."""
    for module in iter_modules(__path__):
        import_module(f".{module.name}", __name__)
