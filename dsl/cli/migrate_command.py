"""`tvms migrate PATH…`: rewrite TVMScript for older versions of TVM as the newest one writes it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ...ir.diagnostics import count
from ...ir.files import write_whole
from ...ir.sanitize import say
from ..diagnostics import in_order
from ..embedded import PATTERNS
from ..load import read_source
from ..migration import Migration, migrate
from .common_options import defined_values
from .files import find_files, show_difference, write_output
from .reporting import Findings, report


def run(arguments: argparse.Namespace) -> int:
    """Migrate files in place, or show what would change (`--check`, `--diff`); `-` is written to standard output."""
    values = defined_values(arguments)
    found = Findings()
    files = find_files(arguments.paths, PATTERNS)
    changed = partly = renamed = printed = 0
    for path in files:
        with found.inside(path):
            is_changed, result = _migrate(path, arguments, values)
            changed += is_changed
            partly += is_changed and any(diagnostic.severity == "error" for diagnostic in result.found)
            renamed += result.renamed
            printed += result.printed
            found.diagnostics += result.found
    if found.diagnostics:
        report(in_order(found.diagnostics))
    only_looked = arguments.check or arguments.diff
    if files != ["-"]:
        verb = "would be migrated" if only_looked else "migrated"
        some = f" ({partly} in part)" if partly else ""
        nouns = f"{count(changed, 'file')} {verb}{some}, {len(files) - changed} left unchanged"
        say(f"{nouns}: {count(renamed, 'definition')} by renaming, {printed} printed anew", sys.stderr)
    return found.exit_code() or int(changed > 0 and only_looked)


def _migrate(path: str, arguments: argparse.Namespace, values: dict[str, Any]) -> tuple[bool, Migration]:
    """Migrate one file; return whether that changes it."""
    source = read_source(path, keep_mark=True)
    result = migrate(source, values)
    is_changed = result.text != source.text
    if arguments.diff:
        show_difference(source, result.text, "migrated")
    elif path == "-" and not arguments.check:
        write_output(result.text, None)
    elif is_changed and not arguments.check:
        write_whole(result.text, path, follow=True)
    elif is_changed:
        say(f"would migrate {source.name}", sys.stderr)
    return is_changed, result
