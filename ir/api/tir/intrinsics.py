"""The intrinsics as functions (TVM: `tvm.tir.op`): each row of `ir.ops.tir` under its name in `T`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ... import te, tir
from ...base import Op
from ...ops import tir as ops
from ..constructor import plain_node


def intrinsic(name: str) -> Callable[..., tir.PrimExpr]:
    """Return the function `tir.<name>`; AttributeError if there is none."""
    if name in ops.OPERATORS:
        return _operator(name)
    row = ops.find_script(name)
    if row is None:
        near = get_close_matches(name, (*ops.OPERATORS, *(item.script for item in ops.INTRINSICS.values())), 1)
        raise AttributeError(f"there is no 'tir.{name}'" + (f"; did you mean 'tir.{near[0]}'?" if near else ""))
    return _intrinsic(name, row)


def _operator(name: str) -> Callable[..., tir.PrimExpr]:
    """Return the function that promotes dtypes and folds constants; a number gets the dtype of the other operand."""
    make = ops.OPERATORS[name]
    takes_pair = list(inspect.signature(make).parameters)[:2] == ["a", "b"]

    def build(*args: Any, span: Any = None, **named: Any) -> tir.PrimExpr:
        values = te.operands(*args) if takes_pair and len(args) == 2 else map(plain_node, args)
        return make(*values, **{key: plain_node(value) for key, value in named.items()})

    return _named(build, name, make.__doc__)


def _intrinsic(name: str, row: ops.Intrinsic) -> Callable[..., tir.PrimExpr]:
    place = row.dtype_location

    def build(*args: Any, span: Any = None, **named: Any) -> tir.PrimExpr:
        dtype, given = named.pop("dtype", None), list(args)
        if dtype is None and place != "none" and given:
            dtype = given.pop(0 if place == "first" else -1)
        values = {key: _argument(value) for key, value in named.items()}
        return ops.build(row, [_argument(item) for item in given], values, dtype)

    return _named(build, name, row.doc)


def _named(build: Callable[..., tir.PrimExpr], name: str, doc: str | None) -> Callable[..., tir.PrimExpr]:
    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _argument(value: Any) -> Any:
    return tir.StringImm("handle", value) if isinstance(value, str) else plain_node(value)


def call_intrin(dtype: str, func_name: str | Op, *args: Any) -> tir.PrimExpr:
    """A call of an intrinsic by its registered name, such as "tir.exp"."""
    op = Op(func_name) if isinstance(func_name, str) else func_name
    return tir.Call(dtype, op, tuple(map(_argument, args)))
