"""`tvms check PATH…`: report every error of every file in one run."""

from __future__ import annotations

import argparse
import sys

from msgspec.structs import replace

from ...ir.diagnostics import Diagnostic, TvmsError
from ...ir.files import write_whole
from ...ir.lints import lint
from ...ir.sanitize import emit, say
from ...ir.verify import verify
from ..compatibility import as_tvm_takes_them
from ..diagnostics import in_order, summary
from ..fixes import fixed
from ..load import load_module, read_source
from .files import find_files
from .reporting import UsageError, exit_code, report


def _check(path: str, arguments: argparse.Namespace) -> tuple[Diagnostic, ...]:
    warnings: list[Diagnostic] = []
    if arguments.fix:
        _fix(path)
    try:
        module = load_module(path, warnings)
    except TvmsError as problem:
        return tuple(
            [diagnostic if diagnostic.span else replace(diagnostic, file=path) for diagnostic in problem.diagnostics]
        )
    found = verify(module, arguments.level, arguments.strict)
    if arguments.trust:
        found = as_tvm_takes_them(found)
    if arguments.round_trip:
        from ..round_trip import check_round_trip

        found += check_round_trip(module, path)
    if (
        not arguments.no_lints
        and arguments.level != "syntax"
        and not any(diagnostic.severity == "error" for diagnostic in found)
    ):
        found += tuple(finding.diagnostic for finding in lint(module))
    return (*warnings, *found)


def _fix(path: str) -> None:
    """Apply the edits of the lints to a file."""
    if path == "-":
        raise UsageError("--fix needs a file, not standard input")
    try:
        source = read_source(path)
    except TvmsError:
        return
    text = fixed(source)
    if text != source.text:
        write_whole(text, path, follow=True)


def run(arguments: argparse.Namespace) -> int:
    """Check all files; return 0 if there are no errors."""
    files = find_files(arguments.paths)
    found = in_order([diagnostic for file in files for diagnostic in _check(file, arguments)])
    if arguments.output_format != "full":
        from ..reports import FORMATS

        emit(FORMATS[arguments.output_format](found))
        return exit_code(found)
    if found:
        report(found)
    noun = "file" if len(files) == 1 else "files"
    say(f"{len(files)} {noun} checked: {summary(found) or 'no errors'}", sys.stderr if found else sys.stdout)
    return exit_code(found)
