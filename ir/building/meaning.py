"""The meaning of an operator call: the tensor expressions that compute it, for the legalizer and for `topi`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct

from .. import te, tir
from ..base import StructInfo
from ..ops.binding import plain
from ..ops.inference import dims_of
from ..ops.registry import RelaxOp
from ..relax import Call, Expr, TensorStructInfo, TupleStructInfo


class Arguments:
    """The argument of a meaning: arguments and attributes of the call by parameter name, and `result`, its inferred
    struct info.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)


class Result(Struct, frozen=True):
    """The shape and dtype of a tensor that a meaning computes."""

    dims: tuple[tir.PrimExpr, ...]
    dtype: str

    @property
    def shape(self) -> tuple[tir.PrimExpr, ...]:
        """Alias of `dims`."""
        return self.dims


def meaning_of(
    op: RelaxOp, call: Call, result: StructInfo, convert: Callable[[str, Expr], Any]
) -> tuple[te.Tensor, ...] | None:
    """Return the tensors that `call` of `op` computes, or None if `op` has no meaning.

    `convert(name, argument)` returns the argument of parameter `name` in the form that a meaning takes, or None if its
    shape is unknown.
    """
    if op.compute is None:
        return None
    values: dict[str, Any] = {param.name: None for param in op.arguments} | dict(call.attrs)
    for param, arg in zip(op.arguments, call.args, strict=False):
        value = convert(param.name, arg)
        if value is None:
            return None
        values[param.name] = _numbers(value) if param.kind in ("tuple", "opt_tuple") else value
    values["result"] = _result(result)
    made: Any = op.compute(Arguments(values))
    return cast("tuple[te.Tensor, ...] | None", made if isinstance(made, tuple) or made is None else (made,))


def _numbers(value: Any) -> Any:
    """Return a tuple of scalars with constants as Python numbers."""
    if not isinstance(value, tuple):
        return value
    given = cast("tuple[Any, ...]", value)
    return tuple(plain(item) if isinstance(item, tir.PrimExpr) else item for item in given)


def _result(info: StructInfo) -> Any:
    if isinstance(info, TupleStructInfo):
        return tuple(_result(field) for field in info.fields)
    assert isinstance(info, TensorStructInfo)
    dims = dims_of(info)
    assert dims is not None
    return Result(dims, info.dtype)
