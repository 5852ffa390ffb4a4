"""The loop level: TensorIR, as fields only (TVM: `include/tvm/tir/{expr,stmt,buffer,function}.h`).

`dtype` is TVM's string form: "int64", "float32x4", "bool", "handle", "void"; `tvms.ir.dtype` parses it. The first field
of every expression is its dtype, as in `tvm.tir.Call(dtype, op, args)`; `tvms.ir.make` builds expressions and infers
their dtypes. Variables and buffers compare by identity.
"""

from __future__ import annotations

from typing import Any, cast

from . import hooks
from .base import Attrs, BaseFunc, Commented, GlobalVar, Node, Op
from .kinds import BufferType, ForKind, IterVarType
from .operators import Arithmetic, Equality, Indexed, Mapping

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


class SizeVar(Var, frozen=True, eq=False):
    """A variable that is never negative."""


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


class FloatImm(PrimExpr, frozen=True, eq=False):
    value: float


class StringImm(PrimExpr, frozen=True, eq=False):
    value: str


class Cast(PrimExpr, frozen=True, eq=False):
    value: PrimExpr


class BinaryOp(PrimExpr, frozen=True, eq=False):
    a: PrimExpr
    b: PrimExpr


class Add(BinaryOp, frozen=True, eq=False): ...


class Sub(BinaryOp, frozen=True, eq=False): ...


class Mul(BinaryOp, frozen=True, eq=False): ...


class Div(BinaryOp, frozen=True, eq=False):
    """Division; of integers, rounded towards zero."""


class Mod(BinaryOp, frozen=True, eq=False):
    """The remainder of `Div`, with the sign of `a`."""


class FloorDiv(BinaryOp, frozen=True, eq=False): ...


class FloorMod(BinaryOp, frozen=True, eq=False):
    """The remainder of `FloorDiv`, with the sign of `b`."""


class Min(BinaryOp, frozen=True, eq=False): ...


class Max(BinaryOp, frozen=True, eq=False): ...


class CmpOp(BinaryOp, frozen=True, eq=False):
    """A comparison; its dtype is bool, with the lanes of its operands."""


class EQ(CmpOp, frozen=True, eq=False):
    def __bool__(self) -> bool:
        return hooks.call("structural_equal", self.a, self.b) or super().__bool__()


class NE(CmpOp, frozen=True, eq=False):
    def __bool__(self) -> bool:
        return not hooks.call("structural_equal", self.a, self.b) and super().__bool__()


class LT(CmpOp, frozen=True, eq=False): ...


class LE(CmpOp, frozen=True, eq=False): ...


class GT(CmpOp, frozen=True, eq=False): ...


class GE(CmpOp, frozen=True, eq=False): ...


class And(BinaryOp, frozen=True, eq=False):
    """Logical and; `b` is not evaluated if `a` is false."""


class Or(BinaryOp, frozen=True, eq=False):
    """Logical or; `b` is not evaluated if `a` is true."""


class Not(PrimExpr, frozen=True, eq=False):
    a: PrimExpr


class Select(PrimExpr, frozen=True, eq=False):
    """A choice (`T.Select`); the other operand has no effect, and its loads are guarded (TVM: `RewriteUnsafeSelect`)."""

    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr


class BufferLoad(PrimExpr, frozen=True, eq=False):
    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    predicate: PrimExpr | None = None


class ProducerLoad(PrimExpr, frozen=True, eq=False):
    """A load in a tensor expression, before the tensor has a buffer."""

    producer: Node
    indices: tuple[PrimExpr, ...]


class Ramp(PrimExpr, frozen=True, eq=False):
    """The vector `base, base + stride, …` of `lanes` elements; `lanes` may hold `T.vscale()`."""

    base: PrimExpr
    stride: PrimExpr
    lanes: PrimExpr


class Broadcast(PrimExpr, frozen=True, eq=False):
    value: PrimExpr
    lanes: PrimExpr


class Let(PrimExpr, frozen=True, eq=False):
    var: Var
    value: PrimExpr
    body: PrimExpr


class Call(PrimExpr, frozen=True, eq=False):
    """A call of an intrinsic (`Op`) or of a function of the module."""

    op: Op | GlobalVar
    args: tuple[PrimExpr | Node, ...]
    annotations: Attrs = {}


class TileCall(PrimExpr, frozen=True, eq=False):
    """A form of TIRX's tile level, which is not compiled: its name in `T` (see `ops.tile`), and arguments as written."""

    name: str
    args: tuple[Any, ...] = ()
    keywords: Attrs = {}


class Shuffle(PrimExpr, frozen=True, eq=False):
    """Elements of the concatenated `vectors` at `indices`."""

    vectors: tuple[PrimExpr, ...]
    indices: tuple[PrimExpr, ...]


