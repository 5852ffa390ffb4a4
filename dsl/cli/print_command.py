"""`tvms print FILE [--dialect D]`: print the canonical text of a module."""

from __future__ import annotations

import argparse

from ..load import load_module
from .common_options import defined_values
from .files import write_module


def run(arguments: argparse.Namespace) -> int:
    """Print the module."""
    module = load_module(arguments.file, values=defined_values(arguments))
    write_module(module, arguments.dialect, arguments.output)
    return 0
