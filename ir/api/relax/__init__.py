"""The graph level in Python (TVM: `tvm.relax`): values, struct info, operators and the block builder."""

from ...base import GlobalVar, StructInfo
from ...base import StructInfo as Type
from ...building.block_builder import BlockBuilder
from ...building.values import const
from ...diagnostics import Span
from ...passes.pipelines import get_default_pipeline, get_pipeline, register_pipeline
from . import expr, op, operators, struct_info
from .expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    extern,
    get_shape_of,
    prim_value,
)  # fmt: skip
from .struct_info import (
    AnyType,
    DynTensorType,
    FuncStructInfo,
    FuncType,
    ObjectStructInfo,
    ObjectType,
    PackedFuncType,
    PrimStructInfo,
    ShapeStructInfo,
    ShapeType,
    TensorStructInfo,
    TensorType,
    TupleStructInfo,
    TupleType,
)

__all__ = [
    "AnyType", "Binding", "BindingBlock", "BlockBuilder", "Call", "Constant", "DataTypeImm", "DataflowBlock", "DataflowVar",
    "DynTensorType", "Expr", "ExternFunc", "FuncStructInfo", "FuncType", "Function", "GlobalVar", "If", "MatchCast",
    "ObjectStructInfo", "ObjectType", "PackedFuncType", "PrimStructInfo", "PrimValue", "SeqExpr", "ShapeExpr", "ShapeStructInfo",
    "ShapeType", "Span", "StringImm", "StructInfo", "TensorStructInfo", "TensorType", "Tuple", "TupleGetItem",
    "TupleStructInfo", "TupleType", "Type", "Var", "VarBinding", "const", "expr", "extern", "get_default_pipeline", "get_pipeline", "get_shape_of",
    "op", "operators", "prim_value", "register_pipeline", "struct_info",
]  # fmt: skip


_FROM = {
    "BasePyModule": "base_py_module",
    "ExecBuilder": "vm_build",
    "PyExprMutator": "expr_functor",
    "PyExprVisitor": "expr_functor",
    "VMExecutable": "vm_build",
    "VMInstrumentReturnKind": "vm",
    "VirtualMachine": "vm_build",
    "build": "vm_build",
    "args_converter": "utils",
    "convert_to_expr": "utils",
}
"""Names of submodules that are re-exported here."""

_OPERATORS = (
    "call_dps_packed",
    "call_inplace_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
)
"""Operators that are re-exported here."""


def __getattr__(name: str) -> object:
    """Import names of modules that may belong to packages that `ir` must not import, on first use."""
    from importlib import import_module

    if name in _FROM:
        return getattr(import_module(f"tvms.relax.{_FROM[name]}"), name)
    if name in _OPERATORS:
        return getattr(op, name)
    raise AttributeError(f"module 'tvms.relax' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *_FROM, *_OPERATORS})
