"""The program: nodes, operators, rules of well-formedness, interpreter, passes. Also holds the names of TVM's `tvm.ir`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import hooks

if TYPE_CHECKING:
    from .api.json_graph import load_json, save_json
    from .api.operator_attributes import register_op_attr
    from .api.program import (
        Array,
        BaseExpr,
        CallingConv,
        DictAttrs,
        Expr,
        Map,
        PrimType,
        Range,
        Type,
        Var,
        VDevice,
        assert_structural_equal,
        is_prim_expr,
        is_prim_var,
        structural_equal,
        structural_hash,
    )
    from .api.relax.expr import Call
    from .base import BaseFunc, DummyGlobalInfo, GlobalInfo, GlobalVar, IRModule, Node, Op, RelaxExpr
    from .diagnostics import Span
    from .passes import transform
    from .tir import FuncType, PointerType, PrimExpr, TensorMapType, TupleType

__all__ = [
    "Array", "BaseExpr", "BaseFunc", "Call", "CallingConv", "DictAttrs", "DummyGlobalInfo", "Expr", "FuncType", "GlobalInfo", "GlobalVar", "IRModule", "Map", "Node", "Op", "PointerType", "PrimExpr",
    "PrimType", "Range", "RelaxExpr", "Span", "TensorMapType", "TupleType", "Type", "VDevice", "Var", "assert_structural_equal", "is_prim_expr", "is_prim_var", "load_json", "register_op_attr",
    "save_json", "structural_equal", "structural_hash", "transform",
]  # fmt: skip


def _structural_equal(a: Any, b: Any) -> bool:
    from .equal import structural_equal

    return structural_equal(a, b)


def _assert_structural_equal(a: Any, b: Any, map_free_vars: bool) -> None:
    from .api.program import assert_structural_equal

    assert_structural_equal(a, b, map_free_vars)


def _first_structural_mismatch(a: Any, b: Any, map_free_vars: bool) -> Any:
    from .api.access_path import get_first_structural_mismatch

    return get_first_structural_mismatch(a, b, map_free_vars)


def _is_base_of(base: Any, derived: Any) -> bool:
    from .api.relax.subsumption import BaseCheckResult, struct_info_base_check

    return struct_info_base_check(base, derived) is BaseCheckResult.PASS


def _structural_hash(node: Any) -> int:
    from .equal import structural_hash

    return structural_hash(node)


def _check_operator(name: str) -> None:
    from .ops.tir import check_operator

    check_operator(name)


def _bind_params(function: Any, values: Any) -> Any:
    from .passes.bind_params import with_params

    return with_params(function, values)


def _bind_symbolic_vars(function: Any, values: Any) -> Any:
    from .passes.bind_params import with_symbolic_vars

    return with_symbolic_vars(function, values)


def _inline_functions(function: Any, callees: Any) -> Any:
    from .passes.inline_private_functions import inline_functions

    return inline_functions(function, callees)


def _apply(name: str, *args: Any) -> Any:
    from .building.values import apply

    return apply(name, *args)


def _call_function(function: Any, args: Any) -> Any:
    from .building.values import call_function

    return call_function(function, args)


def _parts(value: Any) -> tuple[Any, ...]:
    from .building.values import parts

    return parts(value)


def _combine(name: str, *values: Any) -> Any:
    from . import make

    return getattr(make, name)(*(make.operands(*values) if len(values) == 2 else map(make.operand, values)))


def _cast(value: Any, dtype: str) -> Any:
    from . import make

    return make.cast(make.operand(value), dtype)


def _access(buffer: Any, indices: Any) -> Any:
    from .te.expr import access

    return access(buffer, indices)


def _load(buffer: Any, *args: Any) -> Any:
    from .te.expr import load

    return load(buffer, *args)


def _store(buffer: Any, *args: Any) -> Any:
    from .te.expr import store

    return store(buffer, *args)


def _access_ptr(buffer: Any, *args: Any) -> Any:
    from .api.tir.buffers import access_ptr

    return access_ptr(buffer, *args)


def _offset_of(buffer: Any, indices: Any) -> Any:
    from .api.tir.buffers import offset_of

    return offset_of(buffer, indices)


def _flattened_buffer(buffer: Any) -> Any:
    from .buffers import flattened

    return flattened(buffer)


def _index_map(name: str, *args: Any) -> Any:
    from .api.tir import index_maps

    return getattr(index_maps, name)(*args)


def _specialize(function: Any, param_map: Any) -> Any:
    from .api.tir.specialization import specialize

    return specialize(function, param_map)


def _external_functions(module: Any) -> Any:
    from .backend.external import external_functions

    return external_functions(module)


def _topi(name: str, *operands: Any) -> Any:
    from .api import topi

    return getattr(topi, name)(*operands)


def _prim_type(dtype: str) -> Any:
    from .tir import PrimType

    return PrimType(dtype)


def _operator_attribute(name: str, attribute: str) -> Any:
    from .api.operator_attributes import operator_attribute

    return operator_attribute(name, attribute)


def _reset_operator_attribute(name: str, attribute: str) -> None:
    from .api.operator_attributes import reset_operator_attribute

    reset_operator_attribute(name, attribute)


def _function_struct_info(function: Any) -> Any:
    from .infer import function_struct_info

    return function_struct_info(function)


hooks.define(
    function_struct_info=_function_struct_info,
    structural_equal=_structural_equal,
    assert_structural_equal=_assert_structural_equal,
    first_structural_mismatch=_first_structural_mismatch,
    structural_hash=_structural_hash,
    is_base_of=_is_base_of,
    check_operator=_check_operator,
    bind_params=_bind_params,
    bind_symbolic_vars=_bind_symbolic_vars,
    inline_functions=_inline_functions,
    apply=_apply,
    call_function=_call_function,
    parts=_parts,
    combine=_combine,
    cast=_cast,
    access=_access,
    access_ptr=_access_ptr,
    flattened_buffer=_flattened_buffer,
    index_map=_index_map,
    offset_of=_offset_of,
    specialize=_specialize,
    load=_load,
    store=_store,
    external_functions=_external_functions,
    topi=_topi,
    prim_type=_prim_type,
    operator_attribute=_operator_attribute,
    reset_operator_attribute=_reset_operator_attribute,
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tvms.ir' has no attribute '{name}'")
    if name == "transform":
        from .passes import transform

        return transform
    if name == "Call":
        from .api.relax.expr import Call

        return Call
    if name == "register_op_attr":
        from .api.operator_attributes import register_op_attr

        return register_op_attr
    from . import base, diagnostics, tir
    from .api import json_graph, program

    return next(getattr(room, name) for room in (program, json_graph, base, tir, diagnostics) if hasattr(room, name))
