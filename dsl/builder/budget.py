"""What a text may make while it is read: copies of named values, strings, tuples and uses of macros.

Everything else that reading makes is a constant number of nodes for each token. A name can stand for a value of any
size, and so a text of n lines can stand for 2**n nodes: each use of a name is charged what its value would take if it
were written out, and a text that makes more than its budget is refused with E0010.
"""

from __future__ import annotations

from typing import Any, cast

from ...ir import relax, tir
from ...ir.base import GlobalVar, Node
from ...ir.visit import children

BASE = 2**18
"""The budget of an empty text, in nodes: what is read and checked in about two seconds."""
CHARACTERS = 8
"""Characters of a string that count as one node."""
TEXT = 2
"""Characters of a macro or a lambda that count as one node."""

_LEAVES = (tir.Var, tir.IntImm, tir.FloatImm, tir.Buffer, tir.IterVar, relax.Var, GlobalVar)


class Budget:
    """How much a text of `characters` may still make, in nodes."""

    def __init__(self, characters: int) -> None:
        self.total = self.left = BASE + characters
        self._sizes: dict[int, tuple[Any, int]] = {}
        """The size of what was measured, and the value itself: an identity is that of one value while it lives."""
        self._is_leaf: dict[type, bool] = {}

    def use(self, value: Any) -> bool:
        """Pay for one more use of a named value: its size, if it is more than a leaf. Return what `pay` does."""
        kind = cast("type[Any]", type(value))
        is_leaf = self._is_leaf.get(kind)
        if is_leaf is None:
            is_sized = issubclass(kind, tuple | dict | str) or (
                issubclass(kind, Node) and not issubclass(kind, _LEAVES)
            )
            is_leaf = self._is_leaf[kind] = not is_sized
        return is_leaf or self.pay(self.size(value))

    def pay(self, nodes: int) -> bool:
        """Take `nodes` from the budget; return whether there were as many left."""
        self.left -= nodes
        return self.left >= 0

    def size(self, value: Any) -> int:
        """Return how many nodes `value` has written out; what it shares is measured once."""
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        stack: list[tuple[Any, tuple[Any, ...] | None]] = [(value, None)]
        while stack:
            each, parts = stack.pop()
            if id(each) in self._sizes:
                continue
            if parts is None:
                parts = _parts(each)
                stack.append((each, parts))
                stack.extend((part, None) for part in parts if id(part) not in self._sizes)
            else:
                own = 1 + (len(each) // CHARACTERS if isinstance(each, str) else 0)
                self._sizes[id(each)] = each, own + sum([self._sizes[id(part)][1] for part in parts])
        return self._sizes[id(value)][1]


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Node):
        return () if isinstance(value, _LEAVES) else children(value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        return (*items.keys(), *items.values())
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
