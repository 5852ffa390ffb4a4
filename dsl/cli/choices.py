"""The values of options: choices that other modules own, and numbers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import get_args, overload


class Choices(Sequence[str]):
    """The values of an option. The module that owns them is imported when they are first used, for a value or for help.

    An option with such choices needs a metavar: without one, argparse lists the choices when the option is declared.
    """

    def __init__(self, load: Callable[[], Iterable[str]]) -> None:
        self._load = load

    @cached_property
    def _values(self) -> tuple[str, ...]:
        return tuple(self._load())

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._values[index]

    def __len__(self) -> int:
        return len(self._values)


def dialects() -> Iterable[str]:
    from ..printer.dialects import DIALECTS

    return DIALECTS


def levels() -> Iterable[str]:
    from ...ir.verify import LEVELS

    return LEVELS


def formats() -> Iterable[str]:
    from ..reports import FORMATS

    return FORMATS


def database_actions() -> Iterable[str]:
    from .db_command import ACTIONS

    return ACTIONS


def search_strategies() -> Iterable[str]:
    from ...codegen.tuner.search import STRATEGIES

    return STRATEGIES


def thread_orders() -> Iterable[str]:
    from ...ir.interp.frame import ThreadOrder

    return get_args(ThreadOrder)


def simulated_orders() -> Iterable[str]:
    from ...codegen.gpu.orders import ORDERS

    return ORDERS


def outputs() -> Iterable[str]:
    from ...codegen.aot import OUTPUTS

    return OUTPUTS


def line_formats() -> Iterable[str]:
    from ...codegen.source_map import FORMATS

    return FORMATS


def bounds() -> Iterable[str]:
    from ...codegen.lower.bounds import Bounds

    return get_args(Bounds)


def opt_levels() -> Iterable[str]:
    from ...codegen.build import LEVELS

    return map(str, LEVELS)


_MOST_DIGITS = 18
"""Maximum number of digits of a numeric option, so that it fits in 64 bits."""


def at_least(least: int) -> Callable[[str], int]:
    """Return a reader of a numeric option with the minimum `least`."""

    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected an integer of at least {least}, got '{text}'")
        return int(text)

    return read


def line_range(text: str) -> tuple[int, int]:
    """Return the first and the last line of a range, from 1, such as `10:20`; one number is one line."""
    first, colon, last = text.partition(":")
    numbers = [first, last if colon else first]
    if not all(number.isdecimal() and 0 < len(number) <= _MOST_DIGITS for number in numbers):
        raise argparse.ArgumentTypeError(f"expected lines as FIRST:LAST, such as 10:20, got '{text}'")
    low, high = map(int, numbers)
    if not 1 <= low <= high:
        raise argparse.ArgumentTypeError(
            f"expected a first line of at least 1 and a last line not before it, got '{text}'"
        )
    return low, high


def seconds(text: str) -> float:
    """Return a time in seconds, of at most a day."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0.0 <= found <= 86_400.0:
        raise argparse.ArgumentTypeError(f"expected a number of seconds from 0 to 86400, got '{text}'")
    return found


def duration(text: str) -> float:
    """Return a time in seconds, which may have a unit: 90, 90s, 10m, 2h."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        found = float(number) * unit
    except ValueError:
        found = -1.0
    if not 0.0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 10m or 2h, got '{text}'")
    return found
