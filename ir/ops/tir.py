"""Loop-level intrinsics: one table for parser, printer, verifier, interpreter and code generators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from .. import make, tir
from ..base import Node, Op, Span
from ..buffers import packed_buffer
from ..diagnostics import error
from ..dtype import is_dtype, with_lanes_of
from ..signature import BadArguments
from . import tir_builtin, tir_device, tir_math
from .registry import relax_ops
from .tir_table import ARGUMENT_RULES, Effect, Intrinsic, IntrinsicParameter

__all__ = [
    "INTRINSICS", "OPERATORS", "PACKED_CALLS", "Effect", "Intrinsic", "IntrinsicParameter", "build", "find_script", "get",
    "result_dtype",
]  # fmt: skip

INTRINSICS: dict[str, Intrinsic] = {
    row.name: row for rows in (tir_math.ROWS, tir_builtin.ROWS, tir_device.ROWS) for row in rows
}
"""Every intrinsic, by its registered name (`tir.exp`)."""

_ALIASES = {
    "tvm_call_packed": "call_packed", "tvm_call_cpacked": "call_cpacked",
    "tvm_call_packed_lowered": "call_packed_lowered", "tvm_call_cpacked_lowered": "call_cpacked_lowered",
}  # fmt: skip
_BY_SCRIPT = {row.script: row for row in INTRINSICS.values()}

OPERATORS: dict[str, Callable[..., tir.PrimExpr]] = {
    "abs": make.abs, "fabs": make.abs, "floor": make.floor, "ceil": make.ceil, "trunc": make.trunc,
    "round": make.round_even, "nearbyint": make.nearbyint, "isnan": make.isnan, "isinf": make.isinf,
    "isfinite": make.isfinite, "pow": make.power, "logaddexp": make.logaddexp, "min": make.minimum,
    "max": make.maximum, "floordiv": make.floordiv, "floormod": make.floormod, "ceildiv": make.ceildiv,
    "truncdiv": make.truncdiv, "truncmod": make.truncmod, "div": make.div, "bitwise_and": make.bitwise_and,
    "bitwise_or": make.bitwise_or, "bitwise_xor": make.bitwise_xor, "bitwise_not": make.bitwise_not,
    "shift_left": make.left_shift, "shift_right": make.right_shift, "if_then_else": make.if_then_else,
    "likely": make.likely, "ret": make.ret, "infinity": make.infinity, "min_value": make.min_value,
    "max_value": make.max_value, "reinterpret": make.reinterpret,
}  # fmt: skip
"""Functions `T.<name>` that build more than a call: operators that promote and fold, and limits of dtypes."""


PACKED_CALLS = ("call_packed", "call_cpacked", "call_packed_lowered", "call_cpacked_lowered")
"""Calls of registered functions; buffers among their arguments are passed as tensors."""


def get(name: str) -> Intrinsic | None:
    """Return the intrinsic registered as `name` (`tir.exp`), or None."""
    return INTRINSICS.get(name)


def check_operator(name: str) -> None:
    """Raise E0301 if `name` is neither an operator (`relax.matmul`) nor an intrinsic (`tir.exp`)."""
    if name not in INTRINSICS and name not in (operators := relax_ops()):
        near = get_close_matches(name, (*operators, *INTRINSICS), 1)
        hint = f"did you mean '{near[0]}'?" if near else "names begin with 'relax.' or 'tir.'"
        raise error("E0301", f"there is no operator '{name}'", help=hint)


def find_script(name: str) -> Intrinsic | None:
    """Return the intrinsic that `T.<name>` calls, or None."""
    return _BY_SCRIPT.get(_ALIASES.get(name, name))


def result_dtype(row: Intrinsic, args: Sequence[Node]) -> str | None:
    """Return the dtype of a call of `row` that follows from its arguments; None if the call states it."""
    if row.dtype in ("first", "last"):
        return None
    if row.dtype not in ARGUMENT_RULES:
        return row.dtype
    base, _, _ = row.dtype.partition("@")
    index = int(row.dtype[-1])
    argument = args[index] if index < len(args) else None
    if not isinstance(argument, tir.PrimExpr):
        return None
    return argument.dtype if base == row.dtype else with_lanes_of(base, argument.dtype)


def build(
    row: Intrinsic,
    args: Sequence[tir.PrimExpr | Node],
    named: Mapping[str, tir.PrimExpr | Node] = {},
    dtype: str | None = None,
    span: Span | None = None,
) -> tir.Call:
    """Return the call of `row` with `args`, then `named` ones, then defaults; `dtype` for calls that state it.

    E0105 for a wrong number of arguments, an unknown or a missing one; E0233 for a missing or wrong dtype. If `OPERATORS`
    has the same name, a text means that operator; this function builds the plain call.
    """
    values = _bind(row, list(args), named, span)
    if row.script in PACKED_CALLS:
        values = [packed_buffer(value, span) if isinstance(value, tir.Buffer) else value for value in values]
    own = result_dtype(row, values)
    dtype = dtype if own is None else own
    if dtype is None or not (dtype == "" or is_dtype(dtype)):
        message = f"T.{row.script} needs a dtype" if dtype is None else f"'{dtype}' is not a dtype"
        raise error("E0233", message, span, f'give it {row.dtype}, as in dtype="float32"')
    return tir.Call(dtype or "void", Op(row.name), tuple(values), span=span)


def _bind(row: Intrinsic, args: Sequence[Any], named: Mapping[str, Any], span: Span | None) -> list[Any]:
    try:
        given = row.signature.bind(f"T.{row.script}", args, named.items()).values
    except BadArguments as wrong:
        raise error(wrong.code, wrong.message, span, wrong.help) from None
    values = list(args)
    for parameter in row.parameters[len(values) :]:
        value = given.get(parameter.name, parameter.default)
        if parameter.variadic or value is None:
            continue
        values.append(make.const(value, span=span) if isinstance(value, bool | int | float) else value)
    return values
