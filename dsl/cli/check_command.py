"""`tvms check PATH…`: every mistake of every file, in one run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.verify import verify
from ..load import load_module
from . import options


def _files(path: str) -> list[str]:
    folder = Path(path)
    if path == "-" or not folder.is_dir():
        return [path]
    files = sorted(str(file) for file in folder.rglob("*.tvms") if file.is_file())
    if not files:
        raise error("E0803", f"the folder '{path}' holds no .tvms file", help="name a file, or a folder with .tvms files")
    return files


def _check(path: str) -> tuple[Diagnostic, ...]:
    try:
        return verify(load_module(path))
    except TvmsError as problem:
        return problem.diagnostics


def run(arguments: argparse.Namespace) -> int:
    """Check all files; 0 if they are fine."""
    files = [file for path in arguments.paths for file in _files(path)]
    found = [diagnostic for file in files for diagnostic in _check(file)]
    if found:
        options.report(found)
    count = sum(diagnostic.severity == "error" for diagnostic in found)
    noun = "file" if len(files) == 1 else "files"
    outcome = "no errors" if not count else "1 error" if count == 1 else f"{count} errors"
    print(f"{len(files)} {noun} checked: {outcome}", file=sys.stderr if count else sys.stdout)
    return options.exit_code(found)
