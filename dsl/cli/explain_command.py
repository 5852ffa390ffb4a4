"""`tvms explain [CODE]`: explain a diagnostic code."""

from __future__ import annotations

import argparse
import difflib
from textwrap import indent

from ...ir.codes import CODES, RETIRED
from ...ir.diagnostics import error
from ...ir.sanitize import say
from ..reference.examples import explanation
from .reporting import say_list


def run(arguments: argparse.Namespace) -> int:
    """Print the title and the example of one code, or all titles; for a retired code, the code that replaced it."""
    if arguments.code is None:
        say_list(CODES.items())
        return 0
    code = arguments.code.upper()
    if code in RETIRED:
        say(f"{code} is retired, now {RETIRED[code]}")
        return 0
    if code not in CODES:
        near = difflib.get_close_matches(code, list(CODES), n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise error("E0804", f"there is no code '{arguments.code}'", help=f"{hint}'tvms explain' lists all codes")
    say(f"{code}: {CODES[code]}")
    for paragraph in explanation(code, lambda text, _: indent(text, "    ")):
        say(f"\n{paragraph}")
    return 0
