"""Values around a loop's body, which become parameters of its function when the body uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping

from ....ir import relax


class Captures(MutableMapping[str, "relax.Expr | None"]):
    """The values of an outer scope by name, each replaced on first use; constants and omitted values stay."""

    def __init__(
        self, outer: MutableMapping[str, relax.Expr | None], capture: Callable[[relax.Expr], relax.Expr]
    ) -> None:
        self._outer, self._capture = outer, capture

    def __getitem__(self, name: str) -> relax.Expr | None:
        value = self._outer[name]
        return value if value is None or isinstance(value, relax.Constant) else self._capture(value)

    def __setitem__(self, name: str, value: relax.Expr | None) -> None:
        raise KeyError(name)

    def __delitem__(self, name: str) -> None:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._outer)

    def __len__(self) -> int:
        return len(self._outer)
