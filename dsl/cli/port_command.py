"""`tvms port PATH…`: change the imports and names of Python programs for Apache TVM into those for tvms."""

from __future__ import annotations

import argparse
import sys

from ...ir.base import Source
from ...ir.diagnostics import Diagnostic
from ...ir.files import write_whole
from ...ir.sanitize import say
from ..diagnostics import in_order
from ..load import read_source
from ..porting import port
from .files import find_files, show_difference, write_output
from .reporting import Findings, report


def run(arguments: argparse.Namespace) -> int:
    """Port files in place, or show what would change (`--check`, `--diff`); `-` is written to standard output."""
    changed = missing = 0
    found = Findings()
    files = find_files(arguments.paths, ("*.py", "*.pyi", "*.ipynb"))
    for path in files:
        with found.inside(path):
            is_changed, findings = _port(path, arguments)
            changed += is_changed
            missing += len(findings)
            found.diagnostics += findings
    if found.diagnostics:
        report(in_order(found.diagnostics))
    if files != ["-"]:
        _summarize(changed, found.failed, len(files), missing, arguments.check or arguments.diff)
    return found.exit_code() or int(changed > 0 and (arguments.check or arguments.diff))


def _port(path: str, arguments: argparse.Namespace) -> tuple[bool, tuple[Diagnostic, ...]]:
    """Port one file; return whether that changes it, and the names that tvms lacks."""
    source = read_source(path, keep_mark=True)
    text, findings = port(source)
    is_changed = text != source.text
    if arguments.diff:
        show_difference(Source(source.name, source.text), text, "ported")
    elif path == "-" and not arguments.check:
        write_output(text, None)
    elif is_changed and not arguments.check:
        write_whole(text, path, follow=True)
    elif is_changed:
        say(f"would port {source.name}", sys.stderr)
    return is_changed, findings


def _summarize(changed: int, failed: int, count: int, missing: int, only_looked: bool) -> None:
    verb = "would be ported" if only_looked else "ported"
    parts = [f"{changed} {'file' if changed == 1 else 'files'} {verb}", f"{count - changed - failed} left unchanged"]
    if failed:
        parts.append(f"{failed} not ported because of errors")
    if missing:
        parts.append(f"{missing} {'name is' if missing == 1 else 'names are'} missing")
    say(", ".join(parts), sys.stderr)
