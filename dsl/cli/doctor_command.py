"""`tvms doctor`: show which parts of the machine tvms can use, and how to get what is missing."""

from __future__ import annotations

import argparse

from ...ir.sanitize import say


def run(arguments: argparse.Namespace) -> int:
    """Print one line per finding; always return 0, because missing parts are optional."""
    from ...codegen.doctor import examine, examine_gpu

    for finding in examine_gpu() if arguments.gpu else examine():
        say(f"{finding.name:<12}{finding.found or f'missing: {finding.remedy}'}")
    return 0
