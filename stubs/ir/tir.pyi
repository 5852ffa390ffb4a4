"""The loop level: TensorIR, as fields only (TVM: `include/tvm/tir/{expr,stmt,buffer,function}.h`).

`dtype` is TVM's string form: "int64", "float32x4", "bool", "handle", "void"; `tvms.ir.dtype` parses it. The first field
of every expression is its dtype, as in `tvm.tir.Call(dtype, op, args)`; `tvms.ir.make` builds expressions and infers
their dtypes. Variables and buffers compare by identity.
"""

from __future__ import annotations
import builtins
import collections.abc
import tvms.ir.base
import tvms.ir.kinds
import tvms.ir.te.tensor
import tvms.ir.tir
import typing

from typing import Any, cast

from . import hooks as hooks
from .base import Attrs as Attrs
from .base import BaseFunc as BaseFunc
from .base import Commented as Commented
from .base import GlobalVar as GlobalVar
from .base import Node as Node
from .base import Op as Op
from .kinds import BufferType as BufferType
from .kinds import ForKind as ForKind
from .kinds import IterVarType as IterVarType
from .operators import Arithmetic as Arithmetic
from .operators import Equality as Equality
from .operators import Indexed as Indexed
from .operators import Mapping as Mapping

# --- Types ----------------------------------------------------------------------------------------------------


class Type(Node, frozen=True, eq=False):
    """The type of a variable that its dtype does not fully describe."""


class PrimType(Type, frozen=True, eq=False):
    """The type of a scalar; equal to another one of the same dtype."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrimType) and self.dtype == other.dtype

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.dtype)

    def is_base_of(self, derived: object) -> bool:
        """Return whether every value of `derived` is also one of this type (TVM 0.27)."""
        return hooks.call("is_base_of", self, derived)


class PointerType(Type, frozen=True, eq=False):
    element_type: Type
    storage_scope: str = ""


class TupleType(Type, frozen=True, eq=False):
    fields: tuple[Type, ...] = ()


class FuncType(Type, frozen=True, eq=False):
    arg_types: tuple[Type, ...]
    ret_type: Type


class TensorMapType(Type, frozen=True, eq=False):
    """The type of a CUDA tensor map (`T.TensorMap()`)."""


# --- Expressions ----------------------------------------------------------------------------------------------


class PrimExpr(Arithmetic["PrimExpr"], Node, frozen=True, eq=False):
    """A loop-level value, with Python's operators. `bool(a == b)` compares by identity, as for all nodes."""

    dtype: str

    @property
    def ty(self) -> Type:
        """Type of the value in TVM 0.27."""
        return PrimType(self.dtype)


class Var(PrimExpr, frozen=True, eq=False):
    name: str
    type_annotation: Type | None = None
    """None means `PrimType(dtype)`."""
    def __init__(self, name: builtins.str, dtype: builtins.str | tvms.ir.tir.Type = 'int32', ty: builtins.str | tvms.ir.tir.Type | None = None) -> None:
        """A variable of a dtype or a type, such as that of a pointer; a symbolic dimension of the graph level is an int64.

        `ty` is `dtype` in TVM 0.27.
        """


class SizeVar(Var, frozen=True, eq=False):
    """A variable that is never negative."""
    def __init__(self, name: builtins.str, dtype: builtins.str = 'int32', ty: builtins.str | None = None) -> None:
        """A variable that is never negative. `ty` is `dtype` in TVM 0.27."""


class IntImm(PrimExpr, frozen=True, eq=False):
    """An integer or, with dtype "bool", a truth value."""

    value: int

    def __index__(self) -> int:
        return self.value

    def __eq__(self, other: object) -> bool:
        """Whether `other` is the same object, or the value as a number."""
        result = cast("object", super().__eq__(other))
        return self.value == other if isinstance(other, int) and isinstance(result, Equality) else cast("bool", result)

    def __ne__(self, other: object) -> bool:
        result = cast("object", super().__ne__(other))
        return self.value != other if isinstance(other, int) and isinstance(result, Equality) else cast("bool", result)

    __hash__ = PrimExpr.__hash__

    def __bool__(self) -> bool:
        return bool(self.value)
    def __init__(self, dtype: builtins.str, value: builtins.int) -> None:
        """An integer constant; TvmsError E0233 for another dtype."""


class FloatImm(PrimExpr, frozen=True, eq=False):
    value: float
    def __init__(self, dtype: builtins.str, value: builtins.float) -> None:
        """A floating-point constant; TvmsError E0233 for another dtype."""


