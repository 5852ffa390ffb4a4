"""Arithmetic on sizes: integer tensors whose elements are known, as numbers or symbolic expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....ir import relax, tir
from ....ir.ops import dims as d
from ..values import dims_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .converter import Converter

Fold = Callable[[Any], Any]
"""A function of the inputs, as arrays of objects, and attributes by name; None if the result is not known."""
_LARGEST = 1024
"""Maximum number of elements of a tensor of sizes."""


def folded_sizes(c: Converter, a: Any) -> NDArray[Any] | None:
    """Return the elements of the output of the current node, if it computes integers from sizes, or None."""
    if c.node.op_type in ("Shape", "Size"):
        return _shape(c, a)
    fold = FOLDS.get(c.node.op_type) if not c.node.domain else None
    if fold is None:
        return None
    known = {id(value): c.elements(value) for value in c.inputs if value is not None}
    if not any(found is not None and found.dtype == object for found in known.values()):
        return None
    if any(found is None or found.size > _LARGEST for found in known.values()):
        return None
    named = cast("dict[str, Any]", vars(a))
    made = fold(SimpleNamespace(**{name: _known(value, known) for name, value in named.items()}))
    return None if made is None else _simplified(np.asarray(made, object))


def _known(value: Any, known: Mapping[int, Any]) -> Any:
    if isinstance(value, list):
        return [_known(item, known) for item in cast("list[Any]", value)]
    return known.get(id(value), value)


def _simplified(array: NDArray[Any]) -> NDArray[Any]:
    flat = [d.simplify(x) if isinstance(x, tir.PrimExpr) else int(x) for x in array.reshape(-1)]
    made = np.empty(len(flat), object)
    made[:] = flat
    return made.reshape(array.shape)


def _shape(c: Converter, a: Any) -> NDArray[Any] | None:
    (x,) = c.inputs
    if x is None or not isinstance(x.struct_info, relax.TensorStructInfo):
        return None
    dims = dims_of(x)
    if c.node.op_type == "Size":
        return objects(d.product(dims)).reshape(())
    start, end = getattr(a, "start", 0), getattr(a, "end", None)
    return objects(*dims[slice(start, end)])


def objects(*values: Any) -> NDArray[Any]:
    """Return a vector of objects."""
    made = np.empty(len(values), object)
    made[:] = values
    return made


def _elementwise(function: Callable[[Any, Any], Any]) -> Fold:
    def fold(a: Any) -> Any:
        return np.frompyfunc(lambda x, y: function(d.as_dim(x), d.as_dim(y)), 2, 1)(a.A, a.B)

    return fold


def _concat(a: Any) -> Any:
    return np.concatenate(a.inputs, axis=a.axis)


def _unsqueeze(a: Any) -> Any:
    return np.expand_dims(a.data, tuple(int(axis) for axis in np.reshape(a.axes, -1)))


def _squeeze(a: Any) -> Any:
    return np.squeeze(a.data, None if a.axes is None else tuple(int(axis) for axis in np.reshape(a.axes, -1)))


FOLDS: dict[str, Fold] = {
    "Add": _elementwise(d.add),
    "Mul": _elementwise(d.multiply),
    "Sub": _elementwise(d.subtract),
    "Concat": _concat,
    "Gather": lambda a: np.take(a.data, a.indices.astype(np.int64), a.axis),
    "Identity": lambda a: a.input,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
}
"""Functions that fold operators of the standard."""
