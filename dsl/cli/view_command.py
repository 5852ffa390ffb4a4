"""`tvms view FILE [-o OUT.svg|OUT.html]`: a picture of a module."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...ir.sanitize import say
from ..load import load_verified
from .files import write_output
from .reporting import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Write the picture."""
    from ..view import picture

    output = arguments.output or f"{Path(arguments.file).stem if arguments.file != '-' else 'module'}.svg"
    kind = Path(output).suffix
    if kind not in (".svg", ".html"):
        raise UsageError(f"-o {output}: a picture is a .svg or a .html file")
    write_output(picture(load_verified(arguments.file), arguments.file, as_html=kind == ".html"), output)
    if arguments.output is None:
        say(output)
    return 0
