"""`tvms doctor`: what of the machine tvms can use, and how to get what is missing."""

from __future__ import annotations

import argparse

from ...ir.sanitize import say


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each thing; what is missing is optional, so that it is no failure."""
    from ...codegen.doctor import examine, examine_gpu

    for finding in examine_gpu() if arguments.gpu else examine():
        say(f"{finding.name:<12}{finding.found or f'missing: {finding.remedy}'}")
    return 0
