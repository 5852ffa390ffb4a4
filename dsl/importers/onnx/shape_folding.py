"""Arithmetic on sizes: integer tensors whose elements are known, as numbers or symbolic expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from ....ir import relax, tir
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of
from .signatures import domain_of
from .tensors import dtype_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

Fold = Callable[[Any, Any], Any]
"""A function of NumPy, and of the inputs, as arrays of objects, and attributes by name; it returns None if the result is not
known."""
_LARGEST = 1024
"""Maximum number of elements of a tensor of sizes."""


def folded_sizes(
    node: Any, inputs: Sequence[relax.Expr | None], elements: Callable[[relax.Expr], NDArray[Any] | None], a: Any
) -> list[tuple[NDArray[Any], str]] | None:
    """Return the elements and dtypes of the outputs of a node, if it computes them from sizes, or None.

    `elements` returns the elements of an input that are known.
    """
    import numpy as np

    if domain_of(node):
        return None
    if node.op_type in ("Shape", "Size"):
        found = _shape(node, inputs, a)
        return None if found is None else [(found, "int64")]
    fold = FOLDS.get(node.op_type)
    given = [value for value in inputs if value is not None]
    if fold is None:
        return None
    known = {id(value): elements(value) for value in given}
    if not any(found is not None and found.dtype == object for found in known.values()):
        return None
    if any(found is None or found.size > _LARGEST for found in known.values()):
        return None
    named = cast("dict[str, Any]", vars(a))
    arguments = SimpleNamespace(**{name: _known(value, known) for name, value in named.items()})
    arguments.parts = len(node.output)
    made = fold(np, arguments)
    if made is None:
        return None
    dtype = dtype_name(a.to) if node.op_type == "Cast" else dtype_of(given[1 if node.op_type == "Where" else 0])
    return [_simplified(np, part, dtype) for part in (cast("list[Any]", made) if isinstance(made, list) else [made])]


def _simplified(np: Any, array: Any, dtype: str) -> tuple[NDArray[Any], str]:
    """Return an array of numbers and simplified expressions, and its dtype."""
    if isinstance(array, np.ndarray) and array.dtype.kind == "b":
        return array, "bool"
    found = np.asarray(array, object)
    flat = [d.simplify(x) if isinstance(x, tir.PrimExpr) else int(x) for x in found.reshape(-1)]
    return objects(*flat).reshape(found.shape), dtype


def _known(value: Any, known: Mapping[int, Any]) -> Any:
    if isinstance(value, list):
        return [_known(item, known) for item in cast("list[Any]", value)]
    return known.get(id(value), value)


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
    """Return the fold of a function of two sizes, which broadcasts; where it returns None, the result is not known."""

    def fold(np: Any, a: Any) -> Any:
        made = np.frompyfunc(_of_elements(function), 2, 1)(a.A, a.B)
        flat = np.asarray(made, object).reshape(-1)
        if any(element is None for element in flat):
            return None
        return np.asarray(made, bool if flat.size and all(isinstance(element, bool) for element in flat) else object)

    return fold


def _of_elements(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def of_elements(x: Any, y: Any) -> Any:
        return function(d.as_dim(_plain(x)), d.as_dim(_plain(y)))

    return of_elements


def _plain(value: Any) -> Any:
    return value if isinstance(value, tir.PrimExpr) else int(value)


def _quotient(x: tir.PrimExpr, y: tir.PrimExpr) -> tir.PrimExpr | None:
    """Return the quotient of sizes; of others, rounding towards zero is not rounding down."""
    return d.floordiv(x, y) if (d.least(x) or 0) >= 0 and d.least(x) is not None and (d.least(y) or 0) > 0 else None


def _remainder(x: tir.PrimExpr, y: tir.PrimExpr) -> tir.PrimExpr | None:
    quotient = _quotient(x, y)
    return None if quotient is None else d.subtract(x, d.multiply(quotient, y))


def _is_equal(x: tir.PrimExpr, y: tir.PrimExpr) -> bool | None:
    if d.is_equal(x, y):
        return True
    return False if _is_less(x, y) or _is_less(y, x) else None


def _is_less(x: tir.PrimExpr, y: tir.PrimExpr) -> bool | None:
    """Return whether `x` is less than `y`, None if that depends on sizes."""
    least, least_opposite = d.least(d.subtract(y, x)), d.least(d.subtract(x, y))
    if least is not None and least > 0:
        return True
    return False if least_opposite is not None and least_opposite >= 0 else None


def _negated(function: Callable[[Any, Any], bool | None]) -> Callable[[Any, Any], bool | None]:
    def negated(x: Any, y: Any) -> bool | None:
        found = function(x, y)
        return None if found is None else not found

    return negated


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(y, x)


def _axes(np: Any, axes: Any) -> tuple[int, ...] | None:
    return None if axes is None else tuple(int(axis) for axis in np.reshape(axes, -1))


def _slice(np: Any, a: Any) -> Any:
    """Return a slice between constant bounds."""
    bounds = [a.starts, a.ends, getattr(a, "axes", None), getattr(a, "steps", None)]
    lists = [None if part is None else list(np.reshape(part, -1)) for part in bounds]
    starts, ends = lists[0] or [], lists[1] or []
    if any(isinstance(part, tir.PrimExpr) for bound in lists for part in bound or ()):
        return None
    index = [slice(None)] * a.data.ndim
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = int(lists[2][place]) if lists[2] else place
        step = int(lists[3][place]) if lists[3] else 1
        length = a.data.shape[axis]
        stop = None if step < 0 and int(end) < -length else int(end)
        index[axis] = slice(int(start), stop, step)
    return a.data[tuple(index)]


def _reshape(np: Any, a: Any) -> Any:
    sizes = [_plain(size) for size in np.reshape(a.shape, -1)]
    return None if any(isinstance(size, tir.PrimExpr) for size in sizes) else a.data.reshape(sizes)


def _where(np: Any, a: Any) -> Any:
    return np.where(a.condition, a.X, a.Y) if a.condition.dtype == bool else None


def _cast(np: Any, a: Any) -> Any:
    return a.input if dtype_name(a.to) in ("int32", "int64") else None


def _extremum(function: Callable[[Any, Any], Any]) -> Fold:
    of_two = _elementwise(function)

    def fold(np: Any, a: Any) -> Any:
        first, *others = a.data_0
        for other in others:
            first = of_two(np, SimpleNamespace(A=first, B=other))
        return first

    return fold


def _reduction(function: Callable[[Any, Any], Any]) -> Fold:
    def fold(np: Any, a: Any) -> Any:
        axes = _axes(np, a.axes)
        if axes is None and getattr(a, "noop_with_empty_axes", 0):
            return a.data
        combine = np.frompyfunc(_of_elements(function), 2, 1)
        found = a.data
        kept = [n for n in range(found.ndim) if axes is not None and n not in {axis % found.ndim for axis in axes}]
        for axis in reversed([n for n in range(found.ndim) if n not in kept]):
            if not found.shape[axis]:
                return None
            found = np.asarray(combine.reduce(found, axis=axis, keepdims=bool(a.keepdims)), object)
        return found

    return fold


def _split(np: Any, a: Any) -> Any:
    """Return the parts of a tensor, of constant sizes or, without sizes, of equal ones."""
    length = a.input.shape[a.axis]
    parts = a.parts
    if a.split is None:
        size = -(-length // parts)
        ends = list(range(size, length, size))
    else:
        ends = np.cumsum([int(size) for size in np.reshape(a.split, -1)])[:-1]
    made = np.split(a.input, ends, a.axis)
    return made if len(made) == parts else None


def _scatter(np: Any, a: Any) -> Any:
    if getattr(a, "reduction", "none") != "none" or a.indices.dtype == object:
        return None
    made = np.array(a.data, object)
    for index in np.ndindex(a.indices.shape[:-1]):
        made[tuple(int(part) for part in a.indices[index])] = a.updates[index]
    return made


FOLDS: dict[str, Fold] = {
    "Add": _elementwise(d.add),
    "Mul": _elementwise(d.multiply),
    "Sub": _elementwise(d.subtract),
    "Div": _elementwise(_quotient),
    "Mod": _elementwise(_remainder),
    "Equal": _elementwise(_is_equal),
    "Less": _elementwise(_is_less),
    "Greater": _elementwise(_swapped(_is_less)),
    "LessOrEqual": _elementwise(_negated(_swapped(_is_less))),
    "GreaterOrEqual": _elementwise(_negated(_is_less)),
    "Max": _extremum(d.maximum),
    "Min": _extremum(d.minimum),
    "Neg": lambda np, a: _elementwise(d.subtract)(np, SimpleNamespace(A=np.zeros((), np.int64), B=a.X)),
    "ReduceProd": _reduction(d.multiply),
    "ReduceSum": _reduction(d.add),
    "ReduceMax": _reduction(d.maximum),
    "ReduceMin": _reduction(d.minimum),
    "Cast": _cast,
    "Concat": lambda np, a: np.concatenate(a.inputs, axis=a.axis),
    "Expand": lambda np, a: None if a.shape.dtype == object else a.input * np.ones(a.shape.astype(int), int),
    "Flatten": lambda np, a: a.input.reshape(prod(a.input.shape[: a.axis]), -1),
    "Gather": lambda np, a: None if a.indices.dtype == object else np.take(a.data, a.indices.astype(np.int64), a.axis),
    "Identity": lambda np, a: a.input,
    "Reshape": _reshape,
    "ScatterND": _scatter,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": lambda np, a: np.squeeze(a.data, _axes(np, a.axes)),
    "Tile": lambda np, a: None if a.repeats.dtype == object else np.tile(a.input, a.repeats.astype(int)),
    "Transpose": lambda np, a: np.transpose(a.data, a.perm),
    "Unsqueeze": lambda np, a: np.expand_dims(a.data, _axes(np, a.axes)),
    "Where": _where,
}
"""Functions that fold operators of the standard."""
