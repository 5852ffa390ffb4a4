"""What both levels share, in Python (TVM: `tvm.ir`): ranges, types, comparison by structure, texts of programs."""

from __future__ import annotations

from typing import Any

from .. import equal, make, tir
from ..building.values import plain_nodes
from .constructor import constructor, plain_node


def _from_min_extent(min_value: Any, extent: Any) -> tir.Range:
    """The integers from `min_value` on, `extent` of them."""
    return tir.Range(plain_node(min_value), plain_node(extent))


@constructor(tir.Range, from_min_extent=_from_min_extent)
def Range(begin: Any, end: Any = None) -> tir.Range:
    """The integers from `begin` up to but without `end`; of one number, from 0 up to it."""
    start, stop = (0, begin) if end is None else (begin, end)
    last = plain_node(stop)
    first = plain_node(start, last.dtype)
    return tir.Range(first, last if end is None else make.sub(last, first))


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two programs, parts of them, or containers of such, are the same but for names."""
    return equal.structural_equal(_given(lhs), _given(rhs), map_free_vars)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError where two programs are not the same but for names; it says where they differ."""
    equal.assert_structural_equal(_given(lhs), _given(rhs), map_free_vars)


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return the same number for programs that `structural_equal` finds the same."""
    return equal.structural_hash(_given(node), map_free_vars)


def _given(value: Any) -> Any:
    """Return a value as the program holds it: a number is a constant."""
    return plain_node(value) if isinstance(value, int | float) else plain_nodes(value)
