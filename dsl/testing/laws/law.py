"""What a law is: examples, and what holds of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import IRModule, Source
from ...load import parse_source
from ..constructs import constructs_of
from ..oracle import Execute, ExecuteAll


def module_constructs(module: IRModule) -> Iterable[str]:
    """Return the constructs in the functions of a module."""
    return constructs_of(*module.functions.values())


class Law(Struct, frozen=True):
    """A law. `check` raises AssertionError, or whatever else, where it does not hold."""

    examples: Callable[[Source | None], st.SearchStrategy[Any]]
    """Random examples; where a file is given, ones made of it."""
    check: Callable[[Any, Execute], None]
    """Of an example, and of how a module is compiled: the law of those that need no machine ignores it."""
    check_all: Callable[[Sequence[Any], ExecuteAll], Iterator[None]] | None = None
    """As `check`, of several examples one after the other, with a step for each: where much is done once for all."""
    show: Callable[[Any], str] = str
    """An example as text."""
    read: Callable[[Source], Any] = parse_source
    """The example that a text shows, for those that failed once."""
    constructs: Callable[[Any], Iterable[str]] = module_constructs
    counts_all: bool = False
    """Whether a construct counts as often as an example meets it, and not once."""
    expected: frozenset[str] = frozenset()
    """The constructs that a run of some length must meet."""
    counted: tuple[str, ...] = ()
    """Of the constructs, what the end of a run says the number of."""
