"""`tvms view FILE [-o OUT.svg|OUT.html|-]`: draw a picture of a module."""

from __future__ import annotations

import argparse
from pathlib import Path

from msgspec.structs import replace

from ...ir.sanitize import say
from ..entries import select_entry
from . import common_options
from .files import write_output
from .reporting import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Write the picture."""
    from ..view import picture

    output = arguments.output or f"{Path(arguments.file).stem if arguments.file != '-' else 'module'}.svg"
    kind = Path(output).suffix
    if kind not in (".svg", ".html") and output != "-":
        raise UsageError(f"-o {output}: expected a .svg or .html file, or - for standard output")
    module = common_options.loaded(arguments)
    if arguments.entry is not None:
        name, function = select_entry(module, arguments.entry)
        module = replace(module, functions={name: function})
    write_output(picture(module, arguments.file, as_html=kind == ".html"), output)
    if arguments.output is None:
        say(output)
    return 0
