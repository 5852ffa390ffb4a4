"""The dialects that programs are printed in, and all that differs between them in spelling."""

from __future__ import annotations

from msgspec import Struct


class Dialect(Struct, frozen=True):
    """How one dialect spells what the others spell otherwise; the defaults are those of TVM 0.21."""

    name: str
    native: bool = False
    """Heads without decorators, functions in their own order, light literals."""
    header: tuple[tuple[str, str], ...] = (
        ("ir", "from tvm.script import ir as I"),
        ("tir", "from tvm.script import tir as T"),
        ("relax", "from tvm.script import relax as R"),
    )
    """The comments above everything, each with the room of the language that brings it up."""
    block: str = "block"
    block_attr: str = "block_attr"
    alloc_buffer: str = "alloc_buffer"
    prim_func: dict[str, str] = {}
    """Keyword arguments that every `T.prim_func` has."""
    let: str = "{}"
    """The annotation of a variable that is bound once, given its type."""
    object: str = "Object"
    no_dtype: str = '"void"'
    """What an operator's dtype is that its operands decide."""
    out_sinfo: str = "out_sinfo"
    sinfo_args: str = "sinfo_args"
    allocated_buffer: str = "decl_buffer"
    """A buffer with memory of its own outside blocks."""
    allocates_buffers: bool = False
    """Whether all memory comes as a buffer, so that there is no `T.allocate`."""
    masks_by_call: bool = False
    """Whether loads and stores of some lanes are `T.masked_load` and `T.masked_store`."""
    types_calls: bool = False
    """Whether a call that gives a pointer says to what, where it is bound to a variable."""
    loops_simplify: bool = False
    """Whether what a loop runs over is simplified where it is read, so that an axis takes it from the loop."""
    slices_vectors: bool = True
    """Whether `A[0:4]` may be a vector; else it is `A[T.Ramp(0, 1, 4)]`."""
    attr_prefix: str = "tir."
    """What the keys of loop-level attributes begin with."""


_TVM_027 = Dialect(
    "tvm-0.27",
    header=(
        ("ir", "from tvm.script import ir as I"),
        ("tir", "from tvm.script import tirx as T"),
        ("relax", "from tvm.script import relax as R"),
    ),
    block="sblock",
    block_attr="sblock_attr",
    alloc_buffer="sblock_alloc_buffer",
    prim_func={"s_tir": "True"},
    let="T.let[{}]",
    object="Any",
    no_dtype="None",
    out_sinfo="out_ty",
    sinfo_args="ty_args",
    allocated_buffer="alloc_buffer",
    allocates_buffers=True,
    masks_by_call=True,
    types_calls=True,
    loops_simplify=True,
    slices_vectors=False,
    attr_prefix="tirx.",
)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (Dialect("tvms", native=True), Dialect("tvm-0.21"), _TVM_027)
}
