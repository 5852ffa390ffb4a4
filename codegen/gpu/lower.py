"""Lowering of a function to its host part and kernels, and conversion of kernels to a form that can be printed
and interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.deep import deep
from ...ir.diagnostics import error
from ...ir.visit import substitute
from ..lower import BLOCK_STEPS, guard_blocks, lower_blocks
from ..lower.aligned_memory import alignments_in
from ..lower.bounds import PROVEN, Bounds, Safety, guard_indices
from ..lower.divisions import simplify_divisions
from ..lower.flatten import flatten_buffers
from ..lower.hoist import hoist_first_steps
from ..lower.rewriter import Rewriter
from ..lower.signature import flatten_signature
from ..lower.small_floats import compute_small_floats
from ..lower.unroll import unroll_loops
from ..lower.vectorize import vectorize_loops
from ..lower.wrapping import limit_sizes
from ..rules import Decision
from ..target import Target
from .allreduce import lower_allreduce
from .architectures import ARCHITECTURES, FIRST_WITH_COPIES
from .async_copies import copy_asynchronously
from .barriers import insert_barriers
from .dynamic_memory import LARGEST, check_need, need_of
from .emulate import emulate_matrix_units
from .interleave import simulate_kernel
from .kernel import Kernel, Launch, check_waits
from .matrix_units import check_matrix_units, expand_copies, expand_plain
from .memory import compact_memory
from .places import match_by_places, resolve_places
from .pointer_checks import check_pointers, has_pointer_accesses
from .reductions import reduce_across_threads
from .registers import keep_in_registers
from .rules import bind_threads
from .split import has_threads, means_threads, split_kernels, threads_as_loops
from .tensor_copies import check_tensor_copies, emulate_tensor_copies
from .tensor_memory import check_tensor_memory, emulate_tensor_memory
from .warp_memory import place_warp_memory
from .warpgroups import check_warpgroups, emulate_warpgroups

STEPS = (hoist_first_steps, flatten_buffers, unroll_loops, vectorize_loops, compute_small_floats)
"""The passes that kernels share with programs for a processor, in order."""


@lru_cache(maxsize=8)
@deep
def lower_to_kernels(
    func: tir.PrimFunc, name: str, bounds: Bounds = "trust", is_proven: bool = False
) -> tuple[tir.PrimFunc, Safety]:
    """Return `func` with a `Launch` for each of its kernels, and how many indices were proven to be in bounds.

    If `is_proven`, all of them were proven before scheduling, and only overflow of index arithmetic is checked.

    Raises TvmsError: E0611 for impossible launches, E0612 for code that cannot be divided between host and GPU,
    E0613 if threads cannot synchronize, E0606 for forms that cannot be compiled.
    """
    if not has_threads(func):
        reason, help = f"no loop of '{name}' is bound to a thread", "bind one, as with S.bind(loop, 'threadIdx.x')"
        raise error("E0612", reason, func.span, help)
    is_in_order = not means_threads(func)
    if is_in_order:
        func = reduce_across_threads(func)
    aligned = alignments_in(func)
    of_blocks: Bounds = "trust" if is_proven else bounds
    for step_name, step in {**BLOCK_STEPS, "LowerMatchBuffer": match_by_places}.items():
        if step_name == "LowerMatchBuffer":
            func = guard_blocks(func, of_blocks)
        func = step(func)
    func = threads_as_loops(func)
    limited = limit_sizes(func) if is_proven and bounds != "trust" else None
    func, safety = (limited, Safety(0, 0)) if limited is not None else guard_indices(func, bounds)

    def lowered(kernel: Kernel) -> Kernel:
        nonlocal safety
        check_waits(kernel.body)
        domains = {axis.var: tir.Range(make.const(0, axis.var.dtype), axis.extent) for axis in kernel.axes}
        kernel = replace(kernel, body=simplify_divisions(tir.PrimFunc((), kernel.body), domains).body)
        kernel = resolve_places(compact_memory(kernel, is_in_order, aligned))
        kernel = lower_allreduce(insert_barriers(kernel) if is_in_order else kernel)
        body = simplify_divisions(tir.PrimFunc((), kernel.body), domains)
        for step in STEPS:
            body = step(body)
        kernel, of_pointers = check_pointers(replace(kernel, body=body.body), func, of_blocks)
        safety += of_pointers
        kernel = place_warp_memory(expand_plain(kernel))
        check_matrix_units(kernel)
        check_warpgroups(kernel)
        check_tensor_copies(kernel)
        check_tensor_memory(kernel)
        return kernel

    func = with_kernels(split_kernels(func, name), lambda kernel: Launch(lowered(kernel)))
    return func, safety


def with_kernels(func: tir.PrimFunc, change: Callable[[Kernel], tir.Stmt]) -> tir.PrimFunc:
    """Return `func` with every launch replaced by `change` of its kernel."""
    rewriter = Rewriter({Launch: lambda launch: change(launch.kernel), tir.Buffer: lambda buffer: buffer})
    return replace(func, body=rewriter.rewrite(func.body))


def as_attributes(kernel: Kernel) -> tir.Stmt:
    """Return `kernel` as a statement that can be printed and interpreted: its body inside `T.launch_thread` of its
    axes.
    """
    body = kernel.body
    for axis in reversed(kernel.axes):
        name = tir.Var(axis.var.dtype, axis.var.name.replace("Idx.", "_"), span=axis.var.span)
        body = substitute(body, {axis.var: name})
        extent = make.cast(axis.extent, axis.var.dtype)
        domain = tir.Range(make.const(0, axis.var.dtype), extent)
        thread = tir.IterVar(domain, name, tir.IterVarType.THREAD_INDEX, axis.tag)
        body = tir.AttrStmt(thread, "thread_extent", extent, body)
    return body


def with_threads(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with its launches replaced by `T.launch_thread`."""
    return with_kernels(func, as_attributes)


