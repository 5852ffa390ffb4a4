"""`tvms merge BASE OURS THEIRS`: merge two revisions of a file with their common base, statement by statement."""

from __future__ import annotations

import argparse
import os
import sys

from ...ir.base import Source
from ...ir.diagnostics import Diagnostic, count
from ...ir.sanitize import say
from ..load import read_source
from ..revisions.merge import Labels
from ..revisions.verified import merge_verified
from .files import write_output
from .reporting import report


def run(arguments: argparse.Namespace) -> int:
    """Write the merged text; return 1 if it has conflicts, which are marked in it."""
    paths = (arguments.base, arguments.ours, arguments.theirs)
    name = arguments.name or arguments.ours
    base, ours, theirs = (Source(name, read_source(path).text) for path in paths)
    labels = Labels(*(os.path.basename(path) for path in (arguments.ours, arguments.base, arguments.theirs)))
    if arguments.name:
        labels = Labels("ours", "base", "theirs", arguments.marker_size)
    merged, found = merge_verified(base, ours, theirs, labels)
    write_output(merged.text, arguments.output)
    if found:
        shown = Diagnostic(
            "E0824",
            f"{name}: each side is a valid program, but both together are not",
            help="resolve the marked conflicts",
        )
        report([shown, *found])
    if merged.conflicts:
        places = ", ".join(map(str, merged.conflicts[:8])) + (", …" if len(merged.conflicts) > 8 else "")
        inside = f" in {', '.join(merged.names)}" if merged.names else ""
        say(
            f"{name}: {count(len(merged.conflicts), 'conflict')}{inside}, at {'line' if len(merged.conflicts) == 1 else 'lines'} {places}",
            sys.stderr,
        )
    return 1 if merged.conflicts else 0
