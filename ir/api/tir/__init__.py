"""The loop level in Python (TVM: `tvm.tir`): nodes, functions of expressions, schedules, analyses.

Every intrinsic of the language is also a function: `tir.exp(x)`, `tir.call_extern("int32", "f", x)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...schedule import Schedule, ScheduleError
from ...schedule.state import BlockScope, ScheduleState, StmtSRef
from ...schedule.tensor_intrin import TensorIntrin
from ...te import all, any, comm_reducer, const, max, min, sum
from ...tir import BufferType, ForKind, Stmt
from . import analysis, functor, ir_builder, stmt_functor
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
    stmt_list,
    stmt_seq,
    vscale,
)  # fmt: skip

Buffer = decl_buffer

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "Allocate", "AllocateConst", "And", "AssertStmt", "AttrStmt", "Block",
    "BlockRealize", "BlockScope", "Broadcast", "Buffer", "BufferLoad", "BufferRealize", "BufferRegion", "BufferStore", "BufferType",
    "Call", "Cast", "CommReducer", "DeclBuffer", "Div", "Evaluate", "FloatImm", "FloorDiv", "FloorMod", "For", "ForKind",
    "IfThenElse", "IndexMap", "IntImm", "IterVar", "Let", "LetStmt", "MatchBufferRegion", "Max", "Min", "Mod", "Mul",
    "Not", "Or", "PrimExpr", "PrimFunc", "ProducerLoad", "ProducerRealize", "ProducerStore", "PyStmtExprMutator", "PyStmtExprVisitor", "Ramp", "Reduce", "Schedule",
    "ScheduleError", "ScheduleState", "Select", "SeqStmt", "Shuffle", "SizeVar", "Stmt", "StmtSRef", "StringImm", "Sub", "TensorIntrin", "Var", "While",
    "add", "all", "analysis", "any", "call_intrin", "comm_reducer", "const", "decl_buffer", "functor", "ir_builder", "max", "min", "multiply", "stmt_functor", "stmt_list", "stmt_seq", "subtract", "sum",
    "vscale",
]  # fmt: skip

_OTHER_NAMES = {"indexdiv": "floordiv", "indexmod": "floormod", "power": "pow"}
"""Aliases of intrinsics."""


def __getattr__(name: str) -> Any:
    """Return the function of an intrinsic, or `tir.build`, which is `tvms.compile`."""
    if name.startswith("__"):
        raise AttributeError(name)
    return import_module("tvms").compile if name == "build" else intrinsic(_OTHER_NAMES.get(name, name))
