"""Export of an `nn.Module` with methods to an IRModule with functions (TVM: `relax.frontend.nn.exporter`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .. import relax, te, tir
from ..base import IRModule, StructInfo
from ..building.block_builder import BlockBuilder
from ..building.values import dimension
from ..ops.inference import tensor_info
from . import spec as kinds
from .spec import MethodSpec, ModuleSpec
from .tensor import Parameter, Tensor, plain_values


def export(spec: ModuleSpec) -> tuple[IRModule, list[tuple[str, Parameter]]]:
    """Return the module with a function for each method, and the parameters by name."""
    builder = BlockBuilder()
    params = list(spec.module.named_parameters())
    for name, method in spec.methods.items():
        with builder.function(name, attrs={"num_input": len(method.arg_specs)}):
            with builder.dataflow():
                result, inputs = _Method(builder).emit(method, params)
            builder.emit_func_output(result, inputs)
    return builder.finalize(), params


class _Method:
    """The function of one method; symbolic dimensions with the same name are one variable."""

    def __init__(self, builder: BlockBuilder) -> None:
        self._builder = builder
        self._dims: dict[str, tir.Var] = {}

    def emit(self, method: MethodSpec, params: Sequence[tuple[str, Parameter]]) -> tuple[relax.Var, list[relax.Var]]:
        """Return the result of the method and the parameters of its function."""
        named = zip(method.arg_names, method.arg_specs, strict=True)
        variables = [relax.Var(name, struct_info=self._info(name, kind)) for name, kind in named]
        weights = self._weights(method.param_mode, params)
        given = (self._argument(*part) for part in zip(variables, method.arg_specs, method.arg_names, strict=True))
        result = self._builder.emit_output(plain_values(method.method(*given)))
        return result, [*variables, *weights]

    def _dim(self, value: Any) -> tir.Var:
        name = value if isinstance(value, str) else value.name
        return self._dims.setdefault(name, te.var(name, "int64"))

    def _info(self, name: str, kind: Any) -> StructInfo:
        match kind:
            case kinds.Int():
                return relax.ShapeStructInfo((self._dim(name),), 1)
            case kinds.Tensor():
                return tensor_info([self._size(item) for item in kind.shape], kind.dtype)
            case kinds.Tuple():
                elements = enumerate(kind.elements)
                return relax.TupleStructInfo(tuple(self._info(f"{name}_{n}", item) for n, item in elements))
            case _:
                return relax.ObjectStructInfo()

    def _size(self, value: Any) -> Any:
        """Return a dimension in terms of the variables of this function."""
        is_variable = isinstance(value, str | tir.Var)
        return dimension(self._dim(value) if is_variable else value)

    def _argument(self, value: relax.Expr, kind: Any, name: str) -> Any:
        match kind:
            case kinds.Int():
                return self._dim(name)
            case kinds.Tuple():
                fields = [self._builder.emit(field, f"{name}_{n}") for n, field in enumerate(value)]
                parts = zip(fields, kind.elements, strict=True)
                inner = [self._argument(field, item, f"{name}_{n}") for n, (field, item) in enumerate(parts)]
                return tuple(inner) if isinstance(kind.elements, tuple) else inner
            case kinds.Object():
                return kind.object_type(value, name)
            case _:
                return Tensor(value)

    def _weights(self, mode: str, params: Sequence[tuple[str, Parameter]]) -> list[relax.Var]:
        """Bind the parameters of the module to new parameters of the function, and return those."""
        variables: list[relax.Var] = []
        for name, parameter in params:
            info = tensor_info([self._size(size) for size in parameter.shape], parameter.dtype)
            variables.append(relax.Var(name, struct_info=info))
        packed = relax.Var("packed_params", struct_info=relax.TupleStructInfo(tuple(map(_info_of, variables))))
        fields = list(packed) if mode == "packed" else []
        for number, (name, parameter) in enumerate(params):
            parameter.expr = self._builder.emit(fields[number], name) if mode == "packed" else variables[number]
        return {"plain": variables, "packed": [packed], "none": []}[mode]


def _info_of(variable: relax.Var) -> StructInfo:
    return cast("StructInfo", variable.struct_info)
