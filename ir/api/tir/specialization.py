"""Specialization of loop functions for known parameters (TVM: `PrimFunc.specialize`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ... import tir
from ...base import Node
from ...buffers import elem_offset_of
from ...deep import deep
from ...diagnostics import error
from ...equal import structural_equal
from ...fold import fold
from ...te.expr import operand
from ...visit import rewrite, substitute
from ..constructor import plain_node


@deep
def specialize(function: tir.PrimFunc, param_map: Mapping[Any, Any]) -> tir.PrimFunc:
    """Return `function` with parameters replaced by values, and the sizes of handles by those of buffers.

    Scalars that get a value are no longer parameters; a handle that gets a buffer still is one. A pointer that gets an
    expression, such as the address of an element, is bound to it.

    Raises TvmsError E0906 if the function has no such parameter, or a buffer does not fit.
    """
    values: dict[tir.Var, tir.PrimExpr] = {}
    for given, value in param_map.items():
        param = plain_node(given)
        if param not in function.params:
            raise error("E0906", f"the function has no parameter '{getattr(param, 'name', param)}'")
        for name, chosen in _bindings(function, param, value):
            if name in values and not structural_equal(values[name], chosen):
                raise error("E0906", f"'{name.name}' gets two values, {values[name]} and {chosen}")
            values[name] = chosen
    return _with_values(function, values) if values else function


def _bindings(function: tir.PrimFunc, param: tir.Var, value: Any) -> Iterator[tuple[tir.Var, tir.PrimExpr]]:
    """Yield the variables that get a value, and the values, if `param` gets `value`."""
    if not isinstance(value, tir.Buffer):
        yield param, operand(value, param.dtype)
        return
    known = function.buffer_map.get(param)
    if known is None:
        raise error("E0906", f"parameter '{param.name}' is not a buffer")
    if (known.dtype, len(known.shape), len(known.strides)) != (value.dtype, len(value.shape), len(value.strides)):
        raise error("E0906", f"buffer '{known.name}' is {known}, which {value} does not fit")
    fields = [*zip(known.shape, value.shape, strict=True), *zip(known.strides, value.strides, strict=True)]
    for own, chosen in [*fields, (elem_offset_of(known), elem_offset_of(value))]:
        if isinstance(own, tir.Var):
            if own is not chosen:
                yield own, operand(chosen, own.dtype) if isinstance(chosen, int) else chosen
        elif not structural_equal(own, chosen):
            raise error("E0906", f"buffer '{known.name}' has {own} where the given one has {chosen}")


def _with_values(function: tir.PrimFunc, values: Mapping[tir.Var, tir.PrimExpr]) -> tir.PrimFunc:
    bound = {var: value for var, value in values.items() if var.dtype == "handle" and not isinstance(value, tir.Var)}
    body = function.body
    changed: dict[Node, Node] = {var: value for var, value in values.items() if var not in bound}
    for var, value in bound.items():
        body = _bound(body, var, value)
    params = tuple(param for param in function.params if param in function.buffer_map or param not in values)
    new = rewrite(substitute(replace(function, params=(), body=body), changed), _folded)
    return replace(new, params=params, struct_info=None)


def _bound(body: tir.Stmt, var: tir.Var, value: tir.PrimExpr) -> tir.Stmt:
    """Return `body` with a pointer bound to `value`, inside the declarations of buffers that `value` mentions."""
    if isinstance(body, tir.DeclBuffer) and body.buffer.data is not var:
        return replace(body, body=_bound(body.body, var, value))
    return tir.LetStmt(var, value, body)


def _folded(node: object) -> tir.PrimExpr | None:
    """Return the value of an operator whose operands became constants."""
    return fold(type(node), node.a, node.b, node.span) if isinstance(node, tir.BinaryOp) else None
