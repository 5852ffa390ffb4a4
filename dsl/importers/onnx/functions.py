"""Functions of the standard: operators that are defined by other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import relax
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d
from .library import library
from .signatures import schema_of
from .tensors import onnx_dtype


def body_of(node: Any, domain: str, opset: int, values: Sequence[relax.Expr | None]) -> Any:
    """Return the function that defines an operator in version `opset` of its domain, or None if the standard has none."""
    schema = schema_of(node.op_type, domain, opset)
    if schema is None:
        return None
    onnx = library()
    made = b""
    if schema.has_context_dependent_function:
        types = [_type(onnx, value).SerializeToString() for value in values]
        versions = schema.context_dependent_function_opset_versions
        fitting = max((version for version in versions if version <= opset), default=None)
        if fitting is not None:
            made = schema.get_context_dependent_function_with_opset_version(fitting, node.SerializeToString(), types)
    elif schema.has_function:
        fitting = max((version for version in schema.function_opset_versions if version <= opset), default=None)
        made = b"" if fitting is None else schema.get_function_with_opset_version(fitting)
    if not made:
        return None
    found = onnx.FunctionProto.FromString(made)
    if not any(entry.domain in ("", "ai.onnx") for entry in found.opset_import):
        found.opset_import.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
    return found


def _type(onnx: Any, value: relax.Expr | None) -> Any:
    """Return the type of an input as a message; symbolic dimensions stay unknown."""
    found = onnx.TypeProto()
    if value is None:
        return found
    info = infer_struct_info(value)
    if isinstance(info, relax.TensorStructInfo):
        found.tensor_type.elem_type = onnx_dtype(info.dtype)
        dims = info.shape.values if isinstance(info.shape, relax.ShapeExpr) else ()
        for dim in dims:
            size, added = d.value_of(dim), found.tensor_type.shape.dim.add()
            if size is not None:
                added.dim_value = size
    return found
