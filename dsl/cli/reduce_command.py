"""`tvms reduce FILE --passes "A, B(option=1)"`: find the smallest module on which passes fail in the same way."""

from __future__ import annotations

import argparse

from ...ir.diagnostics import error
from ...ir.passes.reproduce import smallest_failing
from ...ir.passes.transform import Sequential
from ..load import load_module
from .files import write_module
from .opt_command import parse_passes


def run(arguments: argparse.Namespace) -> int:
    """Print the smallest module found."""
    sequence = Sequential(parse_passes(arguments.passes))
    module = load_module(arguments.file, stdin_name=arguments.stdin_filename)
    smallest = smallest_failing(sequence, module, arguments.tries)
    if smallest is None:
        help = "give a file on which the passes raise an error or break a law of the IR"
        raise error("E0817", f"{arguments.passes} does not fail on {arguments.file}", help=help)
    write_module(smallest, arguments.dialect, arguments.output)
    return 0
