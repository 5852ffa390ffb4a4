"""`tvms reduce FILE --passes "A, B(option=1)"`: the smallest module on which passes go wrong as they do on this one."""

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
    smallest = smallest_failing(sequence, load_module(arguments.file), arguments.tries)
    if smallest is None:
        help = "reduce makes programs small on which passes stop with an error or break the law of the IR"
        raise error("E0817", f"nothing goes wrong when {arguments.passes} runs on {arguments.file}", help=help)
    write_module(smallest, arguments.dialect, arguments.output)
    return 0
