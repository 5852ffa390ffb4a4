"""Details that generated programs rarely have, for laws about text: annotations, declarations of buffers, constants and comments.

A detail is a field of a node that generators leave at its default, or a constant that they do not choose. `detailed` sets
details of random nodes. The results print and parse, but need not be valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Commented, IRModule, Node, Trivia
from ...ir.dtype import int_range, is_bool, is_int
from ...ir.promote import largest
from ...ir.visit import substitute, walk
from .choices import Choices


def _index_map(dtype: str) -> tir.IndexMap:
    """Return the map of an index to that of a block of four, and the place in it."""
    index, four = tir.Var(dtype, "i"), tir.IntImm(dtype, 4)
    return tir.IndexMap((index,), (tir.FloorDiv(dtype, index, four), tir.FloorMod(dtype, index, four)))


MOST = 3
"""Maximum number of details of a program."""
NOTES = (
    1,
    True,
    "a text",
    -0.0,
    (1, 2),
    {"a": 1},
    None,
    0.1,
    'a "quoted"\n\ttext\\',
    (),
    2**40,
    ((1, "b"), {"c": (False,)}),
    *[_index_map(dtype) for dtype in ("int64", "int32")],
)
"""Values of annotations and attributes."""
FLOATS = (
    -0.0, 0.1, 1e16, 123456789.0, float("inf"), float("-inf"), float("nan"), 1e-45, 3.4028234663852886e38, -1e22, 16777217.0,
    5e-324, 2.0**-126,
)  # fmt: skip
PRIMITIVES = (tir.IntImm("int32", 3), tir.IntImm("uint8", 200), tir.IntImm("bool", 1), tir.FloatImm("float64", 0.5))
"""Scalars in graphs, whose dtype is not the default of their literals."""
_COMMENTS = ("# why", "#", "#no space", '# "quoted" (', "# ünïcødé", "# twice # two")

Detail: TypeAlias = Callable[[Choices, Any], Node | None]
"""Function from a node to a node with another detail; None if that does not apply."""


def detailed(choose: Choices, module: IRModule) -> IRModule:
    """Return a module with up to `MOST` other details."""
    for _ in range(choose.number(0, MOST)):
        nodes = [node for function in module.functions.values() for node in walk(function)]
        kept = {  # a scalar operand, such as an axis in a tuple, must fit the operator
            scalar
            for node in nodes
            if isinstance(node, relax.Call)
            for operand in node.args
            for scalar in walk(operand)
            if isinstance(scalar, relax.PrimValue)
        }
        fitting = [
            (node, rows) for node in dict.fromkeys(nodes) if node not in kept and (rows := details_of(type(node)))
        ]
        if not fitting:
            return module
        node, rows = choose.pick(fitting)
        if isinstance(node, relax.Function) and node not in module.functions.values():
            rows = tuple(
                [row for row in rows if row is not _shaped]
            )  # calls of a nested function pass no more arguments
        changed = choose.pick(rows)(choose, node)
        if changed is not None:
            module = substitute(module, {node: changed})
    return module


@cache
def details_of(kind: type[Node]) -> tuple[Detail, ...]:
    """Return the details of a kind of node."""
    own = tuple([detail for base, details in DETAILS.items() if issubclass(kind, base) for detail in details])
    return (*own, _commented) if issubclass(kind, Commented) and not issubclass(kind, tir.SeqStmt) else own


def _noted(field: str) -> Detail:
    """Return the detail of a note in the dict `field`."""

    def change(choose: Choices, node: Any) -> Node:
        return replace(node, **{field: {**getattr(node, field), choose.pick(("k", "pragma_b")): choose.pick(NOTES)}})

    return change


def _set(field: str, *values: object) -> Detail:
    return lambda choose, node: replace(node, **{field: choose.pick(values)})


def _separated(choose: Choices, buffer: tir.Buffer) -> Node | None:
    rank = len(buffer.shape)
    return replace(buffer, axis_separators=(choose.number(1, rank - 1),)) if rank > 1 else None


def _shifted(choose: Choices, buffer: tir.Buffer) -> Node | None:
    dtype = buffer.shape[0].dtype if buffer.shape else "int32"
    return replace(buffer, elem_offset=tir.IntImm(dtype, choose.number(1, 8))) if buffer.elem_offset is None else None


def _constant(choose: Choices, node: tir.FloatImm) -> Node:
    value, most = choose.pick(FLOATS), largest(node.dtype)
    return replace(node, value=math.copysign(most, value) if most < abs(value) < math.inf else value)


def _elements(choose: Choices, node: relax.Constant) -> Node | None:
    """Set all elements of a float constant to a special value."""
    import numpy as np

    kind = getattr(getattr(node.data, "dtype", None), "name", "")
    if kind not in ("float16", "float32", "float64") or node.name is not None:
        return None
    value = choose.pick((float("nan"), float("inf"), float("-inf"), -0.0, 0.1))
    return replace(node, data=np.full(node.data.shape, value, node.data.dtype))


def _operand(choose: Choices, node: tir.BinaryOp) -> Node | None:
    """Replace the right operand of an integer operation by a constant at the limits of its dtype."""
    dtype = node.b.dtype
    if not is_int(dtype) or is_bool(dtype) or isinstance(node.a, tir.IntImm) or "x" in dtype:
        return None
    low, high = int_range(dtype)
    return replace(node, b=tir.IntImm(dtype, choose.pick((high, low, high - 1, low + 1, 1, 2))))


def _explained(choose: Choices, node: tir.AssertStmt) -> Node:
    """Give an assertion the kind of its exception, and a message in parts."""
    parts = choose.pick((("expected ", "4", ""), ("wrong",), ('a "quoted"\n', "text")))
    return replace(node, message=tir.StringImm("handle", "".join(parts)), kind="ValueError", parts=parts)


def _commented(choose: Choices, node: Commented) -> Node | None:
    def some(most: int) -> tuple[str, ...]:
        return tuple([choose.pick(_COMMENTS) for _ in range(choose.number(0, most))])

    has_body = any(
        isinstance(getattr(node, name, None), tir.Stmt | relax.SeqExpr) for name in ("body", "then_case", "block")
    )
    after = choose.pick((None, *_COMMENTS))
    return replace(node, trivia=Trivia(some(2), after, some(2) if has_body else ()))


def _shaped(choose: Choices, node: relax.Function) -> Node:
    """Add a shape and a tensor of this shape to the parameters."""
    rank = choose.number(1, 3)
    shape = relax.Var("shape_of_x", struct_info=relax.ShapeStructInfo(None, rank))
    info = relax.TensorStructInfo(shape, choose.pick(("float32", "void")), rank)
    x = relax.Var("x_of_shape", struct_info=info)
    return replace(node, params=(*node.params, shape, x))


_ANNOTATED = (tir.For, tir.Block, tir.Allocate, tir.AllocateConst)
DETAILS: dict[type[Node], Sequence[Detail]] = {
    **dict.fromkeys(_ANNOTATED, (_noted("annotations"),)),
    tir.PrimFunc: (_noted("attrs"),),
    relax.Function: (_noted("attrs"), _shaped),
    tir.Buffer: (
        _separated, _shifted, _set("data_alignment", 128, 16, 4), _set("offset_factor", 8, 2),
        _set("buffer_type", tir.BufferType.AUTO_BROADCAST),
    ),
    tir.AssertStmt: (_explained,),
    relax.PrimValue: (_set("value", *PRIMITIVES),),
    relax.Constant: (_elements,),
    tir.FloatImm: (_constant,),
    tir.BinaryOp: (_operand,),
}  # fmt: skip
"""Details by the kind of their nodes. Statements and bindings also get comments."""
