"""The constructor of index maps (TVM: `tvm.tir.IndexMap`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import te, tir
from ...schedule.layout_arguments import AXIS_SEPARATOR, indices_of
from ..constructor import constructor, plain_node


def _from_func_with_separators(
    mapping_function: Callable[..., Any],
    ndim: int | None = None,
    inverse_index_map: Callable[..., Any] | tir.IndexMap | None = None,
    *,
    index_dtype: str = "int64",
) -> tuple[tir.IndexMap, list[int]]:
    """Return the map of a function of indices, and the positions of the axis separators that it returns.

    `ndim` is the number of indices; it is only needed if the function has a parameter such as `*indices`. Source: TVM.
    """
    initial, final, separators = indices_of(mapping_function, ndim, index_dtype)
    inverse = inverse_index_map
    if callable(inverse) and not isinstance(inverse, tir.IndexMap):
        inverse, _ = _from_func_with_separators(inverse, len(final), index_dtype=index_dtype)
    return tir.IndexMap(initial, final, inverse), list(separators)


def _from_func(
    mapping_function: Callable[..., Any],
    ndim: int | None = None,
    inverse_index_map: Callable[..., Any] | tir.IndexMap | None = None,
    *,
    index_dtype: str = "int64",
) -> tir.IndexMap:
    """Return the map of a function of indices; raise ValueError if the function returns axis separators."""
    index_map, separators = _from_func_with_separators(
        mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
    )
    if separators:
        raise ValueError("the function returns IndexMap.AXIS_SEPARATOR; use IndexMap.from_func_with_separators")
    return index_map


@constructor(
    tir.IndexMap,
    AXIS_SEPARATOR=AXIS_SEPARATOR,
    from_func=_from_func,
    from_func_with_separators=_from_func_with_separators,
)
def IndexMap(
    initial_indices: Sequence[tir.Var], final_indices: Sequence[te.Value], inverse_index_map: tir.IndexMap | None = None
) -> tir.IndexMap:
    """The map from indices, given as variables, to other indices."""
    return tir.IndexMap(tuple(initial_indices), plain_node(list(final_indices)), inverse_index_map)
