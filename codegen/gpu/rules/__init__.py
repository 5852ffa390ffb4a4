"""Default schedules for GPUs, for functions without thread bindings.

tensor_cores    products of float16 and bfloat16 on tensor cores
tiles           products whose threads each compute a tile in registers
transpose       copies that permute dimensions, through shared memory
columns         column reductions with too few results for a thread each: each warp reduces a part of the column
rows            consecutive nests that share rows: a block per row, reductions by all of its threads
elements        everything else: a thread per element, a warp per row sum, one thread for other code

(TVM: `tvm.dlight.gpu`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ....ir import tir
from ...rules import Decision, Rules, apply_rules
from ...rules.nest import Declined, Nest
from ..architectures import ARCHITECTURES
from .columns import schedule_columns
from .elements import alone, in_scope, spread, with_own_buffers
from .rows import schedule_rows
from .tensor_cores import schedule_tensor_cores
from .tiles import schedule_tiles
from .transpose import schedule_transpose


def rules_for(arch: str) -> Rules:
    """Return the rules for an architecture ("sm_80")."""
    number = ARCHITECTURES[arch].number
    single = {
        "tensor cores": partial(schedule_tensor_cores, arch=number),
        "tiles": schedule_tiles,
        "transpose": schedule_transpose,
        "columns": schedule_columns,
    }
    return Rules(single, ("tensor cores", "tiles"), _rows, lambda part: ("one thread", alone(part)))


def _rows(group: Sequence[Nest], shared: int, owned: set[tir.Buffer]) -> tuple[str, tir.Stmt, Sequence[Nest]]:
    try:
        return "a block for each row", *schedule_rows(group, shared, owned)
    except Declined:
        if len(group) > 1:
            raise
    return *spread(group[0]), group


def bind_threads(func: tir.PrimFunc, arch: str) -> tuple[tir.PrimFunc, tuple[Decision, ...]]:
    """Return `func`, which has no thread bindings, with all of its code in threads, and the decisions of the
    rules.

    The rules also choose the scopes of its buffers, unless it has fragments of tensor cores.
    """
    root = func.body
    if not isinstance(root, tir.BlockRealize) or root.block.iter_vars:
        return replace(func, body=alone(root)), (Decision("root", "one thread", ()),)
    kept = [buffer for buffer in root.block.alloc_buffers if buffer.scope != "global"]
    if all(buffer.scope in ("local", "shared", "shared.dyn") for buffer in kept):
        block = with_own_buffers(in_scope(root.block, kept, "global"))
        return apply_rules(replace(func, body=replace(root, block=block)), rules_for(arch))
    whole = replace(root.block, body=alone(root.block.body))
    return replace(func, body=replace(root, block=whole)), (Decision("root", "one thread", ()),)
