"""The lowering steps as passes, by name, and the pipeline `lower` of all of them, for `tvms opt`.

Importing this module registers them; functions are compiled by the same steps. The module is also
`tvms.tir.transform` (TVM: `tvm.tir.transform`), with a constructor for each pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule, Op, Target, target_attributes
from ...ir.deep import deep
from ...ir.dtype import is_vector
from ...ir.idioms import NOTHING
from ...ir.intern import has_effects
from ...ir.passes.context import PassContext
from ...ir.passes.pipelines import register_pipeline
from ...ir.passes.transform import Pass, Sequential, declare_pass, get_pass, map_functions, passes, prim_func_pass
from ...ir.visit import rewrite, walk
from ..target import TargetLike, get_target
from . import BLOCK_STEPS, LOOP_STEPS, ORDER, Step, guard_blocks
from .assumed_values import reduce_branches
from .blocks import lower_opaque_blocks
from .bounds import Bounds, guard_indices
from .common import eliminate_common_subexpressions
from .compact import compact_buffers
from .divisions import simplify_divisions
from .flatten import flatten_buffers
from .floor_divisions import lower_floor_divisions
from .hoist_expression import HoistedConditionals, HoistedLetBindings, hoist_conditions_and_names
from .invariants import hoist_expressions
from .match_buffer import lower_match_buffers
from .narrow_data_type import narrow_data_types
from .narrow_index import narrow_indices
from .no_op import remove_no_ops
from .option_passes import WITH_OPTIONS, on_loops, on_modules, unless
from .own_variables import rename_repeated_definitions
from .permuted_layout import permute_layouts
from .rewriter import Rewriter
from .undefined_stores import remove_undefined_stores
from .unify_threads import unify_threads
from .virtual_threads import inject_virtual_threads

__all__ = ["HoistedConditionals", "HoistedLetBindings", "apply_default_schedule", "prim_func_pass"]


def convert_loops_to_serial(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with its parallel loops made sequential (TVM: `ConvertForLoopsToSerial`)."""

    def in_order(node: object) -> tir.For | None:
        if isinstance(node, tir.For) and node.kind is tir.ForKind.PARALLEL:
            return replace(node, kind=tir.ForKind.SERIAL)
        return None

    return rewrite(func, in_order)


