"""Operators on sequences of tensors whose length is known only at run time: tuples, of struct info `R.Object`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import StructInfo
from ..diagnostics import error
from .inference import Inference, any_object, tensor_info
from .registry import Param, RelaxOp, register


def _position(a: Any, count: int) -> int:
    """Return the position counted from the front; E0707 if it is not in 0 to `count`."""
    position = int(a.position)
    found = position + len(a.sequence) if position < 0 else position
    if not 0 <= found <= count:
        raise error("E0707", f"position {position} is outside a sequence of {len(a.sequence)}")
    return found


def _insert(np: Any, a: Any) -> Any:
    place = _position(a, len(a.sequence))
    return (*a.sequence[:place], np.asarray(a.value), *a.sequence[place:])


def _erase(np: Any, a: Any) -> Any:
    place = _position(a, len(a.sequence) - 1)
    return (*a.sequence[:place], *a.sequence[place + 1 :])


def _at(np: Any, a: Any) -> Any:
    return a.sequence[_position(a, len(a.sequence) - 1)]


def _concat(np: Any, a: Any) -> Any:
    """Join tensors along an axis, or along a new one; E0705 if their shapes differ, or if there are none."""
    join = np.stack if bool(a.new_axis) else np.concatenate
    try:
        return join(a.sequence, axis=int(a.axis))
    except ValueError as problem:
        raise error("E0705", f"the tensors of a sequence cannot be joined: {problem}") from None


def _split(np: Any, a: Any) -> Any:
    axis, sizes = int(a.axis), np.asarray(a.sizes)
    length = a.x.shape[axis]
    if sizes.ndim == 0 and int(sizes) <= 0:
        raise error("E0705", f"a tensor cannot be split into parts of size {int(sizes)}")
    if sizes.ndim and (sizes.min(initial=0) < 0 or int(sizes.sum()) != length):
        raise error("E0705", f"parts of the sizes {sizes.tolist()} do not cover a dimension of {length}")
    starts = range(int(sizes), length, int(sizes)) if sizes.ndim == 0 else np.cumsum(sizes)[:-1]
    return tuple(np.split(a.x, list(starts), axis))


def _present(np: Any, a: Any) -> Any:
    if a.value is None:
        raise error("E0702", "an optional value is not present")
    return a.value


def _infer_presence(a: Inference) -> StructInfo:
    return tensor_info([], "bool", 0)


def _infer_length(a: Inference) -> StructInfo:
    return tensor_info([], "int64", 0)


def _register(name: str, doc: str, oracle: Callable[[Any, Any], Any], infer: Any, *more: Param) -> None:
    register(RelaxOp(f"relax.{name}", more, infer, doc, oracle, at_run_time=True))


_SEQUENCE, _POSITION = Param("sequence"), Param("position")
_register("sequence_insert", "Return `sequence` with the tensor `value` inserted at `position`.", _insert, any_object, _SEQUENCE, Param("value"), _POSITION)  # fmt: skip
_register("sequence_erase", "Return `sequence` without the tensor at `position`.", _erase, any_object, _SEQUENCE, _POSITION)  # fmt: skip
_register("sequence_at", "Return the tensor at `position` of `sequence`.", _at, any_object, _SEQUENCE, _POSITION)
_register("sequence_length", "Return the number of tensors in `sequence`.", lambda np, a: np.array(len(a.sequence), "int64"), _infer_length, _SEQUENCE)  # fmt: skip
_register("sequence_concat", "Return the tensors of `sequence` joined along `axis`, a new one if `new_axis` is set.", _concat, any_object, _SEQUENCE, Param("axis", "prim"), Param("new_axis", "prim", False))  # fmt: skip
_register("sequence_split", "Return the parts of `x` along `axis`, of the given sizes, or of one size, as a sequence.", _split, any_object, Param("x"), Param("sizes"), Param("axis", "prim", 0))  # fmt: skip
_register("optional_has_element", "Return whether an optional value is present.", lambda np, a: np.array(a.value is not None), _infer_presence, Param("value"))  # fmt: skip
_register(
    "optional_get_element", "Return an optional value, which must be present.", _present, any_object, Param("value")
)
