"""The constructor of index maps (TVM: `tvm.tir.IndexMap`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import hooks, make, te, tir
from ...analysis.evaluate import evaluate
from ...analysis.proof import prove
from ...diagnostics import error
from ...schedule.analysis import index_maps as _maps
from ...schedule.layout_arguments import AXIS_SEPARATOR, indices_of, typed
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


def map_indices(index_map: tir.IndexMap, indices: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
    """Return the position of the element at `indices`, in their dtype."""
    nodes = _operands(index_map, indices)
    return _maps.map_indices(_of_dtype(index_map, nodes), nodes)


def map_shape(index_map: tir.IndexMap, shape: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
    """Return the shape of the new layout. Raises TvmsError E0906 if it would need negative positions."""
    nodes = _operands(index_map, shape)
    sizes = _maps.map_shape(_of_dtype(index_map, nodes), nodes)
    if sizes is None:
        raise error("E0906", f"the index map has negative positions for {_listed(nodes)}")
    return sizes


def map_ndarray(index_map: tir.IndexMap, arr_src: Any) -> Any:
    """Return an array in the new layout, as an array of the same kind; places without an element are 0."""
    import numpy as np

    source = arr_src.numpy() if hasattr(arr_src, "numpy") else np.asarray(arr_src)
    sizes: list[int] = [size.value for size in map_shape(index_map, source.shape)]  # type: ignore[reportAttributeAccessIssue]
    target = np.zeros(sizes, source.dtype)
    for indices in np.ndindex(*source.shape):
        values = dict(zip(index_map.initial_indices, indices, strict=True))
        target[tuple(evaluate(final_index, values) for final_index in index_map.final_indices)] = source[indices]
    return hooks.call("array", target) if hasattr(arr_src, "numpy") else target


def inverse(index_map: tir.IndexMap, shape: Sequence[te.Value | tir.Range]) -> tir.IndexMap:
    """Return the inverse map. Raises TvmsError E0906 if it is not proven that each place has one element."""
    if index_map.inverse_index_map is not None:
        return index_map.inverse_index_map
    found, padding = non_surjective_inverse(index_map, shape)
    if not (isinstance(padding, tir.IntImm) and padding.value == 0):
        raise error("E0906", f"the index map is not bijective: a place is empty where {padding}")
    return found


def non_surjective_inverse(
    index_map: tir.IndexMap, shape: Sequence[te.Value | tir.Range]
) -> tuple[tir.IndexMap, tir.PrimExpr]:
    """Return the inverse map, and the condition for places without an element.

    Raises TvmsError E0906 if two elements may have the same place.
    """
    extents = [size.extent if isinstance(size, tir.Range) else size for size in shape]
    nodes = _operands(index_map, extents)
    found = _maps.inverse(_of_dtype(index_map, nodes), nodes)
    if found is None:
        raise error("E0906", f"the index map is not known to be injective for {_listed(nodes)}")
    return tir.IndexMap(found.places, found.elements), found.padding


def is_equivalent_to(index_map: tir.IndexMap, other_map: tir.IndexMap) -> bool:
    """Return whether both maps are proven to give the same positions."""
    sizes = [(len(given.initial_indices), len(given.final_indices)) for given in (index_map, other_map)]
    if sizes[0] != sizes[1]:
        return False
    other = map_indices(other_map, index_map.initial_indices)
    own = map_indices(index_map, index_map.initial_indices)
    return all(prove(make.equal(*pair)).is_proven for pair in zip(own, other, strict=True))


def _operands(index_map: tir.IndexMap, values: Sequence[te.Value]) -> list[tir.PrimExpr]:
    if len(values) != len(index_map.initial_indices):
        raise ValueError(f"the index map takes {len(index_map.initial_indices)} indices, got {len(values)}")
    dtypes = [value.dtype for value in values if isinstance(value, tir.PrimExpr)]
    wide = max([*dtypes, *(index.dtype for index in index_map.initial_indices if not dtypes)], default="int32")
    return [make.cast(te.operand(value, wide), wide) for value in values]


def _of_dtype(index_map: tir.IndexMap, values: Sequence[tir.PrimExpr]) -> tir.IndexMap:
    """Return the map with indices of the dtype of `values`."""
    return typed(index_map, values[0].dtype) if values else index_map


def _listed(nodes: Sequence[tir.PrimExpr]) -> str:
    return "[" + ", ".join(map(str, nodes)) + "]"
