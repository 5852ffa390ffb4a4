"""What tvms knows of an operator, under the names of TVM's attributes (TVM: `Op.get_attr`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from msgspec.structs import replace

from .. import relax
from ..base import StructInfo
from ..building.values import apply
from ..infer import infer_struct_info
from ..ops.registry import find
from ..passes.gradient import find_rule
from ..passes.gradient_rules import Rule


def operator_attribute(name: str, attribute: str) -> Any:
    """Return the gradient "FPrimalGradient", the inference "FInferStructInfo" or the purity "FPurity" of an operator.

    None if the operator has no such attribute.
    """
    operator = find(name)
    match attribute:
        case "FPrimalGradient":
            rule = find_rule(name)
            return None if rule is None else _gradient(rule)
        case "FInferStructInfo" if operator is not None and operator.infer is not None:
            return _inferred
        case "FPurity" if operator is not None:
            return operator.pure
        case _:
            return None


def _inferred(call: relax.Call, ctx: Any = None) -> StructInfo:
    """Return the struct info that follows from the operands of a call."""
    return infer_struct_info(replace(call, struct_info=None))


def _gradient(rule: Rule) -> Callable[..., list[relax.Expr]]:
    def gradient(
        orig_var: relax.Var, orig_call: relax.Call, output_grad: relax.Expr, ctx: Any = None
    ) -> list[relax.Expr]:
        """Return the gradients of the arguments of a call; `R.grad.no_grad` of an argument that has none."""
        parts = rule(orig_call, orig_var, output_grad) or [None] * len(orig_call.args)
        return [_part(arg, part) for arg, part in zip(orig_call.args, parts, strict=False)]

    return gradient


def _part(arg: relax.Expr, part: Any) -> relax.Expr:
    if part is None:
        return apply("grad.no_grad", arg)
    if isinstance(part, list | tuple):
        fields = arg.fields if isinstance(arg, relax.Tuple) else ()
        items = cast("list[Any]", part)
        return relax.Tuple(tuple([_part(field, item) for field, item in zip(fields or items, items, strict=True)]))
    return part
