"""The dialects in which programs are printed, and their differences in spelling."""

from __future__ import annotations

from msgspec import Struct


class Dialect(Struct, frozen=True):
    """The spelling of one dialect; the defaults are those of TVM 0.21."""

    name: str
    native: bool = False
    """Heads without decorators, functions in the module's order, short literals."""
    header: tuple[tuple[str, str], ...] = (
        ("ir", "from tvm.script import ir as I"),
        ("tir", "from tvm.script import tir as T"),
        ("relax", "from tvm.script import relax as R"),
    )
    """Comments at the top of the text, each with the namespace whose use requires it."""
    block: str = "block"
    block_attr: str = "block_attr"
    alloc_buffer: str = "alloc_buffer"
    prim_func: dict[str, str] = {}
    """Keyword arguments of every `T.prim_func` that may have blocks."""
    has_kinds: bool = False
    """Whether the head of a loop function says whether it may have blocks."""
    let: str = "{}"
    """Annotation of a variable that is bound once; `{}` is its type."""
    object: str = "Object"
    no_dtype: str = '"void"'
    """Dtype of an operator whose operands determine it."""
    out_sinfo: str = "out_sinfo"
    sinfo_args: str = "sinfo_args"
    allocated_buffer: str = "decl_buffer"
    """Form of a buffer outside blocks that allocates its memory."""
    allocates_buffers: bool = False
    """Whether every allocation is a buffer, so that there is no `T.allocate`."""
    masks_by_call: bool = False
    """Whether predicated loads and stores are `T.masked_load` and `T.masked_store`."""
    types_calls: bool = False
    """Whether a call that returns a pointer names its type, if it is bound to a variable."""
    loops_simplify: bool = False
    """Whether the reader simplifies loop extents, so that an axis can be remapped to its loop."""
    slices_vectors: bool = True
    """Whether `A[0:4]` can be a vector access; else it is `A[T.Ramp(0, 1, 4)]`."""
    attr_prefix: str = "tir."
    """Prefix of the keys of loop-level attributes."""
    passes_dimensions: bool = False
    """Whether a parameter `n: R.Prim("int64")` is the dimension `n`."""
    plain_scalars: bool = False
    """Whether scalars of graph functions are plain expressions, without `R.prim_value`, and their types `T.int64`."""
    declares_outside: bool = False
    """Whether a variable that nothing defines is declared before the dataflow block that uses it."""
    optional_attrs: frozenset[str] = frozenset(("take.mode", "hint_on_device.memory_scope"))
    """Attributes of operators that are printed only if they are not the default, as the dialect may not have them."""
    functions: dict[str, str] = {}
    """Names of functions of the virtual machine, by their names in TVM 0.21."""
    intrinsics: dict[str, str] = {}
    """Names of intrinsics in the namespaces of `T`, by their names in TVM 0.21."""


_TVM_027 = Dialect(
    "tvm-0.27",
    header=(
        ("ir", "from tvm.script import ir as I"),
        ("tir", "from tvm.script import tirx as T"),
        ("tir", "from tvm.tirx.layout import Axis"),
        ("relax", "from tvm.script import relax as R"),
    ),
    block="sblock",
    block_attr="sblock_attr",
    alloc_buffer="sblock_alloc_buffer",
    prim_func={"s_tir": "True"},
    has_kinds=True,
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
    passes_dimensions=True,
    plain_scalars=True,
    declares_outside=True,
    optional_attrs=frozenset(
        (
            "take.mode",
            "hint_on_device.memory_scope",
            "layout_transform.axis_separators",
            "layout_transform.input_axis_separators",
        )
    ),
    functions={
        "runtime.TVMArrayCreateView": "runtime.TVMTensorCreateView",
        "tvm.relax.struct_info.infer_view_sinfo": "tvm.relax.type.infer_view_ty",
    },
    intrinsics={
        "ptx_mma": "ptx_legacy.mma",
        "ptx_ldmatrix": "ptx_legacy.ldmatrix",
        "ptx_cp_async": "s_tir.cp_async_raw",
        "ptx_commit_group": "ptx.cp.async_.commit_group",
        "ptx_wait_group": "ptx.cp.async_.wait_group",
        "mma_store": "cuda.mma_store_legacy",
        "mma_fill": "cuda.mma_fill_legacy",
        "make_filled_simdgroup_matrix": "metal.make_filled_simdgroup_matrix",
        "simdgroup_load": "metal.simdgroup_load",
        "simdgroup_store": "metal.simdgroup_store",
        "simdgroup_multiply_accumulate": "metal.simdgroup_multiply_accumulate",
    },
)

FUNCTIONS = {new: old for old, new in _TVM_027.functions.items()}
"""TVM 0.21's names of functions of the virtual machine, by TVM 0.27's."""
NAMES_OF_025 = {
    "ptx.mma.legacy": "ptx_mma",
    "ptx.ldmatrix_legacy": "ptx_ldmatrix",
    "ptx.cp_async.legacy": "ptx_cp_async",
    "ptx.cp_async.commit_group": "ptx_commit_group",
    "ptx.cp_async.wait_group": "ptx_wait_group",
}
"""Names that intrinsics have in the namespaces of `T` in TVM 0.25 only, with those of TVM 0.21."""

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (Dialect("tvms", native=True, has_kinds=True), Dialect("tvm-0.21"), _TVM_027)
}
