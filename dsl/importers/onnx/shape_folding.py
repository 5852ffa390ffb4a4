"""Arithmetic on sizes: integer tensors whose elements are known, as numbers or symbolic expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from ....ir import relax, tir
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d
from ..values import dims_of
from .signatures import domain_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Fold = Callable[[Any, Any], Any]
"""A function of NumPy, and of the inputs, as arrays of objects, and attributes by name; it returns None if the result is not
known."""
_LARGEST = 1024
"""Maximum number of elements of a tensor of sizes."""


def folded_sizes(
    node: Any, inputs: Sequence[relax.Expr | None], elements: Callable[[relax.Expr], NDArray[Any] | None], a: Any
) -> NDArray[Any] | None:
    """Return the elements of the output of a node, if it computes integers from sizes, or None.

    `elements` returns the elements of an input that are known.
    """
    import numpy as np

    if domain_of(node):
        return None
    if node.op_type in ("Shape", "Size"):
        return _shape(node, inputs, a)
    fold = FOLDS.get(node.op_type)
    if fold is None:
        return None
    known = {id(value): elements(value) for value in inputs if value is not None}
    if not any(found is not None and found.dtype == object for found in known.values()):
        return None
    if any(found is None or found.size > _LARGEST for found in known.values()):
        return None
    named = cast("dict[str, Any]", vars(a))
    made = fold(np, SimpleNamespace(**{name: _known(value, known) for name, value in named.items()}))
    return None if made is None else _simplified(np.asarray(made, object))


def _known(value: Any, known: Mapping[int, Any]) -> Any:
    if isinstance(value, list):
        return [_known(item, known) for item in cast("list[Any]", value)]
    return known.get(id(value), value)


def _simplified(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers and simplified expressions."""
    flat = [d.simplify(x) if isinstance(x, tir.PrimExpr) else int(x) for x in array.reshape(-1)]
    return objects(*flat).reshape(array.shape)


def _shape(node: Any, inputs: Sequence[relax.Expr | None], a: Any) -> NDArray[Any] | None:
    """Return the shape or the number of elements of a tensor."""
    (x,) = inputs
    if x is None or not isinstance(infer_struct_info(x), relax.TensorStructInfo):
        return None
    dims = dims_of(x)
    if node.op_type == "Size":
        return objects(d.product(dims)).reshape(())
    return objects(*dims[slice(getattr(a, "start", 0), getattr(a, "end", None))])


def objects(*values: Any) -> NDArray[Any]:
    """Return a vector of objects."""
    import numpy as np

    made = np.empty(len(values), object)
    made[:] = values
    return made


def _elementwise(function: Callable[[Any, Any], Any]) -> Fold:
    def of_elements(x: Any, y: Any) -> Any:
        return function(d.as_dim(x), d.as_dim(y))

    return lambda np, a: np.frompyfunc(of_elements, 2, 1)(a.A, a.B)


def _axes(np: Any, axes: Any) -> tuple[int, ...] | None:
    return None if axes is None else tuple(int(axis) for axis in np.reshape(axes, -1))


FOLDS: dict[str, Fold] = {
    "Add": _elementwise(d.add),
    "Mul": _elementwise(d.multiply),
    "Sub": _elementwise(d.subtract),
    "Concat": lambda np, a: np.concatenate(a.inputs, axis=a.axis),
    "Gather": lambda np, a: np.take(a.data, a.indices.astype(np.int64), a.axis),
    "Identity": lambda np, a: a.input,
    "Unsqueeze": lambda np, a: np.expand_dims(a.data, _axes(np, a.axes)),
    "Squeeze": lambda np, a: np.squeeze(a.data, _axes(np, a.axes)),
}
"""Functions that fold operators of the standard."""
