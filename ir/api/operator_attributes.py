"""What tvms knows of an operator, and operators of a program, under the names of TVM's attributes (TVM: `Op.get_attr`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from msgspec.structs import replace

from .. import relax
from ..base import StructInfo
from ..building.block_builder import BlockBuilder
from ..building.values import apply
from ..diagnostics import error
from ..infer import infer_struct_info
from ..ops.registry import Param, RelaxOp, find, register, unregister
from ..passes.gradient import find_rule
from ..passes.gradient_rules import Rule
from ..passes.legalize_ops import register_legalize, unregister_legalize

_given: dict[str, dict[str, Any]] = {}
"""Attributes that a program registered, by operator."""
_NAMES = {"FInferType": "FInferStructInfo"}
"""Attributes that have another name in TVM 0.27, and their names here."""
_ANY_ARGS = (Param("args", "exprs"),)
"""The parameters of the operators that a program registers."""


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Give the operator `op_name` an attribute, and register it if there is no such operator; a decorator without `value`.

    "FInferStructInfo", or "FInferType" as in TVM 0.27, is a function of a call and a builder that returns the struct info, "FPurity" a bool, "FLegalize" a function
    of a builder and a call that returns its replacement in `LegalizeOps`, and "FNormalize" one that returns its normal
    form. Other attributes are kept for `Op.get_attr`. An operator of tvms takes "FLegalize" only. `level` has no effect.

    Raises TvmsError: E0104 for another of these attributes of an operator of tvms.
    """
    if value is None:
        return partial(register_op_attr, op_name, attr_key, level=level)
    attr_key = _NAMES.get(attr_key, attr_key)
    if attr_key in ("FInferStructInfo", "FPurity", "FNormalize") and not _is_own(op_name):
        reason = f"'{attr_key}' of the operator '{op_name}' is defined by tvms"
        raise error("E0104", reason, help="register an operator of another name")
    _given.setdefault(op_name, {})[attr_key] = value
    if attr_key == "FLegalize":
        register_legalize(op_name, value)
    _declare(op_name)
    return value


def reset_operator_attribute(op_name: str, attr_key: str) -> None:
    """Remove an attribute that a program gave to an operator; one of the program without attributes is no longer registered."""
    attr_key = _NAMES.get(attr_key, attr_key)
    _given.get(op_name, {}).pop(attr_key, None)
    if attr_key == "FLegalize":
        unregister_legalize(op_name)
    _declare(op_name)


def _is_own(name: str) -> bool:
    """Whether a program registered the operator, or can: tvms has none of this name."""
    op = find(name)
    return op is None or op.params is _ANY_ARGS


def _declare(name: str) -> None:
    """Register an operator of the program with its attributes."""
    if _is_own(name):
        unregister(name)
        if given := _given.get(name):
            register(_operator(name, given))


def _operator(name: str, given: Mapping[str, Any]) -> RelaxOp:
    infer, normalize = given.get("FInferStructInfo"), given.get("FNormalize")
    return RelaxOp(
        name,
        _ANY_ARGS,
        (lambda a: infer(a.call, _builder())) if infer else None,
        "An operator of the program.",
        pure=bool(given.get("FPurity", False)),
        normalize=(lambda call: normalize(_builder(), call)) if normalize else None,
    )


def _builder() -> BlockBuilder:
    return BlockBuilder.current() or BlockBuilder()


def operator_attribute(name: str, attribute: str) -> Any:
    """Return the gradient "FPrimalGradient", the inference "FInferStructInfo" or the purity "FPurity" of an operator.

    "FDataDependent" is True if the shape of its result depends on values. None if the operator has no such attribute.
    """
    operator, given = find(name), _given.get(name, {})
    attribute = _NAMES.get(attribute, attribute)
    if attribute in given:
        return given[attribute]
    match attribute:
        case "FPrimalGradient":
            rule = find_rule(name)
            return None if rule is None else _gradient(rule)
        case "FInferStructInfo" if operator is not None and operator.infer is not None:
            return _inferred
        case "FPurity" if operator is not None:
            return operator.pure
        case "FDataDependent" if operator is not None and operator.at_run_time:
            return True
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