def skip_asserts(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without assertions (TVM: `SkipAssert`)."""
    return rewrite(func, lambda node: node.body if isinstance(node, tir.AssertStmt) else None)


def remove_assumptions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without assumptions `T.assume(…)`, and without loops around nothing else (TVM: `RemoveAssume`)."""

    def evaluated(stmt: tir.Evaluate) -> tir.Stmt:
        return NOTHING if _is_call(stmt.value, "tir.assume") else stmt

    without = replace(func, body=Rewriter({tir.Evaluate: evaluated}).rewrite(func.body))
    has_blocks = any(isinstance(node, tir.BlockRealize) for node in walk(func.body))
    return without if has_blocks or without.body is func.body else remove_no_ops(without)


def rewrite_unsafe_selects(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with `T.if_then_else`, which evaluates one side only, for each `T.Select` with a side that
    reads memory or has effects (TVM: `RewriteUnsafeSelect`). A select with a condition per lane stays.
    """

    def safe(node: object) -> tir.Call | None:
        if not isinstance(node, tir.Select) or is_vector(node.condition.dtype):
            return None
        if not any(map(_is_unsafe, (node.true_value, node.false_value))):
            return None
        return tir.Call(node.dtype, Op("tir.if_then_else"), (node.condition, node.true_value, node.false_value))

    return rewrite(func, safe)


def _is_unsafe(value: tir.PrimExpr) -> bool:
    return has_effects(value) or any(isinstance(node, tir.BufferLoad) for node in walk(value))


def _is_call(value: tir.PrimExpr, name: str) -> bool:
    return isinstance(value, tir.Call) and value.op == Op(name)


_SINGLE_RULES: dict[str, Callable[[tir.PrimFunc], tir.PrimFunc]] = {
    "ConvertForLoopsToSerial": convert_loops_to_serial,
    "SkipAssert": skip_asserts,
    "RemoveAssume": remove_assumptions,
    "RemoveStoreUndef": remove_undefined_stores,
    "RewriteUnsafeSelect": rewrite_unsafe_selects,
    "UnifyThreadBinding": unify_threads,
    "UseAssumeToReduceBranches": reduce_branches,
    "ForceNarrowIndexToInt32": narrow_indices,
    "LowerIntrin": lower_floor_divisions,
}
"""The steps by pass name."""


_EARLY: dict[str, Callable[[tir.Block], bool]] = {
    "ConvertBlocksToOpaque": lambda block: block.init is not None,
    "LowerOpaqueBlock": lambda block: bool(block.iter_vars or block.init or block.match_buffers),
}
"""Steps that require earlier steps on blocks, with the condition for blocks that have not been through these."""


@declare_pass("CompactBufferAllocation")
def compact(mod: IRModule, is_strict: bool = True, with_all: bool = True) -> IRModule:
    """Reduce the buffers of opaque blocks to the part that is used. No dimension becomes larger, even if `is_strict` is
    False, with which TVM may also pad buffers. With `with_all`, conditions on sums of loop variables count, in the compiler only those on
    single ones, and alignments become strides.
    """
    return map_functions(mod, tir.PrimFunc, deep(lambda func: compact_buffers(func, with_all)))


@declare_pass("LowerMatchBuffer")
def lower_matches(mod: IRModule, with_checks: bool = True) -> IRModule:
    """Replace matched buffers by their sources. With `with_checks`, TvmsError E0706 if a buffer certainly declares another offset or other
    strides than its region has; the compiler checks strides at run time.
    """
    return map_functions(mod, tir.PrimFunc, deep(lambda func: lower_match_buffers(func, with_checks)))


@declare_pass("LowerOpaqueBlock")
def lower_blocks_of_loops(mod: IRModule, with_pragmas: bool = True) -> IRModule:
    """Replace blocks without iterators by their statements. Their buffers become allocations, and their pragmas and those of loops
    attributes; the latter only with `with_pragmas`, which the compiler does not need.
    """
    step = unless(_EARLY["LowerOpaqueBlock"], lambda func: lower_opaque_blocks(func, with_pragmas))
    return map_functions(mod, tir.PrimFunc, deep(step))


for _name, _step in BLOCK_STEPS.items():
    if _name in ("CompactBufferAllocation", "LowerMatchBuffer", "LowerOpaqueBlock"):
        continue
    declare_pass(_name)(on_modules(unless(_EARLY[_name], _step) if _name in _EARLY else _step))


@declare_pass("GuardIndices")
def guard(mod: IRModule, bounds: Bounds = "prove") -> IRModule:
    """Check indices at run time: all with `bounds="check"`, those that are not proven to be in bounds with
    "prove".
    """
    step = on_loops(
        lambda func: guard_indices(func, bounds, mod.functions)[0]
    )  # buffers of blocks have no pointers yet
    return map_functions(mod, tir.PrimFunc, deep(step))


@declare_pass("GuardBlocks")
def guard_declared(mod: IRModule, bounds: Bounds = "prove") -> IRModule:
    """Check the sizes of buffers of blocks, and matched buffers, at run time: all with `bounds="check"`,
    those that are not proven to be valid with "prove".
    """
    is_early = unless(lambda block: bool(block.iter_vars), lambda func: guard_blocks(func, bounds))
    return map_functions(mod, tir.PrimFunc, deep(is_early))


@declare_pass("FlattenBuffer")
def flatten(mod: IRModule, index_dtype: Literal["int64", "same"] = "same") -> IRModule:
    """Replace buffers by flat ones. Indices are int64, or with "same" stay int32 where all positions fit."""
    return map_functions(mod, tir.PrimFunc, deep(lambda func: flatten_buffers(func, index_dtype)))


for _name, _step in LOOP_STEPS.items():
    if _name in WITH_OPTIONS:
        continue
    declare_pass(_name)(on_modules(on_loops(_step)))


@declare_pass("HoistExpression")
def hoist(mod: IRModule) -> IRModule:
    """Move conditions and variables out of loops; the option "tir.HoistExpression" of the context limits their kinds."""
    options = PassContext.current().config.get("tir.HoistExpression", {})
    conditionals = HoistedConditionals(options.get("hoisted_conditionals", HoistedConditionals.All))
    bindings = HoistedLetBindings(options.get("hoisted_let_bindings", HoistedLetBindings.All))
    has_all = (conditionals, bindings) == (HoistedConditionals.All, HoistedLetBindings.All)

    def step(func: tir.PrimFunc) -> tir.PrimFunc:
        func = hoist_conditions_and_names(func, conditionals, bindings)
        return hoist_expressions(func) if has_all else func

    return map_functions(mod, tir.PrimFunc, deep(on_loops(step)))


@declare_pass("CommonSubexprElimTIR")
def eliminate(mod: IRModule, enable_cse_tir: bool = True, identify_equiv_terms: bool = False) -> IRModule:
    """Bind repeated computations to variables. Terms are repeated only if they are written alike, also with
    `identify_equiv_terms`.
    """
    step = deep(on_loops(eliminate_common_subexpressions))
    return map_functions(mod, tir.PrimFunc, step) if enable_cse_tir else mod


@declare_pass("NarrowDataType")
def narrow(mod: IRModule, target_bits: int) -> IRModule:
    """Narrow variables of loops and blocks to `target_bits` bits, where all that is computed from them fits."""
    return map_functions(mod, tir.PrimFunc, deep(lambda func: narrow_data_types(func, target_bits)))


@declare_pass("DecorateDeviceScope")
def decorate(mod: IRModule) -> IRModule:
    """Wrap the body of each loop function, or of its root block, in the attribute "device_scope"."""
    zero = tir.IntImm("int32", 0)

    def wrapped(body: tir.Stmt) -> tir.Stmt:
        if isinstance(body, tir.BlockRealize):
            return replace(body, block=replace(body.block, body=wrapped(body.block.body)))
        return tir.AttrStmt(zero, "device_scope", zero, body)

    return map_functions(mod, tir.PrimFunc, lambda func: replace(func, body=wrapped(func.body)))


@declare_pass("AnnotateDeviceRegions")
def annotate_regions(mod: IRModule) -> IRModule:
    """Put the attribute "target" around the parts of functions that a GPU executes, those in "thread_extent" or "device_scope", if the
    target of the function has a host.
    """

    def annotate(func: tir.PrimFunc) -> tir.PrimFunc:
        target = func.attrs.get("target")
        attrs = target_attributes(target) if isinstance(target, str) else getattr(target, "attrs", {})
        host = getattr(target, "host", None) or attrs.get("host")
        if not host:
            return func
        device = Target({name: value for name, value in attrs.items() if name != "host"})

        def region(stmt: tir.AttrStmt) -> tir.Stmt:
            if stmt.attr_key not in ("thread_extent", "device_scope"):
                return rewriter.rebuild(stmt)  # type: ignore[no-any-return]
            return tir.AttrStmt(device, "target", tir.IntImm("int32", 0), stmt)

        rewriter = Rewriter({tir.AttrStmt: region})
        return replace(func, body=rewriter.rewrite(func.body))

    return map_functions(mod, tir.PrimFunc, deep(annotate))


declare_pass("RenormalizeSplitPattern")(on_modules(simplify_divisions))
for _name, _step in _SINGLE_RULES.items():
    declare_pass(_name)(on_modules(_step))


declare_pass("InjectPermutedLayout")(on_modules(permute_layouts))
declare_pass("InjectVirtualThread")(on_modules(on_loops(inject_virtual_threads)))
declare_pass("ConvertSSA")(rename_repeated_definitions)


@declare_pass("Apply")
def apply(mod: IRModule, ftransform: Step) -> IRModule:
    """Replace each loop function by the result of `ftransform` (TVM: `tir.transform.Apply`)."""
    return map_functions(mod, tir.PrimFunc, ftransform)


@declare_pass("Filter")
def keep_where(mod: IRModule, fcond: Callable[[tir.PrimFunc], bool]) -> IRModule:
    """Remove the loop functions for which `fcond` does not hold (TVM: `tir.transform.Filter`)."""
    kept = {
        name: function
        for name, function in mod.functions.items()
        if not isinstance(function, tir.PrimFunc) or fcond(function)
    }
    return replace(mod, functions=kept)


@declare_pass("BindTarget")
def bind_target(mod: IRModule, target: TargetLike) -> IRModule:
    """Set the target of each loop function that has none (TVM: `tir.transform.BindTarget`).

    A host function gets the host of `target`, or "llvm", and is no longer marked. If `target` has a host, functions with a
    global symbol state it as well, those with a target of their own included.
    """
    text, host = get_target(target).text, getattr(target, "host", None)

    def bind(function: tir.PrimFunc) -> tir.PrimFunc:
        is_marked = _is_set(function.attrs.get("tir.is_host_func"))
        attrs = {name: value for name, value in function.attrs.items() if name != "tir.is_host_func"}
        bound = attrs.get("target", str(host or "llvm") if is_marked else text)
        is_own = is_marked and "target" not in attrs
        if host is not None and "global_symbol" in attrs and not is_own:
            bound = _with_host(bound, host)
        return replace(function, attrs={"target": bound} | attrs | {"target": bound})

    return map_functions(mod, tir.PrimFunc, bind)


def _is_set(value: Any) -> bool:
    return bool(value.value if isinstance(value, tir.IntImm) else value)


def _with_host(target: Any, host: str) -> Any:
    """Return `target` with that host, unless it has one."""
    attrs = target.attrs if isinstance(target, Target) else target_attributes(str(target))
    return target if "host" in attrs else Target({**attrs, "host": target_attributes(host)})


@declare_pass("AnnotateEntryFunc")
def annotate_entry(mod: IRModule) -> IRModule:
    """Mark the only loop function as the entry of the program (TVM: `tir.transform.AnnotateEntryFunc`)."""
    if sum(isinstance(function, tir.PrimFunc) for function in mod.functions.values()) != 1:
        return mod
    entry = {"tir.is_entry_func": tir.IntImm("bool", 1)}
    return map_functions(mod, tir.PrimFunc, lambda function: replace(function, attrs={**function.attrs, **entry}))


@declare_pass("ApplyDefaultSchedule")
def apply_default_schedule(mod: IRModule) -> IRModule:
    """Apply the default schedules for this processor to unscheduled functions, as the compiler does."""
    from ..rules import apply_rules, rules_for

    rules = rules_for(get_target("llvm").processor)
    return map_functions(mod, tir.PrimFunc, lambda func: apply_rules(func, rules)[0])


@declare_pass("DefaultGPUSchedule")
def apply_gpu_schedule(mod: IRModule) -> IRModule:
    """Bind the spatial loops of unscheduled functions for a GPU to its threads."""
    from ..dlight.gpu.default_schedule import schedule_for_gpu

    return map_functions(mod, tir.PrimFunc, schedule_for_gpu)


@declare_pass("LowerCrossThreadReduction")
def lower_cross_threads(mod: IRModule) -> IRModule:
    """Let each thread reduce its part, and then all threads together, where a loop over threads is one of a reduction."""
    from ..gpu.cross_threads import lower_cross_thread_reductions

    return map_functions(mod, tir.PrimFunc, deep(lower_cross_thread_reductions))


PrimFuncPass = Pass
"""Passes of loop functions are passes of modules that visit them."""


def __getattr__(name: str) -> Callable[..., Pass]:
    if name.startswith("__") or name not in passes():
        raise AttributeError(f"unknown pass '{name}'; 'tvms opt --list' shows all")
    return passes()[name]


LOWERING_OPTIONS: dict[str, dict[str, Any]] = {
    "CompactBufferAllocation": {"with_all": False},
    "FlattenBuffer": {"index_dtype": "int64"},
    "HoistIfThenElse": {"of_threads": True},
    "InjectDoubleBuffer": {"with_all": False},
    "LoopPartition": {"with_marks": False},
    "LowerMatchBuffer": {"with_checks": False},
    "LowerOpaqueBlock": {"with_pragmas": False},
    "StorageRewrite": {"with_all": False},
    "VectorizeLoop": {"masks": "all"},
}
"""The options of passes in the lowering, where they are not those of TVM's passes."""


@register_pipeline("lower")
def lowering() -> Pass:
    """Return the sequence of all lowering steps, from a loop function as written to the input of the LLVM backend."""
    return Sequential([get_pass(name, **LOWERING_OPTIONS.get(name, {})) for name in ORDER], name="lower")
