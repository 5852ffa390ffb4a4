"""NumPy oracles of operators: the interpreter uses them, and so does the runtime for operators without loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import numpy as np

from .. import relax, tir
from ..infer import infer_struct_info
from ..numpy_dtype import numpy_dtype
from ..ops.registry import RelaxOp, by_numpy
from ..purity import VIEWS
from .memory import Array

Compute: TypeAlias = Callable[[Sequence[Any], Callable[[tir.PrimExpr], Any]], Any]
"""Maps the values of the arguments, and an evaluator of symbolic sizes, to the value of a call."""


def by_oracle(op: RelaxOp, call: relax.Call) -> Compute:
    """Return the evaluator of a call of `op`, which has an oracle; it raises TvmsError E0712 if the oracle fails."""
    info = infer_struct_info(call)
    dtype = info.dtype if isinstance(info, relax.TensorStructInfo | relax.PrimStructInfo) else "void"

    def evaluate(args: Sequence[Any], size: Callable[[tir.PrimExpr], Any]) -> Any:
        named = SimpleNamespace(**_arguments(op, args), **{name: _sized(at, size) for name, at in call.attrs.items()})
        named.result_dtype = numpy_dtype(dtype) if dtype != "void" else _first_dtype(args)
        result = _as_tensor(by_numpy(op, named, call.span), args)
        return result if op.name in VIEWS else _apart(result, args)

    return evaluate


def _apart(result: Any, args: Sequence[Any]) -> Any:
    """Return a result that shares no memory with arguments, which may be overwritten later."""
    if isinstance(result, tuple):
        return tuple(_apart(item, args) for item in cast("tuple[Any, ...]", result))
    if not isinstance(result, np.ndarray):
        return result
    array = cast("Array", result)
    is_part = any(np.may_share_memory(array, cast("Array", arg)) for arg in args if isinstance(arg, np.ndarray))
    return array.copy() if is_part else array


def _first_dtype(args: Sequence[Any]) -> Any:
    """Return the dtype of the first tensor: that of a result whose dtype is not known before the call."""
    return next((cast("Array", arg).dtype for arg in args if isinstance(arg, np.ndarray)), None)


def _arguments(op: RelaxOp, args: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments by parameter name; None for missing ones."""
    named: dict[str, Any] = {}
    rest = list(args)
    for param in op.arguments:
        if param.kind == "exprs":
            named[param.name] = tuple(rest)
            rest.clear()
        else:
            named[param.name] = rest.pop(0) if rest else None
    return named


def _sized(value: Any, size: Callable[[tir.PrimExpr], Any]) -> Any:
    """Return an attribute with its symbolic sizes evaluated."""
    if isinstance(value, tir.PrimExpr):
        return size(value)
    return tuple(_sized(item, size) for item in cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


def _as_tensor(result: Any, args: Sequence[Any]) -> Any:
    """Return a result of rank 0 as an array; NumPy returns a scalar."""
    if isinstance(result, tuple | list):
        return tuple(_as_tensor(item, args) for item in cast("Sequence[Any]", result))
    is_tensor = getattr(result, "ndim", -1) == 0 and any(isinstance(arg, np.ndarray) for arg in args)
    return np.asarray(result) if is_tensor else result
