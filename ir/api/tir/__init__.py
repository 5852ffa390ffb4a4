"""The loop level in Python (TVM: `tvm.tir`): nodes, functions of expressions, schedules, analyses.

Every intrinsic of the language is also a function: `tir.exp(x)`, `tir.call_extern("int32", "f", x)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...left_out import message_for, reason_for
from ...schedule import Schedule, ScheduleError
from ...schedule.state import BlockScope, ScheduleState, StmtSRef
from ...schedule.tensor_intrin import TensorIntrin
from ...te import all, any, comm_reducer, const, max, min, sum
from ...tir import BufferType, ForKind, Stmt
from ..constructor import plain_node as convert
from . import analysis, functor, ir_builder, stmt_functor
from .data_layout import BijectiveLayout, Layout, bijective_layout, layout
from .expressions import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    Var,
    add,
    multiply,
    subtract,
)  # fmt: skip
from .functor import PyStmtExprMutator, PyStmtExprVisitor
from .index_maps import IndexMap
from .intrinsics import call_intrin, intrinsic
from .kinds import CallEffectKind, call_tir, get_vscale_expr
from .statements import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    PrimFunc,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    While,
    decl_buffer,
    is_buffer_var,
    stmt_list,
    stmt_seq,
    vscale,
)  # fmt: skip

Buffer = decl_buffer
SBlock, SBlockRealize = Block, BlockRealize
"""Names of the newest TVM."""

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "Allocate", "AllocateConst", "And", "AssertStmt", "AttrStmt", "BijectiveLayout", "Block",
    "BlockRealize", "BlockScope", "Broadcast", "Buffer", "BufferLoad", "BufferRealize", "BufferRegion", "BufferStore", "BufferType",
    "Call", "CallEffectKind", "Cast", "CommReducer", "DeclBuffer", "Div", "Evaluate", "Expr", "FloatImm", "FloorDiv", "FloorMod", "For", "ForKind",
    "IfThenElse", "IndexMap", "IntImm", "IterVar", "Layout", "Let", "LetStmt", "MatchBufferRegion", "Max", "Min", "Mod", "Mul",
    "Not", "Or", "PrimExpr", "PrimFunc", "ProducerLoad", "ProducerRealize", "ProducerStore", "PyStmtExprMutator", "PyStmtExprVisitor", "Ramp", "Reduce", "SBlock", "SBlockRealize", "Schedule",
    "ScheduleError", "ScheduleState", "Select", "SeqStmt", "Shuffle", "SizeVar", "Stmt", "StmtSRef", "StringImm", "Sub", "TensorIntrin", "Var", "While",
    "add", "all", "analysis", "any", "bijective_layout", "call_intrin", "call_tir", "comm_reducer", "const", "convert", "decl_buffer", "functor", "get_vscale_expr", "ir_builder", "is_buffer_var", "layout", "max", "min", "multiply", "stmt_functor", "stmt_list", "stmt_seq", "subtract", "sum",
    "vscale",
]  # fmt: skip

_OTHER_NAMES = {"indexdiv": "floordiv", "indexmod": "floormod", "power": "pow"}
"""Aliases of intrinsics."""


def __getattr__(name: str) -> Any:
    """Return the function of an intrinsic, or `tir.build`, which is `tvms.compile`."""
    if name.startswith("__"):
        raise AttributeError(name)
    if reason_for(f"tvms.tir.{name}"):
        raise AttributeError(message_for(f"tvms.tir.{name}"))
    return import_module("tvms").compile if name == "build" else intrinsic(_OTHER_NAMES.get(name, name))
