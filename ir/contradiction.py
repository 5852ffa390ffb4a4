"""Contradictions between two struct infos of one value (TVM: `StructInfoBaseCheck`)."""

from __future__ import annotations

from . import relax, tir
from .base import StructInfo


def contradiction(said: StructInfo, known: StructInfo) -> str | None:
    """Return the reason why no value can match both, or None if one can.

    Unknown parts contradict nothing, and symbolic dimensions are never proven different.
    """
    if isinstance(said, relax.ObjectStructInfo) or isinstance(known, relax.ObjectStructInfo):
        return None
    if isinstance(said, relax.DTensorStructInfo) or isinstance(known, relax.DTensorStructInfo):
        said, known = _tensor(said), _tensor(known)
    if type(said) is not type(known):
        return f"{_KINDS[type(said)]} is not {_KINDS[type(known)]}"
    match said, known:
        case relax.TensorStructInfo(), relax.TensorStructInfo():
            return _dtypes(said.dtype, known.dtype) or _shapes(said, known)
        case relax.ShapeStructInfo(), relax.ShapeStructInfo():
            return _shapes(said, known)
        case relax.PrimStructInfo(), relax.PrimStructInfo():
            return _dtypes(said.dtype, known.dtype) or _dimension("value", said.value, known.value)
        case relax.TupleStructInfo(), relax.TupleStructInfo():
            return _tuples(said, known)
        case relax.FuncStructInfo(), relax.FuncStructInfo():
            return _functions(said, known)
        case _:
            return None


def _tensor(info: StructInfo) -> StructInfo:
    """Return the undistributed form of a distributed tensor, as its placement is not compared."""
    return info.tensor_sinfo if isinstance(info, relax.DTensorStructInfo) else info


_KINDS: dict[type[StructInfo], str] = {
    relax.TensorStructInfo: "a tensor", relax.ShapeStructInfo: "a shape",
    relax.PrimStructInfo: "a scalar", relax.TupleStructInfo: "a tuple", relax.FuncStructInfo: "a function",
}  # fmt: skip


def _dtypes(said: str, known: str) -> str | None:
    return f"dtype {said} is not {known}" if "void" not in (said, known) and said != known else None


def _shapes(
    said: relax.TensorStructInfo | relax.ShapeStructInfo, known: relax.TensorStructInfo | relax.ShapeStructInfo
) -> str | None:
    if -1 in (said.ndim, known.ndim):
        return None
    if said.ndim != known.ndim:
        return f"rank {said.ndim} is not {known.ndim}"
    pairs = zip(_dims(said), _dims(known), strict=False)
    return next(filter(None, (_dimension(f"dimension {axis}", a, b) for axis, (a, b) in enumerate(pairs))), None)


def _dims(info: relax.TensorStructInfo | relax.ShapeStructInfo) -> tuple[tir.PrimExpr, ...]:
    if isinstance(info, relax.TensorStructInfo):
        return info.shape.values if isinstance(info.shape, relax.ShapeExpr) else ()
    return info.values or ()


def _dimension(what: str, said: tir.PrimExpr | None, known: tir.PrimExpr | None) -> str | None:
    if isinstance(said, tir.IntImm) and isinstance(known, tir.IntImm) and said.value != known.value:
        return f"{what} is {known.value}, not {said.value}"
    return None


def _tuples(said: relax.TupleStructInfo, known: relax.TupleStructInfo) -> str | None:
    if len(said.fields) != len(known.fields):
        return f"it has {len(known.fields)} elements, not {len(said.fields)}"
    for index, (a, b) in enumerate(zip(said.fields, known.fields, strict=True)):
        reason = contradiction(a, b)
        if reason:
            return f"element {index}: {reason}"
    return None


def _functions(said: relax.FuncStructInfo, known: relax.FuncStructInfo) -> str | None:
    if said.params is None or known.params is None:
        return None
    if len(said.params) != len(known.params):
        return f"it has {len(known.params)} parameters, not {len(said.params)}"
    pairs = zip((*said.params, said.ret), (*known.params, known.ret), strict=True)
    return next(filter(None, (contradiction(a, b) for a, b in pairs)), None)
