"""Checks the laws of printing on a module: its text reads back as the same module and prints the same again."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..ir.base import IRModule
from ..ir.diagnostics import Diagnostic, TvmsError
from ..ir.equal import first_difference
from .formatter import format_text
from .load import parse
from .printer import DIALECTS, script_with_constants


def check_round_trip(module: IRModule, name: str) -> tuple[Diagnostic, ...]:
    """Return every violation of the laws by `module`, read from the file `name`, in all dialects.

    E0450: the printed text cannot be read · E0451: it is read as another program · E0452: it prints differently ·
    E0453: the formatter changes it.
    """
    return tuple(found for dialect in DIALECTS for found in _check_dialect(module, name, dialect))


def _check_dialect(module: IRModule, name: str, dialect: str) -> Iterator[Diagnostic]:
    if dialect != "tvms":
        module = replace(module, schedules={})
    report = "this is a bug in tvms: please report it with the file"
    text, stored = script_with_constants(module, dialect, shows_small=True)
    constants = {key: constant.data for key, constant in stored.items() if hasattr(constant.data, "shape")}
    try:
        again = parse(text, f"{name} printed in {dialect}", constants)
    except TvmsError as problem:
        yield Diagnostic("E0450", f"{name}: the text printed in {dialect} cannot be read", help=report)
        yield from problem.diagnostics
        return
    difference = first_difference(module, again, map_free_vars=True)
    if difference is not None:
        message = f"{name}: the text printed in {dialect} is read as another program, which differs at {difference}"
        yield Diagnostic("E0451", message, help=report)
    second, _ = script_with_constants(again, dialect, shows_small=True)
    if second != text:
        place = f"first in line {_first_difference(text, second)}"
        message = f"{name}: the text printed in {dialect} changes when it is read and printed again, {place}"
        yield Diagnostic("E0452", message, help=report)
    formatted = format_text(text + "\n").removesuffix("\n")
    if formatted != text:
        place = f"first in line {_first_difference(text, formatted)}"
        yield Diagnostic("E0453", f"{name}: the formatter changes the text printed in {dialect}, {place}", help=report)


def _first_difference(a: str, b: str) -> int:
    """Return the number of the first line, from 1, in which two texts differ."""
    lines = zip(a.splitlines(), b.splitlines(), strict=False)
    return next((i for i, (x, y) in enumerate(lines, 1) if x != y), 1 + min(a.count("\n"), b.count("\n")))