class CommReducer(Node, frozen=True, eq=False):
    """A commutative reducer: `result` combines `lhs` and `rhs`; `identity_element` is neutral."""

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[PrimExpr, ...]
    identity_element: tuple[PrimExpr, ...]


class Reduce(PrimExpr, frozen=True, eq=False):
    """A reduction inside a tensor expression; `value_index` selects one of several results."""

    combiner: CommReducer
    source: tuple[PrimExpr, ...]
    axis: tuple[IterVar, ...]
    condition: PrimExpr
    value_index: int = 0
    init: tuple[PrimExpr, ...] = ()


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


class BufferRegion(Node, frozen=True, eq=False):
    buffer: Buffer
    region: tuple[Range, ...]


class MatchBufferRegion(Node, frozen=True, eq=False):
    """Inside a block, `buffer` is a view of the region `source`."""

    buffer: Buffer
    source: BufferRegion


class IterVar(Arithmetic[PrimExpr], Node, frozen=True, eq=False):
    dom: Range | None
    var: Var
    iter_type: IterVarType
    thread_tag: str = ""


class IndexMap(Mapping[PrimExpr], Node, frozen=True, eq=False):
    """A map of indices: from `initial_indices` to `final_indices`."""

    initial_indices: tuple[Var, ...]
    final_indices: tuple[PrimExpr, ...]
    inverse_index_map: IndexMap | None = None


# --- Statements -----------------------------------------------------------------------------------------------


class Stmt(Commented, frozen=True, eq=False): ...


class LetStmt(Stmt, frozen=True, eq=False):
    var: Var
    value: PrimExpr
    body: Stmt


class AttrStmt(Stmt, frozen=True, eq=False):
    """The attribute `value` of `node`, valid in `body`."""

    node: Any
    attr_key: str
    value: PrimExpr
    body: Stmt


class AssertStmt(Stmt, frozen=True, eq=False):
    condition: PrimExpr
    message: PrimExpr
    body: Stmt
    kind: str = ""
    """The exception that the newest TVM raises, such as "ValueError"; by default that is RuntimeError."""
    parts: tuple[str, ...] = ()
    """The pieces of the message, if they are several or if `kind` is given."""


class BufferStore(Stmt, frozen=True, eq=False):
    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]
    predicate: PrimExpr | None = None


class BufferRealize(Stmt, frozen=True, eq=False):
    buffer: Buffer
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt


class ProducerStore(Stmt, frozen=True, eq=False):
    producer: Node
    value: PrimExpr
    indices: tuple[PrimExpr, ...]


class ProducerRealize(Stmt, frozen=True, eq=False):
    producer: Node
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt
    storage_scope: str = ""


class Allocate(Stmt, frozen=True, eq=False):
    """Memory for `extents` elements of `dtype`, valid in `body`."""

    buffer_var: Var
    dtype: str
    extents: tuple[PrimExpr, ...]
    condition: PrimExpr
    body: Stmt
    annotations: Attrs = {}


class AllocateConst(Stmt, frozen=True, eq=False):
    buffer_var: Var
    dtype: str
    extents: tuple[PrimExpr, ...]
    data: Any
    """A NumPy array, or None if the contents are at `irmod_storage_idx` of the module's constants."""
    body: Stmt
    annotations: Attrs = {}
    irmod_storage_idx: int | None = None


class DeclBuffer(Stmt, frozen=True, eq=False):
    buffer: Buffer
    body: Stmt


class SeqStmt(Stmt, frozen=True, eq=False):
    """Two or more statements in order, none of them a SeqStmt; the empty statement is `Evaluate(0)`."""

    seq: tuple[Stmt, ...]

    def __getitem__(self, index: int) -> Stmt:
        return self.seq[index]

    def __len__(self) -> int:
        return len(self.seq)


class IfThenElse(Stmt, frozen=True, eq=False):
    condition: PrimExpr
    then_case: Stmt
    else_case: Stmt | None = None


class Evaluate(Stmt, frozen=True, eq=False):
    value: PrimExpr


class For(Stmt, frozen=True, eq=False):
    """`body` for every value of `loop_var` in `[min, min + extent)`."""

    loop_var: Var
    min: PrimExpr
    extent: PrimExpr
    kind: ForKind
    body: Stmt
    thread_binding: IterVar | None = None
    annotations: Attrs = {}


class While(Stmt, frozen=True, eq=False):
    condition: PrimExpr
    body: Stmt


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


class BlockRealize(Stmt, frozen=True, eq=False):
    """A block executed for `iter_values` if `predicate` is true. Its trivia belong to the block."""

    iter_values: tuple[PrimExpr, ...]
    predicate: PrimExpr
    block: Block


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
