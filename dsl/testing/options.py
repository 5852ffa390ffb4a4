"""Options of generated functions: dtypes, sizes, features, operators and leaves. They are validated when they are given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ...ir import make, tir
from ...ir.diagnostics import error
from ...ir.dtype import is_bool, is_float
from .choices import Choices

Leaf = Callable[[str], st.SearchStrategy[Any]]
"""Function from a dtype to its constants, as numbers or expressions."""
MAX_EXTENT = 6
"""Maximum size of most dimensions."""
MAX_BLOCKS = 4
LONGEST = 70
"""Maximum size of long loops."""


class Options(Struct, frozen=True):
    """Options of generated functions."""

    dtypes: tuple[str, ...]
    operators: frozenset[str] | None = None
    """Names of the operations in values. None means all."""
    features: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    max_blocks: int = MAX_BLOCKS
    max_extent: int = LONGEST
    leaf: Leaf | None = None

    def constant(self, choose: Choices, dtype: str) -> tir.PrimExpr | None:
        """Choose a leaf; None if the caller gave none for the dtype."""
        if self.leaf is None or is_bool(dtype):
            return None
        value = choose.draw(self.leaf(dtype))
        if isinstance(value, tir.PrimExpr):
            return make.cast(value, dtype)
        return make.const(float(value) if is_float(dtype) else int(value), dtype)


def check_names(what: str, given: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return names as a tuple; E0818 with the nearest known name if one is unknown."""
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), list(known), 1)
            help = f"did you mean '{near[0]}'?" if near else f"choose from: {', '.join(known)}"
            raise error("E0818", f"there is no {what} '{name}'", None, help)
    return names


def check_strategies(**given: object) -> None:
    """Raise E0818 if an argument is neither None nor a strategy."""
    for name, value in given.items():
        if value is not None and not isinstance(value, st.SearchStrategy):
            help = f"give a strategy of Hypothesis, such as tvms.testing.prim_funcs(), or hypothesis.strategies.just({name[:-1]})"
            raise error("E0818", f"'{name}' must be a strategy, got a value of type {type(value).__name__}", None, help)


def check_counts(**given: object) -> None:
    """Raise E0818 if an argument is not an integer of at least 1."""
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise error(
                "E0818", f"'{name}' must be an integer of at least 1, got {value!r}", None, "give a positive number"
            )
