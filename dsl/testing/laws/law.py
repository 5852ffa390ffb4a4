"""Definition of a law: a strategy of examples, and a property that must hold for each."""

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
    """A law. `check` raises AssertionError or another exception if the law does not hold."""

    examples: Callable[[Source | None], st.SearchStrategy[Any]]
    """Strategy of random examples, made from a file if one is given."""
    check: Callable[[Any, Execute], None]
    """Check of an example. The second argument compiles modules; laws about the front end ignore it."""
    check_all: Callable[[Sequence[Any], ExecuteAll], Iterator[None]] | None = None
    """Check of several examples in order, with one step for each, for laws that share work between examples."""
    show: Callable[[Any], str] = str
    """Text of an example."""
    read: Callable[[Source], Any] = parse_source
    """Inverse of `show`, for saved failures."""
    reads_files: bool = True
    """Whether examples can be made from a file that is not a saved failure."""
    constructs: Callable[[Any], Iterable[str]] = module_constructs
    counts_all: bool = False
    """Whether all occurrences of a construct in an example count, rather than one."""
    expected: frozenset[str] = frozenset()
    """Constructs that a sufficiently long run must meet."""
    counted: tuple[str, ...] = ()
    """Constructs whose counts the summary of a run shows."""
