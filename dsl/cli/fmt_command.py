"""`tvms fmt PATH…`: normalize the layout; keep meaning, names, sugar and comments."""

from __future__ import annotations

import argparse
import os
import sys

from ...ir.base import Source
from ...ir.files import write_whole
from ...ir.sanitize import say
from ..diagnostics import in_order
from ..embedded import PATTERNS, read_host
from ..formatter import format_host, format_text
from ..load import read_source
from .files import find_files, show_difference, write_output
from .reporting import Findings, UsageError, report


def run(arguments: argparse.Namespace) -> int:
    """Format files in place, or report unformatted ones (`--check`, `--diff`); `-` is written to standard output."""
    if arguments.range and (len(arguments.paths) > 1 or os.path.isdir(arguments.paths[0])):
        raise UsageError("--range requires one file", help="format the files one by one")
    changed, found = 0, Findings()
    files = find_files(arguments.paths, ("*.tvms", *PATTERNS))
    for path in files:
        with found.inside(path):
            changed += _format(path, arguments)
    if found.diagnostics:
        report(in_order(found.diagnostics))
    if files != ["-"]:
        _summarize(changed, found.failed, len(files), arguments.check or arguments.diff)
    return found.exit_code() or int(changed > 0 and (arguments.check or arguments.diff))


def _format(path: str, arguments: argparse.Namespace) -> bool:
    """Format one file; return whether that changes it. A file with a syntax error raises and is not changed."""
    source = read_source(path)
    name = arguments.stdin_filename or source.name
    host = read_host(source)
    if arguments.range and source.name.endswith(".ipynb"):
        raise UsageError("--range does not apply to notebooks: lines of a cell have no number in the file")
    formatted = (
        format_text(source.text, name, arguments.line_length, arguments.range)
        if host is None
        else format_host(host, arguments.line_length, arguments.range)
    )
    is_changed = formatted != source.text
    if arguments.diff:
        show_difference(Source(name, source.text), formatted, "formatted")
    elif arguments.check:
        if is_changed:
            say(f"would reformat {name}", sys.stderr)
    elif path == "-":
        write_output(formatted, None)
    elif is_changed:
        write_whole(formatted, path, follow=True)
    return is_changed


def _summarize(changed: int, failed: int, count: int, only_looked: bool) -> None:
    verb = "would be reformatted" if only_looked else "reformatted"
    parts = [f"{changed} {'file' if changed == 1 else 'files'} {verb}", f"{count - changed - failed} left unchanged"]
    if failed:
        parts.append(f"{failed} not formatted because of errors")
    say(", ".join(parts), sys.stderr)
