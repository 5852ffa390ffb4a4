"""Gradients of loop functions as tensor expressions (TVM: `relax.training.utils.register_te_gradient`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from msgspec.structs import replace

from .. import relax
from ..base import GlobalVar, Op
from ..building.call_te import call_te
from ..diagnostics import error
from ..function_table import FunctionTable

TeGradient = Callable[..., Any]
"""Function from the gradient of the result, the arguments and the keywords of a call to the gradients of the arguments."""

CALL_WITH_GRAD = "relax.call_tir_with_grad"
_registered: dict[str, TeGradient] = {}


def register_te_gradient(te_grad_name: str, te_grad_func: TeGradient | None = None) -> Any:
    """Register a function that returns gradients of a loop function, for `R.call_tir_with_grad`; can be used as a decorator.

    It takes the gradient of the result, the arguments of the call as tensors, and `te_grad_kwargs` as keywords. It returns a
    list of tensors, one for each argument.
    """

    def register(function: TeGradient) -> TeGradient:
        _registered[te_grad_name] = function
        return function

    return register if te_grad_func is None else register(te_grad_func)


def te_gradients(call: relax.Call, adjoint: relax.Expr, table: FunctionTable) -> relax.Expr:
    """Return the gradients of the arguments of `call`, or of the only one; the function that computes them is added to `table`.

    Raises TvmsError: E0908 if none is registered for the call, or if their number differs from that of the arguments.
    """
    name, arguments = call.attrs["te_grad_name"], call.args[1]
    assert isinstance(arguments, relax.Tuple)
    if name not in _registered:
        help = "register it: relax.training.utils.register_te_gradient(name, function)"
        raise error("E0908", f"the gradient '{name}' is not registered", call.span, help)
    made = call_te(_registered[name], (adjoint, *arguments.fields), call.attrs["te_grad_kwargs"] or {})
    if len(made.results) != len(arguments.fields):
        reason = f"the gradient '{name}' has {len(made.results)} results for {len(arguments.fields)} arguments"
        raise error("E0908", reason, call.span, "return one tensor for each argument")
    names = (f"{name}{number or ''}" for number in count())
    return made.call(GlobalVar(table.add(made.function, names)))


def without_gradient(binding: relax.Binding) -> relax.Binding:
    """Return a binding with its call by `R.call_tir` instead of `R.call_tir_with_grad`."""
    call = binding.value
    if not isinstance(call, relax.Call) or call.op != Op(CALL_WITH_GRAD):
        return binding
    return replace(binding, value=replace(call, op=Op("relax.call_tir"), attrs={}))
