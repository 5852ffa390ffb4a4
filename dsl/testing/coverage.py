"""Coverage of runs of the laws as tables: forms and fields of the IR by law, features by primitive, and the
distribution of examples. A cell may be empty only for a reason that this file lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from msgspec import Struct

from ...ir import relax, tir
from ...ir.base import Node
from ...ir.ops.registry import relax_ops
from .constructs import optional_fields
from .features import FEATURES
from .matrix import REFUSED
from .steps import CHANGING

Counts = Mapping[str, int]
"""Number of times that a run met each construct."""
LOOP_LAWS = ("roundtrip", "verify", "bounds", "tiers", "codegen", "traps", "order")
"""Laws whose examples are loop functions from `prim_funcs`."""
GRAPH_LAWS = ("roundtrip", "graph", "gradient")

_TENSOR_EXPRESSIONS = "part of tensor expressions (`tvms.te`), which lowering replaces"
_LOWERED = "created by lowering; law `memory` draws it as text"
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
    "R.StringImm": "only an argument of `R.print` and `R.assert_op`, which only impure functions call",
    "R.DataTypeImm": "only an argument of allocations of storage, to which graphs are lowered",
    **dict.fromkeys(("R.Constant.name", "R.TensorStructInfo.vdevice", "PrimFunc.ret_type"), "needs a file of tensors, a device, or a function that returns; tests/relax and tests/tir have cases"),
}  # fmt: skip
"""Reasons why no law needs to meet a form with its fields, or one of its fields."""
_INTEGERS = "the law draws functions of int32 without threads, whose results it compares exactly"
LAW_REASONS: dict[tuple[str, str], str] = {
    **dict.fromkeys(product(["order"], ("FloatImm", "Buffer.offset_factor", "IterVar.thread_tag", "For.thread_binding", "NE", "Buffer.strides", "Buffer.elem_offset")), _INTEGERS),
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
        ("call_dps_packed", "call_pure_packed", "call_inplace_packed", "call_builtin_with_ctx", "null_value", "print"),
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
    """Return the forms of loop functions or of graphs, and their optional fields."""
    module = relax if graphs else tir
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Node)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__ and not _is_abstract(kind)]
    return tuple(row for kind in own for row in _rows(kind))


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
    counts = runs.get("schedule", {})
    for name, feature in product(CHANGING if counts else (), FEATURES):
        cell = f"{name} × {feature}"
        if (
            feature not in SCHEDULE_REASONS
            and name not in PRIMITIVE_REASONS
            and not counts.get(cell)
            and not counts.get(cell + REFUSED)
        ):
            found.append(Gap("schedule", cell))
    return found


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
    found = [f"- {', '.join(f'`{row}`' for row in dict.fromkeys(rows))}: {reason}" for reason, rows in reasons.items()]
    return [*lines, "", "Empty for a reason:", "", *found]


def distribution(counts: Counts, checked: int) -> list[str]:
    """Return the percentage of examples of a run that have each feature, dtype, rank and size, as Markdown."""
    lines = ["| of the examples | % |", "| --- | ---: |"]
    for prefix, what in (("feature:", ""), ("dtype:", "dtype "), ("rank:", "rank "), ("size:", "size "), ("loop:", "loop "), ("axis:", "axis ")):  # fmt: skip
        found = {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}
        ordered = sorted(found.items(), key=lambda pair: -pair[1])
        lines += [f"| {what}{name} | {100 * count / max(checked, 1):.1f} |" for name, count in ordered]
    return lines
