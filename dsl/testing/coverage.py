"""Coverage of runs of the laws as tables: forms, fields and intrinsics of the IR by law, features by primitive and by rule of
default schedules, and the distribution of examples. A cell may be empty only for a reason that this file lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from msgspec import Struct

from ...ir import relax, tir
from ...ir.base import Node
from ...ir.ops.registry import relax_ops
from ...ir.ops.tir import INTRINSICS
from .constructs import LOOP_LEVEL, optional_fields
from .features import FEATURES
from .matrix import REFUSED, RULES, tables
from .steps import CHANGING

Counts = Mapping[str, int]
"""Number of times that a run met each construct."""
LOOP_LAWS = ("roundtrip", "verify", "bounds", "tiers", "codegen", "traps", "order", "lowering", "recipes", "gpu")
"""Laws whose examples are mainly loop functions from `prim_funcs`."""
INTRINSIC_LAWS = (*LOOP_LAWS, "memory", "floats", "simplify", "variations")
"""Laws that together meet all intrinsics."""
KINDS = tuple(sorted(name for name in LOOP_LEVEL if name.partition(":")[0] in ("dtype", "loop", "axis")))
"""Dtypes and kinds of loops and axes, which are rows like forms."""
GRAPH_LAWS = ("roundtrip", "graph", "gradient", "passes", "each_pass")

_TENSOR_EXPRESSIONS = "part of tensor expressions (`tvms.te`), which lowering replaces"
_LOWERED = "created by lowering; law `memory` draws it as text"
_TILES = "part of TIRX's tile level, which is not compiled; tests/dsl has cases"
_DISTRIBUTED = "needs several devices"
REASONS: dict[str, str] = {
    **dict.fromkeys(("ProducerLoad", "ProducerStore", "ProducerRealize", "BufferRealize", "Reduce", "CommReducer"), _TENSOR_EXPRESSIONS),
    **dict.fromkeys(("Allocate", "AllocateConst", "AttrStmt", "Evaluate"), _LOWERED),
    **dict.fromkeys(("TensorMapType", "TupleType", "FuncType", "PrimType", "PointerType"), "types are parts of variables, which are not walked"),
    **dict.fromkeys(("SizeVar", "Var.type_annotation"), "the native dialect does not print them"),
    **dict.fromkeys(("R.DeviceMesh", "R.Placement", "R.DTensorStructInfo"), _DISTRIBUTED),
    **dict.fromkeys(("Shuffle", "BufferLoad.predicate", "BufferStore.predicate", "Call.annotations", "StringImm"), "created by vectorization, or part of calls that law `memory` draws"),
    **dict.fromkeys(("Buffer.data_alignment", "Buffer.buffer_type", "Buffer.axis_separators", "IndexMap"), "set only by schedule primitives, in law `schedule`"),
    **dict.fromkeys(("R.ObjectStructInfo", "R.FuncStructInfo.derive_func", "R.ExternFunc", "R.Function.is_pure", "R.FuncStructInfo.purity"), "part of calls of packed functions, whose code is unknown"),
    **dict.fromkeys(("TileCall", "Buffer.attrs"), _TILES),
    "PrimFunc.s_tir": "says how the newest TVM prints a function without blocks; tests/dsl has cases",
    "R.StringImm": "only an argument of `R.print` and `R.assert_op`, which only impure functions call",
    "R.DataTypeImm": "only an argument of allocations of storage, to which graphs are lowered",
    **dict.fromkeys(("R.Constant.name", "R.TensorStructInfo.vdevice", "PrimFunc.ret_type"), "needs a file of tensors, a device, or a function that returns; tests/relax and tests/tir have cases"),
}  # fmt: skip
"""Reasons why no law needs to meet a form with its fields, or one of its fields."""
_INTEGERS = "the law draws functions of int32 without threads, whose results it compares exactly"
_OTHER_DTYPES = tuple(kind for kind in KINDS if kind.startswith("dtype:") and kind != "dtype:int32")
LAW_REASONS: dict[tuple[str, str], str] = {
    **dict.fromkeys(product(["order"], ("FloatImm", "Buffer.offset_factor", "IterVar.thread_tag", "For.thread_binding", "NE", "Buffer.strides", "Buffer.elem_offset", "loop:thread_binding", *_OTHER_DTYPES)), _INTEGERS),
    **dict.fromkeys(product(["gradient"], ("R.If", "R.Tuple", "R.TupleGetItem", "R.TupleStructInfo", "R.BindingBlock", "R.Call.sinfo_args")), "gradients are defined for dataflow blocks with one result"),
    **dict.fromkeys(product(["gradient"], ("R.MatchCast", "R.PrimValue", "R.PrimStructInfo", "R.PrimStructInfo.value")), "gradients are of tensors, and no rule derives such bindings"),
}  # fmt: skip
"""Reasons why one law need not meet a form or field."""
SCHEDULE_REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("while", "vector", "assertion", "scope", "thread loop"), "schedules are drawn for functions without it"
    ),
    **dict.fromkeys(
        ("integer scalar", "float scalar", "gather", "let", "let in reduction", "variables", "branch"),
        "only primitives that rewrite indices or values depend on it",
    ),
    **dict.fromkeys(("large integer", "special constant", "function", "shift"), "no primitive depends on such values"),
}
"""Reasons why no primitive needs to meet a feature."""
PRIMITIVE_REASONS = {"enter_postproc": "takes no block"}
"""Reasons why a primitive need not meet any feature."""
RULE_REASONS: dict[tuple[str, str], str] = {
    ("GPU", "thread loop"): "functions that bind loops to threads get no default schedule",
    ("processor", "bands"): "pays off only if results do not fit in caches; tests/codegen has cases",
}
"""Reasons why the rules for a kind of machine need not meet a feature, or why a rule need not apply."""
INTRINSIC_REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("checked_index", "checked_position", "checked_pointer", "check", "tvm_stack_alloca", "tvm_stack_make_shape", "tvm_stack_make_array",
         "tvm_struct_get", "tvm_struct_set", "TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace", "tvm_call_packed_lowered", "tvm_call_cpacked_lowered",
         "tvm_call_trace_packed", "tvm_call_trace_packed_lowered", "tvm_throw_last_error", "lookup_param", "tvm_static_handle", "tvm_context_id",
         "tvm_thread_context", "nd_mem_alloc_with_scope"), "inserted by lowering, or about structures of the run time",
    ),
    **dict.fromkeys(
        ("anylist_getitem", "anylist_resetitem", "anylist_setitem_call_packed", "anylist_setitem_call_cpacked", "TVMBackendAnyListSetPackedArg",
         "TVMBackendAnyListMoveFromPackedReturn"), "of TVM's virtual machine, and not compiled",
    ),
    **dict.fromkeys(
        ("call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "call_spirv_pure_glsl450", "tvm_call_packed",
         "tvm_call_cpacked"), "calls code that no executor compares",
    ),
    **dict.fromkeys(("start_profile_intrinsic", "end_profile_intrinsic", "prefetch"), "changes no result; tests/codegen has cases"),
    **dict.fromkeys(("assume", "undef", "ignore_loop_partition"), "a promise about values, which random programs would break"),
    **dict.fromkeys(("isnullptr", "tvm_tuple", "large_uint_imm"), "an argument that only lowered code contains; tests/cases/forms has cases"),
    **dict.fromkeys(("dp4a", "vectorlow", "vectorhigh", "vectorcombine"), "of vectors in registers; tests/codegen has cases"),
    **dict.fromkeys(("vscale", "get_active_lane_mask"), "of vectors whose length the machine chooses; not compiled"),
    "q_multiply_shift_per_axis": "`q_multiply_shift`, which is drawn, is computed by it",
    **dict.fromkeys(
        ("thread_return", "ptx_cp_async_bulk", "ptx_cp_async_barrier", "ptx_arrive_barrier_remote", "ptx_cp_async_bulk_tensor_multicast",
         "ptx_barrier_cluster_arrive", "ptx_barrier_cluster_wait", "ptx_barrier_sync", "ptx_setmaxnreg"), "of whole kernels that somebody wrote; tests/gpu has cases",
    ),
    **dict.fromkeys(
        ("dma_copy", "dma_wait", "dma_start_group", "dma_end_group", "texture2d_load", "texture2d_store"), "of devices that are not a target",
    ),
}  # fmt: skip
"""Reasons why no law needs to meet an intrinsic."""


_STORAGE = "created when graphs are lowered to storage"
OPERATOR_REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("dist.call_tir_local_view", "dist.call_tir", "dist.redistribute_replica_to_shard", "dist.annotate_sharding", "dist.redistribute",
         "ccl.allreduce", "ccl.allgather", "ccl.broadcast_from_worker0", "ccl.scatter_from_worker0"), _DISTRIBUTED,
    ),
    **dict.fromkeys(
        ("builtin.alloc_tensor", "memory.alloc_storage", "memory.alloc_tensor", "memory.kill_storage", "memory.kill_tensor",
         "vm.alloc_storage", "vm.alloc_tensor", "vm.kill_object", "vm.call_tir_dyn"), _STORAGE,
    ),
    **dict.fromkeys(
        ("call_dps_packed", "call_pure_packed", "call_py_func", "call_inplace_packed", "call_builtin_with_ctx", "null_value", "print"),
        "calls code or has effects that no executor compares",
    ),
    **dict.fromkeys(("invoke_closure", "invoke_pure_closure", "make_closure"), "created from inner functions, which the law draws"),
    **dict.fromkeys(("call_tir", "call_tir_with_grad"), "the functions of law `graph` are alone in their modules; law `roundtrip` draws calls"),
    "assert_op": "has an effect, so that only impure functions call it",
    **dict.fromkeys(("to_vdevice", "hint_on_device"), "needs several devices"),
    **dict.fromkeys(
        (f"inspect.{name}" for name in ("tensor_dtype_code", "tensor_dtype_bits", "tensor_dtype_lanes", "tensor_ndim", "tensor_byte_offset",
                                        "tensor_elem_offset", "tensor_shape_i", "tensor_stride_i")), "results are scalars, not tensors",
    ),
    **dict.fromkeys(("unique", "nonzero", "dynamic_strided_slice", "vision.all_class_non_max_suppression"), "sizes of the result depend on data; tests/ir has cases"),
    **dict.fromkeys(("nn.attention_var_len",), "tests/ir has cases"),
    **dict.fromkeys(
        ("vision.get_valid_counts", "vision.non_max_suppression", "vision.multibox_transform_loc"), "kept and printed, not compiled",
    ),
    **dict.fromkeys(
        ("sequence_insert", "sequence_erase", "sequence_at", "sequence_length", "sequence_concat", "sequence_split", "text_tensor",
         "text_concat", "text_equal", "text_split", "text_normalize", "text_full_match", "text_find", "text_take"),
        "of texts or sequences, which law `texts` draws",
    ),
    **dict.fromkeys(("optional_has_element", "optional_get_element", "ngram_counts"), "of values that only ONNX models have; tests/importers has cases"),
    **dict.fromkeys(("linalg.det", "linalg.inv"), "amplify rounding errors of random matrices without limit; tests/importers has cases"),
    "image.decode": "reads files of images; tests/importers has cases",
}  # fmt: skip
"""Reasons why law `graph` need not meet an operator."""
SHORT_FORMS = frozenset({"linear", "nn.relu6", "masked_fill"})
"""Operators whose calls become calls of other operators when a text is read; law `graph` draws them."""


class Gap(Struct, frozen=True):
    """An empty cell of a table: a row that no example of a law has."""

    law: str
    row: str

    def __str__(self) -> str:
        return f"{self.law} never met {self.row}"


def forms(graphs: bool) -> tuple[str, ...]:
    """Return the forms of loop functions or of graphs, and their optional fields; for loop functions, also `KINDS`."""
    module = relax if graphs else tir
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Node)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__ and not _is_abstract(kind)]
    return (*[row for kind in own for row in _rows(kind)], *(() if graphs else KINDS))


def _is_abstract(kind: type[Node]) -> bool:
    return kind.__name__ in ("Type", "BinaryOp", "CmpOp", "PrimExpr", "Stmt", "Binding")


def _rows(kind: type[Node]) -> Iterator[str]:
    name, fields = optional_fields(kind)
    yield name
    yield from (f"{name}.{field}" for field, _ in fields)


def reason_of(law: str, row: str) -> str | None:
    """Return why a law does not meet a form or field."""
    return REASONS.get(row) or REASONS.get(row.rpartition(".")[0]) or LAW_REASONS.get((law, row))


def gaps(runs: Mapping[str, Counts]) -> list[Gap]:
    """Return the empty cells without a reason, for the laws in `runs`."""
    found: list[Gap] = []
    for graphs, laws in ((False, LOOP_LAWS), (True, GRAPH_LAWS)):
        cells = product([law for law in laws if law in runs], forms(graphs))
        found += [Gap(law, row) for law, row in cells if not runs[law].get(row) and not reason_of(law, row)]
    if "graph" in runs:
        found += [
            Gap("graph", name) for name in relax_ops()
            if not runs["graph"].get(f"op:{name}")
            and name.removeprefix("relax.") not in OPERATOR_REASONS.keys() | SHORT_FORMS
        ]  # fmt: skip
    return [
        *found,
        *_gaps_of_intrinsics(runs),
        *_gaps_of_primitives(runs.get("schedule", {})),
        *_gaps_of_rules(runs.get("recipes", {})),
    ]


def _gaps_of_intrinsics(runs: Mapping[str, Counts]) -> Iterator[Gap]:
    """Yield the intrinsics that none of the laws met, if all of them ran."""
    if runs.keys() >= set(INTRINSIC_LAWS):
        met = {row for law in INTRINSIC_LAWS for row, count in runs[law].items() if count}
        yield from (
            Gap("any law", name) for name in INTRINSICS
            if f"op:{name}" not in met and name.removeprefix("tir.") not in INTRINSIC_REASONS
        )  # fmt: skip


def _gaps_of_rules(counts: Counts) -> Iterator[Gap]:
    """Yield the rules that never applied, and the features that a rule neither took nor declined."""
    for kind, rules in RULES.items() if counts else ():
        yield from (
            Gap("recipes", f"{kind}: {rule}")
            for rule in rules
            if not counts.get(f"{kind}: {rule}") and (kind, rule) not in RULE_REASONS
        )
        for rule, feature in product(rules, FEATURES):
            cell = f"{kind}: {rule} × {feature}"
            if (kind, feature) not in RULE_REASONS and not counts.get(cell) and not counts.get(cell + REFUSED):
                yield Gap("recipes", cell)


def _gaps_of_primitives(counts: Counts) -> Iterator[Gap]:
    for name, feature in product(CHANGING if counts else (), FEATURES):
        cell = f"{name} × {feature}"
        if (
            feature not in SCHEDULE_REASONS
            and name not in PRIMITIVE_REASONS
            and not counts.get(cell)
            and not counts.get(cell + REFUSED)
        ):
            yield Gap("schedule", cell)


def intrinsic_table(runs: Mapping[str, Counts]) -> list[str]:
    """Return the table of intrinsics by law in Markdown, and the reasons why some are not met."""
    laws = [law for law in INTRINSIC_LAWS if law in runs]
    lines = [f"| intrinsic | {' | '.join(laws)} |", "| --- |" + " ---: |" * len(laws)]
    reasons: dict[str, list[str]] = {}
    for row in INTRINSICS:
        name, counts = row.removeprefix("tir."), [runs[law].get(f"op:{row}") for law in laws]
        if any(counts):
            lines.append(f"| `{name}` | {' | '.join(str(count or '–') for count in counts)} |")
        elif name in INTRINSIC_REASONS:
            reasons.setdefault(INTRINSIC_REASONS[name], []).append(name)
    return [*lines, *_listed(reasons)]


def summary(runs: Mapping[str, Counts], checked: Mapping[str, int]) -> list[str]:
    """Return a table of how many forms and fields each law met, and lacks with and without a reason; `checked` are numbers of examples."""
    lines = ["| law | examples | forms and fields | empty for a reason | empty without |", "| --- |" + " ---: |" * 4]
    for graphs, laws in ((False, LOOP_LAWS), (True, GRAPH_LAWS)):
        for law in laws:
            rows, counts = forms(graphs), runs.get(law, {})
            empty = [row for row in rows if not counts.get(row)]
            bare = [row for row in empty if not reason_of(law, row)]
            if law in runs:
                title = f"`{law}`{' (graphs)' if graphs and law in LOOP_LAWS else ''}"
                lines.append(
                    f"| {title} | {checked[law]} | {len(rows) - len(empty)} | {len(empty) - len(bare)} | {len(bare)} |"
                )
    return lines


def coverage_of(law: str, counts: Counts) -> list[str]:
    """Return the tables that a run of one law fills, in Markdown, and its empty cells without a reason."""
    runs = {law: counts}
    lines = [
        line for graphs, laws in ((False, LOOP_LAWS), (True, GRAPH_LAWS)) if law in laws for line in (*form_table(runs, graphs), "")
    ]  # fmt: skip
    if law in INTRINSIC_LAWS:
        lines += [*[line for line in intrinsic_table(runs) if line.startswith("|")], ""]
    if law in ("schedule", "recipes"):
        lines += [*tables(counts, "primitive" if law == "schedule" else "rule"), ""]
    if not lines:
        return [f"law '{law}' fills no table: its examples are not programs of the IR"]
    return [*lines, "Empty without a reason:", "", *[f"- `{gap.row}`" for gap in gaps(runs)]]


def _listed(reasons: Mapping[str, list[str]]) -> list[str]:
    found = [f"- {', '.join(f'`{row}`' for row in dict.fromkeys(rows))}: {reason}" for reason, rows in reasons.items()]
    return ["", "Empty for a reason:", "", *found]


def form_table(runs: Mapping[str, Counts], graphs: bool) -> list[str]:
    """Return the table of forms and fields by law in Markdown, and the reasons of empty cells."""
    laws = [law for law in (GRAPH_LAWS if graphs else LOOP_LAWS) if law in runs]
    lines = [f"| form or field | {' | '.join(laws)} |", "| --- |" + " ---: |" * len(laws)]
    reasons: dict[str, list[str]] = {}
    for row in forms(graphs):
        counts = [runs[law].get(row) for law in laws]
        if any(counts):
            lines.append(f"| `{row}` | {' | '.join(str(count or '–') for count in counts)} |")
        for law, count in zip(laws, counts, strict=True):
            reason = None if count else reason_of(law, row)
            if reason:
                reasons.setdefault(reason, []).append(row)
    return [*lines, *_listed(reasons)]


def distribution(counts: Counts, checked: int) -> list[str]:
    """Return the percentage of examples of a run that have each feature, dtype, rank and size, as Markdown."""
    lines = ["| of the examples | % |", "| --- | ---: |"]
    for prefix, what in (("feature:", ""), ("dtype:", "dtype "), ("rank:", "rank "), ("size:", "size "), ("loop:", "loop "), ("axis:", "axis ")):  # fmt: skip
        found = {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}
        ordered = sorted(found.items(), key=lambda pair: -pair[1])
        lines += [f"| {what}{name} | {100 * count / max(checked, 1):.1f} |" for name, count in ordered]
    return lines
