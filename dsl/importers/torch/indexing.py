"""Rows for reading and writing tensors by index."""

from __future__ import annotations

from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..slicing import position, sliced
from ..values import axis_of, dims_of, dtype_of, rank_of, static
from .converter import Convert, Converter
from .elementwise import number


def _embedding(c: Converter, a: Any) -> relax.Expr:
    """Return the rows at `indices`, which are converted to int32 if the table has fewer than 2**31 rows."""
    count = d.value_of(dims_of(a.weight)[0])
    is_short = dtype_of(a.indices) == "int64" and count is not None and count < 2**31
    return op.take(a.weight, c.cast(a.indices, "int32") if is_short else a.indices, 0)


def _index_select(c: Converter, a: Any) -> relax.Expr:
    if not rank_of(a.self):
        return op.reshape(op.take(op.reshape(a.self, [1]), a.index, 0), c.shape)
    index = a.index if rank_of(a.index) else op.reshape(a.index, [1])
    return op.take(a.self, index, a.dim)


def _gather(c: Converter, a: Any) -> relax.Expr:
    """Return the elements at `index` along `dim`; if `index` is smaller along other dimensions, only their leading part is used."""
    axis = axis_of(a.dim, rank_of(a.self))
    if not rank_of(a.self):
        return op.reshape(a.self, c.shape)
    if not rank_of(a.index):
        return op.reshape(op.take(a.self, a.index, 0), ())
    x = a.self
    for place, size in enumerate(dims_of(a.index)):
        x = x if place == axis else sliced(x, place, 0, size)
    return op.gather_elements(x, a.index, a.dim)


def _take_flat(c: Converter, a: Any) -> relax.Expr:
    return op.take(op.reshape(a.self, [-1]), _from_front(a.index, d.product(dims_of(a.self)), c), 0)


# --- Several indices --------------------------------------------------------------------------------------------


def _from_front(index: relax.Expr, size: tir.PrimExpr, c: Converter) -> relax.Expr:
    """Return indices counted from the front; negative ones count from the end."""
    index = c.cast(index, "int64")
    if isinstance(index, relax.Constant) and hasattr(index.data, "min") and not (index.data < 0).any():
        return index
    length = c.tensor(size if static(size) is None else static(size), "int64")
    return op.where(op.less(index, const(0, "int64")), op.add(index, length), index)


def _mask_indices(c: Converter, mask: relax.Expr) -> list[relax.Expr]:
    """Return the indices of the true elements, one vector per dimension; their length depends on data."""
    found = c.emit(op.nonzero(mask), "_nonzero")
    count = tir.Var("int64", c.unique("count"))
    from ....ir.ops.inference import tensor_info

    known = c.block_builder.match_cast(found, tensor_info([d.dim(rank_of(mask)), count], "int64"), c.unique("indices"))
    rows = [op.strided_slice(known, [0], [axis], [axis + 1]) for axis in range(rank_of(mask))]
    return [op.squeeze(row, [0]) for row in rows]


class _Indices:
    """Return the indexed dimensions with their indices; masks become indices, and all count from the front."""

    def __init__(self, c: Converter, x: relax.Expr, given: list[Any]) -> None:
        expanded: list[relax.Expr | None] = []
        for index in given:
            if index is not None and dtype_of(index) in ("bool", "uint8"):
                expanded.extend(_mask_indices(c, index))
            else:
                expanded.append(index)
        dims = dims_of(x)
        self.plain = [index for index in expanded if index is not None]
        self.axes = [axis for axis, index in enumerate(expanded) if index is not None]
        self.indices = [_from_front(index, dims[axis], c) for axis, index in enumerate(expanded) if index is not None]
        self.others = [axis for axis in range(len(dims)) if axis not in self.axes]
        self.rank = max(rank_of(index) for index in self.indices)

    @property
    def is_block(self) -> bool:
        """Return whether the indexed dimensions are adjacent, so that the result has the new dimensions at the same position."""
        return self.axes == list(range(self.axes[0], self.axes[-1] + 1))

    @property
    def place(self) -> int:
        """Return the position of the dimensions of the indices in the result."""
        return self.axes[0] if self.is_block else 0

    def in_front(self, x: relax.Expr) -> relax.Expr:
        """Move the indexed dimensions of `x` to the front."""
        order = [*self.axes, *self.others]
        return x if order == sorted(order) else op.permute_dims(x, order)

    def back(self, x: relax.Expr) -> relax.Expr:
        """Move the indexed dimensions from the front back to their positions."""
        order = [*self.axes, *self.others]
        return x if order == sorted(order) else op.permute_dims(x, [order.index(axis) for axis in range(len(order))])


