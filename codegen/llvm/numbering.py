"""A builder that does not emit an instruction whose value is already known (value numbering over the dominator tree).

Unrolled loops compute the same indices again and again. Emitting each once halves the IR that is written, parsed and
optimized. The scopes are those of LLVM's `EarlyCSE`: an instruction is known in its block and in the blocks that this
block dominates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .api import Value, ir

_PURE = (
    "sub", "shl", "lshr", "ashr", "and_", "or_", "xor", "sdiv", "srem", "udiv", "urem",
    "icmp_signed", "icmp_unsigned", "select", "trunc", "zext", "sext", "ptrtoint", "gep",
    "insert_element", "extract_element", "shuffle_vector",
)  # fmt: skip
"""Methods that emit an instruction whose value depends only on its operands, and that nobody changes afterwards."""


class NumberingBuilder(ir.IRBuilder):  # type: ignore[misc]
    """An `IRBuilder` that returns the known value of a pure instruction instead of emitting it again.

    The dominator of a block is determined when the builder first moves to its end, from the branches to it up to then. Later
    branches must come from blocks that it dominates, as those at the ends of loops do.
    """

    def __init__(self, block: Value) -> None:
        ir.IRBuilder.__init__(self, block)
        self._depths: dict[Value, int] = {block: 0}
        """Depth in the dominator tree of each block whose dominator is known."""
        self._parents: dict[Value, Value] = {}
        """The immediate dominator of each of these but the first."""
        self._sources: dict[Value, list[Value]] = {}
        """The blocks that branch to a block."""
        self._path: list[Value] = [block]
        """The blocks from the root to the innermost block whose instructions are known."""
        self._added: list[list[Any]] = [[]]
        """The keys that each block of the path has added."""
        self._known: dict[Any, Value] = {}

    def branch(self, target: Value) -> Value:
        """Emit a jump to a block."""
        self._sources.setdefault(target, []).append(self.block)
        return ir.IRBuilder.branch(self, target)

    def cbranch(self, cond: Value, truebr: Value, falsebr: Value) -> Value:
        """Emit a jump to one of two blocks."""
        for target in (truebr, falsebr):
            self._sources.setdefault(target, []).append(self.block)
        return ir.IRBuilder.cbranch(self, cond, truebr, falsebr)

    def position_at_end(self, block: Value) -> None:
        """Move to the end of a block."""
        ir.IRBuilder.position_at_end(self, block)
        sources = self._sources.get(block)
        if block in self._depths or not sources or not all(source in self._depths for source in sources):
            return
        parent = sources[0]
        for source in sources[1:]:
            parent = self._common_dominator(parent, source)
        self._depths[block], self._parents[block] = self._depths[parent] + 1, parent
        self._enter(block, parent)

    def _common_dominator(self, a: Value, b: Value) -> Value:
        while a is not b:
            if self._depths[a] >= self._depths[b]:
                a = self._parents[a]
            else:
                b = self._parents[b]
        return a

    def _enter(self, block: Value, parent: Value) -> None:
        """Forget what the blocks know that do not dominate `block`."""
        keep = self._depths[parent] + 1
        if len(self._path) < keep or self._path[keep - 1] is not parent:
            return
        for keys in self._added[keep:]:
            for key in keys:
                del self._known[key]
        self._path[keep:], self._added[keep:] = [block], [[]]

    def add(self, lhs: Value, rhs: Value, name: str = "", flags: Sequence[str] = ()) -> Value:
        """Emit a sum, unless an operand is zero."""
        if is_number(lhs, 0) or is_number(rhs, 0):
            return rhs if is_number(lhs, 0) else lhs
        return self.once(ir.IRBuilder.add, (lhs, rhs), {"name": name, "flags": flags})

    def mul(self, lhs: Value, rhs: Value, name: str = "", flags: Sequence[str] = ()) -> Value:
        """Emit a product, unless an operand is zero or one."""
        for factor, other in ((lhs, rhs), (rhs, lhs)):
            if is_number(factor, 0) or is_number(factor, 1):
                return other if is_number(factor, 1) else factor
        return self.once(ir.IRBuilder.mul, (lhs, rhs), {"name": name, "flags": flags})

    def known_value(self, key: Any) -> Value | None:
        """Return the value that `remember` recorded in this block or in one that dominates it."""
        return self._known.get(key) if self._path[-1] is self._block else None

    def remember(self, key: Any, value: Value) -> None:
        """Record that `value` is that of `key`, as long as its definition dominates the current block."""
        if self._path[-1] is self._block and key not in self._known:
            self._known[key] = value
            self._added[-1].append(key)

    def forget(self) -> None:
        """Forget everything: a variable gets another value."""
        self._known.clear()
        self._added = [[] for _ in self._path]

    def once(self, emit: Callable[..., Value], operands: tuple[Any, ...], options: dict[str, Any]) -> Value:
        """Return the known value of an instruction; emit it if there is none."""
        key = (emit, *map(_key_of, operands), *map(_key_of, options.values()))
        value = self.known_value(key)
        if value is None:
            value = emit(self, *operands, **options)
            self.remember(key, value)
        return value


def is_number(value: Value, number: int) -> bool:
    """Return whether `value` is the scalar constant `number`."""
    return isinstance(value, ir.Constant) and value.constant.__class__ is int and value.constant == number


def _key_of(operand: Any) -> Any:
    """Return what identifies an operand: the object of a value, the elements of a list, and types, names and constants
    themselves.
    """
    if isinstance(operand, ir.Constant):
        return operand.type, operand.get_reference()
    if isinstance(operand, ir.Value):
        return id(operand)
    return tuple(map(_key_of, operand)) if isinstance(operand, list) else operand  # type: ignore[reportUnknownArgumentType]


def _numbered(name: str) -> Callable[..., Value]:
    emit = getattr(ir.IRBuilder, name)

    def method(self: NumberingBuilder, *operands: Any, **options: Any) -> Value:
        return self.once(emit, operands, options)

    return method


for _name in _PURE:
    setattr(NumberingBuilder, _name, _numbered(_name))
