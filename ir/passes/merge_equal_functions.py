"""Merge private functions that are equal up to the names of their blocks.

    lv = R.call_tir(cls.layer_norm, (x, w), …)         lv = R.call_tir(cls.layer_norm, (x, w), …)
    gv = R.call_tir(cls.layer_norm1, (y, v), …)        gv = R.call_tir(cls.layer_norm, (y, v), …)

`LegalizeOps` names blocks after the operands of an operator, so the layers of a network differ only in these names.
Each function is compiled once. (TVM: the `FunctionTable` of `BlockBuilder`, which also compares names.)
"""

from __future__ import annotations

from msgspec.structs import replace

from .. import tir
from ..base import IRModule, Node
from ..deep import deep
from ..function_table import FunctionTable
from ..schedule.text import ScheduleText
from ..visit import rewrite
from .calls import with_names
from .dead_code import is_public
from .transform import declare_pass


@declare_pass("MergeEqualFunctions")
@deep
def merge_equal_functions(mod: IRModule) -> IRModule:
    """Merge private functions that are equal up to block names into the first one.

    Functions with a schedule are kept, since it refers to block names.
    """
    scheduled = {text.function for text in mod.schedules.values() if isinstance(text, ScheduleText)}
    table, kept = FunctionTable({}), dict[str, str]()
    for name, function in mod.functions.items():
        if not is_public(function) and name not in scheduled:
            kept[name] = table.add(rewrite(function, _without_name), [name])
    if all(name == first for name, first in kept.items()):
        return mod
    return merge_equal_functions(with_names(mod, kept))  # their callers may have become equal


def _without_name(node: Node) -> Node | None:
    return replace(node, name_hint="") if isinstance(node, tir.Block) and node.name_hint else None
