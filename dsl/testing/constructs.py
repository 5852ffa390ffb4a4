"""The constructs of the language that an example contains, by name. A run that never meets an expected construct fails."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from ...ir import relax, tir
from ...ir.base import Node, Op
from ...ir.visit import walk
from .features import features_of

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
        "BlockInitializes",
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
"""The constructs of loop-level functions."""


def constructs_of(*nodes: Node) -> Iterator[str]:
    """Yield the constructs in `nodes`, possibly repeated: forms, fields that differ from their default, kinds of loops
    and axes, dtypes, sizes, operators, and the features of loop-level functions.
    """
    for root in nodes:
        if isinstance(root, tir.PrimFunc):
            yield from (f"feature:{name}" for name in features_of(root))
        for node in walk(root):
            yield from _form_and_fields(node)
            match node:
                case tir.For():
                    yield f"loop:{node.kind.value}"
                case tir.IterVar():
                    yield f"axis:{node.iter_type.value}"
                case tir.Buffer():
                    yield f"dtype:{node.dtype}"
                    yield f"scope:{node.scope}"
                    yield f"rank:{len(node.shape)}"
                    yield from map(_size, node.shape)
                    if any(isinstance(extent, tir.Var) for extent in node.shape):
                        yield "SizeIsSymbolic"
                case tir.Block():
                    if node.init is not None:
                        yield "BlockInitializes"
                    if node.alloc_buffers and node.iter_vars:
                        yield "BlockAllocates"
                case relax.TensorStructInfo():
                    yield f"dtype:{node.dtype}"
                    if isinstance(node.shape, relax.ShapeExpr):
                        yield f"rank:{len(node.shape.values)}"
                        yield from map(_size, node.shape.values)
                case tir.Call(op=Op(name=name)) | relax.Call(op=Op(name=name)):
                    yield f"op:{name}"
                case _:
                    pass


def _form_and_fields(node: Node) -> Iterator[str]:
    name, fields = optional_fields(type(node))
    yield name
    for field, default in fields:
        if getattr(node, field) not in (default, None):
            yield f"{name}.{field}"


@cache
def optional_fields(kind: type[Node]) -> tuple[str, tuple[tuple[str, object], ...]]:
    """Return the name of a kind of nodes, and its optional fields with their defaults."""
    name = f"R.{kind.__name__}" if kind.__module__ == relax.__name__ else kind.__name__
    found = list[tuple[str, object]]()
    for field in msgspec.structs.fields(kind):
        made = field.default_factory is not msgspec.NODEFAULT
        if field.name not in _ASIDE and (made or field.default is not msgspec.NODEFAULT):
            found.append((field.name, field.default_factory() if made else field.default))
    return name, tuple(found)


_ASIDE = ("span", "trivia", "struct_info")
"""Fields that do not belong to the meaning of a program, or that are derived."""
_SIZES = ((0, "0"), (1, "1"), (6, "2 to 6"), (32, "7 to 32"))


def _size(extent: tir.PrimExpr) -> str:
    if not isinstance(extent, tir.IntImm):
        return "size:symbolic"
    return "size:" + next((name for most, name in _SIZES if extent.value <= most), "33 and more")
