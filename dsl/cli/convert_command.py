"""`tvms convert PATH… --to DIALECT`: convert a file or a tree of files to another dialect."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.sanitize import say
from ..diagnostics import in_order
from ..load import load_module
from .files import find_files, write_module
from .reporting import UsageError, exit_code, report

SUFFIXES = {"tvms": ".tvms", "tvm-0.21": ".py", "tvm-0.27": ".py"}
"""Suffix of the files of each dialect."""


def run(arguments: argparse.Namespace) -> int:
    """Convert all files; report those that cannot be read, and convert the others."""
    if arguments.output is None:
        if len(arguments.paths) != 1 or os.path.isdir(arguments.paths[0]):
            raise UsageError("several files need -o FOLDER")
        write_module(load_module(arguments.paths[0]), arguments.to, None)
        return 0
    found: list[Diagnostic] = []
    below, jobs = _jobs(arguments.paths, arguments.output, arguments.to)
    for source, target in jobs:
        try:
            write_module(load_module(source), arguments.to, str(target), below)
        except TvmsError as problem:
            found.extend(problem.diagnostics)
    if found:
        report(in_order(found))
    say(f"{len(jobs)} file{'s' * (len(jobs) != 1)} read", sys.stderr)
    return exit_code(found)


def _jobs(paths: list[str], output: str, dialect: str) -> tuple[str | None, list[tuple[str, Path]]]:
    """Return the output folder and each input with its output: `output` itself for a single file, else the same tree
    below the folder `output`.
    """
    if len(paths) == 1 and not os.path.isdir(paths[0]) and not os.path.isdir(output):
        return None, [(paths[0], Path(output))]
    jobs: dict[Path, str] = {}
    for path in paths:
        root = Path(path) if os.path.isdir(path) else Path(path).parent
        for file in find_files([path], ("*.tvms", "*.py")):
            target = Path(file).relative_to(root).with_suffix(SUFFIXES[dialect])
            if target in jobs:
                message = f"'{jobs[target]}' and '{file}' would both become '{Path(output, target)}'"
                raise error("E0810", message, help="convert them one by one, or rename one")
            jobs[target] = file
    return output, [(file, target) for target, file in jobs.items()]
