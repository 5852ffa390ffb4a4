"""Budget for the nodes that reading a text creates: copies of named values, strings, tuples and macro expansions.

Everything else creates a constant number of nodes per token. A name can denote a value of any size, so a text of
n lines can denote 2**n nodes. Each use of a name is therefore charged the size of its value written out, and a text
that exceeds its budget is refused with E0010.
"""

from __future__ import annotations

from typing import Any, cast

from ...ir import relax, tir
from ...ir.base import GlobalVar, Node
from ...ir.visit import children

BASE = 2**18
"""Budget of an empty text, in nodes: about two seconds of reading and checking."""
CHARACTERS = 8
"""Number of characters of a string that count as one node."""
TEXT = 2
"""Number of characters of a macro or a lambda that count as one node."""

_LEAVES = (tir.Var, tir.IntImm, tir.FloatImm, tir.Buffer, tir.IterVar, relax.Var, GlobalVar)


class Budget:
    """The nodes that a text of `characters` characters may still create."""

    def __init__(self, characters: int) -> None:
        self.total = self.left = BASE + characters
        self._sizes: dict[int, tuple[Any, int]] = {}
        """Measured sizes by identity, with the value itself: keeping it alive keeps its identity unique."""
        self._is_leaf: dict[type, bool] = {}

    def use(self, value: Any) -> bool:
        """Pay for one more use of a named value: its size, unless it is a leaf. Return the result of `pay`."""
        kind = cast("type[Any]", type(value))
        is_leaf = self._is_leaf.get(kind)
        if is_leaf is None:
            is_sized = issubclass(kind, tuple | dict | str) or (
                issubclass(kind, Node) and not issubclass(kind, _LEAVES)
            )
            is_leaf = self._is_leaf[kind] = not is_sized
        return is_leaf or self.pay(self.size(value))

    def pay(self, nodes: int) -> bool:
        """Subtract `nodes` from the budget; return whether it sufficed."""
        self.left -= nodes
        return self.left >= 0

    def size(self, value: Any) -> int:
        """Return the number of nodes of `value` written out; shared parts are measured once."""
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        stack: list[tuple[Any, tuple[Any, ...] | None]] = [(value, None)]
        while stack:
            item, parts = stack.pop()
            if id(item) in self._sizes:
                continue
            if parts is None:
                parts = _parts(item)
                stack.append((item, parts))
                stack.extend((part, None) for part in parts if id(part) not in self._sizes)
            else:
                own = 1 + (len(item) // CHARACTERS if isinstance(item, str) else 0)
                self._sizes[id(item)] = item, own + sum([self._sizes[id(part)][1] for part in parts])
        return self._sizes[id(value)][1]


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Node):
        return () if isinstance(value, _LEAVES) else children(value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        return (*items.keys(), *items.values())
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