def lower_for_gpu(
    func: tir.PrimFunc, name: str, target: Target, bounds: Bounds
) -> tuple[tir.PrimFunc, tuple[Decision, ...], Safety]:
    """Return `func` compiled for a GPU, the decisions of the default rules, and how many indices were proven to be
    in bounds.

    Functions without thread bindings get the default schedules (`gpu.rules`); indices proven before that need
    no check afterwards. If threads are simulated, the result is a kernel for the processor; otherwise it has a
    `Launch` for each of its kernels. Raises as `lower_to_kernels` does.
    """
    if has_threads(func):
        is_proven = bounds == "prove" and bool(func.attrs.get(PROVEN))
        lowered, safety = lower_to_kernels(func, name, bounds, is_proven)
        decisions: tuple[Decision, ...] = ()
    else:
        _, safety = guard_indices(lower_blocks(func), bounds)
        is_proven = not safety.checked and not has_pointer_accesses(func)
        func, decisions = bind_threads(func, target.arch)
        lowered, _ = lower_to_kernels(func, name, bounds, is_proven)
    return flatten_signature(with_kernels(lowered, lambda kernel: _for_target(kernel, target))), decisions, safety


def _for_target(kernel: Kernel, target: Target) -> tir.Stmt:
    """Return the launch of `kernel`, or the loops that simulate it, without features that the target lacks."""
    if not target.order:
        has_copies = ARCHITECTURES[target.arch].number >= FIRST_WITH_COPIES
        return Launch(keep_in_registers(copy_asynchronously(kernel) if has_copies else expand_copies(kernel)))
    check_need(kernel.name, need_of(kernel), LARGEST, kernel.body)
    return simulate_kernel(without_units(kernel), target.order == "ascending")


def without_units(kernel: Kernel) -> Kernel:
    """Return `kernel` with loops of the threads instead of tensor cores, asynchronous copies and barriers in shared memory."""
    kernel = expand_copies(emulate_tensor_copies(emulate_tensor_memory(kernel)))
    return emulate_warpgroups(emulate_matrix_units(kernel))
