"""`tvms compile FILE --emit KIND`: machine code, or what comes just before it."""

from __future__ import annotations

import argparse
import sys

from ..load import load_verified
from . import options


def run(arguments: argparse.Namespace) -> int:
    """Write the compiled module."""
    if arguments.emit == "obj" and arguments.output is None and sys.stdout.isatty():
        raise options.UsageError("an object file is not for a terminal: give -o FILE.o")
    from ...codegen import emit

    options.write_output(emit(load_verified(arguments.file), arguments.emit, target=arguments.target), arguments.output)
    return 0
