"""Default schedules for GPUs, for functions without thread bindings.

attention       attention of float16 and bfloat16 in one kernel
gemv            products of few rows with a large matrix, which may be computed from packed integers
warpgroups      products of float16 and bfloat16 by warpgroups, on sm_90a
tensor_cores    products of float16 and bfloat16 on tensor cores
tiles           products whose threads each compute a tile in registers
transpose       copies that permute dimensions, through shared memory
columns         column reductions with too few results for a thread each: each warp reduces a part of the column
rows            consecutive nests that share rows: a block per row, reductions by all of its threads
parts           long reductions with few results: parts that another kernel combines, before all other rules
several         reductions to several values, such as argmax: a block of threads for each result, or a thread
elements        everything else: a thread per element, a warp per row sum, one thread for other code

(TVM: `tvm.dlight.gpu`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....ir import tir
from ....ir.schedule import Schedule
from ....ir.warpgroups import ARCHITECTURE as WITH_WARPGROUPS
from ...rules import Choice, Decision, Recipe, Rules, derive
from ...rules.nest import Declined, Nest
from ...rules.recipe import function_in
from ..architectures import ARCHITECTURES
from .attention import read_attention
from .columns import choose_columns
from .elements import choose_elements, is_root, needs_own_memory
from .gemv import choose_gemv, is_busy, read_once
from .parts import choose_parts
from .rows import choose_rows
from .several import choose_several
from .tensor_cores import choose_tensor_cores
from .tiles import choose_tiles
from .transpose import choose_transpose
from .warpgroups import choose_warpgroups

_ONE_THREAD = "one thread"


def rules_for(arch: str) -> Rules:
    """Return the rules for an architecture ("sm_80")."""
    number = ARCHITECTURES[arch].number

    def rule(name: str, step: str, choose: Callable[..., dict[str, Any]], *more: Any) -> Callable[[Nest], Choice]:
        return lambda nest: Choice(name, step, choose(_not_empty(nest), *more))

    single = {
        "gemv": rule("gemv", "gemv_threads", choose_gemv),
        "tensor cores": rule("tensor cores", "tensor_core_tiles", choose_tensor_cores, number),
        "tiles": rule("tiles", "thread_tiles", choose_tiles),
        "transpose": rule("transpose", "transpose_shared", choose_transpose),
        "columns": rule("columns", "warp_columns", choose_columns),
    }
    if arch == WITH_WARPGROUPS:
        single = {"warpgroups": rule("warpgroups", "warpgroup_tiles", choose_warpgroups), **single}
    products = tuple([name for name in ("gemv", "warpgroups", "tensor cores", "tiles") if name in single])
    return Rules(
        single, products, (_rows, _elements), _alone, "single_thread", parts=lambda nest: None if is_busy(nest) else choose_parts(_not_empty(nest), arch),
        whole=lambda function: _attention(function, number), once=read_once,
    )  # fmt: skip


def _attention(function: tir.PrimFunc, arch: int) -> Choice:
    read_attention(function, arch)
    return Choice("attention", "flash_attention", {"arch": arch})


def _not_empty(nest: Nest) -> Nest:
    """Return the nest; Declined if a loop has no iterations, since there are no grids and tiles of extent 0."""
    if any(axis.size == 0 for axis in nest.axes):
        raise Declined("a loop has no iterations")
    return nest


def _alone(stmt: tir.Stmt) -> Choice:
    """Return the choice for a statement that is not a nest."""
    try:
        return Choice("several results", "several_results", choose_several(stmt))
    except Declined:
        return Choice(_ONE_THREAD, "", {})


def _rows(group: Sequence[Nest], shared: int) -> Choice:
    return Choice("a block for each row", "block_rows", choose_rows([_not_empty(nest) for nest in group], shared))


def _elements(group: Sequence[Nest], shared: int) -> Choice:
    if len(group) > 1:
        raise Declined("each block has its own kernel")
    knobs = choose_elements(_not_empty(group[0]))
    width = knobs.get("width", 1)
    return Choice(
        "a thread for each element" if width == 1 else f"a thread for {width} elements", "thread_elements", knobs
    )


def derive_for_gpu(func: tir.PrimFunc, arch: str) -> Recipe:
    """Return the default schedule of `func`, a function without thread bindings; it binds all code to threads.

    The rules also choose the scopes of its buffers, unless it has fragments of tensor cores.
    """
    root = func.body
    scopes = {buffer.scope for buffer in root.block.alloc_buffers} if is_root(root) else set[str]()
    if not is_root(root) or scopes - {"global", "local", "shared", "shared.dyn"}:
        schedule = Schedule(func)
        schedule.apply("single_thread", **({"together": True} if is_root(root) else {}))
        return Recipe(function_in(schedule), (Decision("root", _ONE_THREAD, ()),), schedule)
    first = ("own_memory",) if needs_own_memory(root.block) else ()
    return derive(func, rules_for(arch), first)


def bind_threads(func: tir.PrimFunc, arch: str) -> tuple[tir.PrimFunc, tuple[Decision, ...]]:
    """Apply the default schedule to `func`, a function without thread bindings; return the result and the decisions of the rules.

    Its arguments may not overlap then, except that element-wise kernels may write what they read.
    """
    recipe = derive_for_gpu(func, arch)
    return recipe.function, recipe.decisions
