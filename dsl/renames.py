"""What TVM has renamed and removed since version 0.13, as data for `migration`."""

from __future__ import annotations

import re

from ..ir.dtype import OLDER_DTYPES
from .printer import DIALECTS
from .printer.dialects import NAMES_OF_025

NEWEST = "tvm-0.27"
RENAMED = {
    "T.alloc_buffer": "sblock_alloc_buffer",
    "T.block": "sblock",
    "T.block_attr": "sblock_attr",
    "T.buffer_decl": "Buffer",
    "R.Object": "Any",
    "R.emit_with_sinfo": "emit_with_ty",
    **{f"T.{old}": new for old, new in OLDER_DTYPES.items()},
    **{f"T.{old}": new for old, new in DIALECTS[NEWEST].intrinsics.items()},
    **{f"T.{late}": DIALECTS[NEWEST].intrinsics[old] for late, old in NAMES_OF_025.items()},
}
"""Forms of older versions, and what follows the name of their dialect today."""
LATE = frozenset(("R.Object", "R.emit_with_sinfo", *(f"T.{name}" for name in NAMES_OF_025)))
"""Forms that TVM has renamed after those by which its newest texts are known."""
RENAMED_KEYWORDS = {"out_sinfo": "out_ty", "sinfo_args": "ty_args"}
KEYED = frozenset(
    (
        "T.func_attr",
        "T.block_attr",
        "T.attr",
        "R.func_attr",
        "I.module_attrs",
        "T.Call",
        "T.call_intrin",
        "tvm.ir.Op.get",
    )
)
"""Forms whose arguments hold keys of attributes or names of intrinsics: `tir.…` is `tirx.…` today."""
REMOVED = frozenset(
    f"T.{name}" for name in ("allocate", "allocate_const", "LetStmt", "let", "realize", "ret", "var", "store", "load")
)
"""Forms without a counterpart of the same shape."""
LATE_REMOVED = REMOVED - {"T.let"}
"""Those that also texts with the newest names may have: `T.let` is another form there."""
WITHOUT_SUCCESSOR = frozenset((
    "R.device_mesh", "R.DTensor", "T.allocate_const", "T.realize", "T.create_barriers", "T.ptx_mma_sp", "T.ptx.mma_sp.legacy",
    "T.tvm_check_return",
))  # fmt: skip
"""Forms that the newest TVM has no other word for; so are those of `R.dist` and `R.inspect`."""
KEYWORDS_WITHOUT_SUCCESSOR = frozenset(("axis_separators", "input_axis_separators", "tir_vars", "buffer_type"))
"""Arguments that the newest TVM has no other word for; they are left out if they are empty."""
TYPED_FIRST = frozenset(("T.ptx_cp_async", "T.ptx.cp_async.legacy"))
"""Forms that have their dtype as the first argument today, not by name."""
UNTYPED = frozenset(
    f"T.{name}"
    for name in ("ptx_commit_group", "ptx_wait_group", "ptx.cp_async.commit_group", "ptx.cp_async.wait_group")
)
"""Forms that have lost their dtype."""
UNTYPED_KEYWORDS = frozenset(("dtype", "out_dtype"))
"""Arguments of operators whose "void", which left the choice to the operator, is None today: "void" makes a result without dtype."""
MASKED = frozenset(("vload", "vstore"))
"""Methods of buffers whose `predicate=` is `T.masked_load` or `T.masked_store` today."""
REGIONS = frozenset(("T.reads", "T.writes", "T.match_buffer"))
"""Forms whose arguments are regions of buffers; elsewhere in a loop function, a slice is a vector, which is a `T.Ramp` today."""
POINTERS_BY_CALL = re.compile(r"\bT\.let\[T\.handle\([^\n]*dtype=[\"']handle[\"']")
"""A binding of a typed pointer to a call of another type, which TVM took before its newest version."""
_WORDS = "|".join(re.escape(name) for name in sorted(LATE | LATE_REMOVED | WITHOUT_SUCCESSOR))
_KEYWORDS = "|".join(sorted({*RENAMED_KEYWORDS, *KEYWORDS_WITHOUT_SUCCESSOR, "is_size_var"}))
HAS_LATE = re.compile(
    rf"\b(?:{_KEYWORDS})=|\.struct_info\b|\bR\.(?:Prim\(value=|dist\.|inspect\.)|\b(?:{_WORDS})\b|\bT\.Var\([^\n]*dtype="
    rf"|^\s*\w+\[[^\n]*:[^\n]*\] = |: T\.\w+ = \w+\[[^\n]*:[^\n]*\]$|\bpredicate=|= T\.Buffer\([^\n]*\bdata=|{POINTERS_BY_CALL.pattern}",
    re.MULTILINE,
)
"""Signs of such forms: where there is none, a text with the newest names stays as it is."""
