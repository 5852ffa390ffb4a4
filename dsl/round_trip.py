"""The laws of printing, checked on a module at hand: what is printed comes back, and prints the same again."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.base import IRModule
from ..ir.diagnostics import Diagnostic, TvmsError
from ..ir.equal import first_difference
from .load import parse
from .printer import script

DIALECTS = ("tvms", "tvm-0.21", "tvm-0.27")


def check_round_trip(module: IRModule, name: str) -> tuple[Diagnostic, ...]:
    """Return every law that `module`, read from the file `name`, breaks in any dialect.

    E0450: the printed text cannot be read · E0451: it is read as another program · E0452: it prints differently.
    """
    return tuple(found for dialect in DIALECTS for found in _check_dialect(module, name, dialect))


def _check_dialect(module: IRModule, name: str, dialect: str) -> Iterator[Diagnostic]:
    report = "this is a bug of tvms: please report it with the file"
    text = script(module, dialect)
    try:
        again = parse(text, f"{name} printed in {dialect}")
    except TvmsError as problem:
        yield Diagnostic("E0450", f"{name}: what is printed in {dialect} cannot be read", help=report)
        yield from problem.diagnostics
        return
    difference = first_difference(module, again)
    if difference is not None:
        message = f"{name}: what is printed in {dialect} is read as another program, which differs at {difference}"
        yield Diagnostic("E0451", message, help=report)
    second = script(again, dialect)
    if second != text:
        lines = zip(text.splitlines(), second.splitlines(), strict=False)
        line = next((i for i, (a, b) in enumerate(lines, 1) if a != b), 1 + min(text.count("\n"), second.count("\n")))
        message = f"{name}: what is printed in {dialect} prints differently after it was read, first in line {line}"
        yield Diagnostic("E0452", message, help=report)
