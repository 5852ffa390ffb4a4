"""Calls of functions of tensors, for the builder of graph functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec.structs import replace

from .. import relax, te, tir
from ..base import Attrs, BaseFunc, GlobalVar, Op
from ..ops.inference import tensor_info
from ..relax import Call, Var
from .call_te import call_te


class TensorFunctions(ABC):
    """Methods of the builder for functions of `te` tensors: their loop functions become functions of the module."""

    def __init__(self) -> None:
        self._inputs: dict[object, Var] = {}

    @abstractmethod
    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """Bind `expr` to a new variable and return it."""

    @abstractmethod
    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function to the module."""

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """Return a call of the loop function that `func` builds from tensors for `args` and `kwargs`.

        It is named after `func` or `primfunc_name_hint`, and gets the attributes `primfunc_attrs`.
        """
        name = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
        attrs: Attrs = kwargs.pop("primfunc_attrs", None) or {}
        made = call_te(func, self._inputs_as_variables(args), self._inputs_as_variables(kwargs))
        function = replace(made.function, attrs={**made.function.attrs, **attrs})
        return made.call(self.add_func(function, name))

    def call_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: Attrs | None = None,
        **kwargs: Any,
    ) -> Call:
        """Return a call like `call_te`, whose gradient is the tensor function that is registered as `te_grad_name`.

        That function gets `te_grad_kwargs` as keywords.
        """
        call = self.call_te(func, *args, **kwargs)
        attrs: Attrs = {
            "te_grad_name": te_grad_name,
            "te_grad_kwargs": dict(te_grad_kwargs) if te_grad_kwargs else None,
        }
        return replace(call, op=Op("relax.call_tir_with_grad"), attrs=attrs)

    def emit_te(self, func: Callable[..., Any], *args: Any, name_hint: str = "", **kwargs: Any) -> Var:
        """Bind the result of `call_te` to a new variable and return it."""
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def _inputs_as_variables(self, value: Any) -> Any:
        match value:
            case te.Tensor():
                return self._input(value)
            case list() | tuple():
                items = [self._inputs_as_variables(item) for item in cast("Sequence[Any]", value)]
                return tuple(items) if isinstance(value, tuple) else items
            case dict():
                return {key: self._inputs_as_variables(item) for key, item in cast("dict[Any, Any]", value).items()}
            case _:
                return value

    def _input(self, tensor: te.Tensor) -> Var:
        if not isinstance(tensor.op, te.PlaceholderOp):
            raise TypeError(f"'{tensor.name}' is a computed tensor; pass the function that computes it to emit_te")
        dims = [replace(dim, dtype="int64") if isinstance(dim, tir.IntImm) else dim for dim in tensor.dims]
        info = tensor_info(dims, tensor.dtype)
        return self._inputs.setdefault(tensor.op, relax.Var(tensor.name, struct_info=info))
