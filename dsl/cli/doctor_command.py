"""`tvms doctor`: show which parts of the machine tvms can use, and how to get what is missing."""

from __future__ import annotations

import argparse

from .reporting import say_list


def run(arguments: argparse.Namespace) -> int:
    """Print one line per finding; always return 0, because missing parts are optional."""
    from ...codegen.doctor import examine, examine_gpu

    findings = examine_gpu() if arguments.gpu else examine()
    say_list((finding.name, finding.found or f"missing: {finding.remedy}") for finding in findings)
    return 0
