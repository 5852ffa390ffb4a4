"""Modules whose computation is a function of its own (TVM: `relax.frontend.nn.SubroutineMixin`)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary

from .. import relax
from ..base import GlobalVar
from ..building.block_builder import BlockBuilder
from ..building.values import call_function, graph_value
from ..equal import structural_equal
from ..variables import with_new_variables
from .tensor import Tensor, builder, plain_values, wrap

_Made = list[tuple[relax.StructInfo, bool, GlobalVar]]
"""The functions of a class: struct info of the arguments, whether it is used in a dataflow block, and the function."""


class SubroutineMixin:
    """A module with `define_subroutine = True` computes `forward` in a private function, which calls with arguments of the same
    struct info share.
    """

    define_subroutine: ClassVar[bool] = False
    _subroutines: ClassVar[WeakKeyDictionary[BlockBuilder, _Made]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._subroutines = WeakKeyDictionary()
        forward = vars(cls).get("forward")
        if forward is not None:
            cls.forward = _dispatched(forward)

    def parameters(self) -> Iterable[Any]:
        """Return the parameters, which are arguments of the function."""
        raise TypeError(f"'{type(self).__name__}' defines no parameters")


def _dispatched(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def call(self: SubroutineMixin, *args: Any, **keywords: Any) -> Any:
        if not self.define_subroutine:
            return forward(self, *args, **keywords)
        bound = inspect.signature(forward).bind(self, *args, **keywords)
        named = dict(list(bound.arguments.items())[1:])
        given = (*named.values(), *self.parameters())
        values = [graph_value(plain_values(value)) for value in given]
        result = call_function(_function(self, forward, named, values), values)
        if given and all(isinstance(value, relax.Expr) for value in given):  # a module of `relax.testing.nn`
            return builder().emit(result)
        return wrap(result, "") if isinstance(result.struct_info, relax.TensorStructInfo) else result

    return call


def _function(
    module: SubroutineMixin, forward: Callable[..., Any], named: dict[str, Any], values: Sequence[relax.Expr]
) -> GlobalVar:
    """Return the function for arguments of these struct infos, which is built on first use."""
    current = builder()
    infos = [cast("relax.StructInfo", value.struct_info) for value in values]
    key, is_dataflow = relax.TupleStructInfo(tuple(infos)), current.current_block_is_dataflow()
    made = type(module)._subroutines.setdefault(current, [])  # type: ignore[reportPrivateUsage]
    for known, in_dataflow, reference in made:
        if in_dataflow == is_dataflow and structural_equal(known, key, map_free_vars=True):
            return reference
    inputs = [relax.Var(name, struct_info=info) for name, info in zip(named, infos, strict=False)]
    weights = list(module.parameters())
    params = [*inputs, *(cast("relax.Var", plain_values(weight)) for weight in weights)]
    given = [
        Tensor(variable) if isinstance(old, Tensor) else variable
        for variable, old in zip(inputs, named.values(), strict=True)
    ]
    with current.function(_snake_case(type(module).__name__), params, private=True):
        with current.dataflow() if is_dataflow else nullcontext():
            result = plain_values(forward(module, *given))
            result = current.emit_output(result) if is_dataflow else result
        reference = current.emit_func_output(result)
    function = cast("relax.Function", current.get()[reference.name_hint])
    current.update_func(reference, with_new_variables(function))
    made.append((key, is_dataflow, reference))
    return reference


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