class StringImm(PrimExpr, frozen=True, eq=False):
    value: str
    def __init__(self, value: builtins.str) -> None:
        """A string argument of a call."""


class Cast(PrimExpr, frozen=True, eq=False):
    value: PrimExpr
    def __init__(self, dtype: builtins.str, value: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """`value` converted to `dtype`."""


class BinaryOp(PrimExpr, frozen=True, eq=False):
    a: PrimExpr
    b: PrimExpr


class Add(BinaryOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Add` of two operands, without folding."""


class Sub(BinaryOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Sub` of two operands, without folding."""


class Mul(BinaryOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Mul` of two operands, without folding."""


class Div(BinaryOp, frozen=True, eq=False):
    """Division; of integers, rounded towards zero."""
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Div` of two operands, without folding."""


class Mod(BinaryOp, frozen=True, eq=False):
    """The remainder of `Div`, with the sign of `a`."""
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Mod` of two operands, without folding."""


class FloorDiv(BinaryOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `FloorDiv` of two operands, without folding."""


class FloorMod(BinaryOp, frozen=True, eq=False):
    """The remainder of `FloorDiv`, with the sign of `b`."""
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `FloorMod` of two operands, without folding."""


class Min(BinaryOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Min` of two operands, without folding."""


class Max(BinaryOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Max` of two operands, without folding."""


class CmpOp(BinaryOp, frozen=True, eq=False):
    """A comparison; its dtype is bool, with the lanes of its operands."""


class EQ(CmpOp, frozen=True, eq=False):
    def __bool__(self) -> bool:
        return hooks.call("structural_equal", self.a, self.b) or super().__bool__()
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `EQ` of two operands, without folding."""


class NE(CmpOp, frozen=True, eq=False):
    def __bool__(self) -> bool:
        return not hooks.call("structural_equal", self.a, self.b) and super().__bool__()
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `NE` of two operands, without folding."""


class LT(CmpOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `LT` of two operands, without folding."""


class LE(CmpOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `LE` of two operands, without folding."""


class GT(CmpOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `GT` of two operands, without folding."""


class GE(CmpOp, frozen=True, eq=False):
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `GE` of two operands, without folding."""


class And(BinaryOp, frozen=True, eq=False):
    """Logical and; `b` is not evaluated if `a` is false."""
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `And` of two operands, without folding."""


class Or(BinaryOp, frozen=True, eq=False):
    """Logical or; `b` is not evaluated if `a` is true."""
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, b: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The node `Or` of two operands, without folding."""


class Not(PrimExpr, frozen=True, eq=False):
    a: PrimExpr
    def __init__(self, a: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The negation of `a`."""


class Select(PrimExpr, frozen=True, eq=False):
    """A choice (`T.Select`); the other operand has no effect, and its loads are guarded (TVM: `RewriteUnsafeSelect`)."""

    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr
    def __init__(self, condition: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, true_value: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, false_value: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """`true_value` if `condition` holds, else `false_value`; both are evaluated."""


class BufferLoad(PrimExpr, frozen=True, eq=False):
    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    predicate: PrimExpr | None = None
    def __init__(self, buffer: tvms.ir.tir.Buffer, indices: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool], predicate: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool | None = None) -> None:
        """A load of an element of a buffer, or of a vector if an index is a vector."""


class ProducerLoad(PrimExpr, frozen=True, eq=False):
    """A load in a tensor expression, before the tensor has a buffer."""

    producer: Node
    indices: tuple[PrimExpr, ...]
    def __init__(self, producer: tvms.ir.te.tensor.Tensor, indices: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool]) -> None:
        """An element of a tensor of `te`."""


class Ramp(PrimExpr, frozen=True, eq=False):
    """The vector `base, base + stride, …` of `lanes` elements; `lanes` may hold `T.vscale()`."""

    base: PrimExpr
    stride: PrimExpr
    lanes: PrimExpr
    def __init__(self, base: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, stride: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, lanes: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The vector `base, base + stride, …` of `lanes` elements."""


class Broadcast(PrimExpr, frozen=True, eq=False):
    value: PrimExpr
    lanes: PrimExpr
    def __init__(self, value: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, lanes: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """The vector of `lanes` copies of `value`."""


class Let(PrimExpr, frozen=True, eq=False):
    var: Var
    value: PrimExpr
    body: PrimExpr
    def __init__(self, var: tvms.ir.tir.PrimExpr, value: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, body: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool) -> None:
        """`body`, in which `var` has the value `value`; TvmsError E0407 if their dtypes differ."""


class Call(PrimExpr, frozen=True, eq=False):
    """A call of an intrinsic (`Op`) or of a function of the module."""

    op: Op | GlobalVar
    args: tuple[PrimExpr | Node, ...]
    annotations: Attrs = {}
    def __init__(self, dtype: builtins.str, op: builtins.str | tvms.ir.base.Op | tvms.ir.base.GlobalVar, args: collections.abc.Sequence[typing.Any], annotations: collections.abc.Mapping[builtins.str, typing.Any] | None = None) -> None:
        """A call of a function, or of an intrinsic, which may be given by name."""


class TileCall(PrimExpr, frozen=True, eq=False):
    """A form of TIRX's tile level, which is not compiled: its name in `T` (see `ops.tile`), and arguments as written."""

    name: str
    args: tuple[Any, ...] = ()
    keywords: Attrs = {}


class Shuffle(PrimExpr, frozen=True, eq=False):
    """Elements of the concatenated `vectors` at `indices`."""

    vectors: tuple[PrimExpr, ...]
    indices: tuple[PrimExpr, ...]
    def __init__(self, vectors: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool], indices: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool]) -> None:
        """Elements of the concatenated `vectors` at `indices`."""


class CommReducer(Node, frozen=True, eq=False):
    """A commutative reducer: `result` combines `lhs` and `rhs`; `identity_element` is neutral."""

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[PrimExpr, ...]
    identity_element: tuple[PrimExpr, ...]
    def __init__(self, lhs: collections.abc.Sequence[tvms.ir.tir.PrimExpr], rhs: collections.abc.Sequence[tvms.ir.tir.PrimExpr], result: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool], identity_element: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool]) -> None:
        """A commutative reducer: `result` combines the variables `lhs` and `rhs`."""


class Reduce(PrimExpr, frozen=True, eq=False):
    """A reduction inside a tensor expression; `value_index` selects one of several results."""

    combiner: CommReducer
    source: tuple[PrimExpr, ...]
    axis: tuple[IterVar, ...]
    condition: PrimExpr
    value_index: int = 0
    init: tuple[PrimExpr, ...] = ()
    def __init__(self, combiner: tvms.ir.tir.CommReducer, src: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool], rdom: collections.abc.Sequence[typing.Any], condition: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, value_index: builtins.int, init: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool] = ...) -> None:
        """A reduction of `src` over the axes `rdom`."""


# --- Buffers, ranges, iterators -------------------------------------------------------------------------------


class Range(Node, frozen=True, eq=False):
    """The integers `[min, min + extent)`."""

    min: PrimExpr
    extent: PrimExpr


class Buffer(Indexed["PrimExpr", "BufferStore"], Node, frozen=True, eq=False):
    """A view of the memory at `data`; `strides` and `elem_offset` count elements, empty strides mean compact, row-major."""

    data: Var
    dtype: str
    shape: tuple[PrimExpr, ...]
    name: str
    strides: tuple[PrimExpr, ...] = ()
    elem_offset: PrimExpr | None = None
    """None means zero (compact buffers declared without one)."""
    data_alignment: int = 64
    """In bytes."""
    offset_factor: int = 1
    buffer_type: BufferType = BufferType.DEFAULT
    axis_separators: tuple[int, ...] = ()
    scope: str = "global"
    """The storage scope, the same as in `data`'s pointer type: "global", "shared", "local", …"""
    attrs: Attrs = {}
    """What the tile level says about it, such as `layout`."""
    def __init__(self, shape: typing.Any, dtype: builtins.str | None = None, name: builtins.str = 'buffer', data: tvms.ir.tir.PrimExpr | None = None, strides: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool] | None = None, elem_offset: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool | None = None, scope: builtins.str = '', data_alignment: builtins.int = -1, offset_factor: builtins.int = 0, buffer_type: builtins.str = '', axis_separators: collections.abc.Sequence[builtins.int] | None = None) -> None:
        """A buffer of `shape` over `data`, or over its own memory (TVM: `tir.decl_buffer`).

        Raises ValueError if `axis_separators` are not increasing numbers of dimensions.
        """
    READ: typing.Any
    WRITE: typing.Any


class BufferRegion(Node, frozen=True, eq=False):
    buffer: Buffer
    region: tuple[Range, ...]
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """BufferRegion Its arguments are buffer, region."""


class MatchBufferRegion(Node, frozen=True, eq=False):
    """Inside a block, `buffer` is a view of the region `source`."""

    buffer: Buffer
    source: BufferRegion
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """Inside a block, `buffer` is a view of the region `source`. Its arguments are buffer, source."""


class IterVar(Arithmetic[PrimExpr], Node, frozen=True, eq=False):
    dom: Range | None
    var: Var
    iter_type: IterVarType
    thread_tag: str = ""
    def __init__(self, dom: typing.Any, var: typing.Any, iter_type: tvms.ir.kinds.IterVarType | builtins.int, thread_tag: builtins.str = '') -> None:
        """An iterator over `dom`, a range or a pair of its begin and end; `var` may be a name."""
    DataPar: typing.Any
    ThreadIndex: typing.Any
    CommReduce: typing.Any
    Ordered: typing.Any
    Opaque: typing.Any
    Unrolled: typing.Any
    Vectorized: typing.Any
    Parallelized: typing.Any
    Tensorized: typing.Any


class IndexMap(Mapping[PrimExpr], Node, frozen=True, eq=False):
    """A map of indices: from `initial_indices` to `final_indices`."""

    initial_indices: tuple[Var, ...]
    final_indices: tuple[PrimExpr, ...]
    inverse_index_map: IndexMap | None = None
    def __init__(self, initial_indices: collections.abc.Sequence[tvms.ir.tir.Var], final_indices: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool], inverse_index_map: tvms.ir.tir.IndexMap | None = None) -> None:
        """The map from indices, given as variables, to other indices."""
    AXIS_SEPARATOR: typing.Any
    from_func: typing.Any
    from_func_with_separators: typing.Any


# --- Statements -----------------------------------------------------------------------------------------------


class Stmt(Commented, frozen=True, eq=False): ...


class LetStmt(Stmt, frozen=True, eq=False):
    var: Var
    value: PrimExpr
    body: Stmt
    def __init__(self, var: tvms.ir.tir.PrimExpr, value: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, body: tvms.ir.tir.Stmt) -> None:
        """`body`, in which `var` has the value `value`; TvmsError E0407 if their dtypes differ."""


class AttrStmt(Stmt, frozen=True, eq=False):
    """The attribute `value` of `node`, valid in `body`."""

    node: Any
    attr_key: str
    value: PrimExpr
    body: Stmt
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """The attribute `value` of `node`, valid in `body`. Its arguments are node, attr_key, value, body."""


class AssertStmt(Stmt, frozen=True, eq=False):
    condition: PrimExpr
    message: PrimExpr
    body: Stmt
    kind: str = ""
    """The exception that the newest TVM raises, such as "ValueError"; by default that is RuntimeError."""
    parts: tuple[str, ...] = ()
    """The pieces of the message, if they are several or if `kind` is given."""
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """AssertStmt Its arguments are condition, message, body, kind, parts."""


class BufferStore(Stmt, frozen=True, eq=False):
    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]
    predicate: PrimExpr | None = None
    def __init__(self, buffer: tvms.ir.tir.Buffer, value: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, indices: collections.abc.Sequence[tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool], predicate: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool | None = None) -> None:
        """`buffer[indices] = value`; a vector is stored only in the lanes in which `predicate` holds."""


class BufferRealize(Stmt, frozen=True, eq=False):
    buffer: Buffer
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """BufferRealize Its arguments are buffer, bounds, condition, body."""


class ProducerStore(Stmt, frozen=True, eq=False):
    producer: Node
    value: PrimExpr
    indices: tuple[PrimExpr, ...]
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """ProducerStore Its arguments are producer, value, indices."""


class ProducerRealize(Stmt, frozen=True, eq=False):
    producer: Node
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt
    storage_scope: str = ""
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """ProducerRealize Its arguments are producer, bounds, condition, body, storage_scope."""


class Allocate(Stmt, frozen=True, eq=False):
    """Memory for `extents` elements of `dtype`, valid in `body`."""

    buffer_var: Var
    dtype: str
    extents: tuple[PrimExpr, ...]
    condition: PrimExpr
    body: Stmt
    annotations: Attrs = {}
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """Memory for `extents` elements of `dtype`, valid in `body`. Its arguments are buffer_var, dtype, extents, condition, body, annotations."""


class AllocateConst(Stmt, frozen=True, eq=False):
    buffer_var: Var
    dtype: str
    extents: tuple[PrimExpr, ...]
    data: Any
    """A NumPy array, or None if the contents are at `irmod_storage_idx` of the module's constants."""
    body: Stmt
    annotations: Attrs = {}
    irmod_storage_idx: int | None = None
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """AllocateConst Its arguments are buffer_var, dtype, extents, data, body, annotations, irmod_storage_idx."""


class DeclBuffer(Stmt, frozen=True, eq=False):
    buffer: Buffer
    body: Stmt
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """DeclBuffer Its arguments are buffer, body."""


class SeqStmt(Stmt, frozen=True, eq=False):
    """Two or more statements in order, none of them a SeqStmt; the empty statement is `Evaluate(0)`."""

    seq: tuple[Stmt, ...]

    def __getitem__(self, index: int) -> Stmt:
        return self.seq[index]

    def __len__(self) -> int:
        return len(self.seq)
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """Two or more statements in order, none of them a SeqStmt; the empty statement is `Evaluate(0)`. Its arguments are seq."""


class IfThenElse(Stmt, frozen=True, eq=False):
    condition: PrimExpr
    then_case: Stmt
    else_case: Stmt | None = None
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """IfThenElse Its arguments are condition, then_case, else_case."""


class Evaluate(Stmt, frozen=True, eq=False):
    value: PrimExpr
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """Evaluate Its arguments are value."""


class For(Stmt, frozen=True, eq=False):
    """`body` for every value of `loop_var` in `[min, min + extent)`."""

    loop_var: Var
    min: PrimExpr
    extent: PrimExpr
    kind: ForKind
    body: Stmt
    thread_binding: IterVar | None = None
    annotations: Attrs = {}
    def __init__(self, loop_var: tvms.ir.tir.PrimExpr, min: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, extent: tvms.ir.tir.PrimExpr | tvms.ir.tir.IterVar | builtins.int | builtins.float | builtins.bool, kind: tvms.ir.kinds.ForKind | builtins.int, body: tvms.ir.tir.Stmt, thread_binding: tvms.ir.tir.IterVar | None = None, annotations: collections.abc.Mapping[builtins.str, typing.Any] | None = None) -> None:
        """`body` for every value of `loop_var` in `[min, min + extent)`."""


class While(Stmt, frozen=True, eq=False):
    condition: PrimExpr
    body: Stmt
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """While Its arguments are condition, body."""


class Block(Stmt, frozen=True, eq=False):
    """A unit of scheduling: a computation for each value of its own iterators, independent of the loops around it."""

    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    name_hint: str
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: tuple[Buffer, ...] = ()
    match_buffers: tuple[MatchBufferRegion, ...] = ()
    annotations: Attrs = {}
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """A unit of scheduling: a computation for each value of its own iterators, independent of the loops around it. Its arguments are iter_vars, reads, writes, name_hint, body, init, alloc_buffers, match_buffers, annotations."""


class BlockRealize(Stmt, frozen=True, eq=False):
    """A block executed for `iter_values` if `predicate` is true. Its trivia belong to the block."""

    iter_values: tuple[PrimExpr, ...]
    predicate: PrimExpr
    block: Block
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """A block executed for `iter_values` if `predicate` is true. Its trivia belong to the block. Its arguments are iter_values, predicate, block."""


# --- Functions ------------------------------------------------------------------------------------------------


class PrimFunc(BaseFunc, frozen=True, eq=False):
    """A loop function. `buffer_map` gives the buffers of its handle parameters."""

    params: tuple[Var, ...]
    body: Stmt
    ret_type: Type | None = None
    """None means the empty tuple: the function returns nothing."""
    buffer_map: dict[Var, Buffer] = {}
    s_tir: bool = True
    """Whether the text allows blocks, in TVM after 0.21. It is not compared."""

    def specialize(self, param_map: dict[Any, Any]) -> PrimFunc:
        """Return this function for known parameters: numbers, expressions, or buffers instead of handles."""
        return hooks.call("specialize", self, param_map)
    def __init__(self, params: collections.abc.Sequence[typing.Any], body: tvms.ir.tir.Stmt, ret_type: tvms.ir.tir.Type | None = None, buffer_map: collections.abc.Mapping[typing.Any, tvms.ir.tir.Buffer] | None = None, attrs: builtins.dict[builtins.str, typing.Any] | None = None) -> None:
        """A function of scalars and buffers; each buffer in `params` gets a handle parameter."""