def _index(c: Converter, a: Any) -> relax.Expr:
    given = _Indices(c, a.self, a.indices)
    if len(given.axes) == 1:
        return op.take(a.self, given.indices[0], given.axes[0])
    found = op.index_tensor(given.in_front(a.self), tuple(given.indices))
    if given.place == 0:
        return found
    behind = len(given.others)
    moved = [*range(given.rank, given.rank + given.place), *range(given.rank)]
    return op.permute_dims(found, [*moved, *range(given.rank + given.place, given.rank + behind)])


def _index_put(c: Converter, a: Any) -> relax.Expr:
    x, values = a.self, c.cast(a.values, dtype_of(a.self))
    masks = [index for index in a.indices if index is not None and dtype_of(index) == "bool"]
    if len(masks) == len(a.indices) == 1 and not a.accumulate and _is_one(values):
        return _filled(x, masks[0], values)
    given = _Indices(c, x, a.indices)
    if given.place:
        values = _updates(given, values, [dims_of(x)[axis] for axis in given.others])
    return given.back(op.index_put(given.in_front(x), tuple(given.plain), values, bool(a.accumulate)))


def _is_one(values: relax.Expr) -> bool:
    return all(d.is_one(dim) for dim in dims_of(values))


def _filled(x: relax.Expr, mask: relax.Expr, value: relax.Expr) -> relax.Expr:
    trailing = rank_of(x) - rank_of(mask)
    return op.where(op.reshape(mask, [*dims_of(mask), *[1] * trailing]), op.reshape(value, ()), x)


def _updates(given: _Indices, values: relax.Expr, rest: list[tir.PrimExpr]) -> relax.Expr:
    """Broadcast the values, and move the dimensions of the indices to the front."""
    shape = _broadcast([dims_of(index) for index in given.plain])
    whole = [*rest[: given.place], *shape, *rest[given.place :]]
    full = op.broadcast_to(values, whole)
    front = range(given.place, given.place + len(shape))
    return op.permute_dims(full, [*front, *(axis for axis in range(len(whole)) if axis not in front)])


