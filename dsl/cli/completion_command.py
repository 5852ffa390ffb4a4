"""`tvms completion SHELL`: print a script that completes commands, options and files."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

from ...ir.diagnostics import error
from ...ir.sanitize import write_program
from .reporting import UsageError

_FILES = ("FILE", "PATH", "OUT", "DIR")


def run(arguments: argparse.Namespace) -> int:
    """Print the script; raise E0812 if shtab, which generates it, is not installed."""
    if find_spec("shtab") is None:
        help = "pip install 'tvms-lang[completion]'"
        raise error("E0812", "tvms completion needs shtab, which is not installed", None, help)
    import shtab  # type: ignore[reportMissingTypeStubs]

    from . import build_parser

    library: Any = shtab
    if arguments.shell not in library.SUPPORTED_SHELLS:
        raise UsageError(
            f"unknown shell '{arguments.shell}'", help=f"choose one of {', '.join(library.SUPPORTED_SHELLS)}"
        )
    parser, commands = build_parser()
    for command in commands.values():
        for action in command._actions:  # type: ignore[reportPrivateUsage]  # where shtab looks for `complete`
            if action.metavar in _FILES:
                setattr(action, "complete", library.FILE)  # noqa: B010  # argparse does not declare it
    write_program(library.complete(parser, shell=arguments.shell) + "\n")
    return 0
