"""`tvms print FILE [--dialect D]`: print the canonical text of a module, or the text as its author wrote it."""

from __future__ import annotations

import argparse

from ..compatibility import dialect_of
from ..formatter import format_text
from ..load import load_module, open_file, read_module
from .common_options import defined_values
from .files import write_module, write_output
from .reporting import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Print the module; with `--keep-source-forms`, its text with docstrings, constants and macros, formatted."""
    values = defined_values(arguments)
    if arguments.keep_source_forms:
        return _print_as_written(arguments, values)
    module = load_module(arguments.file, values=values, stdin_name=arguments.stdin_filename)
    write_module(module, arguments.dialect, arguments.output)
    return 0


def _print_as_written(arguments: argparse.Namespace, values: dict[str, object]) -> int:
    source, host = open_file(arguments.file, values, arguments.stdin_filename)
    if host is not None or arguments.dialect != "tvms" or dialect_of(source) != "tvms":
        raise UsageError("--keep-source-forms prints a text of our own dialect", help="leave it out")
    read_module(source, host, values=values)  # a text with errors is not printed
    write_output(format_text(source.text), arguments.output)
    return 0
