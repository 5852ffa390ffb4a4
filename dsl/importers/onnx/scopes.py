"""What names mean in a graph, and what is known where a graph is converted in several branches of a condition."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from ....ir import relax
from .captures import Captures

Value: TypeAlias = relax.Expr | None
"""A value of the model; None for an optional input or output that is omitted."""
MOST_FORKS = 6
"""Maximum number of conditions, one in the branch of the other, where branches may contain the rest of the graph."""


class Scope(Struct):
    """What names mean in one graph or function body."""

    values: ChainMap[str, Value]
    opsets: Mapping[str, int]
    prefix: str = ""
    """Prefix of the names of variables."""
    attributes: Mapping[str, Any] = {}
    """Attributes of the function that is expanded, by name, as messages of the model."""
    nodes: ChainMap[str, Any] = field(default_factory=lambda: ChainMap[str, Any]())
    """The nodes that compute the values, in order."""

    def inside(self, values: Mapping[str, Value], captures: Callable[[relax.Expr], relax.Expr] | None = None) -> Scope:
        """Return the scope of a subgraph, which sees the values around it; `captures` replaces those that it uses."""
        around = self.values if captures is None else Captures(self.values, captures)
        inner = ChainMap(dict(values), *([around] if captures else self.values.maps))
        return replace(self, values=inner, nodes=self.nodes.new_child())


class Finished(Exception):
    """A row also converted the rest of a graph; `results` are those of the graph."""

    def __init__(self, results: list[relax.Expr]) -> None:
        super().__init__()
        self.results = results


class Decisions:
    """Conditions of which only one branch fits the shapes of the inputs, at each place where they are converted."""

    def __init__(self) -> None:
        self._path: tuple[tuple[object, int], ...] = ()
        """The conditions and loops around, with the branch or round of each."""
        self._decided: dict[object, int] = {}

    @contextmanager
    def branch(self, name: object, place: int) -> Generator[None]:
        """Convert branch `place` of the condition `name`, or a round of a loop, in a `with`."""
        outer = self._path
        self._path = (*outer, (name, place))
        try:
            yield
        finally:
            self._path = outer

    @property
    def may_fork(self) -> bool:
        """Whether the rest of the graph may be converted in both branches of one more condition."""
        return len(self._path) < MOST_FORKS

    def find(self, name: object) -> int | None:
        """Return the only branch of a condition that fits; None if this is not known."""
        return self._decided.get((self._path, name))

    def record(self, name: object, place: int) -> None:
        """Record the only branch of a condition that fits."""
        self._decided[self._path, name] = place
