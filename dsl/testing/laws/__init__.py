"""The laws that `tvms fuzz` checks on random programs, one per file, named like its law."""

from __future__ import annotations

from importlib import import_module

from ...laws import LAWS
from .law import Law


def find_law(name: str) -> Law:
    """Return the law called `name`; KeyError if there is none."""
    if name not in LAWS:
        raise KeyError(name)
    return import_module(f".{name}", __package__).LAW
