"""Kinds of values that are not tensors of numbers: sequences, optional values, and tensors of texts."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from ....ir import relax, tir
from ....ir.base import StructInfo
from ....ir.diagnostics import error
from ....ir.ops import dims as d
from .library import library
from .tensors import dtype_name

Sizes: TypeAlias = tuple[int | tir.PrimExpr | None, ...]
"""The dimensions of a tensor; None for those that are not known."""


class TensorKind(Struct, frozen=True):
    """A tensor; `sizes` is None if its rank is unknown, and `dtype` "string" for texts."""

    dtype: str
    sizes: Sizes | None = None


class SequenceKind(Struct, frozen=True):
    """A sequence of equal kinds; None if it is not known, as for an empty sequence."""

    element: Kind | None


class OptionalKind(Struct, frozen=True):
    """A value, or none."""

    element: Kind | None


Kind: TypeAlias = TensorKind | SequenceKind | OptionalKind


def kind_of_info(info: StructInfo) -> Kind | None:
    """Return the kind of a value with a known struct info, None for an object."""
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=dims)):
            return TensorKind(info.dtype, tuple(map(d.value_of, dims)))
        case relax.TensorStructInfo():
            return TensorKind(info.dtype, None if info.ndim == -1 else (None,) * info.ndim)
        case relax.TupleStructInfo(fields=fields):
            return SequenceKind(joined([kind_of_info(field) for field in fields]))
        case _:
            return None


def kind_of_type(given: Any) -> Kind:
    """Return the kind of a type of the model; E1005 if programs do not support it."""
    match given.WhichOneof("value"):
        case "tensor_type":
            tensor = given.tensor_type
            is_text = tensor.elem_type == library().TensorProto.STRING
            known = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
            sizes = tuple(known) if tensor.HasField("shape") else None
            return TensorKind("string" if is_text else dtype_name(tensor.elem_type), sizes)
        case "sequence_type":
            return SequenceKind(kind_of_type(given.sequence_type.elem_type))
        case "optional_type":
            return OptionalKind(kind_of_type(given.optional_type.elem_type))
        case other:
            what = (other or "a value of unknown type").removesuffix("_type").replace("_", " ")
            raise error("E1005", f"the model has a {what}", None, "pass its parts as tensors")


def joined(kinds: list[Kind | None]) -> Kind | None:
    """Return the kind that holds for values of all `kinds`; E1006 if they differ in more than sizes."""
    known = [kind for kind in kinds if kind is not None]
    found = known[0] if known else None
    for kind in known[1:]:
        found = _join(found, kind)
    return found


def _join(a: Kind | None, b: Kind | None) -> Kind | None:
    match a, b:
        case (None, other) | (other, None):
            return other
        case TensorKind(), TensorKind() if a.dtype == b.dtype:
            return TensorKind(a.dtype, _joined_sizes(a.sizes, b.sizes))
        case SequenceKind(), SequenceKind():
            return SequenceKind(_join(a.element, b.element))
        case OptionalKind(), OptionalKind():
            return OptionalKind(_join(a.element, b.element))
        case OptionalKind(), _:
            return OptionalKind(_join(a.element, b))
        case _, OptionalKind():
            return OptionalKind(_join(a, b.element))
        case _:
            raise error("E1006", f"it joins {described(a)} and {described(b)}")


def _joined_sizes(a: Sizes | None, b: Sizes | None) -> Sizes | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def described(kind: Kind | None) -> str:
    """Return the description of a kind for messages."""
    match kind:
        case TensorKind():
            return "texts" if kind.dtype == "string" else f"a tensor of {kind.dtype}"
        case SequenceKind():
            return f"a sequence of {described(kind.element)}"
        case OptionalKind():
            return f"an optional value, {described(kind.element)}"
        case _:
            return "a value of unknown kind"
