"""`tvms print FILE [--dialect D]`: print the canonical text of a module."""

from __future__ import annotations

import argparse

from ..load import load_module
from .files import write_module


def run(arguments: argparse.Namespace) -> int:
    """Print the module."""
    write_module(load_module(arguments.file), arguments.dialect, arguments.output)
    return 0
