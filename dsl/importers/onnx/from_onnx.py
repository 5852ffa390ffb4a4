"""ONNX models as modules (TVM: `relax.frontend.onnx.from_onnx`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from typing import Any, cast

from ....ir import relax, tir
from ....ir.base import Attrs, IRModule
from ....ir.building.block_builder import BlockBuilder
from ....ir.deep import deep
from ....ir.diagnostics import error
from ....ir.ops import dims as d
from ....ir.ops.inference import tensor_info
from ....ir.passes.dead_code import remove_unused_bindings
from ....ir.passes.transform import map_functions
from ..bindings import identifier
from ..values import info_of
from .control_flow import has_control_flow
from .converter import MOST_NODES, Converter, variable_name
from .files import Model, read_model
from .kinds import TensorKind, kind_of_type
from .library import library
from .signatures import name_of
from .table import TABLE
from .tensors import Tensors, is_text

Sizes = Sequence[int | str | tir.PrimExpr]
"""The dimensions of an input; texts name symbolic sizes."""


def from_onnx(
    model: Any,
    shape_dict: Mapping[str, Sizes] | None = None,
    dtype_dict: str | Mapping[str, str] | None = None,
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """Return the module whose function `main` computes what a model computes: an `onnx.ModelProto`, or the path of a file.

    Large weights of a file, and those in files beside it, are mapped to memory, and read when they are used.
    Dimensions with a name (`dim_param`) become symbolic sizes of that name; `shape_dict` gives other dimensions by input name.
    `dtype_dict` gives other dtypes, one for all inputs or by input name. `opset` reads the operators of the standard by another
    version than the model's. Initializers are constants with their names; with `keep_params_in_input`, they are inputs after
    those of the model, and the attribute "params" of the function holds their values (`detach_params`); parameters that an operator
    needs as constants, such as axes, are read at import all the same. With `sanitize_input_names`, names of inputs that are not
    identifiers become identifiers.
    A single result is returned as it is, several as a tuple.

    Raises TvmsError: E0702 if the argument is not a model, E0812 if onnx is not installed, E1001 for operators without a
    converter, E1002 for models that cannot be read, E1004 for what depends on unknown values, E1005 for dtypes that programs
    do not support, E1006 for malformed nodes.
    """
    return Importer(model, shape_dict, dtype_dict, opset, keep_params_in_input, sanitize_input_names).module()


def _found(model: Any) -> Model:
    if isinstance(model, str | PathLike):
        return read_model(cast("str | PathLike[str]", model))
    if isinstance(model, library().ModelProto):
        return Model(model)
    reason = f"the model is of type {type(model).__name__}, not ModelProto"
    raise error("E0702", reason, None, "pass a path, or load it first: onnx.load(path)")


class Importer:
    """Imports one model."""

    def __init__(
        self,
        model: Any,
        shapes: Mapping[str, Sizes] | None = None,
        dtypes: str | Mapping[str, str] | None = None,
        opset: int | None = None,
        keep_params: bool = False,
        sanitize: bool = True,
    ) -> None:
        found = _found(model)
        proto = found.proto
        self._graph = proto.graph
        self._tensors = Tensors(found)
        self._shapes, self._dtypes, self._keep_params, self._sanitize = (
            shapes or {},
            dtypes or {},
            keep_params,
            sanitize,
        )
        self._builder = BlockBuilder()
        self._sizes: dict[str, tir.Var] = {}
        self._params: list[tuple[relax.Var, relax.Constant]] = []
        functions = {(f.domain, f.name, getattr(f, "overload", "")): f for f in proto.functions}
        self._converter = Converter(self._builder, TABLE, _opsets(proto, opset), functions, self._tensors)

    @property
    def asked(self) -> set[str]:
        """The inputs that an operator needs as constants."""
        return self._converter.asked

    def specialize(self, values: Mapping[str, Any]) -> None:
        """Let operators that need constants take the values of inputs from `values`, arrays by name."""
        self._converter.given = values

    @deep
    def module(self) -> IRModule:
        """Return the module."""
        if len(self._graph.initializer) > MOST_NODES:
            raise error(
                "E1004", f"the model has more than {MOST_NODES} initializers", None, "join them to fewer tensors"
            )
        values, inputs = self._converter.scope.values, self._inputs()
        texts = [initializer for initializer in self._graph.initializer if is_text(initializer)]
        for initializer in self._graph.initializer:
            if not is_text(initializer):
                values[initializer.name] = self._parameter(initializer)
        params = [variable for variable, _ in self._params]
        attrs: Attrs = {"num_input": len(inputs)}
        if self._keep_params:
            attrs["params"] = tuple(constant for _, constant in self._params)
        with self._builder.function("main", [*inputs, *params], attrs):
            with nullcontext() if has_control_flow(self._graph) else self._builder.dataflow():
                values.update({initializer.name: self._converter.initial(initializer) for initializer in texts})
                found = self._converter.outcome(self._graph.node, lambda: self._converter.results(self._graph))
                result = found[0] if len(found) == 1 else relax.Tuple(tuple(found))
                if not isinstance(result, relax.Constant):
                    in_dataflow = self._builder.current_block_is_dataflow()
                    result = self._builder.emit_output(result) if in_dataflow else self._builder.emit(result)
            self._builder.emit_func_output(result)
        module = self._builder.get()
        return map_functions(module, relax.Function, lambda function: remove_unused_bindings(function, module))

    # --- Inputs -----------------------------------------------------------------------------------------------

    def _inputs(self) -> list[relax.Var]:
        initialized = {initializer.name for initializer in self._graph.initializer}
        variables: list[relax.Var] = []
        for given in self._graph.input:
            if given.name not in initialized:
                variables.append(self._input(given))
                self._converter.scope.values[given.name] = variables[-1]
                self._converter.input_names[variables[-1]] = given.name
        return variables

    def _input(self, given: Any) -> relax.Var:
        kind = given.type.tensor_type
        name = self._converter.unique(input_name(given.name) if self._sanitize else name_of(given.name))
        found = kind_of_type(given.type)
        if not isinstance(found, TensorKind) or found.dtype == "string":
            variable = relax.Var(name, struct_info=relax.ObjectStructInfo())
            self._converter.with_kind(variable, found)
            return variable
        dtype = self._dtypes if isinstance(self._dtypes, str) else self._dtypes.get(given.name)
        if given.name in self._shapes:
            dims = [self._given_size(size) for size in self._shapes[given.name]]
        elif kind.HasField("shape"):
            dims = [self._size(dim, f"{name}_dim{axis}") for axis, dim in enumerate(kind.shape.dim)]
        else:
            raise error("E1004", f"the rank of the input '{given.name}' is unknown", None, "give it in shape_dict")
        return relax.Var(name, struct_info=tensor_info(dims, dtype or found.dtype))

    def _size(self, dim: Any, name: str) -> tir.PrimExpr:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return d.dim(dim.dim_value)
        return self._named_size(identifier(name_of(dim.dim_param)) or name)

    def _given_size(self, size: int | str | tir.PrimExpr) -> tir.PrimExpr:
        return self._named_size(size) if isinstance(size, str) else d.as_dim(size)

    def _named_size(self, name: str) -> tir.Var:
        if name not in self._sizes:
            self._sizes[name] = self._converter.new_size(variable_name(name))
        return self._sizes[name]

    def _parameter(self, initializer: Any) -> relax.Expr:
        constant = self._tensors.constant(initializer)
        if not self._keep_params:
            return constant
        name = self._converter.unique(input_name(initializer.name) if self._sanitize else name_of(initializer.name))
        variable = relax.Var(name, struct_info=info_of(constant))
        self._params.append((variable, constant))
        self._converter.with_elements(variable, constant.data)
        return variable


def _opsets(proto: Any, opset: int | None) -> dict[str, int]:
    """Return the versions of the operator sets that a model imports; E1002 if the standard's is newer than the package onnx."""
    found = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in proto.opset_import}
    if opset is not None or not found:
        found[""] = 1 if opset is None else opset
    newest = library().defs.onnx_opset_version()
    if not 1 <= found.get("", 1) <= newest:
        reason = f"it needs version {found['']} of ai.onnx, but onnx {library().__version__} has versions 1 to {newest}"
        help = f"export it for version {newest}, or read it as such: opset={newest}"
        raise error("E1002", f"the model cannot be read: {reason}", None, help)
    return found


def input_name(name: str) -> str:
    """Return the name of an input as an identifier (TVM: `ONNXGraphImporter._sanitize_name`)."""
    found = re.sub(r"\W", "_", name_of(name))
    return found if found[:1].isalpha() or found[:1] == "_" else f"input_{found}"