def _broadcast(shapes: list[tuple[tir.PrimExpr, ...]]) -> list[tir.PrimExpr]:
    rank = max(map(len, shapes))
    padded = [(d.dim(1),) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return [next((dim for dim in column if not d.is_one(dim)), d.dim(1)) for column in zip(*padded, strict=True)]


# --- Writing along one dimension --------------------------------------------------------------------------------

_REDUCTIONS = {
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
    "mean": "mean",
}


def _scatter(reduction: str) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        name = getattr(a, "reduce", None)
        return _scattered(c, a, _REDUCTIONS[name] if name else reduction)

    return convert


def _scattered(c: Converter, a: Any, reduction: str) -> relax.Expr:
    x = a.self
    if not rank_of(x):
        x, index, source = op.reshape(x, [1]), op.reshape(a.index, [1]), getattr(a, "src", None)
        updates = _source(c, index, op.reshape(source, [1]) if source is not None else a.value, dtype_of(x))
        return op.reshape(op.scatter_elements(x, index, updates, 0, reduction), ())
    axis = axis_of(a.dim, rank_of(x))
    updates = _source(c, a.index, getattr(a, "src", getattr(a, "value", None)), dtype_of(x))
    return op.scatter_elements(x, a.index, updates, axis, reduction)


def _source(c: Converter, index: relax.Expr, source: Any, dtype: str) -> relax.Expr:
    """Return the values to write: the leading part of a tensor, in the shape of the indices, or a number."""
    if not isinstance(source, relax.Expr):
        return op.full(dims_of(index), const(source, dtype), dtype)
    updates = c.cast(source, dtype)
    for axis, size in enumerate(dims_of(index)):
        updates = sliced(updates, axis, 0, size)
    return updates


def _scatter_reduce(c: Converter, a: Any) -> relax.Expr:
    """Reduce elements with the values that are written to them; without `include_self`, start from the identity element."""
    if a.reduce == "mean" or not a.include_self:
        return _scatter_reduce_alone(c, a)
    return _scattered(c, a, _REDUCTIONS[a.reduce])


def _scatter_reduce_alone(c: Converter, a: Any) -> relax.Expr:
    from math import inf
    from types import SimpleNamespace

    from ....ir.dtype import int_range

    x, dtype = a.self, dtype_of(a.self)
    limits = (-inf, inf) if "float" in dtype else int_range(dtype)
    neutral = {"sum": 0, "mean": 0, "prod": 1, "amax": limits[0], "amin": limits[1]}[a.reduce]
    ones = SimpleNamespace(self=op.zeros_like(x), index=a.index, dim=a.dim, value=1)
    counts = _scattered(c, ones, "add")
    is_written = op.greater(counts, number(0, counts))
    start = x if a.include_self else op.where(is_written, number(neutral, x), x)
    given = SimpleNamespace(**(vars(a) | {"self": start}))
    result = _scattered(c, given, "add" if a.reduce == "mean" else _REDUCTIONS[a.reduce])
    if a.reduce != "mean":
        return result
    size = op.add(counts, number(1, counts)) if a.include_self else op.maximum(counts, number(1, counts))
    divide = op.divide if "float" in dtype else op.floor_divide
    return divide(result, size)


def _index_add(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.dim, rank_of(a.self))
    source = a.source if a.alpha == 1 else op.multiply(a.source, number(a.alpha, a.source))
    return _along(c, a.self, a.index, source, axis, "add")


def _index_copy(c: Converter, a: Any) -> relax.Expr:
    return _along(c, a.self, a.index, a.source, axis_of(a.dim, rank_of(a.self)), "update")


def _index_fill(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.dim, rank_of(a.self))
    dims = [*dims_of(a.self)]
    dims[axis] = dims_of(a.index)[0] if rank_of(a.index) else d.dim(1)
    value = op.broadcast_to(c.tensor(a.value, dtype_of(a.self)), dims)
    return _along(c, a.self, a.index, value, axis, "update")


def _along(c: Converter, x: relax.Expr, index: relax.Expr, source: relax.Expr, axis: int, reduction: str) -> relax.Expr:
    """Write whole slices of `source` at `index` along `axis`."""
    ones = [1] * rank_of(x)
    ones[axis] = -1
    whole = op.broadcast_to(op.reshape(c.cast(index, "int64"), ones), dims_of(source))
    return op.scatter_elements(x, whole, c.cast(source, dtype_of(x)), axis, reduction)


def _slice_scatter(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.dim, rank_of(a.self))
    size = dims_of(a.self)[axis]
    begin = position(a.start, size) if a.start else d.dim(0)
    length = dims_of(a.src)[axis]
    source = c.cast(a.src, dtype_of(a.self))
    if d.value_of(begin) == 0 and a.step == 1 and d.is_equal(length, size):
        return source
    end, limit = static(a.end), d.value_of(size)
    if end is None or limit is None or not 0 <= end <= limit:
        end = d.add(d.add(begin, d.multiply(d.subtract(length, 1), a.step)), 1)
    return op.slice_scatter(a.self, source, begin, end, a.step, a.dim)


def _select_scatter(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.dim, rank_of(a.self))
    begin = position(a.index, dims_of(a.self)[axis])
    source = op.expand_dims(c.cast(a.src, dtype_of(a.self)), axis)
    return op.slice_scatter(a.self, source, begin, d.add(begin, 1), 1, axis)


def _masked_scatter(c: Converter, a: Any) -> relax.Expr:
    """Replace the elements where the mask is true by consecutive elements of `source`, found by a running count."""
    mask = op.reshape(op.broadcast_to(a.mask, c.shape), [-1])
    place = op.subtract(op.cumsum(c.cast(mask, "int64"), 0), const(1, "int64"))
    chosen = op.take(op.reshape(a.source, [-1]), op.maximum(place, const(0, "int64")), 0)
    x = op.reshape(op.broadcast_to(a.self, c.shape), [-1])
    return op.reshape(op.where(mask, chosen, x), c.shape)


def _nonzero(c: Converter, a: Any) -> relax.Expr:
    return op.permute_dims(op.nonzero(a.self), [1, 0])


def _masked_select(c: Converter, a: Any) -> relax.Expr:
    shape = _broadcast([dims_of(a.self), dims_of(a.mask)])
    mask = c.emit(op.broadcast_to(a.mask, shape), "_mask")
    return op.index_tensor(op.broadcast_to(a.self, shape), tuple(_mask_indices(c, mask)))


def _one_hot(c: Converter, a: Any) -> relax.Expr:
    depth = d.value_of(c.shape[-1])
    if depth is not None:
        return op.one_hot(a.self, 1, 0, depth, -1)
    classes = op.arange(0, c.shape[-1], 1, "int64")
    return op.equal(op.expand_dims(a.self, -1), classes)


def _meshgrid(c: Converter, a: Any) -> list[relax.Expr]:
    vectors = [part if rank_of(part) else op.reshape(part, [1]) for part in a.tensors]
    grids: Any = c.emit(op.meshgrid(tuple(vectors), getattr(a, "indexing", "ij")), "_grids")
    return [grids[place] for place in range(len(vectors))]


def _item(c: Converter, a: Any) -> Any:
    """Return the element of a tensor: an integer as a size that later bindings can use, a float as a tensor, which has dtype
    float64 for arithmetic.
    """
    size = c.node.meta["val"]
    if "float" in dtype_of(a.self):
        x = a.self if rank_of(a.self) < 2 else op.reshape(a.self, [1])
        element = op.take(x, const(0, "int64"), 0) if rank_of(x) else x
        is_returned = all(user.op == "output" for user in c.node.users)
        return c.emit(element if is_returned else c.cast(element, "float64"))
    if not hasattr(size, "node"):
        raise c.unsupported("makes a number of the model from a tensor", "keep it a tensor")
    shape = c.emit(op.tensor_to_shape(c.cast(op.reshape(a.self, [1]), "int64")), "_shape")
    c.symbols.bind(size)
    variable = c.symbols.size(size)
    c.block_builder.match_cast(shape, relax.ShapeStructInfo((d.as_dim(variable),), 1), c.unique("size"))
    return variable


def _embedding_bag(c: Converter, a: Any) -> Any:
    """Return sums, means or maxima of rows per bag, by comparing each index with the bounds of each bag."""
    rows = op.take(a.weight, a.indices, 0)
    count = dims_of(a.indices)[0]
    starts = c.cast(a.offsets, "int64")
    bags = dims_of(starts)[0]
    if a.include_last_offset:
        bags = d.subtract(bags, 1)
        starts = sliced(starts, 0, 0, bags)
    places = op.arange(0, count, 1, "int64")
    bag = op.subtract(op.bucketize(places, starts, False, True), const(1, "int64"))
    is_member = op.equal(op.expand_dims(op.arange(0, bags, 1, "int64"), 1), op.expand_dims(bag, 0))
    if a.padding_idx is not None and a.padding_idx >= 0:
        kept = op.not_equal(c.cast(a.indices, "int64"), const(a.padding_idx, "int64"))
        is_member = op.logical_and(is_member, op.expand_dims(kept, 0))
    weights = c.emit(c.cast(is_member, dtype_of(a.weight)), "_members")
    if a.mode == 2:
        return [lambda: _bag_maxima(rows, is_member), *[c.only_for_gradients] * 3]
    if a.per_sample_weights is not None:
        weights = op.multiply(weights, op.expand_dims(a.per_sample_weights, 0))
    total = op.matmul(weights, rows)
    if a.mode == 1:
        size = op.maximum(op.sum(weights, [1], True), number(1, weights))
        total = op.divide(total, size)
    return [total, *[c.only_for_gradients] * 3]


def _bag_maxima(rows: relax.Expr, is_member: relax.Expr) -> relax.Expr:
    from math import inf

    hidden = op.where(op.expand_dims(is_member, 2), op.expand_dims(rows, 0), number(-inf, rows))
    top = op.max(hidden, [1])
    return op.where(op.isinf(top), number(0, top), top)


ROWS: dict[str, Convert] = {
    "embedding.default": _embedding,
    "_embedding_bag.default": _embedding_bag,
    "_embedding_bag_forward_only.default": _embedding_bag,
    "embedding_bag.padding_idx": _embedding_bag,
    "index_select.default": _index_select,
    "gather.default": _gather,
    "take.default": _take_flat,
    "take_along_dim.default": lambda c, a: op.gather_elements(a.self, a.indices, a.dim),
    "index.Tensor": _index,
    "_unsafe_index.Tensor": _index,
    "index_put.default": _index_put,
    "_unsafe_index_put.default": _index_put,
    "scatter.value": _scatter("update"),
    "scatter.src": _scatter("update"),
    "scatter.reduce": _scatter("update"),
    "scatter.value_reduce": _scatter("update"),
    "scatter_add.default": _scatter("add"),
    "scatter_reduce.two": _scatter_reduce,
    "index_add.default": _index_add,
    "index_copy.default": _index_copy,
    "index_fill.int_Scalar": _index_fill,
    "index_fill.int_Tensor": _index_fill,
    "slice_scatter.default": _slice_scatter,
    "select_scatter.default": _select_scatter,
    "masked_scatter.default": _masked_scatter,
    "masked_select.default": _masked_select,
    "nonzero.default": _nonzero,
    "one_hot.default": _one_hot,
    "meshgrid.default": _meshgrid,
    "meshgrid.indexing": _meshgrid,
    "_local_scalar_dense.default": _item,
    "item.default": _item,
}
