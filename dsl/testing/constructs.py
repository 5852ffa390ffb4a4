"""Which constructs of the language an example holds, by name: a run that never meets one of those it should, fails."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import relax, tir
from ...ir.base import Node, Op
from ...ir.visit import walk

LOOP_LEVEL = frozenset(
    [
        "Var",
        "IntImm",
        "FloatImm",
        "Cast",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Mod",
        "FloorDiv",
        "FloorMod",
        "Min",
        "Max",
        "EQ",
        "NE",
        "LT",
        "LE",
        "GT",
        "GE",
        "And",
        "Or",
        "Not",
        "Select",
        "Let",
        "BufferLoad",
        "Call",
        "BufferStore",
        "LetStmt",
        "AssertStmt",
        "IfThenElse",
        "For",
        "While",
        "Block",
        "BlockRealize",
        "Ramp",
        "Broadcast",
        "SeqStmt",
        "MatchBufferRegion",
        "SizeIsSymbolic",
        "BlockAllocates",
        "BlockInitialises",
        "loop:serial",
        "loop:parallel",
        "loop:unroll",
        "loop:vectorized",
        "loop:thread_binding",
        "axis:spatial",
        "axis:reduce",
        "axis:scan",
        "scope:local",
        "scope:shared",
        "scope:global",
        "dtype:float32",
        "dtype:int32",
        "dtype:float64",
        "dtype:int64",
        "dtype:float16",
        "dtype:int8",
        "dtype:uint8",
        "dtype:bfloat16",
        "dtype:int16",
        "dtype:uint16",
        "dtype:uint32",
        "op:tir.if_then_else",
        "op:tir.floor",
        "op:tir.popcount",
        "op:tir.bitwise_and",
        "op:tir.shift_left",
    ]
)
"""What loop-level functions are made of."""


def constructs_of(*nodes: Node) -> Iterator[str]:
    """Yield the constructs in `nodes`, some of them more than once."""
    for root in nodes:
        for node in walk(root):
            yield type(node).__name__
            match node:
                case tir.For():
                    yield f"loop:{node.kind.value}"
                case tir.IterVar():
                    yield f"axis:{node.iter_type.value}"
                case tir.Buffer():
                    yield f"dtype:{node.dtype}"
                    yield f"scope:{node.scope}"
                    if any(isinstance(extent, tir.Var) for extent in node.shape):
                        yield "SizeIsSymbolic"
                case tir.Block():
                    if node.init is not None:
                        yield "BlockInitialises"
                    if node.alloc_buffers and node.iter_vars:
                        yield "BlockAllocates"
                case tir.Call(op=Op(name=name)) | relax.Call(op=Op(name=name)):
                    yield f"op:{name}"
                case _:
                    pass
